"""The files of one cell: runs, learning curves, predictions, and the journal of what is trained.

The journal holds the same three tables where Snakemake does not delete them, so that a further
alpha, or a job that was interrupted while it wrote, trains only what is missing.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from tabpet.files import write_parquet
from tabpet.runs import Run, stored_runs, write_runs

logger = logging.getLogger(__name__)
CURVES = {
    "epoch": "int64",
    "alpha": "float64",
    "train_loss": "float64",
    "val_loss": "float64",
    "val_score": "float64",
}
RANKS = {
    "alpha": "float64",
    "part": "str",
    "rows": "int64",
    "effective_rank": "float64",
    "effective_rank_squared": "float64",
}
PREDICTIONS = {
    "alpha": "float64",
    "part": "str",
    "row": "int64",
    "truth": "float64",
    "predicted": "float64",
}


@dataclass(frozen=True)
class CellResult:
    """A run per alpha, the learning curves, and what the kept models predict.

    Effective ranks of their embeddings, where they are measured: None where they are not.
    """

    runs: list[Run]
    curves: pd.DataFrame = field(default_factory=pd.DataFrame)
    predictions: pd.DataFrame = field(default_factory=pd.DataFrame)
    ranks: pd.DataFrame | None = None

    def of_alphas(self, alphas: Sequence[float]) -> "CellResult":
        """What belongs to some alphas."""
        curves, predictions, ranks = (
            table
            if table is None or table.empty
            else table[table["alpha"].isin(alphas)].reset_index(drop=True)
            for table in (self.curves, self.predictions, self.ranks)
        )
        runs = [run for run in self.runs if run.alpha in alphas]
        return CellResult(runs, curves, predictions, ranks)  # type: ignore[arg-type]

    def joined_with(self, other: "CellResult") -> "CellResult":
        """Both as one, ordered by alpha."""
        runs = sorted([*self.runs, *other.runs], key=lambda run: run.alpha or 0.0)
        curves = _joined([self.curves, other.curves], ["epoch", "alpha"])
        predictions = _joined([self.predictions, other.predictions], ["alpha"])
        measured = [table for table in (self.ranks, other.ranks) if table is not None]
        ranks = _joined(measured, ["alpha"]) if measured else None
        return CellResult(runs, curves, predictions, ranks)


def _joined(tables: list[pd.DataFrame], order: list[str]) -> pd.DataFrame:
    filled = [table for table in tables if len(table)]
    if len(filled) < 2:
        return (filled or tables)[0]
    return pd.concat(filled).sort_values(order, kind="stable", ignore_index=True)


def write_cell(result: CellResult, run: Path) -> None:
    """Write the files of a cell, the runs last: they say that the others are there."""
    run.unlink(missing_ok=True)  # until they are, nothing says so
    write_parquet(_typed(result.curves, CURVES), curves_path(run))
    write_parquet(_typed(result.predictions, PREDICTIONS), predictions_path(run))
    if result.ranks is not None:
        write_parquet(_typed(result.ranks, RANKS), ranks_path(run))
    write_runs(result.runs, run)


def read_cell(run: Path) -> CellResult:
    """Read what `write_cell` wrote."""
    curves, predictions = map(pd.read_parquet, (curves_path(run), predictions_path(run)))
    ranks = pd.read_parquet(ranks_path(run)) if ranks_path(run).is_file() else None
    return CellResult(stored_runs(run), curves, predictions, ranks)


def curves_path(run: Path) -> Path:
    """The learning curves beside a run file."""
    return run.with_suffix(".curves.parquet")


def predictions_path(run: Path) -> Path:
    """The predictions beside a run file; without rows unless they are wanted."""
    return run.with_suffix(".predictions.parquet")


def ranks_path(run: Path) -> Path:
    """The effective ranks beside a run file, where they are measured."""
    return run.with_suffix(".ranks.parquet")


def checkpoint_path(journal: Path) -> Path:
    """Where the state of a cell's training is saved: beside its journal, where it stays."""
    return journal.with_suffix(".checkpoint.pt")


@dataclass(frozen=True)
class Journal:
    """What a cell has trained so far; without a path, nothing is kept."""

    path: Path | None = None

    def load(self, provenance: Mapping[str, Any] | None) -> CellResult:
        """The members that were trained with just these settings and inputs."""
        if self.path is None or not self.path.is_file():
            return CellResult([])
        try:
            stored = read_cell(self.path)
        except (OSError, pa.ArrowInvalid, ValueError, TypeError, KeyError) as error:
            logger.warning("%s can't be read, all alphas are trained: %s", self.path, error)
            return CellResult([])
        kept = [
            run.alpha
            for run in stored.runs
            # One that the time ended is trained again, beside those that join it: on equal terms.
            if run.alpha is not None and run.provenance == provenance and run.status == "ok"
        ]
        return stored.of_alphas(kept)

    def save(self, result: CellResult) -> None:
        """Keep a result, whole or not at all."""
        if self.path is not None:
            write_cell(result, self.path)


def _typed(frame: pd.DataFrame, types: dict[str, str]) -> pd.DataFrame:
    """The table with its columns and types, also when it has no rows."""
    if frame.empty:
        return pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in types.items()})
    return frame.astype({name: dtype for name, dtype in types.items() if dtype != "str"})
