"""Cells of the workflow without tokens: tuned trees and plain references, from files to files."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tabpet.cells import Attempt
from tabpet.data.prepare import Split
from tabpet.files import write_parquet
from tabpet.plan import Cell
from tabpet.runs import Run, Status, make_provenance, write_runs
from tabpet.settings import TreeSettings
from tabpet.trees.references import fit_reference
from tabpet.trees.runs import start_run
from tabpet.trees.tuning import tabulate_trials, tune_trees

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TreeJob:
    """What the cells of a job share."""

    settings: Mapping[str, dict[str, Any]]  # by learner, as they stand in a run's provenance
    threads: int
    max_seconds: float | None = None

    def tune(self, cell: Cell, attempt: Attempt) -> None:
        """Search for a learner's parameters; the journal of an earlier job is gone on from."""
        settings = {**self.settings[cell.model], "max_seconds": self.max_seconds}
        run, trials = tune_trees(
            _split(cell),
            cell.model,
            cell.seed,
            TreeSettings.model_validate(settings),
            cell.journal,
            self.threads,
            provenance=self._provenance(cell),
            retries_left=attempt.retries_left,
            interrupt=attempt.interrupt,
        )
        write_parquet(trials, cell.trials)
        _write(run, cell)

    def fit(self, cell: Cell, attempt: Attempt) -> None:
        """Fit a plain reference."""
        run = fit_reference(
            _split(cell),
            cell.model,
            cell.seed,
            TreeSettings.model_validate(self.settings[cell.model]),
            self.threads,
            provenance=self._provenance(cell),
            retries_left=attempt.retries_left,
            interrupt=attempt.interrupt,
        )
        _write(run, cell)

    def lose_search(self, cell: Cell, status: Status, reason: str) -> None:
        """Write the files of a search that can't do so itself any more; its journal stays."""
        write_parquet(tabulate_trials([]), cell.trials)
        self.lose(cell, status, reason)

    def lose(self, cell: Cell, status: Status, reason: str) -> None:
        """Write the row of a cell that can't do so itself any more."""
        settings = TreeSettings.model_validate(self.settings[cell.model])
        make_run = start_run(
            _split(cell), cell.model, cell.encoding, cell.seed, settings, self._provenance(cell)
        )
        _write(make_run(status=status, reason=reason), cell)

    def _provenance(self, cell: Cell) -> dict[str, Any]:
        return make_provenance(self.settings[cell.model], cell.inputs)


def _split(cell: Cell) -> Split:
    return Split.load(cell.inputs["split"], cell.inputs["split info"])


def _write(run: Run, cell: Cell) -> None:
    logger.info("%s: validation %s, test %s", run.status, run.val_score, run.test_score)
    if run.reason:
        logger.warning("%s", run.reason)
    write_runs([run], cell.run)
