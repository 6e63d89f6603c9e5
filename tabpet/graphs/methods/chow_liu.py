"""Chow-Liu graph (Methodology, "Graph Estimation"): the spanning tree with the most mutual
information, from the joint counts of all pairs of binned columns at once."""

import numpy as np

from tabpet.config import ChowLiuSettings
from tabpet.graphs.budget import Budget
from tabpet.graphs.registry import Estimate, Estimator

_COLUMNS_PER_BLOCK = 20
# A value within this many bin widths below an edge lies on the edge: half the digits of a float64,
# so both sides have room. Standardising moves a value by about 1e-14 bin widths, and by less than
# this even in columns that lie 10^6 times their range away from 0. The values of an integer column
# that are not on an edge keep a distance of at least 1 / (max - min).
_ON_EDGE = 1e-8
# Weights that follow each other this closely are equal: rounding leaves about 1e-15.
_SAME_WEIGHT = 1e-13


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
    """Bin numbers (n, d) of equal-width bins between column ends, as in numpy.histogram.

    A value on an edge belongs to the bin on its right, the largest value to the last bin. The
    numbers of a x + b are those of x for every a > 0; a < 0 turns the sides of an edge round.
    """
    # NOTE[AUTHORS]: the released code compares with edges that are rounded themselves, so that a
    # column's scale decides on which side of an edge a value falls.
    low, high = values.min(axis=0), values.max(axis=0)
    places = values - low
    places /= np.where(high > low, high - low, 1.0)
    places *= bins
    places += _ON_EDGE
    numbers = places.astype(np.int32)
    return np.minimum(numbers, bins - 1, out=numbers)


def mutual_information(numbers: np.ndarray, bins: int) -> np.ndarray:
    """Mutual information in nats of all pairs of binned columns, (d, d), zero diagonal."""
    n, d = numbers.shape
    cells = numbers + bins * np.arange(d, dtype=np.int32)
    counts = np.bincount(cells.ravel(), minlength=d * bins).reshape(d, bins)
    # c ln c of every possible count, looked up.
    logs = np.log(np.arange(1, n + 1))
    terms = np.concatenate([[0.0], np.arange(1, n + 1) * logs])
    information = np.zeros((d, d))
    varies = np.flatnonzero(counts.max(axis=1) < n)  # a column in one bin tells nothing
    if len(varies) > 1:
        joint = _sum_joint(numbers[:, varies], counts[varies], terms)
        marginal = terms[counts[varies]].sum(axis=1)
        information[np.ix_(varies, varies)] = (
            logs[-1] + (joint - marginal[:, None] - marginal[None, :]) / n
        )
    # Rounding leaves independent pairs within a few units in the last place of 0.
    information[information < 1e-13 * np.log(n + 1.0)] = 0.0
    np.fill_diagonal(information, 0.0)
    return information


def _sum_joint(numbers: np.ndarray, counts: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Sums of `terms[count]` over the joint counts of every pair of columns, (d, d).

    Empty bins take no part (one-hot nodes fill 2 of 10), nor does the fullest bin of a column:
    its joint counts are what the other bins leave. Block by block above the diagonal.
    """
    d = len(counts)
    largest = counts.max(axis=1)
    counted = counts > 0
    counted[np.arange(d), counts.argmax(axis=1)] = False
    sizes = counts[counted]
    ends = np.cumsum(counted.sum(axis=1))
    starts = np.append(0, ends[:-1])
    columns, cells = np.nonzero(counted)
    kind = np.min_scalar_type(counts.shape[1])  # bytes compare much faster
    is_in = numbers.T.astype(kind)[columns] == cells.astype(kind)[:, None]
    indicator = is_in.astype(np.float32)
    sums = np.zeros((d, d))
    for first in range(0, d, _COLUMNS_PER_BLOCK):
        last = min(first + _COLUMNS_PER_BLOCK, d)
        begin, end = starts[first], ends[last - 1]
        across, down = starts[first:] - begin, starts[first:last] - begin
        joint = _joint_counts(indicator[begin:end], sizes[begin:end], indicator[begin:])
        rest_down = sizes[begin:] - np.add.reduceat(joint, down, axis=0)
        rest_across = sizes[begin:end, None] - np.add.reduceat(joint, across, axis=1)
        rest_both = largest[first:] - np.add.reduceat(rest_across, down, axis=0)
        found = np.add.reduceat(terms.take(joint), down, axis=0) + terms.take(rest_down)
        found = np.add.reduceat(found, across, axis=1)
        found += np.add.reduceat(terms.take(rest_across), down, axis=0) + terms.take(rest_both)
        sums[first:last, first:] = found
    upper = np.triu(sums, 1)
    return upper + upper.T


def _joint_counts(left: np.ndarray, sizes: np.ndarray, right: np.ndarray) -> np.ndarray:
    """In how many places a row of `left` and one of `right` are both 1, (n_left, n_right).

    A matrix product counts them. float32 holds 24 bits exactly, so rows with few ones (`sizes`)
    share a row of the product, as the digits of one number.
    """
    packed: list[np.ndarray] = []
    unpack = []
    for n_digits, members in _by_digits(sizes):
        bits, start = 24 // n_digits, sum(len(one) for one in packed)
        packed.append(left[members[::n_digits]])
        for k in range(n_digits):
            part = members[k::n_digits]
            if k:
                packed[-1][: len(part)] += np.float32(2 ** (bits * k)) * left[part]
            unpack.append((part, slice(start, start + len(part)), bits * k, 2**bits - 1))
    products = (np.concatenate(packed) @ right.T).astype(np.int32)
    counts = np.empty((len(left), len(right)), dtype=np.int32)
    for part, rows, shift, mask in unpack:
        counts[part] = products[rows] >> shift & mask
    return counts


def _by_digits(sizes: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Positions of the sizes of which 4, 3, 2 and 1 fit side by side into 24 bits."""
    group = np.digitize(sizes, [2**6, 2**8, 2**12])
    return [(4 - one, np.flatnonzero(group == one)) for one in range(4)]


def maximum_spanning_tree(weights: np.ndarray) -> np.ndarray:
    """Edges (symmetric, boolean) of the spanning tree with the largest total weight.

    Equal weights (copies, mirror images) are ranked by position, so the tree is unique.
    """
    from scipy.sparse.csgraph import minimum_spanning_tree

    d = len(weights)
    rows, columns = np.triu_indices(d, 1)
    found = weights[rows, columns]
    order = np.argsort(-found, kind="stable")
    # Sums of the same terms in another order differ in their last digits.
    level = np.cumsum(np.diff(found[order], prepend=np.inf) < -_SAME_WEIGHT)
    order = order[np.lexsort((order, level))]
    # Ranks from 1 up replace the weights: csgraph reads 0 as "no edge", and a pair without
    # information must still be able to join the tree.
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
    cost="n (bins d)^2, matrix products",
    citation="Chow and Liu (1968), Approximating discrete probability distributions with "
    "dependence trees, IEEE Transactions on Information Theory 14(3)",
)
