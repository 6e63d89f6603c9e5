"""A cell of the workflow: from its files to its files."""

from dataclasses import dataclass
from typing import Any

import torch

from tabpet.cells import Attempt
from tabpet.data.prepare import Split
from tabpet.plan import Cell
from tabpet.registry import MODELS
from tabpet.runs import Status, make_provenance
from tabpet.settings import TrainingSettings
from tabpet.training.cell import TrainingCell, lost_cell, run_cell
from tabpet.training.checkpoint import Checkpoint
from tabpet.training.files import Journal, checkpoint_path, write_cell
from tabpet.training.memory import keep_freed_memory
from tabpet.workflow import JobSettings


@dataclass(frozen=True)
class TrainingJob:
    """What the cells of a job share."""

    settings: dict[str, Any]  # behind the result, as they stand in its provenance
    alphas: tuple[float, ...]
    aside: JobSettings
    threads: int
    memory_mb: int
    ranks: bool = False  # whether effective ranks are measured

    def train(self, place: Cell, attempt: Attempt) -> None:
        """Train a cell and write its files; what an earlier job left is gone on from."""
        torch.set_num_threads(self.threads)
        keep_freed_memory()
        # Saved now and then if the settings say so, and in any case when the job must end.
        seconds = self.aside.checkpoint_seconds
        checkpoint = Checkpoint(
            checkpoint_path(place.journal), float("inf") if seconds is None else seconds
        )
        result = run_cell(
            self._cell(place),
            self._split(place),
            (place.inputs["encoding"], place.inputs["encoding info"]),
            checkpoint=checkpoint,
            journal=Journal(place.journal),
            provenance=self._provenance(place),
            memory_mb=self.memory_mb,
            retries_left=attempt.retries_left,
            interrupt=attempt.interrupt,
        )
        write_cell(result, place.run)
        checkpoint.delete_groups()

    def lose(self, place: Cell, status: Status, reason: str) -> None:
        """Write the rows of a cell that can't do so itself any more."""
        result = lost_cell(
            self._cell(place),
            self._split(place).info.task,
            Journal(place.journal),
            self._provenance(place),
            status,
            reason,
        )
        write_cell(result, place.run)

    def _cell(self, place: Cell) -> TrainingCell:
        model = MODELS.find(place.model).settings
        training = TrainingSettings.model_validate(
            {
                **self.settings["training"],
                "max_seconds": self.aside.training_seconds,
                "device": self.aside.device,
            }
        )
        return TrainingCell(
            **place.identity,
            study=place.study,
            ranks=self.ranks,
            alphas=self.alphas,
            batch_size=self.settings["batch_size"],
            model_settings=model.model_validate(self.settings["model"]),
            training=training,
        )

    def _split(self, place: Cell) -> Split:
        return Split.load(place.inputs["split"], place.inputs["split info"])

    def _provenance(self, place: Cell) -> dict[str, Any]:
        return make_provenance(self.settings, place.inputs)
