"""Wilcoxon and Hodges-Lehmann against known values, SciPy, enumeration and properties."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tabpet.stats import hodges_lehmann, wilcoxon

percents = st.lists(st.integers(-40, 40).map(lambda x: x / 4), min_size=1, max_size=30)


@pytest.mark.parametrize("rule", ["exact", "paper"])
@pytest.mark.parametrize(
    ("differences", "p"),
    [
        (np.arange(1, 8), 0.015625),
        (np.arange(1, 10), 0.00390625),
        ([-1, *range(2, 26)], 2 * 2 / 2**25),  # 1.19e-07
    ],
)
def test_known_values(differences, p, rule):
    result = wilcoxon(differences, rule)
    assert result.p == pytest.approx(p, rel=1e-12)
    assert result.method == "exact"
    assert result.used == len(differences)


def test_no_ties_gives_scipys_exact_p():
    differences = np.random.default_rng(1).normal(0.3, 1, 23)
    expected = stats.wilcoxon(differences, method="exact")
    for rule in ("exact", "paper"):
        result = wilcoxon(differences, rule)
        assert result.p == pytest.approx(expected.pvalue, rel=1e-10)
        assert result.statistic == expected.statistic


def test_ties_are_exact_over_all_signs():
    differences = np.array([1, 1, -1, 2, 2, 3, -3, 4, 4.0])
    ranks = stats.rankdata(np.abs(differences))
    sums = np.array([np.dot(ranks, signs) for signs in product([0, 1], repeat=len(ranks))])
    seen = ranks[differences > 0].sum()
    expected = 2 * min((sums <= seen).mean(), (sums >= seen).mean())
    result = wilcoxon(differences)
    assert result.p == pytest.approx(expected, rel=1e-12)
    assert (result.ties, result.zeros, result.used) == (9, 0, 9)


def test_ties_that_differ_by_rounding_are_ties():
    assert 0.3 - 0.1 != 0.2
    assert wilcoxon([0.3 - 0.1, -0.2, 0.5]).ties == 2


def test_many_pairs_agree_with_the_approximation():
    differences = np.random.default_rng(2).normal(0.2, 1, 300)
    approximate = stats.wilcoxon(differences, method="asymptotic").pvalue
    assert wilcoxon(differences).method == "exact"
    assert wilcoxon(differences).p == pytest.approx(approximate, rel=0.03)


def test_paper_rule_approximates_with_zeros_and_above_fifty():
    with_zero = wilcoxon([0.0, *range(1, 10)], rule="paper")
    assert (with_zero.method, with_zero.zeros, with_zero.used) == ("approximate", 1, 9)
    assert with_zero.p == stats.wilcoxon(np.arange(1, 10), method="asymptotic").pvalue
    assert wilcoxon(np.arange(1, 52), rule="paper").method == "approximate"
    assert wilcoxon(np.arange(1, 51), rule="paper").method == "exact"


def test_nothing_to_rank_is_said_openly():
    equal = wilcoxon([0.0, 0.0, np.nan])
    assert (equal.pairs, equal.zeros, equal.missing, equal.method) == (2, 2, 1, "none")
    assert (equal.p, equal.effect_size) == (1.0, 0.0)
    empty = wilcoxon([np.nan])
    assert empty.pairs == 0
    assert np.isnan(empty.p)
    assert np.isnan(empty.effect_size)


def test_effect_size_by_hand():
    # Ranks 1 to 4, the second negative: (8 - 2) / 10.
    assert wilcoxon([1, -2, 3, 4]).effect_size == pytest.approx(0.6)


@given(percents)
def test_swapping_two_methods_negates_the_effect_and_keeps_p(values):
    there, back = wilcoxon(values), wilcoxon(np.negative(values))
    assert back.effect_size == pytest.approx(-there.effect_size)
    assert back.p == pytest.approx(there.p)
    shift, other = hodges_lehmann(values), hodges_lehmann(np.negative(values))
    assert other.shift == pytest.approx(-shift.shift)
    assert [other.low, other.high] == pytest.approx([-shift.high, -shift.low], nan_ok=True)


@given(percents)
def test_a_dataset_without_difference_changes_n_and_not_the_sign(values):
    before, after = wilcoxon(values), wilcoxon([*values, 0.0])
    assert after.pairs == before.pairs + 1
    assert after.used == before.used
    assert np.sign(after.effect_size) == np.sign(before.effect_size)
    assert after.p == pytest.approx(before.p)


@given(percents)
def test_p_is_a_probability_under_both_rules(values):
    for rule in ("exact", "paper"):
        assert 0 < wilcoxon(values, rule).p <= 1


def test_hodges_lehmann_by_hand():
    # Pairwise averages of 1, 2, 6: 1, 1.5, 2, 3.5, 4, 6.
    result = hodges_lehmann([1, 2, 6])
    assert result.shift == 2.75
    assert np.isnan(result.low)  # three values can't give 95 %


def test_hodges_lehmann_interval_as_published():
    # Hollander & Wolfe, depression scores: estimate -0.46, interval (-0.786, -0.010).
    before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    result = hodges_lehmann(np.subtract(after, before), significance=0.05)
    assert result.shift == pytest.approx(-0.46)
    assert (result.low, result.high) == pytest.approx((-0.786, -0.010))


@given(st.lists(st.integers(-40, 40), min_size=6, max_size=20, unique_by=abs))
def test_interval_and_test_decide_alike(values):
    differences = np.array([value for value in values if value], dtype=float)
    if len(differences) < 6 or len(set(np.abs(differences))) < len(differences):
        return
    result = hodges_lehmann(differences, significance=0.05)
    excludes_zero = result.low > 0 or result.high < 0
    on_zero = result.low == 0 or result.high == 0
    assert on_zero or excludes_zero == (wilcoxon(differences).p <= 0.05)
