"""The adaptive lasso of `lingam.utils.predict_adaptive_lasso`, from correlations.

The steps are those of lingam and of sklearn's LassoLarsIC: least squares, a lasso path on
predictors scaled by its coefficients, the point of smallest BIC, least squares on what is left.
All of it depends on the rows through correlations only, so none of it costs with n.
"""

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.linear_model import lars_path_gram

# Share of unexplained variance below which correlations are not exact enough.
_NEARLY_COLLINEAR = 1e-6


class Regressions:
    """Regressions of each column on all before it."""

    def __init__(self, values: np.ndarray) -> None:
        self._n = len(values)
        spread = values.std(axis=0)
        # A constant column gets the correlation 0 with all, itself included, and ends the factor.
        self._spread = np.where(spread > 0, spread, 1.0)
        scaled = (values - values.mean(axis=0)) / self._spread
        self._correlations = scaled.T @ scaled / self._n
        self._factor, self._n_regular = _cholesky(self._correlations)

    def well_posed(self, i: int) -> bool:
        """Whether column i and those before it are far enough from collinear for correlations."""
        return i < self._n_regular and i + 1 < self._n

    def adaptive_lasso(self, i: int) -> np.ndarray:
        """Weights of the columns before i in column i, in the units of the values, (i,)."""
        n, inner, cross = self._n, self._correlations[:i, :i], self._correlations[:i, i]
        least_squares = solve_triangular(
            self._factor[:i, :i], self._factor[i, :i], lower=True, trans="T", check_finite=False
        )
        scale = np.abs(least_squares)
        gram = n * inner * np.outer(scale, scale)
        products = n * cross * scale
        _, _, path = lars_path_gram(products, gram, n_samples=n, method="lasso")
        errors = n - 2 * products @ path + np.einsum("ij,ij->j", path, gram @ path)
        noise = n * self._factor[i, i] ** 2 / (n - i - 1)
        sizes = (np.abs(path) > np.finfo(np.float64).eps).sum(axis=0)
        best = int(np.argmin(errors / noise + np.log(n) * sizes))
        kept = np.flatnonzero(np.abs(path[:, best] * scale) > 0)
        weights = np.zeros(i)
        if len(kept):
            weights[kept] = np.linalg.solve(inner[np.ix_(kept, kept)], cross[kept])
        return weights * self._spread[i] / self._spread[:i]


def _cholesky(correlations: np.ndarray) -> tuple[np.ndarray, int]:
    """Cholesky factor of the leading columns up to the first nearly collinear one; their number.

    A pivot is the share of a column's variance that the columns before it leave unexplained.
    """
    d = len(correlations)
    factor = np.zeros((d, d))
    for i in range(d):
        row = correlations[i, :i].copy()
        if i:
            row = solve_triangular(factor[:i, :i], row, lower=True, check_finite=False)
        pivot = correlations[i, i] - row @ row
        if pivot < _NEARLY_COLLINEAR:
            return factor, i
        factor[i, :i], factor[i, i] = row, np.sqrt(pivot)
    return factor, d
