"""What a tree learner does for a search: fit one set of parameters, stopped by validation rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tabpet.config import TreeSettings
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


class Learner(Protocol):
    """A learner that holds its table and fits it again and again."""

    def fit(self, parameters: Mapping[str, Any], watch: Watch) -> Fit:
        """Fit one set of parameters; the round that validation rows like best is kept."""


def build_learner(
    name: str, table: Table, settings: TreeSettings, seed: int, threads: int
) -> Learner:
    """Make a learner by its name."""
    if name == "xgboost":
        from tabpet.trees.xgboost_learner import XGBoostLearner

        return XGBoostLearner(table, settings, seed, threads)
    from tabpet.trees.catboost_learner import CatBoostLearner

    return CatBoostLearner(table, settings, seed, threads)


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
