"""Logistic or ridge regression on scaled numbers and one-hot levels."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tabpet.settings import TreeSettings
from tabpet.trees.fitting import Fit, Watch, score_fit
from tabpet.trees.table import Table


class LinearFitter:
    """A linear model of one table; levels that no training row has are all 0."""

    def __init__(self, table: Table, settings: TreeSettings, seed: int, threads: int) -> None:
        self._table, self._balanced = table, settings.balanced

    def fit(self, parameters: Mapping[str, Any], watch: Watch) -> Fit:
        """Fit once; there is nothing to search and nothing to stop."""
        from sklearn.compose import make_column_transformer
        from sklearn.linear_model import LogisticRegression, Ridge
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder

        table = self._table
        levels = [np.arange(table.levels[column]) for column in table.categorical]
        one_hot = OneHotEncoder(categories=levels, handle_unknown="ignore")
        columns = make_column_transformer((one_hot, table.categorical), remainder="passthrough")
        # On sparse columns ridge regression is solved step by step; the tolerance makes it exact.
        regression = Ridge(solver="sparse_cg", tol=1e-10)
        logistic = LogisticRegression(max_iter=1000)
        model = make_pipeline(columns, regression if table.task == "regression" else logistic)
        rows = table.training_rows(self._balanced)
        weights = {f"{model.steps[-1][0]}__sample_weight": rows.weight}
        model.fit(rows.values, rows.target, **weights)
        predict = model.predict if table.task == "regression" else model.predict_proba
        return score_fit(table, lambda part: predict(table.values[part]), self._balanced)
