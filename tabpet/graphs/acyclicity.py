"""Acyclicity of weighted directed graphs: the NOTEARS function h(W) = tr(exp(W o W)) - d with its
gradient, and tests on the edges themselves."""

from bisect import bisect_left

import numpy as np


def acyclicity(weights: np.ndarray) -> tuple[float, np.ndarray]:
    """Return h(W) and its gradient, (d, d), for weights with a zero diagonal."""
    from scipy.linalg import expm

    exponential = expm(weights * weights)
    return float(np.trace(exponential)) - len(weights), exponential.T * weights * 2


def is_acyclic(weights: np.ndarray) -> bool:
    """Whether the non-zero entries form a DAG: no node reaches itself."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if weights.diagonal().any():
        return False
    n_components, _ = connected_components(csr_array(weights != 0), connection="strong")
    return bool(n_components == len(weights))


def threshold(weights: np.ndarray, smallest: float) -> np.ndarray:
    """Set weights below `smallest` in absolute value to zero."""
    return np.where(np.abs(weights) >= smallest, weights, 0.0)


def drop_weakest_until_acyclic(weights: np.ndarray) -> np.ndarray:
    """Raise the threshold, edge by edge, to the lowest value that leaves a DAG."""
    # Dropping everything always leaves one.
    cuts = [*np.unique(np.abs(weights[weights != 0])), np.inf]
    lowest = bisect_left(cuts, True, key=lambda cut: is_acyclic(threshold(weights, cut)))
    return threshold(weights, cuts[lowest])
