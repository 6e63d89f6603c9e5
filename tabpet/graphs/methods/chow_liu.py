"""Chow-Liu graph (Methodology, "Graph Estimation"): the spanning tree with the most mutual
information, from the joint counts of all pairs of binned columns at once."""

import numpy as np

from tabpet.config import ChowLiuSettings
from tabpet.graphs.budget import Budget
from tabpet.graphs.registry import Estimate, Estimator

_PACK = 4096  # 4,095 + 4,096 x 4,095 is below 2^24, where float32 stops being exact
_COLUMNS_PER_BLOCK = 20
# Distance to an edge, in bin widths, within which a value is compared with the edge itself.
_NEAR_EDGE = 1e-6


def estimate_chow_liu(values: np.ndarray, settings: ChowLiuSettings, budget: Budget) -> Estimate:
    """Keep the maximum spanning tree of the mutual information, in both directions."""
    information = mutual_information(bin_columns(values, settings.bins), settings.bins)
    tree = maximum_spanning_tree(information)
    weights = np.where(tree, information, 0.0)
    # A pair in the tree can have no information at all; such an edge is none.
    n_missing = (np.count_nonzero(tree) - np.count_nonzero(weights)) // 2
    warnings = [f"{n_missing} tree edges have no mutual information and are left out"]
    return Estimate(
        weights,
        facts={"total_information": float(weights.sum() / 2)},
        warnings=warnings if n_missing else [],
    )


def bin_columns(values: np.ndarray, bins: int) -> np.ndarray:
    """Bin numbers (n, d) of equal-width bins between column ends, as in numpy.histogram2d."""
    low, high = values.min(axis=0), values.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    places = values - low
    places *= bins / width
    numbers = places.astype(np.int32)
    np.minimum(numbers, bins - 1, out=numbers)  # the last bin holds its right edge
    # Close to an edge the product may round across it; there the edges decide, as in numpy.
    places -= numbers
    rows, columns = np.nonzero((places < _NEAR_EDGE) | (places > 1 - _NEAR_EDGE))
    edges = np.linspace(low, low + width, bins + 1, axis=0)
    edges[-1] = np.where(high > low, high, edges[-1])
    near, found = values[rows, columns], numbers[rows, columns]
    found -= near < edges[found, columns]
    found += (near >= edges[found + 1, columns]) & (found < bins - 1)
    numbers[rows, columns] = found
    return numbers


def mutual_information(numbers: np.ndarray, bins: int) -> np.ndarray:
    """Mutual information in nats of all pairs of binned columns, (d, d), zero diagonal."""
    n, d = numbers.shape
    cells = numbers + bins * np.arange(d, dtype=np.int32)
    counts = np.bincount(cells.ravel(), minlength=d * bins)
    # Empty bins take no part: one-hot nodes fill 2 bins of 10.
    used = counts > 0
    starts = np.flatnonzero(np.diff(np.flatnonzero(used) // bins, prepend=-1))
    n_cells = int(used.sum())
    indicator = np.zeros(n * n_cells, dtype=np.float32)
    places = (np.cumsum(used) - 1)[cells] + n_cells * np.arange(n)[:, None]
    indicator[places.ravel()] = 1.0
    # c ln c of every possible count, looked up.
    logs = np.log(np.arange(1, n + 1))
    terms = np.concatenate([[0.0], np.arange(1, n + 1) * logs])
    marginal = np.add.reduceat(terms[counts[used]], starts)
    joint = _sum_joint(indicator.reshape(n, n_cells), starts, terms)
    information = logs[-1] + (joint - marginal[:, None] - marginal[None, :]) / n
    # Rounding leaves independent pairs within a few units in the last place of 0.
    information[information < 1e-13 * np.log(n + 1.0)] = 0.0
    np.fill_diagonal(information, 0.0)
    return information


def _sum_joint(indicator: np.ndarray, starts: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Sums of `terms[count]` over the joint counts of every pair of columns, (d, d).

    Block by block above the diagonal.
    """
    d, n_cells = len(starts), indicator.shape[1]
    ends = np.append(starts[1:], n_cells)
    sums = np.zeros((d, d))
    for first in range(0, d, _COLUMNS_PER_BLOCK):
        last = min(first + _COLUMNS_PER_BLOCK, d)
        begin = starts[first]
        joint = _joint_counts(indicator[:, begin : ends[last - 1]], indicator[:, begin:])
        looked_up = np.take(terms, joint, mode="clip")
        by_row = np.add.reduceat(looked_up, starts[first:last] - begin, axis=0)
        sums[first:last, first:] = np.add.reduceat(by_row, starts[first:] - begin, axis=1)
    upper = np.triu(sums, 1)
    return upper + upper.T


def _joint_counts(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Rows in which a column of `left` and one of `right` are both 1, (n_left, n_right).

    A matrix product counts them. Two columns of `left` share one column of the product: of at
    most 4,095 rows, one counts in steps of 1 and the other in steps of 4,096, and float32 still
    holds the sum exactly.
    """
    n_left = left.shape[1]
    half = (n_left + 1) // 2
    counts = np.zeros((2 * half, right.shape[1]), dtype=np.int32)
    for start in range(0, len(left), _PACK - 1):
        rows = slice(start, start + _PACK - 1)
        packed = left[rows, :half].copy()
        packed[:, : n_left - half] += _PACK * left[rows, half:]
        product = (packed.T @ right[rows]).astype(np.int32)
        counts[:half] += product & (_PACK - 1)
        counts[half:] += product >> _PACK.bit_length() - 1
    return counts[:n_left]


def maximum_spanning_tree(weights: np.ndarray) -> np.ndarray:
    """Edges (symmetric, boolean) of the spanning tree with the largest total weight.

    Equal weights are ranked by position, so the tree is unique.
    """
    from scipy.sparse.csgraph import minimum_spanning_tree

    d = len(weights)
    rows, columns = np.triu_indices(d, 1)
    # Ranks from 1 up replace the weights: csgraph reads 0 as "no edge", and a pair without
    # information must still be able to join the tree.
    order = np.argsort(-weights[rows, columns], kind="stable")
    ranks = np.zeros((d, d))
    ranks[rows[order], columns[order]] = np.arange(1, len(order) + 1)
    tree = minimum_spanning_tree(ranks).toarray() > 0
    return tree | tree.T


ESTIMATOR = Estimator(
    name="chow_liu",
    function=estimate_chow_liu,
    settings=ChowLiuSettings,
    directed=False,
    nonlinear=True,
    tree=True,
    causal=False,
    cost="n (bins d)^2, one matrix product",
    citation="Chow and Liu (1968), Approximating discrete probability distributions with "
    "dependence trees, IEEE Transactions on Information Theory 14(3)",
)
