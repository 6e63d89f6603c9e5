"""Splits of one table: the corrected t-test beside baycomp, and how often it is wrong."""

import numpy as np
import pytest
from baycomp.single import CorrelatedTTest

from tabpet.stats.splits import corrected_t_test, judge_splits


@pytest.mark.parametrize("runs", [1, 2, 5])
def test_p_is_that_of_the_correlated_t_test(runs):
    values = np.random.default_rng(runs).normal(0.5, 1, 10)
    folds = 10 // runs  # of cross-validation: one to test on, the others to learn from
    ours = corrected_t_test(values, 1 / (folds - 1))
    posterior = CorrelatedTTest.probs(values, np.zeros(10), runs=runs)
    assert ours.p == pytest.approx(2 * min(posterior), rel=1e-9)
    assert ours.mean == pytest.approx(values.mean())


def test_interval_and_p_agree():
    values = np.array([1.0, 2.0, 0.5, 1.5])
    result = corrected_t_test(values, 1 / 3, significance=0.05)
    # At the level that is p, the interval ends at zero.
    edge = corrected_t_test(values, 1 / 3, significance=result.p)
    assert edge.low == pytest.approx(0, abs=1e-9)
    assert result.low < result.mean < result.high


def test_overlapping_splits_rarely_make_a_false_claim():
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(400):
        # Splits of one table share what is odd about it: correlation 1/4, as of 80 and 20 percent.
        shared = rng.normal()
        values = 0.5 * shared + np.sqrt(0.75) * rng.normal(size=8)
        wrong += judge_splits(values, None, 1 / 3).answer != "unclear"
    assert wrong / 400 < 0.05 + 3 * (0.05 * 0.95 / 400) ** 0.5


@pytest.mark.parametrize(
    ("plain", "random", "answer"),
    [
        ([5, 6, 5, 6], [3, 4, 3, 4], "better than random"),
        ([5, 6, 5, 6], [-3, 4, 3, -4], "no better than random"),
        ([5, 6, 5, 6], [-3, -4, -3, -4], "no better than random"),
        ([5, 6, 5, 6], None, "better"),
        ([5, 6, 5, 6], [1.0, np.nan, np.nan, np.nan], "better"),
        ([5, -6, 5, -6], [3, 4, 3, 4], "unclear"),
        ([0, 0, 0, 0], None, "unclear"),
        ([-5, -6, -5, -6], [3, 4, 3, 4], "worse"),
        ([5, 6], [5, 6], "too few"),
        ([5, np.nan, 6, np.nan], [5, 6, 5, 6], "too few"),
        ([], [], "too few"),
    ],
)
def test_answers(plain, random, answer):
    given = None if random is None else np.array(random, dtype=float)
    assert judge_splits(np.array(plain, dtype=float), given, 1 / 3).answer == answer
