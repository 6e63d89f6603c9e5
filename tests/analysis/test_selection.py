"""The choice of alpha: by validation, ties to the smallest, nothing that a seed lacks."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabpet.analysis.selection import average_splits, choose_alphas, curves_over_alpha
from tabpet.runs import Run, runs_frame


def run(alpha, val, test, seed=1, **more) -> Run:
    cell = {"dataset": "d", "split": 0, "model": "ft_transformer", "encoding": "spearman"}
    scores = {"val_score": val, "test_score": test}
    return Run(**{"task": "classification", **cell, **scores, **more}, seed=seed, alpha=alpha)


def failed(alpha, seed=1, status="oom") -> Run:
    return run(alpha, None, None, seed, status=status, reason="because")


def choose(*runs: Run) -> pd.Series:
    choices = choose_alphas(curves_over_alpha(runs_frame(runs)))
    [(_, choice)] = choices.iterrows()
    return choice


def test_validation_decides_and_the_oracle_stands_beside():
    choice = choose(
        run(0.0, 0.80, 0.50), run(0.5, 0.70, 0.90), run(1.0, 0.75, 0.60), run(2.0, 0.72, 0.95)
    )
    assert (choice["alpha"], choice["oracle_alpha"]) == (1.0, 2.0)
    assert (choice["base_test"], choice["test"], choice["oracle_test"]) == (0.50, 0.60, 0.95)
    assert choice["improvement"] == pytest.approx(20)
    assert choice["oracle_improvement"] == pytest.approx(90)


def test_the_baseline_is_no_candidate_even_when_it_is_best():
    choice = choose(run(0.0, 0.9, 0.9), run(1.0, 0.5, 0.6))
    assert choice["alpha"] == 1.0
    assert choice["improvement"] == pytest.approx(100 * (0.6 - 0.9) / 0.9)


def test_regression_prefers_small_errors():
    runs = [run(0.0, 3, 2.0), run(0.5, 2, 1.5), run(1.0, 1, 1.8)]
    choice = choose(*(Run(**{**vars(one), "task": "regression"}) for one in runs))
    assert (choice["alpha"], choice["oracle_alpha"]) == (1.0, 0.5)
    assert choice["improvement"] == pytest.approx(10)
    assert choice["oracle_improvement"] == pytest.approx(25)


def test_of_equal_means_the_smallest_alpha_wins():
    runs = [run(0.0, 0.1, 0.1), run(2.0, 0.7, 0.5), run(0.5, 0.7, 0.5), run(1.0, 0.6, 0.4)]
    choice = choose(*runs)
    assert (choice["alpha"], choice["oracle_alpha"]) == (0.5, 0.5)


def test_means_that_differ_by_rounding_are_equal():
    by_a_bit = float(np.nextafter(0.7, 1))
    choice = choose(run(0.0, 0.1, 0.1), run(0.5, 0.7, 0.7), run(2.0, by_a_bit, by_a_bit))
    assert (choice["alpha"], choice["oracle_alpha"]) == (0.5, 0.5)


def test_means_and_spreads_over_seeds():
    runs = [run(0.0, 0.5, test, seed) for seed, test in enumerate((0.5, 0.6, 0.7))]
    runs += [run(1.0, 0.6, test, seed) for seed, test in enumerate((0.6, 0.8, 1.0))]
    choice = choose(*runs)
    assert (choice["base_test"], choice["test"]) == pytest.approx((0.6, 0.8))
    assert (choice["base_sd"], choice["test_sd"]) == pytest.approx((0.1, 0.2))
    assert choice["seeds"] == 3


def test_only_alphas_that_all_finished_seeds_have():
    runs = [run(alpha, 0.5 + alpha / 10, 0.5, seed) for alpha in (0.0, 1.0) for seed in (1, 2)]
    runs += [run(2.0, 0.99, 0.99, seed=1), failed(2.0, seed=2)]
    assert choose(*runs)["alpha"] == 1.0


def test_a_seed_without_baseline_or_without_candidates_is_left_out():
    runs = [run(0.0, 0.5, 0.5, seed=1), run(1.0, 0.6, 0.6, seed=1)]
    runs += [failed(0.0, seed=2), run(1.0, 0.9, 0.9, seed=2)]
    runs += [run(0.0, 0.1, 0.1, seed=3), failed(1.0, seed=3)]
    choice = choose(*runs)
    assert choice["seeds"] == 1
    assert (choice["base_test"], choice["test"]) == (0.5, 0.6)
    assert np.isnan(choice["test_sd"])


def test_a_cell_without_candidates_has_no_choice():
    curves = curves_over_alpha(runs_frame([run(0.0, 0.5, 0.5), failed(1.0)]))
    choices = choose_alphas(curves)
    assert choices.empty
    assert curves.empty
    # Two seeds that share the baseline alone.
    runs = [run(0.0, 0.5, 0.5, 1), run(1.0, 0.5, 0.5, 1), run(0.0, 0.5, 0.5, 2)]
    choices = choose_alphas(curves_over_alpha(runs_frame([*runs, run(2.0, 0.5, 0.5, 2)])))
    assert choices.empty


def test_a_run_cut_by_its_time_limit_counts_and_a_number_that_is_none_does_not():
    late = run(1.0, 0.7, 0.6, status="timeout", reason="600 s are over")
    assert choose(run(0.0, 0.5, 0.5), late)["alpha"] == 1.0
    broken = run(2.0, float("nan"), 0.9)
    assert choose(run(0.0, 0.5, 0.5), late, broken)["alpha"] == 1.0


def test_a_baseline_of_zero_gives_no_percentage():
    choice = choose(run(0.0, 0.0, 0.0), run(1.0, 0.5, 0.5))
    assert np.isnan(choice["improvement"])


def test_curves_mark_both_choices():
    curves = curves_over_alpha(
        runs_frame([run(0.0, 0.5, 0.5), run(1.0, 0.9, 0.4), run(0.5, 0.6, 0.8)])
    )
    assert list(curves["alpha"]) == [0.0, 0.5, 1.0]
    assert list(curves["chosen"]) == [False, False, True]
    assert list(curves["oracle"]) == [False, True, False]
    assert list(curves["improvement"]) == pytest.approx([0, 60, -20])


scores = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=3, max_size=8)


@settings(max_examples=25)
@given(scores, st.permutations(range(8)), st.sampled_from(["classification", "regression"]))
def test_choices_ignore_the_order_of_rows_and_the_oracle_is_never_worse(pairs, order, task):
    runs = [run(alpha, val, test, task=task) for alpha, (val, test) in enumerate(pairs)]
    choice = choose(*runs)
    mixed = choose(*(runs[place] for place in order if place < len(runs)))
    assert choice.equals(mixed)
    assert choice["oracle_improvement"] >= choice["improvement"]


def test_splits_are_averaged_within_a_dataset():
    runs = [
        run(0.0, 0.5, 0.5, split=1),
        run(1.0, 0.5, 0.6, split=1),
        run(0.0, 0.5, 0.4, split=2),
        run(1.0, 0.5, 0.4, split=2),
    ]
    choices = choose_alphas(curves_over_alpha(runs_frame(runs)))
    [(_, cell)] = average_splits(choices).iterrows()
    assert len(choices) == 2
    assert cell["splits"] == 2
    assert cell["improvement"] == pytest.approx(10)  # the mean of 20 and 0
    assert cell["test"] == pytest.approx(0.5)


def test_validation_chooses_in_each_split_and_the_oracle_once_for_all_of_them():
    # By split: alpha -> validation score, test score.
    scores = {
        1: {0.0: (0.5, 0.5), 0.5: (0.9, 0.4), 1.0: (0.1, 0.5), 2.0: (0.2, 0.6)},
        2: {0.0: (0.5, 0.5), 0.5: (0.1, 0.9), 1.0: (0.9, 0.6), 2.0: (0.2, 0.8)},
    }
    runs = [
        run(alpha, *both, seed=split, split=split)
        for split, alphas in scores.items()
        for alpha, both in alphas.items()
    ]
    choices = choose_alphas(curves_over_alpha(runs_frame(runs)))
    assert list(choices["alpha"]) == [0.5, 1.0]
    # Mean test scores are 0.65, 0.55 and 0.7, though the second split alone has its best at 0.5.
    assert list(choices["oracle_alpha"]) == [2.0, 2.0]
    [(_, mean)] = average_splits(choices).iterrows()
    assert mean["oracle_improvement"] == pytest.approx((20 + 60) / 2)
    # An alpha that a split lacks is no candidate for all of them.
    without = [one for one in runs if (one.split, one.alpha) != (1, 2.0)]
    choices = choose_alphas(curves_over_alpha(runs_frame(without)))
    assert list(choices["oracle_alpha"]) == [0.5, 0.5]
    # Splits that share no alpha choose by themselves: what validation says does not depend on it.
    kept = {(1, 0.0), (1, 2.0), (2, 0.0), (2, 0.5), (2, 1.0)}
    apart = [one for one in runs if (one.split, one.alpha) in kept]
    choices = choose_alphas(curves_over_alpha(runs_frame(apart)))
    assert list(choices["alpha"]) == [2.0, 1.0]
    assert list(choices["oracle_alpha"]) == [2.0, 0.5]


def test_with_one_seed_per_split_the_spread_is_that_over_splits():
    tests = {1: (0.5, 0.6), 2: (0.7, 0.9)}  # split and seed: without and with encodings
    runs = [
        run(alpha, 0.5, score, seed=split, split=split)
        for split, pair in tests.items()
        for alpha, score in zip((0.0, 1.0), pair, strict=True)
    ]
    [(_, cell)] = average_splits(choose_alphas(curves_over_alpha(runs_frame(runs)))).iterrows()
    assert cell["base_sd"] == pytest.approx(np.std([0.5, 0.7], ddof=1))
    assert cell["test_sd"] == pytest.approx(np.std([0.6, 0.9], ddof=1))
    assert (cell["seeds"], cell["splits"]) == (1, 2)
    [(_, alone)] = average_splits(choose_alphas(curves_over_alpha(runs_frame(runs[:2])))).iterrows()
    assert np.isnan(alone["base_sd"])
