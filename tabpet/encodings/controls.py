"""Controls of the same width as an encoding: no structure, broken structure, or trained."""

import pkgutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from tabpet.encodings.encoding import Encoding
from tabpet.errors import TabpetError
from tabpet.files import read_json
from tabpet.names import EncodingName
from tabpet.registry import CONTROLS, unknown
from tabpet.seeds import derive_seed


def load_encoding(name: EncodingName, seed: int, table: Path, info: Path) -> Encoding:
    """An encoding from the files of its graph; controls are drawn anew for every seed."""
    encoding = Encoding.from_frame(pd.read_parquet(table), read_json(info))
    if not np.isfinite(encoding.values).all():
        raise TabpetError(f"{table} has missing or infinite values: encode the graph again.")
    if name.control is None:
        return encoding
    return control(encoding, name.control, derive_seed(seed, "control"))


def control(encoding: Encoding, kind: str, seed: int) -> Encoding:
    """Build a control on an encoding; rows are drawn in the order of the features' names."""
    if kind not in CONTROLS:
        raise TabpetError(f"{unknown('control', kind, CONTROLS)}.")
    entry = CONTROLS[kind]
    order = np.argsort(np.array(encoding.features, dtype=np.str_), kind="stable")
    draw = pkgutil.resolve_name(entry.draw)
    drawn = draw(encoding.values[order], np.random.default_rng(seed))
    values = np.empty_like(drawn)
    values[order] = drawn
    settings = {**encoding.settings, "control": kind, "control_seed": seed}
    notes = [*encoding.notes, f"{kind}: {entry.note}"]
    return replace(encoding, values=values, kind=kind, settings=settings, notes=notes)


def draw_random(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Noise with the mean and the variance of each column."""
    noise = rng.standard_normal(values.shape)
    return values.mean(axis=0) + values.std(axis=0) * noise


def draw_shuffled(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same rows in another order, as soon as there are two."""
    order = rng.permutation(len(values))
    while len(order) > 1 and (order == np.arange(len(order))).all():
        order = rng.permutation(len(values))
    return values[order]


def draw_zeros(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Nothing: the model draws and trains a table of its own."""
    return np.zeros_like(values)
