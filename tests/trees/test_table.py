"""What learners get from a split: classes, weights and the way back."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss
from sklearn.utils.class_weight import compute_sample_weight

from tabpet.trees.fitting import score_fit
from tabpet.trees.table import Table
from tests.trees.splits import classes, codes_only, drop_class, numbers, prepare


def test_training_weights_are_sklearns_balanced_ones():
    rows = Table.from_split(classes(labels="a b c")).training_rows(balanced=True)
    np.testing.assert_allclose(rows.weight, compute_sample_weight("balanced", rows.target))
    np.testing.assert_allclose(rows.weight.mean(), 1)
    plain = Table.from_split(classes(labels="a b c")).training_rows(balanced=False)
    np.testing.assert_array_equal(plain.weight, 1)


def test_weighted_accuracy_of_stopping_rows_is_the_score():
    table = Table.from_split(classes(labels="a b c"))
    rows = table.stopping_rows("score", balanced=False)
    predicted = np.random.default_rng(0).integers(0, 3, len(rows.target))
    accuracy = np.average(predicted == rows.target, weights=rows.weight)
    assert accuracy == pytest.approx(table.score("val", predicted), rel=1e-12)


def test_loss_weights_of_validation_rows_are_those_of_training():
    table = Table.from_split(classes(labels="a b c"))
    training, watched = table.training_rows(True), table.stopping_rows("loss", True)
    for label in range(3):
        weights = {*training.weight[training.target == label]}
        assert {*watched.weight[watched.target == label]} == weights
        assert len(weights) == 1
    np.testing.assert_array_equal(table.stopping_rows("loss", False).weight, 1)


@pytest.mark.parametrize("balanced", [True, False])
def test_the_loss_is_the_weighted_log_loss(balanced):
    table = Table.from_split(classes(labels="a b c"))
    rows = table.stopping_rows("loss", balanced)
    probabilities = np.random.default_rng(0).dirichlet(np.ones(3), len(rows.target))
    probabilities[0] = np.eye(3)[(rows.target[0] + 1) % 3]  # certain, and wrong
    expected = log_loss(rows.target, probabilities, sample_weight=rows.weight)
    assert table.loss("val", probabilities, balanced) == pytest.approx(expected, rel=1e-9)


def test_rows_of_an_unknown_class_have_no_loss():
    whole = Table.from_split(drop_class(classes(labels="a b c"), "train", 1))
    right = np.eye(2)[np.searchsorted(whole.classes, whole.target["val"]).clip(max=1)]
    assert whole.loss("val", right, balanced=True) == pytest.approx(0, abs=1e-12)


def test_a_class_without_training_rows_is_unknown_to_learners():
    split = drop_class(classes(labels="a b c"), "train", 1)
    table = Table.from_split(split)
    assert list(table.classes) == [0, 2]
    assert set(table.training_rows(True).target) == {0, 1}
    watched = table.stopping_rows("score", True)
    assert len(watched.target) == (split.part("val")["y"] != 1).sum()
    assert list(table.decode(np.array([0, 1]))) == [0, 2]
    # Classes 0 and 2 all right, class 1 all wrong: two of three recalls are 1.
    perfect = np.searchsorted(table.classes, table.target["val"]).clip(max=1)
    assert table.score("val", perfect) == pytest.approx(2 / 3)


def test_a_class_without_validation_rows_has_no_part_in_the_score():
    table = Table.from_split(drop_class(classes(labels="a b c"), "val", 1))
    watched = table.stopping_rows("score", True)
    assert set(watched.target) == {0, 2}
    totals = [watched.weight[watched.target == label].sum() for label in (0, 2)]
    assert totals[0] == pytest.approx(totals[1]) == pytest.approx(len(watched.target) / 2)


def test_numbers_are_standardised_and_restored():
    split = numbers(unit=1e-7)
    table = Table.from_split(split)
    rows = table.training_rows(balanced=True)
    np.testing.assert_allclose([rows.target.mean(), rows.target.std()], [0, 1], atol=1e-9)
    np.testing.assert_allclose(table.decode(rows.target), split.part("train")["y"], rtol=1e-12)
    np.testing.assert_array_equal(rows.weight, 1)
    assert table.score("train", rows.target) == pytest.approx(0, abs=1e-20)


def test_categorical_columns_and_their_levels():
    assert Table.from_split(classes()).categorical == [2]
    assert list(Table.from_split(codes_only()).levels) == [9, 2]
    frame = pd.DataFrame({"a": np.arange(50.0), "y": np.arange(50.0)})
    assert Table.from_split(prepare(frame)).categorical == []


def test_scores_that_are_not_finite_are_an_error():
    table = Table.from_split(numbers())
    with pytest.raises(FloatingPointError, match="validation nan"):
        score_fit(table, lambda part: np.full(len(table.target[part]), np.nan), balanced=True)
