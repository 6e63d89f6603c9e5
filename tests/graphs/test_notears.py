import networkx as nx
import numpy as np
import pytest
from scipy.linalg import expm

from tabpet.clock import Clock, OutOfTime
from tabpet.graphs.acyclicity import acyclicity, drop_weakest_until_acyclic, is_acyclic
from tabpet.graphs.estimate import estimate_graph
from tabpet.graphs.methods import notears
from tabpet.graphs.methods.notears import NotearsSettings, estimate_notears
from tabpet.graphs.sortability import explained_variances, sortability
from tests.clocks import Countdown
from tests.graphs.plain_notears import plain_notears
from tests.graphs.tables import linear_sem, matrix_of, one_hot_table


@pytest.mark.parametrize(("n", "d", "seed"), [(300, 4, 0), (400, 6, 1), (400, 8, 2), (300, 10, 3)])
def test_edges_are_those_of_plain_notears(n, d, seed):
    matrix = matrix_of(linear_sem(n, d, seed))
    graph = estimate_graph(matrix, "notears")
    for penalty in (0.01, 0.05, 0.1, 0.2):
        expected = plain_notears(matrix.values, penalty)
        if is_acyclic(expected):
            break
    assert graph.facts["lambda"] == penalty
    np.testing.assert_array_equal(graph.adjacency != 0, expected != 0)
    np.testing.assert_allclose(graph.adjacency, expected, atol=1e-2)


def test_larger_lambdas_are_tried_only_after_a_failure():
    graph = estimate_graph(matrix_of(linear_sem(300, 5, seed=0)), "notears")
    tried = graph.facts["tried"]
    assert [one["acyclic"] for one in tried] == [False] * (len(tried) - 1) + [True]


@pytest.mark.parametrize("d", [5, 60])
def test_h_and_its_gradient(d):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(d, d)) * (rng.uniform(size=(d, d)) < 2.0 / d)
    np.fill_diagonal(weights, 0)
    h, gradient = acyclicity(weights)
    exponential = expm(weights**2)
    assert h == pytest.approx(np.trace(exponential) - d, abs=1e-10)
    np.testing.assert_allclose(gradient, exponential.T * 2 * weights, atol=1e-10)
    # A central difference along one random direction.
    step = 1e-6 * rng.normal(size=(d, d))
    change = acyclicity(weights + step)[0] - acyclicity(weights - step)[0]
    assert change == pytest.approx(2 * (gradient * step).sum(), rel=1e-4, abs=1e-9)


def test_h_of_a_two_cycle_by_hand():
    # exp([[0, a], [b, 0]]) has the trace 2 cosh(sqrt(a b)).
    weights = np.array([[0.0, 1.0], [2.0, 0.0]])
    assert acyclicity(weights)[0] == pytest.approx(2 * np.cosh(2.0) - 2)


def test_acyclic_agrees_with_networkx():
    rng = np.random.default_rng(2)
    for _ in range(50):
        edges = (rng.uniform(size=(6, 6)) < 0.2) * (1 - np.eye(6))
        graph = nx.from_numpy_array(edges, create_using=nx.DiGraph)
        assert is_acyclic(edges) == nx.is_directed_acyclic_graph(graph)


def test_weakest_edges_go_until_no_cycle_is_left():
    weights = np.array([[0, 0.9, 0], [0, 0, -0.8], [0.5, 0.4, 0]])
    np.testing.assert_array_equal(
        drop_weakest_until_acyclic(weights), [[0, 0.9, 0], [0, 0, -0.8], [0, 0, 0]]
    )


def test_budget_keeps_the_best_graph_so_far_and_says_so():
    values = matrix_of(linear_sem(300, 12, seed=4)).values
    settings = NotearsSettings()
    for checks, some_edges in ((0, False), (40, True), (400, True)):
        estimate = estimate_notears(values, settings, Countdown(looks=checks))
        assert estimate.status == "timeout"
        assert f"lambda 0.01, {checks} evaluations" in estimate.reason
        assert bool(np.count_nonzero(estimate.adjacency)) == some_edges
        assert is_acyclic(estimate.adjacency)


def test_budget_that_ends_in_the_second_lambda_keeps_the_graph_of_the_first(monkeypatch):
    cyclic = np.array([[0, 0.9, 0], [0, 0, 0.8], [0.5, 0, 0]])

    def minimise(covariance, penalty, settings, clock, progress):
        if penalty == 0.05:
            raise OutOfTime
        progress.weights = cyclic

    monkeypatch.setattr(notears, "minimise", minimise)
    estimate = estimate_notears(np.eye(3), NotearsSettings(), Clock(None))
    assert estimate.status == "timeout"
    np.testing.assert_array_equal(estimate.adjacency, [[0, 0.9, 0], [0, 0, 0.8], [0, 0, 0]])


def test_first_steps_of_a_second_lambda_do_not_replace_a_finished_first_one():
    values = matrix_of(linear_sem(300, 8, seed=0)).values
    loose = {"h_tol": 0.5, "max_iter": 1}  # the first lambda ends with cycles
    alone = estimate_notears(values, NotearsSettings(lambdas=[0.01], **loose), Clock(None))
    n_first = alone.facts["evaluations"]
    assert alone.facts["dropped_for_acyclicity"] > 0
    for n_more in (1, 2, 5):
        settings = NotearsSettings(lambdas=[0.01, 0.1], **loose)
        cut = estimate_notears(values, settings, Countdown(looks=n_first + n_more))
        assert cut.status == "timeout"
        assert (cut.facts["lambda"], cut.facts["h"]) == (0.01, alone.facts["h"])
        np.testing.assert_array_equal(cut.adjacency, alone.adjacency)


def test_stopping_before_convergence_is_said():
    matrix = matrix_of(linear_sem(300, 6, seed=4))
    graph = estimate_graph(matrix, "notears", {"max_iter": 1, "h_tol": 1e-12, "lambdas": [0.1]})
    assert graph.facts["tried"][-1]["converged"] is False
    warning = next(one for one in graph.warnings if "not converged" in one)
    assert f"h is {graph.facts['h']:.2g}, above 1e-12" in warning


def test_collinear_groups_give_a_finite_dag():
    graph = estimate_graph(one_hot_table(200, seed=0), "notears", {"lambdas": [0.1, 0.2]})
    assert np.isfinite(graph.adjacency).all()
    assert is_acyclic(graph.adjacency)


def test_sortability_by_hand():
    # Paths of 0 -> 1 -> 2: two of one edge, one of two edges.
    chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=float)
    assert sortability(chain, np.array([1.0, 2.0, 3.0])) == 1.0
    assert sortability(chain, np.array([3.0, 2.0, 1.0])) == 0.0
    assert sortability(chain, np.ones(3)) == 0.5
    assert sortability(chain, np.array([1.0, 3.0, 2.0])) == pytest.approx(2 / 3)
    assert sortability(np.zeros((3, 3)), np.ones(3)) is None


def test_explained_variances_are_regressions_on_the_rest():
    values = matrix_of(linear_sem(200, 4, seed=5)).values
    expected = []
    for j in range(4):
        rest = np.delete(values, j, axis=1)
        fit = rest @ np.linalg.lstsq(rest, values[:, j], rcond=None)[0]
        expected.append(fit.var() / values[:, j].var())
    np.testing.assert_allclose(explained_variances(np.cov(values.T)), expected, atol=1e-6)
