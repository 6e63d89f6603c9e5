"""Tab-PET for numbers."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_y, column_or_1d

from tabpet.errors import TableError
from tabpet.estimators.base import TabPETEstimator
from tabpet.estimators.rows import TARGET


class TabPETRegressor(RegressorMixin, TabPETEstimator):
    """Predicts numbers; parameters are those of `TabPETEstimator`."""

    _task = "regression"

    def predict(self, X: Any) -> np.ndarray:
        """Numbers in the unit of the target, (rows,)."""
        outputs = self._score_rows(X)[:, 0]
        target = self.preparation_.target
        return outputs * target.scale + target.mean

    def _read_target(self, y: Any) -> pd.Series:
        y = column_or_1d(y, warn=True)
        if y.dtype.kind in "Mm":
            y = pd.Series(y).astype(object).to_numpy()  # else numbers of nanoseconds
        if y.dtype.kind in "OUS":
            try:
                y = y.astype(np.float64)
            except (ValueError, TypeError):
                wrong = next(value for value in y if not _is_number(value))
                raise TableError(
                    f"The target holds {str(wrong)!r}, but TabPETRegressor predicts numbers. Use "
                    "TabPETClassifier for classes, or correct the target."
                ) from None
        return pd.Series(
            _check_y(y, y_numeric=True, estimator=self).astype(np.float64), name=TARGET
        )

    _read_later_target = _read_target


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return False
    return True
