"""Pairs of methods: by hand, antisymmetric, and independent of who else was compared."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from statsmodels.stats.multitest import multipletests

from tabpet.stats import compare_pairs, critical_difference, rank_methods, relative_difference


def frame(**columns) -> pd.DataFrame:
    return pd.DataFrame(columns, index=[f"d{i}" for i in range(len(next(iter(columns.values()))))])


def test_relative_differences_by_hand():
    # 0.9 and 0.6 differ by 0.3, and their mean is 0.75.
    assert relative_difference("classification", [0.9], [0.6]) == pytest.approx([40])
    assert relative_difference("regression", [0.9], [0.6]) == pytest.approx([-40])
    # An error of 0 is as far ahead as can be; two are equal.
    assert relative_difference("regression", [0.0, 0.0], [3.0, 0.0]).tolist() == [200, 0]
    assert np.isnan(relative_difference("regression", [np.nan], [0.0]))


def test_a_pair_by_hand_over_both_tasks():
    scores = {
        "classification": frame(a=[0.9, 0.5, 0.7], b=[0.6, 0.5, np.nan]),
        "regression": frame(a=[1.0], b=[3.0]),
    }
    pair = compare_pairs(scores).pair("a", "b")
    assert (pair.duel.datasets, pair.duel.wins, pair.duel.ties, pair.duel.losses) == (3, 2, 1, 0)
    assert pair.mean == pytest.approx((40 + 0 + 100) / 3)
    assert pair.median == pytest.approx(40)
    assert pair.test.p == 0.5 and pair.test.zeros == 1  # two differ: 2 / 2^2
    other = compare_pairs(scores).pair("b", "a")
    assert (other.mean, other.duel.wins, other.duel.losses) == (-pair.mean, 0, 2)
    assert other.test.effect_size == -pair.test.effect_size


def test_the_best_comes_first_and_who_meets_nobody_last():
    scores = frame(
        alone=[np.nan] * 3 + [0.9], low=[0.5, 0.5, 0.5, np.nan], high=[0.8, 0.9, 0.7, np.nan]
    )
    found = compare_pairs({"classification": scores})
    assert found.methods == ("high", "low", "alone")
    assert found.datasets == 3
    lonely = found.pair("high", "alone")
    assert lonely.duel.datasets == 0 and np.isnan([lonely.mean, lonely.test.p]).all()
    assert np.isnan(lonely.p_holm)
    assert (found.pairs[0].method, found.pairs[0].other) == ("high", "low")
    with pytest.raises(KeyError):
        found.pair("high", "nobody")


def test_the_test_is_scipys_and_the_correction_statsmodels():
    rng = np.random.default_rng(4)
    scores = pd.DataFrame(rng.uniform(1, 2, (12, 4)), columns=list("abcd"))
    found = compare_pairs({"regression": scores})
    for pair in found.pairs:
        ours, theirs = scores[pair.method], scores[pair.other]
        expected = stats.wilcoxon((theirs - ours) / (theirs + ours), method="exact").pvalue
        assert pair.test.p == pytest.approx(expected)
        assert pair.mean > 0 or found.methods.index(pair.method) < found.methods.index(pair.other)
    corrected = multipletests([pair.test.p for pair in found.pairs], method="holm")[1]
    assert [pair.p_holm for pair in found.pairs] == pytest.approx(corrected)


tables = arrays(float, (9, 4), elements=st.integers(1, 50).map(float))


def pairwise_numbers(pair) -> tuple:
    """Everything that is said of a pair, but for Holm's count of comparisons."""
    return (pair.mean, pair.median, pair.duel, pair.test)


@given(tables, st.sampled_from(["classification", "regression"]))
def test_a_further_method_changes_no_pairwise_number(values, task):
    scores = pd.DataFrame(values, columns=list("abcd"))
    few, more = compare_pairs({task: scores[["a", "b", "c"]]}), compare_pairs({task: scores})
    for method, other in (("a", "b"), ("a", "c"), ("c", "b")):
        before, after = few.pair(method, other), more.pair(method, other)
        assert pairwise_numbers(before) == pairwise_numbers(after)
        # Holm counts comparisons, six instead of three: a corrected p can only rise.
        assert after.p_holm >= before.p_holm - 1e-12


def test_a_further_method_changes_what_mean_ranks_say_of_two_others():
    # Why the matrix comes first. `a` beats `b` on nine of 14 tables by a little, and a family of
    # methods that do well where `b` wins puts `a` far behind it in ranks.
    a = np.array([0.71] * 9 + [0.60] * 5)
    b = np.array([0.70] * 9 + [0.80] * 5)
    scores = frame(a=a, b=b)
    family = {f"c{n}": np.where(a > b, 0.5, 0.7 + n / 100) for n in range(6)}
    crowded = scores.assign(**family)
    alone, company = (rank_methods("classification", one) for one in (scores, crowded))
    assert alone.mean["a"] < alone.mean["b"]
    assert company.mean["a"] > company.mean["b"]
    before = compare_pairs({"classification": scores}).pair("a", "b")
    after = compare_pairs({"classification": crowded}).pair("a", "b")
    assert pairwise_numbers(before) == pairwise_numbers(after)
    assert critical_difference(company.table).methods[0] == "b"


def test_mean_ranks_have_intervals_that_other_datasets_could_give():
    # Rank 1 on eight datasets and 2 on two. Of ten draws, a binomial number is 2: with a
    # probability of 0.97 up to four, so about 1.0 to 1.4.
    scores = frame(a=[1.0] * 8 + [0.0] * 2, b=[0.5] * 10)
    ranks = rank_methods("classification", scores)
    assert ranks.mean["a"] == pytest.approx(1.2)
    low, high = ranks.intervals.loc["a"]
    assert 1.0 <= low <= 1.1 and 1.3 <= high <= 1.6
    again = rank_methods("classification", scores).intervals
    pd.testing.assert_frame_equal(ranks.intervals, again)
    wider = rank_methods("classification", scores, significance=0.01).intervals.loc["a"]
    assert wider["high"] >= high and wider["low"] <= low
    equal = frame(a=[1.0, 1.0], b=[0.5, 0.5], c=[np.nan, 0.2])
    intervals = rank_methods("classification", equal).intervals
    assert intervals.loc["a"].tolist() == [1.0, 1.0]
    assert intervals.loc["c"].isna().all()  # one dataset has no spread


def test_a_mean_rank_of_a_coin_toss_covers_a_half():
    rng = np.random.default_rng(8)
    inside = 0
    for _ in range(60):
        scores = pd.DataFrame(rng.random((25, 2)), columns=["a", "b"])
        low, high = rank_methods("classification", scores, samples=400).intervals.loc["a"]
        inside += low <= 1.5 <= high
    # Binomial with 60 draws of 0.95: fewer than 50 has a probability below 0.001.
    assert inside >= 50
