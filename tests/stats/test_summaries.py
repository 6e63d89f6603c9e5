"""Improvements, wins, ranks, corrections, outliers, bootstrap and Bayes on small numbers."""

import numpy as np
import pandas as pd
import pytest
from autorank._util import _critical_distance
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from statsmodels.stats.multitest import multipletests

from tabpet.stats import (
    bayesian_signed_rank,
    bootstrap,
    compare,
    critical_difference,
    exclude_outliers,
    holm,
    improvement,
    rank_methods,
    summarize,
    win_rate,
)


def frame(**columns) -> pd.DataFrame:
    return pd.DataFrame(columns, index=[f"d{i}" for i in range(len(next(iter(columns.values()))))])


def test_improvement_is_positive_when_better():
    assert improvement("classification", 0.8, 0.84) == pytest.approx(5)
    assert improvement("regression", 2.0, 1.5) == pytest.approx(25)
    assert improvement("regression", [2.0, 4.0], [3.0, 4.0]) == pytest.approx([-50, 0])
    assert np.isnan(improvement("regression", 0.0, 1.0))


def test_what_rounding_adds_is_no_improvement():
    assert improvement("classification", 0.3, 0.1 + 0.2) == 0  # 0.30000000000000004
    assert improvement("regression", 0.3, 0.3 * (1 - 1e-11)) == pytest.approx(1e-9, rel=1e-3)


def test_nothing_is_compared_with_an_infinite_score():
    assert np.isnan(improvement("regression", np.inf, 1.0))


def test_summary_counts_what_is_missing():
    summary = summarize([4.0, -1.0, np.nan, 0.0, 1.0])
    assert (summary.datasets, summary.missing) == (4, 1)
    assert (summary.mean, summary.median, summary.minimum) == (1.0, 0.5, -1.0)
    assert summary.positive_rate == 50  # an improvement of 0 is not positive
    nothing = summarize([np.nan])
    assert nothing.datasets == 0
    assert np.isnan(nothing.mean)


def test_win_rate_by_hand():
    result = win_rate("regression", [1, 2, 3, np.nan, 5], [2, 2, 1, 1, np.nan])
    assert (result.datasets, result.wins, result.ties, result.losses) == (3, 1, 1, 1)
    assert result.percent == pytest.approx(100 / 3)
    assert np.isnan(win_rate("regression", [np.nan], [1]).percent)


def test_equal_up_to_rounding_is_no_win():
    assert win_rate("classification", [0.1 + 0.2], [0.3]).ties == 1


def test_ranks_among_available_methods():
    scores = frame(a=[0.9, 0.8, 0.7], b=[0.8, 0.8, np.nan], c=[0.7, 0.9, np.nan])
    ranks = rank_methods("classification", scores)
    assert list(ranks.table.index) == ["d0", "d1"]  # d2 has one method, which beats nobody
    assert ranks.means["mean_rank"].to_dict() == {"a": 1.75, "b": 2.25, "c": 2.0}
    assert ranks.means["ranked_datasets"].to_dict() == {"a": 2, "b": 2, "c": 2}
    reverse = rank_methods("regression", scores)
    assert (ranks.table + reverse.table == 4).all(axis=None)


scores = arrays(float, (8, 4), elements=st.integers(1, 50).map(float))


@given(scores)
def test_swapping_two_methods_swaps_wins_and_losses(values):
    there = win_rate("classification", values[:, 0], values[:, 1])
    back = win_rate("classification", values[:, 1], values[:, 0])
    assert (there.wins, there.ties, there.losses) == (back.losses, back.ties, back.wins)


@given(scores)
def test_ranks_of_a_dataset_sum_to_a_constant(values):
    ranks = rank_methods("regression", pd.DataFrame(values))
    assert ranks.table.sum(axis=1).to_numpy() == pytest.approx(np.full(8, 10.0))


def test_holm_is_statsmodels_and_skips_what_was_not_tested():
    p = np.array([0.01, 0.04, 0.03, 0.5, 0.005])
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])
    with_gap = holm(np.insert(p, 2, np.nan))
    assert np.isnan(with_gap[2])
    assert np.delete(with_gap, 2) == pytest.approx(holm(p))


def test_critical_difference_is_demsars_example():
    # Demsar (2006), table 6: 14 datasets, four methods, CD 1.25 at 0.05 and 1.12 at 0.10.
    accuracies = np.array(
        [
            [0.763, 0.768, 0.771, 0.798],
            [0.599, 0.591, 0.590, 0.569],
            [0.954, 0.971, 0.968, 0.967],
            [0.628, 0.661, 0.654, 0.657],
            [0.882, 0.888, 0.886, 0.898],
            [0.936, 0.931, 0.916, 0.931],
            [0.661, 0.668, 0.609, 0.685],
            [0.583, 0.583, 0.563, 0.625],
            [0.775, 0.838, 0.866, 0.875],
            [1.000, 1.000, 1.000, 1.000],
            [0.940, 0.962, 0.965, 0.962],
            [0.619, 0.666, 0.614, 0.669],
            [0.972, 0.981, 0.9751, 0.975],
            [0.957, 0.978, 0.946, 0.970],
        ]
    )
    names = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]
    table = pd.DataFrame(accuracies, columns=names)
    result = critical_difference(rank_methods("classification", table).table)
    means = result.means["mean_rank"].to_dict()
    assert means == pytest.approx(
        {"C4.5": 3.143, "C4.5+m": 2.000, "C4.5+cf": 2.893, "C4.5+m+cf": 1.964}, abs=5e-4
    )
    assert result.distance == pytest.approx(1.25, abs=5e-3)
    assert result.distance == pytest.approx(_critical_distance(0.05, 4, 14), rel=1e-3)
    assert critical_difference(-table, significance=0.10).distance == pytest.approx(1.12, abs=5e-3)
    assert result.p == stats.friedmanchisquare(*accuracies.T).pvalue
    assert result.p_values.loc["C4.5", "C4.5+m+cf"] == pytest.approx(0.07, abs=0.02)


def test_what_a_critical_difference_leaves_out_is_named():
    table = frame(
        a=[1.0, 2, 1, 2], b=[2.0, 1, 2, np.nan], c=[3.0, 3, 3, 3], rare=[4.0, 4, np.nan, np.nan]
    )
    result = critical_difference(table)
    assert (result.datasets, result.sparse) == (3, ("rare",))
    assert critical_difference(table[["a"]]) is None
    two = critical_difference(table[["a", "c"]])
    assert np.isnan(two.p)
    equal = critical_difference(frame(a=[1.0, 1], b=[1.0, 1], c=[1.0, 1]))
    assert (equal.statistic, equal.p) == (0.0, 1.0)


def test_outliers_by_both_rules():
    # Quartiles of 1, 2, 3, 4, 100: 2 and 4, so the bound is 7; ten times the median is 30.
    result = exclude_outliers("regression", frame(a=[1, 2, 3, 4, 100], b=[1, 2, 3, 4, np.nan]))
    assert (result.iqr_bound, result.median_bound) == (7, 30)
    assert result.excluded == result.iqr_excluded == result.median_excluded == ("d4",)
    assert result.kept == ("d0", "d1", "d2", "d3")
    # In classification only low means are outliers, and there is no rule by the median.
    low = exclude_outliers("classification", frame(a=[0.1, 0.8, 0.81, 0.82, 0.99]))
    assert (low.excluded, low.median_bound) == (("d0",), None)
    assert exclude_outliers("regression", frame(a=[np.nan])).excluded == ()


def test_bootstrap_covers_and_repeats():
    values = np.random.default_rng(3).normal(1.0, 2.0, 40)
    result = bootstrap(values, samples=2000)
    error = values.std(ddof=1) / np.sqrt(40)
    assert result.estimate == values.mean()
    assert result.low == pytest.approx(values.mean() - 1.96 * error, abs=0.3 * error)
    assert result.high == pytest.approx(values.mean() + 1.96 * error, abs=0.3 * error)
    assert bootstrap(values, samples=2000) == result
    assert result.method == "BCa"


def test_bootstrap_of_constant_single_or_no_values():
    constant = bootstrap([2.0, 2.0, np.nan], samples=100)
    assert (constant.low, constant.high, constant.missing) == (2.0, 2.0, 1)
    assert constant.method == "percentile"
    single = bootstrap([2.0])
    assert (single.estimate, single.method) == (2.0, "none")
    assert np.isnan(single.low)
    assert np.isnan(bootstrap([]).estimate)


def test_bayes_finds_the_region():
    assert bayesian_signed_rank(np.full(20, 3.0), rope=0.5).better > 0.99
    assert bayesian_signed_rank(np.full(20, -3.0), rope=0.5).worse > 0.99
    assert bayesian_signed_rank(np.full(20, 0.1), rope=0.5).equal > 0.99
    assert bayesian_signed_rank(np.zeros(5), rope=0).equal == 1
    mixed = bayesian_signed_rank([1.0, -1.2, 2.0, np.nan], rope=0.5)
    assert (mixed.datasets, mixed.missing) == (3, 1)
    assert mixed.worse + mixed.equal + mixed.better == pytest.approx(1)
    assert np.isnan(bayesian_signed_rank([], rope=0.5).better)


def test_a_comparison_agrees_with_itself_about_datasets():
    result = compare([1.0, 2.0, np.nan, 0.5], samples=200)
    assert result.summary.datasets == result.wilcoxon.pairs == result.shift.datasets == 3
    assert result.interval.datasets == result.bayes.datasets == 3
    assert result.wilcoxon.p == 0.25  # two of eight signs


def test_statistics_do_not_need_torch():
    import subprocess
    import sys

    code = "import sys, tabpet.stats, tabpet.analysis.results; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
