"""The early-stopping rule, on sequences made by hand."""

import numpy as np
import pytest

from tabpet.settings import TrainingSettings
from tabpet.training.stopping import EarlyStopping


def follow(values, task="classification", **settings):
    """The epoch of the best score and the epoch in which a single member stops."""
    rule = EarlyStopping.of(task, 1, TrainingSettings(**settings))
    for epoch, value in enumerate(values, start=1):
        _, stop = rule.update(np.array([0]), np.array([value]), epoch)
        if stop[0]:
            return int(rule.best_epoch[0]), epoch
    return int(rule.best_epoch[0]), None


def test_stops_after_patience_epochs_below_the_best():
    values = [0.5, 0.6, 0.59, 0.55, 0.58, 0.9]
    assert follow(values, min_epochs=0, patience=3) == (2, 5)


def test_a_tie_with_the_best_is_not_kept_but_starts_the_count_anew():
    values = [0.6, 0.5, 0.5, 0.6, 0.5, 0.5, 0.5]
    assert follow(values, min_epochs=0, patience=3) == (1, 7)


def test_first_epochs_do_not_count():
    # Epochs 2 and 3 are worse but before the count begins: 4 and 5 are the first that count.
    assert follow([0.9] + [0.1] * 6, min_epochs=3, patience=2) == (1, 5)
    assert follow([0.9] + [0.1] * 99, min_epochs=50, patience=50) == (1, 100)


def test_accuracies_have_a_min_delta_of_at_least_1e_4():
    # Each step is too small, two of them are not.
    values = [0.5, 0.50008, 0.50016]
    assert follow(values, min_delta=1e-6, min_epochs=0, patience=1) == (3, None)
    assert follow([0.5, 0.50008], min_delta=1e-6, min_epochs=0, patience=1) == (1, None)
    assert follow([0.5, 0.502], min_delta=0.01, min_epochs=0, patience=1) == (1, None)


def test_losses_have_the_min_delta_of_the_settings():
    values = [-1.0, -0.99999, -1.00002, -0.9999895]
    # 1e-5 better is kept; 3e-5 worse counts; then 5e-7 better is near the best but not kept.
    assert follow(values, "regression", min_delta=1e-6, min_epochs=0, patience=2) == (2, None)


def test_members_have_counts_of_their_own_and_keep_them_when_others_leave():
    rule = EarlyStopping.of("classification", 3, TrainingSettings(min_epochs=0, patience=2))
    everyone = np.arange(3)
    improved, stop = rule.update(everyone, np.array([0.5, 0.5, 0.5]), 1)
    assert improved.all() and not stop.any()
    improved, stop = rule.update(everyone, np.array([0.6, 0.4, 0.4]), 2)
    assert improved.tolist() == [True, False, False] and not stop.any()
    improved, stop = rule.update(everyone, np.array([0.4, 0.4, 0.7]), 3)
    assert improved.tolist() == [False, False, True]
    assert stop.tolist() == [False, True, False]
    improved, stop = rule.update(np.array([0, 2]), np.array([0.4, 0.8]), 4)
    assert (improved.tolist(), stop.tolist()) == ([False, True], [True, False])
    assert rule.best_epoch.tolist() == [2, 1, 4]
    assert rule.best.tolist() == [0.6, 0.5, 0.8]


def test_state_brings_the_counts_back():
    settings = TrainingSettings(min_epochs=0, patience=3)
    rule = EarlyStopping.of("regression", 2, settings)
    for epoch, values in enumerate([[-1, -1], [-2, -0.5]], start=1):
        rule.update(np.arange(2), np.array(values, dtype=float), epoch)
    again = EarlyStopping.of("regression", 2, settings)
    again.restore(rule.state())
    for name in ("best", "best_epoch", "waited"):
        ours, theirs = getattr(again, name), getattr(rule, name)
        assert ours.dtype == theirs.dtype
        assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_member_that_never_had_a_score_has_no_best_epoch(task):
    rule = EarlyStopping.of(task, 1, TrainingSettings())
    improved, _ = rule.update(np.array([0]), np.array([-np.inf]), 1)
    assert not improved[0] and rule.best_epoch[0] == 0
