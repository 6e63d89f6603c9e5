"""A split on the device: values, losses and the way back to predictions."""

import numpy as np
import pandas as pd
import torch
from torch.nn import functional as F

from tabpet.settings import TrainingSettings
from tabpet.training.table import class_weights
from tests.training.tiny import make_split, make_table, split_of


def test_values_types_and_order():
    split = make_split()
    table = make_table(split)
    for name, part in table.parts.items():
        frame = split.part(name)
        assert (part.numeric.dtype, part.categorical.dtype) == (torch.float32, torch.int64)
        np.testing.assert_array_equal(
            part.numeric.numpy(), frame[["a", "b"]].to_numpy().astype("float32")
        )
        np.testing.assert_array_equal(part.categorical.numpy(), frame[["c"]].to_numpy())
        np.testing.assert_array_equal(part.target.numpy(), frame["y"].to_numpy())
        np.testing.assert_array_equal(part.rows, frame["row"].to_numpy())


def test_a_table_without_one_kind_of_features_has_an_empty_block():
    frame = pd.DataFrame({"a": np.arange(40.0), "y": np.arange(40.0)})
    part = make_table(split_of(frame, "y", "regression")).parts["train"]
    assert part.categorical.shape == (24, 0)


def test_class_weights_by_hand():
    # Two of three classes are there: 1 / (2 * 3/4) and 1 / (2 * 1/4).
    weights = class_weights(np.array([0, 0, 1, 0]), 3)
    np.testing.assert_allclose(weights.numpy(), [2 / 3, 2.0, 0.0])


def test_member_losses_are_torchs_weighted_mean():
    table = make_table(make_split())
    outputs = torch.randn(3, 7, 3, generator=torch.Generator().manual_seed(0))
    target = torch.tensor([0, 1, 2, 2, 2, 0, 1])
    expected = [F.cross_entropy(one, target, table.class_weights) for one in outputs]
    torch.testing.assert_close(table.losses(outputs, target), torch.stack(expected))


def test_a_class_without_training_rows_costs_nothing():
    table = make_table(make_split())
    weights = torch.tensor([1.0, 1.0, 0.0])
    table = type(table)(table.task, table.parts, weights, 0.0, 1.0)
    outputs = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(0))
    assert table.losses(outputs, torch.tensor([2, 2, 2, 2])).tolist() == [0.0, 0.0]
    some = table.losses(outputs, torch.tensor([0, 2, 1, 2]))
    expected = table.losses(outputs[:, [0, 2]], torch.tensor([0, 1]))
    torch.testing.assert_close(some, expected)


def test_regression_targets_are_scaled_by_training_rows_and_back():
    split = make_split("regression")
    table = make_table(split)
    train = table.parts["train"]
    assert abs(float(train.target.mean())) < 1e-6
    assert abs(float(train.target.std(correction=0)) - 1) < 1e-6
    raw = split.part("test")["y"].to_numpy()
    np.testing.assert_array_equal(table.parts["test"].truth, raw)
    back = table.predict(table.parts["test"].target[None, :, None])
    np.testing.assert_allclose(back, raw[None], rtol=1e-6)
    losses = table.losses(torch.zeros(1, len(train), 1), train.target)
    np.testing.assert_allclose(losses.numpy(), [1.0], rtol=1e-5)


def test_raw_targets_stay_raw():
    table = make_table(make_split("regression"), TrainingSettings(target_scaling="none"))
    part = table.parts["val"]
    np.testing.assert_allclose(part.target.numpy(), part.truth, rtol=1e-6)
    np.testing.assert_array_equal(table.predict(torch.full((1, 2, 1), 3.5)), [[3.5, 3.5]])


def test_predicted_class_is_the_largest_output():
    table = make_table(make_split())
    outputs = torch.tensor([[[0.1, 0.2, 0.0]], [[3.0, 1.0, 2.0]]])
    assert table.predict(outputs).tolist() == [[1], [0]]


def test_weighted_losses_by_hand():
    table = make_table(make_split("regression"))
    outputs = torch.tensor([[[1.0], [2.0], [4.0]]])
    losses = table.losses(outputs, torch.zeros(3), torch.tensor([1.0, 0.0, 3.0]))
    np.testing.assert_allclose(losses.numpy(), [(1 + 3 * 16) / 4])
    classes = make_table(make_split())
    outputs = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0))
    target, weight = torch.tensor([0, 1, 2, 2, 0]), torch.tensor([1.0, 2.0, 0.0, 3.0, 1.0])
    # A weight of n is n rows.
    repeated = torch.tensor([0, 1, 1, 3, 3, 3, 4])
    expected = classes.losses(outputs[:, repeated], target[repeated])
    torch.testing.assert_close(classes.losses(outputs, target, weight), expected)
