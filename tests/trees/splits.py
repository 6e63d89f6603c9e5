"""Small prepared splits, and the quick settings that the tests of trees share."""

from dataclasses import replace

import numpy as np
import pandas as pd

from tabpet.catalog import CatalogRow
from tabpet.data.card import make_card
from tabpet.data.prepare import Split, prepare_split
from tabpet.settings import PrepareSettings, TreeSettings

QUICK = TreeSettings(trials=4, rounds=30, patience=10)


def prepare(frame: pd.DataFrame) -> Split:
    """The split of a table whose target is its last column."""
    target = str(frame.columns[-1])
    task = "classification" if frame[target].dtype == "category" else "regression"
    row = CatalogRow(name="toy", path="toy.csv", task=task, target=target)
    return prepare_split(frame, make_card(frame, row, target, "test", []), 42, PrepareSettings())


def drop_class(split: Split, part: str, label: int) -> Split:
    """The split without the rows of a class in one part."""
    frame = split.frame
    gone = (frame["part"] == part) & (frame[split.info.target.name] == label)
    return replace(split, frame=frame[~gone].reset_index(drop=True))


def mixed_features(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Two numbers, and a feature with nine levels whose order means nothing."""
    return pd.DataFrame(
        {
            "a": rng.normal(5, 3, n),
            "b": rng.normal(size=n),
            "c": pd.Categorical(rng.choice(list("qwertyuio"), n)),
        }
    )


def classes(n: int = 400, labels: str = "no yes", noise: float = 0.5) -> Split:
    """A classification table with one class per label, the first being the most frequent."""
    rng = np.random.default_rng(0)
    frame = mixed_features(n, rng)
    signal = (frame["a"] - 5) / 3 + 2 * frame["c"].isin(list("qrti")) + noise * rng.normal(size=n)
    names = labels.split()
    limits = np.quantile(signal, np.linspace(0.6, 1, len(names))[:-1])
    frame["y"] = pd.Categorical.from_codes(np.digitize(signal, limits), names)
    return prepare(frame)


def numbers(n: int = 400, unit: float = 1.0) -> Split:
    """A regression table whose target is given in some unit."""
    rng = np.random.default_rng(1)
    frame = mixed_features(n, rng)
    effect = frame["c"].isin(list("qrti")).astype(float)
    frame["y"] = unit * (100 + frame["a"] + 3 * effect + 0.1 * rng.normal(size=n))
    return prepare(frame)


def codes_only(n: int = 400) -> Split:
    """Only categorical features; four of the nine levels of one of them are the second class."""
    rng = np.random.default_rng(2)
    letters = rng.choice(list("qwertyuio"), n)
    frame = pd.DataFrame(
        {"c": pd.Categorical(letters), "d": pd.Categorical(rng.choice(["u", "v"], n))}
    )
    frame["y"] = pd.Categorical(np.where(np.isin(letters, list("qrti")), "yes", "no"))
    return prepare(frame)
