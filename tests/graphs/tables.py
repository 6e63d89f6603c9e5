"""Small generated tables for the graph tests."""

import numpy as np

from tabpet.data.nodes import NodeMatrix


def matrix_of(values: np.ndarray, names: list[str] | None = None) -> NodeMatrix:
    """Numeric columns as standardised nodes, one per feature."""
    names = names or [f"x{i:02d}" for i in range(values.shape[1])]
    scaled = (values - values.mean(axis=0)) / values.std(axis=0)
    return NodeMatrix(scaled, tuple(names), tuple(names), np.arange(len(names)))


def linear_sem(n: int, d: int, seed: int, degree: float = 2.0) -> np.ndarray:
    """Rows of a linear model with Laplace noise over a random DAG, columns in random order."""
    rng = np.random.default_rng(seed)
    parents = np.tril(rng.uniform(size=(d, d)) < min(1.0, degree / d), -1)
    weights = parents * rng.choice([-1.0, 1.0], (d, d)) * rng.uniform(0.6, 1.4, (d, d))
    values = rng.laplace(size=(n, d))
    for i in range(d):
        values[:, i] += values @ weights[i]
    return values[:, rng.permutation(d)]


def one_hot_table(n: int, seed: int) -> NodeMatrix:
    """Two numeric features and full one-hot groups of 2, 3 and 2 levels, the last a copy."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, n)
    second = (first + rng.integers(0, 2, n)) % 3
    numeric = rng.laplace(size=(n, 2)) + second[:, None]
    columns, nodes, owners = [numeric[:, 0], numeric[:, 1]], ["u", "v"], [0, 1]
    for owner, (name, codes) in enumerate([("a", first), ("b", second), ("c", first)], start=2):
        for level in np.unique(codes):
            columns.append((codes == level).astype(float))
            nodes.append(f"{name}={level}")
            owners.append(owner)
    values = np.column_stack(columns)
    scaled = (values - values.mean(axis=0)) / values.std(axis=0)
    return NodeMatrix(scaled, tuple(nodes), ("u", "v", "a", "b", "c"), np.array(owners))


def permuted(matrix: NodeMatrix, order: np.ndarray) -> NodeMatrix:
    """The same table with its nodes in another order."""
    return NodeMatrix(
        matrix.values[:, order],
        tuple(matrix.nodes[i] for i in order),
        matrix.features,
        matrix.feature_of[order],
    )
