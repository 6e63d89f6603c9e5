"""Acyclicity of weighted directed graphs: the NOTEARS function h(W) = tr(exp(W o W)) - d with its
gradient, and tests on the edges themselves."""

import numpy as np

# From this size on it pays to look for strongly connected components first.
_SMALLEST_TO_SPLIT = 48


def acyclicity(weights: np.ndarray) -> tuple[float, np.ndarray]:
    """Return h(W) and its gradient, (d, d), for weights with a zero diagonal."""
    with np.errstate(over="ignore", invalid="ignore"):
        if len(weights) < _SMALLEST_TO_SPLIT:
            return _dense_acyclicity(weights)
        return _split_acyclicity(weights)


def _dense_acyclicity(weights: np.ndarray) -> tuple[float, np.ndarray]:
    """h and gradient through one matrix exponential."""
    from scipy.linalg import expm

    exponential = expm(weights * weights)
    return float(np.trace(exponential)) - len(weights), exponential.T * weights * 2


def _split_acyclicity(weights: np.ndarray) -> tuple[float, np.ndarray]:
    """h and gradient as sums over strongly connected components.

    Closed walks stay inside a component, so edges between components add nothing to h and have a
    zero gradient; this is exact, and most of a sparse graph drops out.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    _, labels = connected_components(csr_array(weights != 0), connection="strong")
    h, gradient = 0.0, np.zeros_like(weights)
    sizes = np.bincount(labels)
    for label in np.flatnonzero(sizes > 1):
        members = np.flatnonzero(labels == label)
        if len(members) == len(weights):
            return _dense_acyclicity(weights)
        block = np.ix_(members, members)
        part, gradient[block] = _dense_acyclicity(weights[block])
        h += part
    return h, gradient


def is_acyclic(weights: np.ndarray) -> bool:
    """Whether the non-zero entries form a DAG: sources are removed until none is left."""
    edges = weights != 0
    alive = np.ones(len(edges), dtype=bool)
    while alive.any():
        sources = alive & ~edges[alive].any(axis=0)
        if not sources.any():
            return False
        alive &= ~sources
    return True


def drop_weakest_until_acyclic(weights: np.ndarray) -> np.ndarray:
    """Raise the threshold, edge by edge, to the lowest value that leaves a DAG."""
    strengths = np.unique(np.abs(weights[weights != 0]))
    low, high = 0, len(strengths)  # dropping everything always leaves a DAG
    while low < high:
        middle = (low + high) // 2
        if is_acyclic(np.where(np.abs(weights) >= strengths[middle], weights, 0.0)):
            high = middle
        else:
            low = middle + 1
    if low == len(strengths):
        return np.zeros_like(weights)
    return np.where(np.abs(weights) >= strengths[low], weights, 0.0)
