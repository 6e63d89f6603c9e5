import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from tabpet.data.nodes import NodeMatrix
from tabpet.graphs.estimate import estimate_graph
from tests.graphs.tables import linear_sem, matrix_of


def test_pearson_is_the_absolute_correlation_of_numpy():
    matrix = matrix_of(linear_sem(300, 12, seed=0))
    expected = np.abs(np.corrcoef(matrix.values.T))
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(estimate_graph(matrix, "pearson").adjacency, expected, atol=1e-13)


def test_spearman_is_the_absolute_rank_correlation_of_scipy():
    values = np.round(linear_sem(300, 12, seed=1), 1)  # rounding makes ties
    matrix = matrix_of(values)
    expected = np.abs(spearmanr(matrix.values).statistic)
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(estimate_graph(matrix, "spearman").adjacency, expected, atol=1e-13)


@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_constant_and_nearly_constant_nodes_get_no_edges(method):
    values = np.column_stack([linear_sem(50, 3, seed=2), np.ones(50), np.full(50, 1e9)])
    values[7, 4] += 1e-7  # below the rounding of 1e9
    names = tuple("abcde")
    adjacency = estimate_graph(NodeMatrix(values, names, names, np.arange(5)), method).adjacency
    assert np.isfinite(adjacency).all()
    assert not adjacency[3].any()
    if method == "pearson":
        assert not adjacency[4].any()


@pytest.mark.parametrize("method", ["pearson", "spearman", "chow_liu"])
@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 1000),
    scale=st.floats(1e-3, 1e3),
    shift=st.floats(-1e3, 1e3),
)
def test_rescaling_a_column_changes_nothing(method, seed, scale, shift):
    values = linear_sem(80, 5, seed)
    changed = values.copy()
    changed[:, 2] = scale * changed[:, 2] + shift
    names = tuple("abcde")
    before = estimate_graph(NodeMatrix(values, names, names, np.arange(5)), method)
    after = estimate_graph(NodeMatrix(changed, names, names, np.arange(5)), method)
    np.testing.assert_allclose(after.adjacency, before.adjacency, atol=1e-9)
