"""Symmetrised weights and both graph Laplacians (Methodology, "Positional Encoding Creation")."""

from typing import Literal

import numpy as np

from tabpet.errors import TabpetError

Symmetrize = Literal["mean", "max"]
LaplacianKind = Literal["combinatorial", "normalized"]


def symmetric_weights(adjacency: np.ndarray, how: Symmetrize = "mean") -> np.ndarray:
    """Absolute weights made symmetric, without self-loops."""
    weights = np.abs(adjacency)
    # NOTE[PAPER]: (A + A') / 2 is the text; the released code takes the elementwise maximum.
    if how == "mean":
        weights = (weights + weights.T) / 2
    elif how == "max":
        weights = np.maximum(weights, weights.T)
    else:
        raise TabpetError(f"symmetrize is {how!r}; allowed are 'mean' and 'max'")
    np.fill_diagonal(weights, 0.0)
    return weights


def laplacian_matrix(weights: np.ndarray, kind: LaplacianKind = "combinatorial") -> np.ndarray:
    """D - A, or I - D^(-1/2) A D^(-1/2) in which isolated nodes have degree 1."""
    degrees = weights.sum(axis=1)
    if kind == "combinatorial":
        return np.diag(degrees) - weights
    if kind == "normalized":
        # NOTE[AUTHORS]: degree 1 gives isolated nodes the eigenvalue 1, in the middle of the
        # spectrum; the textbook value 0 would count each of them as a component.
        roots = np.sqrt(np.where(degrees > 0, degrees, 1.0))
        return np.eye(len(weights)) - weights / np.outer(roots, roots)
    raise TabpetError(f"laplacian is {kind!r}; allowed are 'combinatorial' and 'normalized'")


def component_labels(weights: np.ndarray) -> np.ndarray:
    """Number of the connected component of every node, (n,)."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if not len(weights):
        return np.zeros(0, dtype=np.int64)
    return connected_components(csr_array(weights != 0), directed=False)[1].astype(np.int64)
