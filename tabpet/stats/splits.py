"""What several splits of one table can tell: the corrected resampled t-test and a decision.

The training rows of splits overlap, so their results are alike and a plain t-test is far too sure.
Nadeau and Bengio (2003) widen the variance of the mean by the ratio of test to training rows.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from tabpet.stats.improvement import summarize
from tabpet.stats.values import split_missing

FEWEST = 3  # splits, from which on anything is claimed
SplitAnswer = Literal[
    "better than random", "better", "no better than random", "unclear", "worse", "too few"
]


@dataclass(frozen=True)
class SplitTest:
    """Paired differences over splits; NaN where there are too few."""

    splits: int
    mean: float
    low: float  # of the interval of confidence 1 - significance
    high: float
    p: float


@dataclass(frozen=True)
class SplitVerdict:
    """Whether encodings help on one table, beyond noise and beyond random encodings."""

    significance: float
    plain: SplitTest  # percent by which encodings are better than none
    random: SplitTest | None  # than random ones; None without such

    @property
    def answer(self) -> SplitAnswer:
        """Random encodings count only where encodings help, so no claim shares its significance."""
        if self.plain.splits < FEWEST:
            return "too few"
        if not self.plain.p < self.significance:
            return "unclear"
        if self.plain.mean < 0:
            return "worse"
        if self.random is None or self.random.splits < FEWEST:
            return "better"
        ahead = self.random.p < self.significance and self.random.mean > 0
        return "better than random" if ahead else "no better than random"


def judge_splits(
    plain: np.ndarray, random: np.ndarray | None, test_ratio: float, significance: float = 0.05
) -> SplitVerdict:
    """Decide from the percent by which encodings are better than none, and than random ones.

    `test_ratio` is the number of test rows over that of training rows.
    """
    against = None if random is None else corrected_t_test(random, test_ratio, significance)
    return SplitVerdict(significance, corrected_t_test(plain, test_ratio, significance), against)


def corrected_t_test(
    differences: np.ndarray, test_ratio: float, significance: float = 0.05
) -> SplitTest:
    """The corrected resampled t-test of Nadeau and Bengio; splits without a number are left out."""
    values, _ = split_missing(differences)
    n, mean = len(values), summarize(values).mean
    if n < 2:
        return SplitTest(n, mean, np.nan, np.nan, np.nan)
    error = float(np.sqrt((1 / n + test_ratio) * values.var(ddof=1)))
    if error == 0:
        return SplitTest(n, mean, mean, mean, 1.0 if mean == 0 else 0.0)
    width = error * float(stats.t.ppf(1 - significance / 2, n - 1))
    p = float(2 * stats.t.sf(abs(mean) / error, n - 1))
    return SplitTest(n, mean, mean - width, mean + width, p)
