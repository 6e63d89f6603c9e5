"""The files of one cell: runs, learning curves, and predictions where they are wanted."""

from pathlib import Path

import pandas as pd

from tabpet.files import write_parquet
from tabpet.runs import write_runs
from tabpet.training.cell import CellResult

CURVES = {
    "epoch": "int64",
    "alpha": "float64",
    "train_loss": "float64",
    "val_loss": "float64",
    "val_score": "float64",
}
PREDICTIONS = {
    "alpha": "float64",
    "part": "str",
    "row": "int64",
    "truth": "float64",
    "predicted": "float64",
}


def write_cell(
    result: CellResult, run: Path, curves: Path, predictions: Path | None = None
) -> None:
    """Write the files of a cell, the runs last: they say that the others are there."""
    write_parquet(_typed(result.curves, CURVES), curves)
    if predictions is not None:
        write_parquet(_typed(result.predictions, PREDICTIONS), predictions)
    write_runs(result.runs, run)


def checkpoint_path(run: Path) -> Path:
    """Where the state of a run's training is saved, under a name that no rule knows."""
    return run.with_suffix(".checkpoint.pt")


def _typed(frame: pd.DataFrame, types: dict[str, str]) -> pd.DataFrame:
    """The table with its columns and types, also when it has no rows."""
    if frame.empty:
        return pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in types.items()})
    return frame.astype({name: dtype for name, dtype in types.items() if dtype != "str"})
