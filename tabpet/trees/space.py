"""The search spaces of the tree learners, as data (paper, appendix F.1)."""

from dataclasses import dataclass
from typing import Any

import optuna


@dataclass(frozen=True)
class Range:
    """Where a parameter is searched: uniformly, on a log scale, or 0 as a choice beside that."""

    low: float
    high: float
    log: bool = False
    integer: bool = False
    or_zero: bool = False


_ZERO_OR_LOG = Range(1e-8, 1e2, log=True, or_zero=True)

SPACES: dict[str, dict[str, Range]] = {
    "xgboost": {
        "max_depth": Range(3, 10, integer=True),
        "min_child_weight": Range(1e-8, 1e5, log=True),
        "subsample": Range(0.5, 1.0),
        "learning_rate": Range(1e-5, 1.0, log=True),
        "colsample_bylevel": Range(0.5, 1.0),
        "colsample_bytree": Range(0.5, 1.0),
        "gamma": _ZERO_OR_LOG,
        "reg_lambda": _ZERO_OR_LOG,
        "reg_alpha": _ZERO_OR_LOG,
    },
    "catboost": {
        "max_depth": Range(3, 10, integer=True),
        "learning_rate": Range(1e-5, 1.0, log=True),
        "bagging_temperature": Range(0.0, 1.0),
        "l2_leaf_reg": Range(1.0, 10.0, log=True),
        "leaf_estimation_iterations": Range(1, 10, integer=True),
    },
}

# NOTE[PAPER]: the text names no bootstrap, but only the Bayesian one has a bagging temperature.
FIXED: dict[str, dict[str, Any]] = {
    "xgboost": {"booster": "gbtree"},
    "catboost": {"bootstrap_type": "Bayesian"},
}


def suggest(trial: optuna.Trial, learner: str) -> dict[str, Any]:
    """One point of a learner's space: the parameters that are searched."""
    return {name: _suggest_one(trial, name, where) for name, where in SPACES[learner].items()}


def _suggest_one(trial: optuna.Trial, name: str, where: Range) -> float:
    if where.or_zero and not trial.suggest_categorical(f"{name}_used", [False, True]):
        return 0.0
    if where.integer:
        return trial.suggest_int(name, int(where.low), int(where.high))
    return trial.suggest_float(name, where.low, where.high, log=where.log)
