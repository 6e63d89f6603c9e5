"""Chow-Liu graph (Methodology, "Graph Estimation"): the spanning tree with the most mutual
information between binned columns."""

import numpy as np
from pydantic import Field

from tabpet.clock import Clock
from tabpet.entries import Estimate, Estimator
from tabpet.section import Section

# A value within this many bin widths below an edge lies on the edge: half the digits of a float64,
# so both sides have room. Standardising moves a value by about 1e-14 bin widths, and by less than
# this even in columns that lie 10^6 times their range away from 0. The values of an integer column
# that are not on an edge keep a distance of at least 1 / (max - min).
_ON_EDGE = 1e-8
# Weights that follow each other this closely are equal: rounding leaves about 1e-15.
_SAME_WEIGHT = 1e-13


class ChowLiuSettings(Section):
    """Settings of the Chow-Liu tree."""

    bins: int = Field(10, ge=2, description="Equal-width bins per node.")


def estimate_chow_liu(values: np.ndarray, settings: ChowLiuSettings, clock: Clock) -> Estimate:
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
    columns = np.ascontiguousarray(numbers.T, dtype=np.intp)
    # c ln c of every possible count, looked up.
    terms = np.arange(n + 1) * np.log(np.maximum(np.arange(n + 1), 1))
    marginal = np.array([terms[np.bincount(column, minlength=bins)].sum() for column in columns])
    joint = np.zeros((d, d))
    # A column and all later ones at once; the bins of each pair follow those of the pair before.
    size = bins * bins
    shifted = columns + size * np.arange(d)[:, None]
    for i in range(d - 1):
        pairs = shifted[i + 1 :] + bins * columns[i]
        counts = np.bincount(pairs.ravel(), minlength=size * d)[size * (i + 1) :]
        joint[i, i + 1 :] = terms[counts].reshape(-1, size).sum(axis=1)
    information = np.log(n) + (joint + joint.T - marginal[:, None] - marginal[None, :]) / n
    # Rounding leaves independent pairs within a few units in the last place of 0.
    information[information < 1e-13 * np.log(n + 1.0)] = 0.0
    np.fill_diagonal(information, 0.0)
    return information


def maximum_spanning_tree(weights: np.ndarray) -> np.ndarray:
    """Edges (symmetric, boolean) of the spanning tree with the largest total weight.

    Equal weights (copies, mirror images) are ranked by position, so the tree is unique.
    """
    from scipy.sparse.csgraph import minimum_spanning_tree

    d = len(weights)
    rows, columns = np.triu_indices(d, 1)
    strengths = weights[rows, columns]
    order = np.argsort(-strengths, kind="stable")
    # Sums of the same terms in another order differ in their last digits.
    tie = np.cumsum(np.diff(strengths[order], prepend=np.inf) < -_SAME_WEIGHT)
    order = order[np.lexsort((order, tie))]
    # Ranks from 1 up replace the weights: csgraph reads 0 as "no edge", and a pair without
    # information must still be able to join the tree.
    ranks = np.zeros((d, d))
    ranks[rows[order], columns[order]] = np.arange(1, len(order) + 1)
    tree = minimum_spanning_tree(ranks).toarray() > 0
    return tree | tree.T


ESTIMATOR = Estimator(
    key="chow_liu",
    label="Chow-Liu",
    function=estimate_chow_liu,
    settings=ChowLiuSettings,
    directed=False,
    growth="n d^2, counting",
    citation="Chow and Liu (1968), Approximating discrete probability distributions with "
    "dependence trees, IEEE Transactions on Information Theory 14(3)",
    cost="instant",
    order=5,
)
