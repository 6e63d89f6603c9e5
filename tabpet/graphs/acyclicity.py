"""Acyclicity of weighted directed graphs: the NOTEARS function h(W) = tr(exp(W o W)) - d with its
gradient, and tests on the edges themselves."""

import numpy as np


def acyclicity(weights: np.ndarray) -> tuple[float, np.ndarray]:
    """Return h(W) and its gradient, (d, d), for weights with a zero diagonal."""
    from scipy.linalg import expm

    exponential = expm(weights * weights)
    return float(np.trace(exponential)) - len(weights), exponential.T * weights * 2


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
