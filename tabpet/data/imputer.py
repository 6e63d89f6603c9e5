"""Missing numbers from the others of their row: scikit-learn's IterativeImputer as plain arrays.

Learning is scikit-learn's. What it learned are a mean per column and a sequence of linear models,
which can be stored without code and applied to later rows.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Imputer:
    """Column `places[i]` is imputed from the other columns in step i."""

    means: np.ndarray  # (d,), what a gap is filled with before the first step
    places: np.ndarray  # (steps,), int64
    slopes: np.ndarray  # (steps, d - 1), of the other columns in their order
    offsets: np.ndarray  # (steps,)

    @classmethod
    def learn(cls, training: pd.DataFrame, seed: int) -> "Imputer":
        """Learn from training rows."""
        # Readers of a split import this module, and few of them learn: scikit-learn takes a second.
        from sklearn.experimental import enable_iterative_imputer  # noqa: F401 (registers it)
        from sklearn.impute import IterativeImputer

        fitted = IterativeImputer(random_state=seed).fit(training.astype("float64"))
        steps = fitted.imputation_sequence_
        d = training.shape[1]
        return cls(
            means=fitted.initial_imputer_.statistics_,
            places=np.array([step.feat_idx for step in steps], dtype=np.int64),
            slopes=np.array([step.estimator.coef_ for step in steps]).reshape(len(steps), d - 1),
            offsets=np.array([step.estimator.intercept_ for step in steps], dtype=np.float64),
        )

    def fill(self, rows: pd.DataFrame) -> np.ndarray:
        """The rows (n, d) without gaps; what is there stays as it is."""
        values = rows.to_numpy(dtype="float64")
        gaps = np.isnan(values)
        filled = np.where(gaps, self.means, values)
        for place, slopes, offset in zip(self.places, self.slopes, self.offsets, strict=True):
            rows_with_gap = gaps[:, place]
            others = np.delete(filled[rows_with_gap], place, axis=1)
            filled[rows_with_gap, place] = others @ slopes + offset
        return filled
