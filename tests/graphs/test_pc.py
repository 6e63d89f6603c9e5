import numpy as np
import pytest
from causallearn.search.ConstraintBased.PC import pc

from tabpet.graphs.estimate import estimate_graph
from tests.graphs.tables import linear_sem, matrix_of, one_hot_table


def test_with_hardly_any_shrinkage_it_is_pc_of_causal_learn():
    matrix = matrix_of(linear_sem(400, 7, seed=0))
    graph = estimate_graph(matrix, "pc", {"shrinkage": 1e-9, "max_conditions": 3})
    expected = pc(matrix.values, 0.05, "fisherz", show_progress=False, max_k=3)
    np.testing.assert_array_equal(graph.adjacency != 0, expected.G.graph == -1)


def test_collider_points_at_the_common_effect():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 2000))
    values = np.column_stack([a, b, a + b + 0.5 * rng.normal(size=2000)])
    edges = estimate_graph(matrix_of(values, ["a", "b", "c"]), "pc").edges()
    assert edges[["source", "target"]].to_numpy().tolist() == [["a", "c"], ["b", "c"]]
    assert edges["weight"].to_list() == pytest.approx(
        [abs(np.corrcoef(values.T)[0, 2]), abs(np.corrcoef(values.T)[1, 2])]
    )


def test_collinear_groups_give_a_finite_graph():
    graph = estimate_graph(one_hot_table(200, seed=0), "pc")
    assert graph.status == "ok"
    assert np.isfinite(graph.adjacency).all()


def test_budget_that_is_over_gives_a_labelled_graph():
    graph = estimate_graph(matrix_of(linear_sem(100, 5, seed=0)), "pc", seconds=0.0)
    assert (graph.status, graph.n_edges) == ("timeout", 0)
