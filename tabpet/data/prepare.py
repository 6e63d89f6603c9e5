"""prepare_split: from a raw table to coded and scaled training, validation and test rows.

The paper's appendix B.2 by rule. Rows are assigned to parts first, from the target alone; all
else (dropped features, the way of handling missing numbers, imputation, scaling, categories) is
learned from training rows and applied to the others.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel

from tabpet.catalog import Task
from tabpet.data.card import Card
from tabpet.data.imputer import Imputer
from tabpet.errors import TableError
from tabpet.files import read_json, write_json, write_parquet
from tabpet.formats import count
from tabpet.settings import PrepareSettings

MISSING_LEVEL = "(missing)"
PARTS = ("train", "val", "test")
FEW_ROWS = 10  # of validation or test rows, below which a warning says so
MissingNumbers = Literal["none", "rows dropped", "imputed"]
logger = logging.getLogger(__name__)


class Feature(BaseModel):
    """How one feature was coded: value = code -> level, or value * scale + mean."""

    name: str
    kind: Literal["numeric", "categorical"]
    mean: float = 0.0
    scale: float = 1.0
    levels: list[str] = []  # level of code 0, 1, ...; code len(levels) is "unseen"
    constant: bool = False  # one value in all training rows
    missing: int = 0  # missing values in training rows

    @property
    def unseen(self) -> int:
        """The code of a level that no training row has."""
        return len(self.levels)


class TargetInfo(BaseModel):
    """How the target was coded: a class index, or the plain number with its training moments."""

    name: str
    classes: list[str] | None = None
    mean: float = 0.0
    scale: float = 1.0


class SplitInfo(BaseModel):
    """All that is needed to read a prepared split and to undo it."""

    dataset: str
    split: int
    task: Task
    target: TargetInfo
    features: list[Feature]
    dropped_features: dict[str, str]  # name -> why
    missing_numbers: MissingNumbers
    rows: dict[str, int]  # part -> rows
    rows_dropped: dict[str, int]  # part -> rows with missing numbers that were removed
    warnings: list[str]
    prepare: dict[str, Any]  # the settings it was made with


@dataclass(frozen=True)
class Split:
    """A prepared split. Columns: part, row (in the raw table), the features, the target."""

    frame: pd.DataFrame
    info: SplitInfo
    imputer: Imputer | None = None  # of missing numbers, for later rows; not part of the files

    def save(self, table: Path, info: Path) -> None:
        """Write the table as Parquet and what was learned as JSON."""
        write_parquet(self.frame, table)
        write_json(self.info.model_dump(mode="json"), info)

    @classmethod
    def load(cls, table: Path, info: Path) -> "Split":
        """Read what `save` wrote."""
        return cls(pd.read_parquet(table), SplitInfo.model_validate(read_json(info)))

    def part(self, name: str) -> pd.DataFrame:
        """The rows of one part."""
        return self.frame[self.frame["part"] == name]

    def restore(self) -> pd.DataFrame:
        """The features and target as they were in the raw table; unseen levels are missing."""
        columns: dict[str, np.ndarray | pd.Series] = {}
        for feature in self.info.features:
            values = self.frame[feature.name].to_numpy()
            if feature.kind == "numeric":
                columns[feature.name] = values * feature.scale + feature.mean
            else:
                levels = np.array([*feature.levels, None], dtype=object)
                columns[feature.name] = pd.Series(levels[values]).replace(MISSING_LEVEL, None)
        target = self.frame[self.info.target.name].to_numpy()
        if self.info.target.classes is not None:
            target = np.array(self.info.target.classes, dtype=object)[target]
        return pd.DataFrame({**columns, self.info.target.name: target})


def prepare_split(raw: pd.DataFrame, card: Card, seed: int, settings: PrepareSettings) -> Split:
    """Assign rows to parts with `seed`, learn the coding from training rows, and apply it."""
    part = assign_parts(raw[card.target.name], card.task, seed, settings.fractions)
    return prepare_parts(
        raw, card.target.name, part, dataset=card.dataset, seed=seed, settings=settings
    )


def prepare_parts(
    raw: pd.DataFrame,
    target_name: str,
    part: np.ndarray,
    *,
    dataset: str,
    seed: int,
    settings: PrepareSettings,
) -> Split:
    """Learn the coding from the training rows of given parts, and apply it to all."""
    target, features = raw[target_name], raw.drop(columns=target_name)
    dropped = _find_sparse(features[part == "train"], settings.max_missing)
    features = features.drop(columns=list(dropped))
    if features.columns.empty:
        raise TableError(
            f"{dataset}: every feature misses more than {settings.max_missing:.0%} of its "
            "training values. Raise `prepare: {max_missing: ...}` or mend the table."
        )
    numeric = [str(name) for name in features if not _is_categorical(features[name])]
    features, keep, imputer = _settle_missing(features, numeric, part, seed, settings)

    rows = {name: int(((part == name) & keep).sum()) for name in PARTS}
    for name in PARTS:
        if rows[name] == 0 and (part == name).any():
            raise TableError(
                f"{dataset}: no {name} rows are left after rows with missing numbers were "
                "dropped. Set `prepare: {min_complete: 1}` to impute instead."
            )
    training = (part == "train") & keep
    learned = [_learn(features[name][training]) for name in features]
    columns = {feature.name: _code(features[feature.name][keep], feature) for feature in learned}
    target_info, coded_target = _code_target(target, training, keep)
    frame = pd.DataFrame(
        {
            "part": pd.Categorical(part[keep], categories=PARTS),
            "row": np.flatnonzero(keep),
            **columns,
            target_name: coded_target,
        }
    )
    warnings = _describe_classes(target, part, keep)
    missing_numbers: MissingNumbers = "imputed" if imputer else "none"
    if not keep.all():
        missing_numbers = "rows dropped"
        warnings.append(f"{int((~keep).sum())} rows with missing numbers dropped")
    constant = [feature.name for feature in learned if feature.constant]
    beyond = [name for name in constant if len(features[name][training].unique()) > 1]
    if names := [name for name in constant if name not in beyond]:
        warnings.append(f"constant in training rows: {', '.join(names)}")
    if beyond:
        warnings.append(
            f"{', '.join(beyond)}: so large that a float has no digits left for their differences, "
            "as identifiers are; `ignore` such a column, or make it `categorical`"
        )
    warnings += [
        f"only {count(rows[name], f'{name} row')}: its scores say little"
        for name in ("val", "test")
        if 0 < rows[name] < FEW_ROWS
    ]
    for warning in warnings:
        logger.warning("%s", warning)
    info = SplitInfo(
        dataset=dataset,
        split=seed,
        task="classification" if _is_categorical(target) else "regression",
        target=target_info,
        features=learned,
        dropped_features=dropped,
        missing_numbers=missing_numbers,
        rows=rows,
        rows_dropped={name: int(((part == name) & ~keep).sum()) for name in PARTS},
        warnings=warnings,
        prepare=settings.model_dump(mode="json"),
    )
    return Split(frame, info, imputer)


def code_rows(
    features: pd.DataFrame, learned: Sequence[Feature], imputer: Imputer | None
) -> pd.DataFrame:
    """Later rows in the coding that was learned; their missing numbers are imputed as well.

    Where no training row missed a number, a missing one is the mean of its feature.
    """
    means = {feature.name: feature.mean for feature in learned if feature.kind == "numeric"}
    features = features[[feature.name for feature in learned]].copy()
    if imputer is not None:
        features[list(means)] = imputer.fill(features[list(means)])
    else:
        features = features.fillna(means)
    return pd.DataFrame(
        {feature.name: _code(features[feature.name], feature) for feature in learned}
    )


def assign_parts(
    target: pd.Series, task: str, seed: int, fractions: tuple[float, float, float]
) -> np.ndarray:
    """The part of every row, from the target and the seed alone; stratified for classification."""
    labels = target.to_numpy() if task == "classification" else None
    _, val_share, test_share = fractions
    part = np.full(len(target), "train", dtype=object)
    rest, test = cut_rows(np.arange(len(target)), labels, test_share, seed)
    _, val = cut_rows(rest, labels, val_share / (1 - test_share), seed)
    part[val], part[test] = "val", "test"
    return part


def cut_rows(
    rows: np.ndarray, labels: np.ndarray | None, share: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Take a share of the rows away, by class; a class with one row left is not cut."""
    from sklearn.model_selection import train_test_split  # most readers of a split need it not

    if labels is None:
        strata, single = None, np.zeros(len(rows), dtype=bool)
    else:
        single = ~pd.Series(labels[rows]).duplicated(keep=False).to_numpy()
        strata = labels[rows[~single]]
    try:
        kept, taken = train_test_split(
            rows[~single], test_size=share, random_state=seed, stratify=strata
        )
    except ValueError:
        classes = "" if labels is None else f" and {len(np.unique(labels))} classes"
        raise TableError(
            f"The table can't be split: {len(rows)} rows{classes} are too few for every part."
            + (" Is the task really classification?" if labels is not None else "")
        ) from None
    return np.concatenate([kept, rows[single]]), taken


def _describe_classes(target: pd.Series, part: np.ndarray, keep: np.ndarray) -> list[str]:
    """Warnings about classes that are missing from a part."""
    if not _is_categorical(target):
        return []
    parts = [name for name in PARTS if (part == name).any()]
    counts = pd.crosstab(target.to_numpy()[keep], part[keep]).reindex(
        index=list(target.cat.categories), columns=parts, fill_value=0
    )
    return [
        f"class {level!r} ({row.sum()} rows) has none in {', '.join(row.index[row == 0])}: "
        "too rare to stratify"
        for level, row in counts.iterrows()
        if (row == 0).any()
    ]


def _is_categorical(column: pd.Series) -> bool:
    return isinstance(column.dtype, pd.CategoricalDtype)


def _find_sparse(training: pd.DataFrame, max_missing: float) -> dict[str, str]:
    """Features that miss too many training values, with the reason."""
    shares = training.isna().mean()
    return {
        str(name): f"{share:.0%} of training values missing"
        for name, share in shares.items()
        if share > max_missing or share == 1
    }


def _settle_missing(
    features: pd.DataFrame,
    numeric: list[str],
    part: np.ndarray,
    seed: int,
    settings: PrepareSettings,
) -> tuple[pd.DataFrame, np.ndarray, Imputer | None]:
    """Drop rows with missing numbers or impute them, whichever the training rows call for."""
    complete = features[numeric].notna().all(axis=1).to_numpy()
    if complete.all():
        return features, complete, None
    if complete[part == "train"].mean() >= settings.min_complete and settings.min_complete < 1:
        return features, complete, None
    imputer = Imputer.learn(features.loc[part == "train", numeric], seed)
    imputed = features.copy()
    imputed[numeric] = imputer.fill(features[numeric])
    return imputed, np.ones(len(features), dtype=bool), imputer


def _learn(training: pd.Series) -> Feature:
    """The coding of one feature from its training rows."""
    name, missing = str(training.name), int(training.isna().sum())
    if _is_categorical(training):
        levels = [str(level) for level in training.cat.remove_unused_categories().cat.categories]
        levels += [MISSING_LEVEL] if missing else []
        constant = len(levels) == 1
        return Feature(
            name=name, kind="categorical", levels=levels, constant=constant, missing=missing
        )
    values = training.to_numpy(dtype="float64")
    constant = bool((values == values[0]).all())
    # A constant column is centred exactly and not scaled: rounding must not blow it up.
    mean, scale = (float(values[0]), 1.0) if constant else _moments(values, name)
    return Feature(
        name=name, kind="numeric", mean=mean, scale=scale, constant=constant, missing=missing
    )


def _moments(values: np.ndarray, name: str) -> tuple[float, float]:
    """Mean and standard deviation; values beyond what floats can square are refused."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean, scale = float(values.mean()), float(values.std())
    if not (np.isfinite(mean) and np.isfinite(scale) and scale > 0):
        raise TableError(
            f"The values of {name!r} are too large or too small to be scaled ({values.min():g} to "
            f"{values.max():g}). Give them in another unit, or `ignore` the column."
        )
    return mean, scale


def _code(column: pd.Series, feature: Feature) -> np.ndarray:
    """A feature as float64 (scaled) or int32 (level code, one more for unseen levels)."""
    if feature.kind == "numeric":
        return (column.to_numpy(dtype="float64") - feature.mean) / feature.scale
    texts = column.astype(object).where(column.notna(), MISSING_LEVEL)
    codes = {level: code for code, level in enumerate(feature.levels)}
    return np.array([codes.get(text, feature.unseen) for text in texts], dtype="int32")


def _code_target(
    target: pd.Series, training: np.ndarray, keep: np.ndarray
) -> tuple[TargetInfo, np.ndarray]:
    """The target as class index or float64; the moments of a number come from training rows."""
    name = str(target.name)
    if _is_categorical(target):
        classes = [str(level) for level in target.cat.categories]
        codes = target.cat.codes.to_numpy(dtype="int32")
        if len(np.unique(codes[training])) < 2:
            raise TableError(f"The training rows have only one class of {name!r}.")
        return TargetInfo(name=name, classes=classes), codes[keep]
    values = target.to_numpy(dtype="float64")
    learned = values[training]
    if (learned == learned[0]).all():
        raise TableError(f"The target {name!r} is {learned[0]:g} in all training rows.")
    mean, scale = _moments(learned, name)
    return TargetInfo(name=name, mean=mean, scale=scale), values[keep]
