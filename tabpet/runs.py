"""The row that every run writes, whatever happened to it, and the score that all learners share.

A run is one dataset, split, model, encoding, seed and alpha. Transformers write a row per alpha,
tuned trees and plain references one row with no alpha.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import pyarrow as pa

from tabpet.files import write_parquet

Status = Literal["ok", "skipped", "timeout", "oom", "error"]
Task = Literal["classification", "regression"]
STATUSES: tuple[Status, ...] = get_args(Status)
METRICS: dict[str, str] = {"classification": "balanced_accuracy", "regression": "rmse"}
TUNED, DEFAULT = "tuned", "default"  # in the place of an encoding, for learners without tokens

SCHEMA = pa.schema(
    [
        ("dataset", pa.string()),
        ("split", pa.int64()),
        ("model", pa.string()),
        ("encoding", pa.string()),
        ("seed", pa.int64()),
        ("alpha", pa.float64()),
        ("task", pa.string()),
        ("metric", pa.string()),
        ("val_score", pa.float64()),
        ("test_score", pa.float64()),
        ("best_epoch", pa.int64()),
        ("epochs", pa.int64()),
        ("seconds", pa.float64()),
        ("n_parameters", pa.int64()),
        ("d_pe", pa.int64()),
        ("device", pa.string()),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("parameters", pa.string()),
        ("versions", pa.string()),
    ]
)


@dataclass(frozen=True)
class Run:
    """One row of a run file. `None` where a value does not apply or was not reached."""

    dataset: str
    split: int
    model: str
    encoding: str
    seed: int
    task: str
    alpha: float | None = None
    val_score: float | None = None
    test_score: float | None = None
    best_epoch: int | None = None  # of trees: rounds of the kept model
    epochs: int | None = None
    seconds: float | None = None  # of the whole job that made the row
    n_parameters: int | None = None
    d_pe: int | None = None
    device: str | None = None
    status: Status = "ok"
    reason: str | None = None
    parameters: dict[str, Any] | None = None  # chosen hyperparameters, where there is a choice
    versions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"status is {self.status!r}; allowed are {', '.join(STATUSES)}")
        if self.status == "ok" and (self.val_score is None or self.test_score is None):
            raise ValueError("a run that is ok has a validation and a test score")
        if self.status != "ok" and not self.reason:
            raise ValueError(f"a run that is {self.status} says why")

    def to_row(self) -> dict[str, Any]:
        """The row as it stands in the file."""
        row = asdict(self)
        row["metric"] = METRICS[self.task]
        for name in ("parameters", "versions"):
            row[name] = json.dumps(row[name], sort_keys=True) if row[name] is not None else None
        return row


def runs_frame(runs: Iterable[Run]) -> pd.DataFrame:
    """Runs as a table with the columns and types of `SCHEMA`."""
    table = pa.Table.from_pylist([run.to_row() for run in runs], schema=SCHEMA)
    return table.to_pandas(types_mapper=_NULLABLE.get)


def write_runs(runs: Iterable[Run], path: Path) -> None:
    """Write a run file, whole or not at all."""
    write_parquet(runs_frame(runs), path)


def read_runs(path: Path) -> pd.DataFrame:
    """Read a run file or `scores.parquet`."""
    import pyarrow.parquet as pq

    return pq.read_table(path, schema=SCHEMA).to_pandas(types_mapper=_NULLABLE.get)


def used_versions(*packages: str) -> dict[str, str]:
    """Versions of tabpet and of the packages that a run stands on."""
    return {name: version(name) for name in ("tabpet", *packages)}


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error of Python or of a library says that there is no memory left."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(words in text for words in _NO_MEMORY)


def score(task: str, truth: np.ndarray, predicted: np.ndarray) -> float:
    """Balanced accuracy of class indices, or the root mean squared error of numbers.

    A class that no row of `truth` has is left out of the mean over classes.
    """
    truth, predicted = np.asarray(truth), np.asarray(predicted)
    if task == "regression":
        return float(np.sqrt(np.mean(np.square(truth - predicted, dtype=np.float64))))
    counts = np.bincount(truth)
    hits = np.bincount(truth[truth == predicted], minlength=len(counts))
    present = counts > 0
    return float(np.mean(hits[present] / counts[present]))


_NO_MEMORY = (
    "bad_alloc",
    "bad allocation",
    "can't allocate memory",
    "not enough memory",
    "out of memory",
)
# Integers that may be missing stay integers.
_NULLABLE = {pa.int64(): pd.Int64Dtype(), pa.string(): pd.StringDtype("python")}
