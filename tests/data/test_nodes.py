"""The node matrix of graphs."""

import numpy as np
import pandas as pd
import pytest

from tabpet.data.nodes import build_node_matrix
from tests.data.test_prepare import prepare, table


def test_nodes_are_standardised_one_hot_with_a_map_to_features():
    matrix = build_node_matrix(prepare(table()))
    assert matrix.nodes == ("a", "b", "c=u", "c=v", "c=w")
    assert matrix.features == ("a", "b", "c")
    assert matrix.feature_of.tolist() == [0, 1, 2, 2, 2]
    np.testing.assert_allclose(matrix.values.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(matrix.values.std(axis=0), 1, rtol=1e-12)


def test_only_training_rows_are_seen():
    split = prepare(table())
    assert len(build_node_matrix(split).values) == split.info.rows["train"]
    assert len(build_node_matrix(split, rows="all").values) == 200


def test_many_levels_are_pooled_into_other():
    # 12 levels in frequencies 12, 11, ..., 1: the nine most frequent stay, three are pooled.
    levels = [f"l{i:02d}" for i in range(12) for _ in range(10 * (12 - i))]
    frame = pd.DataFrame({"c": pd.Categorical(levels), "y": np.arange(len(levels), dtype=float)})
    split = prepare(frame)
    matrix = build_node_matrix(split)
    assert matrix.nodes == (*(f"c=l{i:02d}" for i in range(9)), "c=(other)")
    pooled = split.part("train")["c"].isin([9, 10, 11]).to_numpy()
    assert ((matrix.values[:, -1] > 0) == pooled).all()


def test_ten_levels_are_kept():
    frame = pd.DataFrame({"c": pd.Categorical(list("abcdefghij") * 20), "y": np.arange(200.0)})
    assert build_node_matrix(prepare(frame)).n_nodes == 10


def test_constant_nodes_are_left_out_and_listed():
    frame = table().assign(k=1.0)[["k", "a", "b", "c", "y"]]
    matrix = build_node_matrix(prepare(frame))
    assert matrix.dropped == ("k",)
    assert "k" in matrix.features
    assert 0 not in matrix.feature_of


def test_node_names_are_unique():
    frame = table().rename(columns={"a": "c=u"})
    matrix = build_node_matrix(prepare(frame))
    assert matrix.nodes == ("c=u", "b", "c=u#2", "c=v", "c=w")


@pytest.mark.parametrize("max_rows", [1199, 300, 10])
def test_rows_are_capped_by_a_stratified_sample_that_repeats(max_rows):
    # A column that is the class shows how many rows of each class were taken.
    frame = table(2000).assign(copy=lambda t: (t["y"] == "yes").astype(float))
    split = prepare(frame[["copy", "a", "y"]])
    matrix = build_node_matrix(split, max_rows=max_rows)
    assert len(matrix.values) == max_rows
    share = (split.part("train")["y"] == 1).mean()
    assert abs((matrix.values[:, 0] > 0).sum() - share * max_rows) <= 1
    again = build_node_matrix(split, max_rows=max_rows)
    np.testing.assert_array_equal(matrix.values, again.values)


def test_nothing_but_constants():
    frame = pd.DataFrame({"x": np.ones(50), "y": np.arange(50.0)})
    matrix = build_node_matrix(prepare(frame))
    assert matrix.values.shape == (30, 0)
    assert matrix.dropped == matrix.features == ("x",)
