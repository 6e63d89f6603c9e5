"""Linear NOTEARS with l2 loss in its plain form: rows in the loss, every lambda to the end."""

import numpy as np
from scipy.linalg import expm
from scipy.optimize import minimize


def plain_notears(
    rows: np.ndarray,
    penalty: float,
    max_iter: int = 100,
    h_tol: float = 1e-8,
    rho_max: float = 1e16,
    w_threshold: float = 0.3,
) -> np.ndarray:
    """Weights (d, d) of Zheng et al. (2018), algorithm 1, entry [i, j] for i -> j."""
    n, d = rows.shape
    rows = rows - rows.mean(axis=0)

    def signed(halves):
        return (halves[: d * d] - halves[d * d :]).reshape(d, d)

    def cycles(weights):
        exponential = expm(weights * weights)
        return np.trace(exponential) - d, exponential.T * weights * 2

    def lagrangian(halves, rho, multiplier):
        weights = signed(halves)
        errors = rows - rows @ weights
        h, h_slope = cycles(weights)
        value = 0.5 / n * (errors**2).sum() + 0.5 * rho * h * h + multiplier * h
        slope = -1.0 / n * rows.T @ errors + (rho * h + multiplier) * h_slope
        gradient = np.concatenate([slope + penalty, -slope + penalty], axis=None)
        return value + penalty * halves.sum(), gradient

    bounds = [(0, 0) if i == j else (0, None) for _ in range(2) for i in range(d) for j in range(d)]
    halves, rho, multiplier, h = np.zeros(2 * d * d), 1.0, 0.0, np.inf
    for _ in range(max_iter):
        while rho < rho_max:
            found = minimize(
                lagrangian, halves, (rho, multiplier), jac=True, method="L-BFGS-B", bounds=bounds
            ).x
            new_h = cycles(signed(found))[0]
            if new_h <= 0.25 * h:
                break
            rho *= 10
        halves, h = found, new_h
        multiplier += rho * h
        if h <= h_tol or rho >= rho_max:
            break
    weights = signed(halves)
    weights[np.abs(weights) < w_threshold] = 0
    return weights
