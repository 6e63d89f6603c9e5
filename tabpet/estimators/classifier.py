"""Tab-PET for classes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, column_or_1d

from tabpet.errors import TableError
from tabpet.estimators.base import TabPETEstimator
from tabpet.estimators.rows import TARGET
from tabpet.formats import count
from tabpet.training.table import Table


@dataclass(eq=False, repr=False, kw_only=True)
class TabPETClassifier(ClassifierMixin, TabPETEstimator):
    """Predicts classes; parameters are those of `TabPETEstimator`, and `class_weight`.

    `class_weight`: with `"balanced"` all classes count the same in the loss and in the validation
    score, as in the paper; a mapping gives a weight per class; with None all rows count the same.
    """

    _task = "classification"

    class_weight: Literal["balanced"] | Mapping[Any, float] | None = "balanced"

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class, (rows,)."""
        outputs = self._score_rows(X)
        return self.classes_[outputs.argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities in the order of `classes_`, (rows, classes)."""
        return softmax(self._score_rows(X), axis=1)

    def _read_target(self, y: Any) -> pd.Series:
        y = self._check_target(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise TableError(
                f"The target has one class only ({str(self.classes_[0])!r}): there is nothing to "
                "classify."
            )
        return self._coded(codes)

    def _read_later_target(self, y: Any) -> pd.Series:
        y = self._check_target(y)
        known = np.isin(y, self.classes_)
        if not known.all():
            raise TableError(
                f"y_val has the class {str(y[~known][0])!r}, which y has not. Leave these rows out."
            )
        return self._coded(np.searchsorted(self.classes_, y))

    def _check_target(self, y: Any) -> np.ndarray:
        # Not what scikit-learn makes of extension types: floats, where pandas has truth values.
        y = column_or_1d(y.astype(object) if isinstance(y, pd.Series) else y, warn=True)
        y = pd.Series(y).infer_objects().to_numpy() if y.dtype == object else y
        missing = pd.isna(y)
        if missing.any():
            raise TableError(
                f"Input y contains NaN: the class is missing in "
                f"{count(missing.sum(), 'row')}. Leave these rows out."
            )
        y = _check_y(y, estimator=self)
        if y.dtype == object and len({isinstance(label, str) for label in y}) > 1:
            raise TableError(
                "The target mixes text and numbers, so its classes have no order. Make all of "
                "them text: y.astype(str)."
            )
        check_classification_targets(y)
        return y

    def _coded(self, codes: np.ndarray) -> pd.Series:
        names = pd.Index([str(label) for label in self.classes_])
        return pd.Series(pd.Categorical.from_codes(codes.tolist(), categories=names), name=TARGET)

    def _weigh_classes(self, table: Table) -> Table:
        wish = self.class_weight
        if isinstance(wish, str) and wish == "balanced":
            return table
        weights = np.ones(len(self.classes_), dtype=np.float32)
        if wish is not None:
            if not isinstance(wish, Mapping):
                raise TableError(
                    f"class_weight is {wish!r}; allowed are 'balanced', None, or a weight per "
                    "class such as {'yes': 2.0, 'no': 1.0}."
                )
            if unknown := [label for label in wish if label not in self.classes_.tolist()]:
                raise TableError(
                    f"class_weight names the class {unknown[0]!r}, which y has not; its classes "
                    f"are {', '.join(map(repr, self.classes_.tolist()[:10]))}."
                )
            for place, label in enumerate(self.classes_):
                weight = wish.get(label, 1.0)
                if not (isinstance(weight, Real) and 0 <= weight < np.inf):
                    raise TableError(
                        f"class_weight of {str(label)!r} is {weight!r}; a weight is a number that "
                        "is not negative."
                    )
                weights[place] = weight
            if not weights.any():
                raise TableError("class_weight is 0 for all classes: no row would count.")
        device = table.parts["train"].numeric.device
        return replace(
            table, class_weights=torch.from_numpy(weights).to(device), accuracy_weights=weights
        )
