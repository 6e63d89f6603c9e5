"""Pairs of methods: by hand, antisymmetric, and independent of who else was compared."""

from itertools import combinations

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
    pairs = compare_pairs(scores).both_ways
    pair, other = pairs.loc[("a", "b")], pairs.loc[("b", "a")]
    assert pair[["datasets", "wins", "ties", "losses"]].tolist() == [3, 2, 1, 0]
    assert pair["mean_difference_pct"] == pytest.approx((40 + 0 + 100) / 3)
    assert pair["median_difference_pct"] == pytest.approx(40)
    assert pair["p"] == 0.5 and pair["zeros"] == 1  # two differ: 2 / 2^2
    assert other[["wins", "ties", "losses"]].tolist() == [0, 1, 2]
    signed = ["mean_difference_pct", "median_difference_pct", "effect_size"]
    assert (other[signed] == -pair[signed]).all()
    assert other["p"] == pair["p"] and other["p_holm"] == pair["p_holm"]


def test_the_best_comes_first_and_who_meets_nobody_last():
    scores = frame(
        alone=[np.nan] * 3 + [0.9], low=[0.5, 0.5, 0.5, np.nan], high=[0.8, 0.9, 0.7, np.nan]
    )
    comparison = compare_pairs({"classification": scores})
    assert comparison.methods == ("high", "low", "alone")
    assert comparison.datasets == 3
    lonely = comparison.both_ways.loc[("high", "alone")]
    assert lonely["datasets"] == 0
    assert lonely[["mean_difference_pct", "p", "p_holm"]].isna().all()
    assert comparison.pairs[["method", "other"]].iloc[0].tolist() == ["high", "low"]


def test_the_test_is_scipys_and_the_correction_statsmodels():
    rng = np.random.default_rng(4)
    scores = pd.DataFrame(rng.uniform(1, 2, (12, 4)), columns=list("abcd"))
    comparison = compare_pairs({"regression": scores})
    for pair in comparison.pairs.itertuples():
        ours, theirs = scores[pair.method], scores[pair.other]
        expected = stats.wilcoxon((theirs - ours) / (theirs + ours), method="exact").pvalue
        assert pair.p == pytest.approx(expected)
    order = [(pair.method, pair.other) for pair in comparison.pairs.itertuples()]
    assert order == list(combinations(comparison.methods, 2))
    corrected = multipletests(comparison.pairs["p"], method="holm")[1]
    assert comparison.pairs["p_holm"].to_numpy() == pytest.approx(corrected)


tables = arrays(float, (9, 4), elements=st.integers(1, 50).map(float))


def pairwise_numbers(scores: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Everything that is said of pairs, but for Holm's count of comparisons."""
    return compare_pairs(scores).both_ways.drop(columns="p_holm")


@given(tables, st.sampled_from(["classification", "regression"]))
def test_a_further_method_changes_no_pairwise_number(values, task):
    scores = pd.DataFrame(values, columns=list("abcd"))
    few, more = {task: scores[["a", "b", "c"]]}, {task: scores}
    before, after = pairwise_numbers(few), pairwise_numbers(more)
    pd.testing.assert_frame_equal(after.loc[before.index], before)
    # Holm counts comparisons, six instead of three: a corrected p can only rise.
    corrected, more_corrected = (compare_pairs(both).both_ways["p_holm"] for both in (few, more))
    assert (more_corrected[corrected.index] >= corrected - 1e-12).all()


def test_a_further_method_changes_what_mean_ranks_say_of_two_others():
    # Why the matrix comes first. `a` beats `b` on nine of 14 tables by a little, and a family of
    # methods that do well where `b` wins puts `a` far behind it in ranks.
    a = np.array([0.71] * 9 + [0.60] * 5)
    b = np.array([0.70] * 9 + [0.80] * 5)
    scores = frame(a=a, b=b)
    family = {f"c{n}": np.where(a > b, 0.5, 0.7 + n / 100) for n in range(6)}
    crowded = scores.assign(**family)
    alone, company = (rank_methods("classification", table) for table in (scores, crowded))
    assert alone.means.loc["a", "mean_rank"] < alone.means.loc["b", "mean_rank"]
    assert company.means.loc["a", "mean_rank"] > company.means.loc["b", "mean_rank"]
    before, after = (pairwise_numbers({"classification": table}) for table in (scores, crowded))
    pd.testing.assert_frame_equal(after.loc[before.index], before)
    assert critical_difference(company.table).means.index[0] == "b"


def test_mean_ranks_have_intervals_that_other_datasets_could_give():
    # Rank 1 on eight datasets and 2 on two. Of ten draws, a binomial number is 2: with a
    # probability of 0.97 up to four, so about 1.0 to 1.4.
    scores = frame(a=[1.0] * 8 + [0.0] * 2, b=[0.5] * 10)
    ranks = rank_methods("classification", scores)
    mean, low, high, datasets = ranks.means.loc["a"]
    assert mean == pytest.approx(1.2) and datasets == 10
    assert 1.0 <= low <= 1.1 and 1.3 <= high <= 1.6
    again = rank_methods("classification", scores).means
    pd.testing.assert_frame_equal(ranks.means, again)
    wider = rank_methods("classification", scores, significance=0.01).means.loc["a"]
    assert wider["mean_rank_high"] >= high and wider["mean_rank_low"] <= low
    equal = frame(a=[1.0, 1.0], b=[0.5, 0.5], c=[np.nan, 0.2])
    intervals = rank_methods("classification", equal).means[["mean_rank_low", "mean_rank_high"]]
    assert intervals.loc["a"].tolist() == [1.0, 1.0]
    assert intervals.loc["c"].isna().all()  # one dataset has no spread


def test_a_mean_rank_of_a_coin_toss_covers_a_half():
    rng = np.random.default_rng(8)
    inside = 0
    for _ in range(60):
        scores = pd.DataFrame(rng.random((25, 2)), columns=["a", "b"])
        _, low, high, _ = rank_methods("classification", scores, samples=400).means.loc["a"]
        inside += low <= 1.5 <= high
    # Binomial with 60 draws of 0.95: fewer than 50 has a probability below 0.001.
    assert inside >= 50
