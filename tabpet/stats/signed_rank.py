"""Wilcoxon signed-rank test and Hodges-Lehmann shift, from one exact null distribution."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from tabpet.stats.values import Values, on_grid, split_missing

Rule = Literal["exact", "paper"]
Method = Literal["exact", "approximate", "none"]
PAPER_LIMIT = 50  # pairs up to which the paper's rule is exact


@dataclass(frozen=True)
class Wilcoxon:
    """A two-sided signed-rank test with every decision that was made."""

    pairs: int  # with a number
    missing: int
    zeros: int  # differences of 0, left out
    ties: int  # pairs whose absolute difference another pair shares
    rule: Rule
    method: Method
    positive: float  # rank sum of positive differences
    negative: float
    p: float  # NaN without pairs

    @property
    def used(self) -> int:
        """Pairs that were ranked."""
        return self.pairs - self.zeros

    @property
    def statistic(self) -> float:
        """The smaller of the two rank sums."""
        return min(self.positive, self.negative)

    @property
    def effect_size(self) -> float:
        """Matched-pairs rank-biserial correlation, from -1 to 1; 0 when all pairs are equal."""
        if not self.pairs:
            return np.nan
        total = self.positive + self.negative
        return (self.positive - self.negative) / total if total else 0.0


def wilcoxon(differences: Values, rule: Rule = "exact") -> Wilcoxon:
    """Test whether paired differences are symmetric about 0.

    `exact`: zeros are left out, and the p-value is exact for any number of pairs, given the ties.
    `paper`: the rule that reproduces the paper's tables, where ties are ignored.
    """
    finite, missing = split_missing(differences)
    rounded = on_grid(finite)
    ranked = rounded[rounded != 0]
    ranks = stats.rankdata(np.abs(ranked))
    positive, negative = float(ranks[ranked > 0].sum()), float(ranks[ranked < 0].sum())
    _, counts = np.unique(np.abs(ranked), return_counts=True)
    zeros = len(finite) - len(ranked)
    method, p = _test(ranked, ranks, positive, zeros, rule)
    return Wilcoxon(
        pairs=len(finite),
        missing=missing,
        zeros=zeros,
        ties=int(counts[counts > 1].sum()),
        rule=rule,
        method=method,
        positive=positive,
        negative=negative,
        p=p,
    )


def _test(
    ranked: np.ndarray, ranks: np.ndarray, positive: float, zeros: int, rule: Rule
) -> tuple[Method, float]:
    """How the p-value is found, and the p-value."""
    if not len(ranked):
        return "none", 1.0 if zeros else np.nan
    if rule == "exact":
        return "exact", _exact_p(ranks, positive)
    # NOTE[PAPER]: "Wilcoxon signed-rank" is all that is said; this is what older SciPy did, and
    # it gives the printed numbers: ties ignored, the rank sum cut to an integer.
    if len(ranked) <= PAPER_LIMIT and zeros == 0:
        return "exact", _exact_p(np.arange(1, len(ranked) + 1), int(positive))
    return "approximate", float(stats.wilcoxon(ranked, method="asymptotic").pvalue)


@dataclass(frozen=True)
class HodgesLehmann:
    """The median of all pairwise averages, with the interval that belongs to the signed-rank test.

    The interval is NaN when there are too few values for its significance level.
    """

    datasets: int
    missing: int
    shift: float
    low: float
    high: float
    significance: float


def hodges_lehmann(differences: Values, significance: float = 0.05) -> HodgesLehmann:
    """Estimate the shift of paired differences from 0."""
    finite, missing = split_missing(differences)
    n = len(finite)
    if not n:
        return HodgesLehmann(0, missing, np.nan, np.nan, np.nan, significance)
    rows, columns = np.triu_indices(n)
    averages = np.sort((finite[rows] + finite[columns]) / 2)
    shift = float(np.median(averages))
    tail = np.cumsum(_null_distribution(np.arange(1, n + 1)))
    # The largest cut whose two tails together stay within the significance level.
    cut = int(np.searchsorted(tail, significance / 2, side="right"))
    low, high = (averages[cut - 1], averages[-cut]) if cut else (np.nan, np.nan)
    return HodgesLehmann(n, missing, shift, float(low), float(high), significance)


def _exact_p(ranks: np.ndarray, positive: float) -> float:
    """Two-sided p of a rank sum over all signs of these ranks."""
    doubled = np.rint(2 * ranks).astype(int)  # mean ranks of ties are halves
    probabilities = _null_distribution(doubled)
    place = round(2 * positive)
    # By symmetry, the upper tail is the lower tail of what is left.
    lower = probabilities[: place + 1].sum()
    upper = probabilities[: doubled.sum() - place + 1].sum()
    return float(min(1.0, 2 * min(lower, upper)))


def _null_distribution(ranks: np.ndarray) -> np.ndarray:
    """Probability of every rank sum when each rank is positive by the toss of a coin."""
    probabilities = np.zeros(int(ranks.sum()) + 1)
    probabilities[0] = 1.0
    for rank in ranks:
        probabilities[rank:] += probabilities[:-rank].copy()
        probabilities /= 2
    return probabilities
