"""What a learner does for a search: fit one set of parameters, stopped by validation rows."""

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tabpet.extras import need
from tabpet.registry import LEARNERS
from tabpet.settings import TreeSettings
from tabpet.trees.table import Table

# Told after every round: rounds so far, and what stops training (smaller is better). True ends
# the fit there.
Watch = Callable[[int, float], bool]


@dataclass(frozen=True)
class Fit:
    """A fitted model, by what it is worth."""

    val_score: float
    test_score: float
    val_loss: float  # weighted like training, whatever stopped it; of numbers, their score
    rounds: int | None = None  # of the kept model
    trained: int | None = None  # until it was stopped


class Fitter(Protocol):
    """Holds a table and fits a learner to it again and again."""

    def fit(self, parameters: Mapping[str, Any], watch: Watch) -> Fit:
        """Fit one set of parameters; the round that validation rows like best is kept."""


def build_fitter(
    learner: str, table: Table, settings: TreeSettings, seed: int, threads: int
) -> Fitter:
    """The fitter of a learner by its key."""
    entry = LEARNERS.find(learner)
    need(entry.fitter.partition(":")[0], entry.label)
    return pkgutil.resolve_name(entry.fitter)(table, settings, seed, threads)


def score_fit(
    table: Table,
    predict: Callable[[str], np.ndarray],
    balanced: bool,
    rounds: int | None = None,
    trained: int | None = None,
) -> Fit:
    """Score a model that gives (n, K) probabilities or (n,) numbers for a part by its name."""
    outputs = {part: predict(part) for part in ("val", "test")}
    classified = table.task == "classification"
    val, test = (
        table.score(part, output.argmax(axis=1) if classified else output)
        for part, output in outputs.items()
    )
    if not np.isfinite([val, test]).all():
        raise FloatingPointError(f"scores are not finite: validation {val}, test {test}")
    return Fit(val, test, table.loss("val", outputs["val"], balanced), rounds, trained)
