"""The line that every run writes, whatever happened to it, and the score that all learners share.

A run is one dataset, split, model, encoding, seed and alpha. A cell of a transformer has a run per
alpha, one of a tuned learner or a plain reference a single run with no alpha.
"""

import errno
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import pyarrow as pa

from tabpet.errors import TabpetError
from tabpet.files import file_digest, rounded_digest, write_parquet

# The last two are given by collecting: a file of other settings or inputs, and none at all.
Status = Literal["ok", "skipped", "timeout", "oom", "error", "outdated", "missing"]
Task = Literal["classification", "regression"]
# The graph behind an encoding: found, without any edge, cut by its time limit, or none at all.
GraphState = Literal["ok", "empty", "cut", "failed"]
STATUSES: tuple[Status, ...] = get_args(Status)
METRICS: dict[str, str] = {"classification": "balanced_accuracy", "regression": "rmse"}

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
        ("graph_state", pa.string()),
        ("device", pa.string()),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("parameters", pa.string()),
        ("versions", pa.string()),
        ("provenance", pa.string()),
    ]
)
_JSON_COLUMNS = ("parameters", "versions", "provenance")


@dataclass(frozen=True)
class Run:
    """One line of a run file. `None` where a value does not apply or was not reached."""

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
    seconds: float | None = None  # of the whole job that made it
    n_parameters: int | None = None
    d_pe: int | None = None
    graph_state: GraphState | None = None
    device: str | None = None
    status: Status = "ok"
    reason: str | None = None
    parameters: dict[str, Any] | None = None  # chosen hyperparameters, where there is a choice
    versions: dict[str, str] = field(default_factory=dict)
    provenance: dict[str, Any] | None = None  # the settings and inputs it was made with

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"status is {self.status!r}; allowed are {', '.join(STATUSES)}")
        if self.status == "ok" and (self.val_score is None or self.test_score is None):
            raise ValueError("a run that is ok has a validation and a test score")
        if self.status != "ok" and not self.reason:
            raise ValueError(f"a run that is {self.status} says why")

    def to_record(self) -> dict[str, Any]:
        """The values of its line by column."""
        record = asdict(self) | {"metric": METRICS[self.task]}
        for name in _JSON_COLUMNS:
            if record[name] is not None:
                record[name] = json.dumps(record[name], sort_keys=True)
        return record


def runs_frame(runs: Iterable[Run]) -> pd.DataFrame:
    """Runs as a table with the columns and types of `SCHEMA`."""
    table = pa.Table.from_pylist([run.to_record() for run in runs], schema=SCHEMA)
    return table.to_pandas(types_mapper=_NULLABLE.get)


def write_runs(runs: Iterable[Run], path: Path) -> None:
    """Write a run file, whole or not at all."""
    write_parquet(runs_frame(runs), path)


def read_runs(path: Path) -> pd.DataFrame:
    """Read a run file or `scores.parquet`."""
    import pyarrow.parquet as pq

    return pq.read_table(path, schema=SCHEMA).to_pandas(types_mapper=_NULLABLE.get)


def stored_runs(path: Path) -> list[Run]:
    """The runs of a file as objects."""
    import pyarrow.parquet as pq

    runs = []
    for row in pq.read_table(path, schema=SCHEMA).to_pylist():
        del row["metric"]
        row |= {name: json.loads(row[name]) for name in _JSON_COLUMNS if row[name] is not None}
        runs.append(Run(**row))
    return runs


def is_current(
    path: Path, provenance: Mapping[str, Any], alphas: Iterable[float | None] = (None,)
) -> bool:
    """Whether a run file has rows of these alphas that were made with just this provenance."""
    import pyarrow.parquet as pq

    try:
        rows = pq.read_table(path, columns=["alpha", "provenance"], use_threads=False).to_pylist()
    except (OSError, pa.ArrowInvalid):
        return False
    made = {row["alpha"] for row in rows if json.loads(row["provenance"] or "0") == provenance}
    return set(alphas) <= made


def make_provenance(settings: Mapping[str, Any], inputs: Mapping[str, Path]) -> dict[str, Any]:
    """What a run is made with: its settings, and a digest of every input that exists."""
    files = {name: Path(path) for name, path in inputs.items()}
    digests = {name: input_digest(name, path) for name, path in files.items() if path.is_file()}
    return {"settings": dict(settings), "inputs": digests}


def input_digest(name: str, path: Path) -> str:
    """What stands for an input: of an encoding, its numbers as far as they are its own.

    The last digits of eigenvectors are those of the kernels that a library has for a processor.
    """
    is_encoding = name in ("encoding", "encoding info")
    return (rounded_digest if is_encoding else file_digest)(path)


def used_versions(*packages: str) -> dict[str, str]:
    """Versions of tabpet and of the packages that a run stands on."""
    return {name: version(name) for name in ("tabpet", *packages)}


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error of Python or of a library says that there is no memory left."""
    text = str(error).lower()
    refused = isinstance(error, OSError) and error.errno == errno.ENOMEM
    # oneDNN's words; with "descriptor" behind them, it does not know such a product.
    refused |= re.search(r"could not create a primitive(?! descriptor)", text) is not None
    return isinstance(error, MemoryError) or refused or any(words in text for words in _NO_MEMORY)


def is_transient(error: BaseException) -> bool:
    """Whether another try may help: memory was short, a device was lost, a file system failed."""
    # What could not be written is a TabpetError with the system's own error as its cause.
    cause = error.__cause__ if isinstance(error, TabpetError) and error.__cause__ else error
    if isinstance(cause, OSError):
        return not isinstance(cause, FileNotFoundError | IsADirectoryError | NotADirectoryError)
    text = str(error).lower()
    return is_out_of_memory(error) or any(words in text for words in _LOST_DEVICE)


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
_LOST_DEVICE = (
    "cuda error",
    "cuda driver error",
    "cublas_status",
    "cudnn_status",
    "nccl",
)
# Integers that may be missing stay integers.
_NULLABLE = {pa.int64(): pd.Int64Dtype(), pa.string(): pd.StringDtype("python")}
