"""Plain references: untuned trees, and logistic or ridge regression."""

import logging
import time
from typing import Any

import numpy as np

from tabpet.config import TreeSettings
from tabpet.data.prepare import Split
from tabpet.errors import TabpetError
from tabpet.plan import DEFAULT
from tabpet.runs import Run, is_transient
from tabpet.trees.learners import Fit, build_learner, score_fit
from tabpet.trees.rows import failure_reason, failure_status, start_row
from tabpet.trees.table import Table

logger = logging.getLogger(__name__)
_PACKAGE = {"xgboost": "xgboost", "catboost": "catboost", "linear": "scikit-learn"}


def fit_reference(
    split: Split,
    name: str,
    seed: int,
    settings: TreeSettings,
    threads: int = 1,
    *,
    provenance: dict[str, Any] | None = None,
    retries_left: int = 0,
) -> Run:
    """Fit `xgboost` or `catboost` with the library's own parameters, or a `linear` model.

    The untuned trees are weighted and stopped as in a search, so that the parameters alone make
    the difference. While there are retries left, what another try may mend is raised.
    """
    device = "cpu" if name == "linear" else settings.device
    row = start_row(split, name, DEFAULT, seed, device, [_PACKAGE[name]], provenance)
    started = time.monotonic()
    try:
        fit = _fit(Table.from_split(split), name, seed, settings, threads)
    except TabpetError:
        raise
    except Exception as error:  # a learner that fails is a row that says so
        if retries_left and is_transient(error):
            raise
        logger.exception("%s failed", name)
        seconds = time.monotonic() - started
        return row(status=failure_status(error), reason=failure_reason(error), seconds=seconds)
    return row(
        val_score=fit.val_score,
        test_score=fit.test_score,
        best_epoch=fit.rounds,
        epochs=fit.trained,
        seconds=time.monotonic() - started,
    )


def _fit(table: Table, name: str, seed: int, settings: TreeSettings, threads: int) -> Fit:
    if name == "linear":
        return _fit_linear(table, settings.balanced)
    return build_learner(name, table, settings, seed, threads).fit({}, lambda rounds, error: False)


def _fit_linear(table: Table, balanced: bool) -> Fit:
    """Logistic or ridge regression on scaled numbers and one-hot levels; unseen ones are all 0."""
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    levels = [np.arange(table.levels[column]) for column in table.categorical]
    one_hot = OneHotEncoder(categories=levels, handle_unknown="ignore")
    columns = make_column_transformer((one_hot, table.categorical), remainder="passthrough")
    # On sparse columns ridge regression is solved step by step; the tolerance makes it exact.
    regression = Ridge(solver="sparse_cg", tol=1e-10)
    logistic = LogisticRegression(max_iter=1000)
    model = make_pipeline(columns, regression if table.task == "regression" else logistic)
    rows = table.training_rows(balanced)
    weights = {f"{model.steps[-1][0]}__sample_weight": rows.weight}
    model.fit(rows.values, rows.target, **weights)
    predict = model.predict if table.task == "regression" else model.predict_proba
    return score_fit(table, lambda part: predict(table.values[part]), balanced)
