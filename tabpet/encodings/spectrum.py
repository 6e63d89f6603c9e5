"""Laplacian eigenpairs that depend on the graph alone: not on node order, LAPACK or threads
(Methodology, "Positional Encoding Creation")."""

from itertools import pairwise

import numpy as np

from tabpet.graphs.laplacian import LaplacianKind, component_labels, laplacian_matrix

# Eigenvalues closer than this share of the largest are one eigenvalue of higher multiplicity.
_SAME_EIGENVALUE = 1e-11
# Entries closer than this share of the largest tie; the first by node name wins.
_SAME_ENTRY = 1e-9


def eigenpairs(weights: np.ndarray, kind: LaplacianKind) -> tuple[np.ndarray, np.ndarray]:
    """Ascending eigenvalues (n,) and eigenvectors (n, n), the trivial one first.

    `weights` are symmetric, with nodes in the order of their names. Inside an eigenspace of several
    dimensions any basis is as good as another, so a fixed one is taken.
    """
    values, vectors = np.linalg.eigh(laplacian_matrix(weights, kind))
    tolerance = _SAME_EIGENVALUE * float(np.abs(values).max(initial=0.0))
    starts = np.flatnonzero(np.diff(values, prepend=-np.inf) > tolerance)
    for start, stop in pairwise([*starts, len(values)]):
        starters = _null_space(weights, kind) if start == 0 else np.zeros((len(values), 0))
        if stop - start > 1 or start == 0:
            vectors[:, start:stop] = _fixed_basis(vectors[:, start:stop], starters)
    return np.maximum(values, 0.0), vectors * _signs(vectors)


def _null_space(weights: np.ndarray, kind: LaplacianKind) -> np.ndarray:
    """Vectors that span the null space: the trivial one, then components from large to small."""
    degrees = weights.sum(axis=1)
    labels = component_labels(weights)
    profile = np.ones(len(weights)) if kind == "combinatorial" else np.sqrt(degrees)
    sizes = np.bincount(labels)
    # Labels count up with the first node of a component, so equal sizes go by node name.
    ordered = np.argsort(-sizes, kind="stable")
    columns = [profile] + [np.where(labels == label, profile, 0.0) for label in ordered]
    return np.column_stack(columns)


def _fixed_basis(space: np.ndarray, starters: np.ndarray) -> np.ndarray:
    """Orthonormal basis of a space: what `starters` span in it, then nodes in turn.

    After the starters, the node whose unit vector has most of its length left in the space gives
    the next vector (Gram-Schmidt with pivoting on the projection).
    """
    n, size = space.shape
    basis = np.zeros((n, size))
    count = 0
    for column in starters.T:
        if count == size:
            break
        vector = _remainder(space @ (space.T @ column), basis[:, :count])
        length = np.linalg.norm(vector)
        if length > 1e-6 * np.linalg.norm(column):
            basis[:, count] = vector / length
            count += 1
    while count < size:
        left = np.square(space).sum(axis=1) - np.square(basis[:, :count]).sum(axis=1)
        node = int(np.flatnonzero(left >= left.max() - _SAME_ENTRY)[0])
        vector = _remainder(space @ space[node], basis[:, :count])
        basis[:, count] = vector / np.linalg.norm(vector)
        count += 1
    return basis


def _remainder(vector: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """What is left of a vector outside a basis; taken twice, for accuracy."""
    for _ in range(2):
        vector = vector - basis @ (basis.T @ vector)
    return vector


def _signs(vectors: np.ndarray) -> np.ndarray:
    """+1 or -1 per column: the largest absolute entry becomes positive, the first one in a tie."""
    sizes = np.abs(vectors)
    largest = sizes >= sizes.max(axis=0, initial=0.0) * (1 - _SAME_ENTRY)
    if not vectors.size:
        return np.ones(vectors.shape[1])
    first = np.argmax(largest, axis=0)
    return np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
