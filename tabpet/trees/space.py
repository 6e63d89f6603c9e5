"""Drawing from a learner's search space (paper, appendix F.1)."""

from collections.abc import Mapping
from typing import Any

import optuna

from tabpet.entries import Range


def suggest(trial: optuna.Trial, space: Mapping[str, Range]) -> dict[str, Any]:
    """One point of a space: the parameters that are searched."""
    return {name: _suggest_one(trial, name, where) for name, where in space.items()}


def _suggest_one(trial: optuna.Trial, name: str, where: Range) -> float:
    if where.or_zero and not trial.suggest_categorical(f"{name}_used", [False, True]):
        return 0.0
    if where.integer:
        return trial.suggest_int(name, int(where.low), int(where.high))
    return trial.suggest_float(name, where.low, where.high, log=where.log)
