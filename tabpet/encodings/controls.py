"""Controls of the same width as an encoding: no structure, broken structure, or trained."""

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
    order = np.argsort(np.array(encoding.features, dtype=np.str_), kind="stable")
    rng = np.random.default_rng(seed)
    drawn = encoding.values[order]
    if kind == "random":
        # Per column, the mean and the variance of the encoding's features.
        noise = rng.standard_normal(drawn.shape)
        drawn = drawn.mean(axis=0) + drawn.std(axis=0) * noise
        note = "random: Gaussian with each column's mean and variance"
    elif kind == "shuffled":
        drawn = drawn[_permutation(len(drawn), rng)]
        note = "shuffled: rows permuted between features"
    elif kind == "learnable":
        drawn = np.zeros_like(drawn)
        note = "learnable: zeros here, drawn and trained with the model"
    else:
        raise TabpetError(f"{unknown('control', kind, CONTROLS)}.")
    values = np.empty_like(drawn)
    values[order] = drawn
    settings = {**encoding.settings, "control": kind, "control_seed": seed}
    return replace(
        encoding, values=values, kind=kind, settings=settings, notes=[*encoding.notes, note]
    )


def _permutation(n: int, rng: np.random.Generator) -> np.ndarray:
    """A random permutation of n rows that moves something, as soon as there are two."""
    permutation = rng.permutation(n)
    while n > 1 and (permutation == np.arange(n)).all():
        permutation = rng.permutation(n)
    return permutation
