import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import kendalltau
from threadpoolctl import threadpool_limits

from tabpet.clock import Clock, OutOfTime
from tabpet.data.nodes import NodeMatrix
from tabpet.encodings import encode
from tabpet.errors import TabpetError
from tabpet.graphs.estimate import estimate_graph
from tabpet.graphs.graph import Graph
from tabpet.registry import GRAPHS
from tabpet.settings import MethodSettings
from tests.graphs.tables import linear_sem, matrix_of, one_hot_table, permuted
from tests.plugins import guide_modules

ESTIMATORS = GRAPHS.entries
METHODS = sorted(ESTIMATORS)


def test_names_and_metadata():
    with_settings = {name for name, one in ESTIMATORS.items() if one.settings.model_fields}
    assert with_settings == set(MethodSettings.model_fields)
    for name, estimator in ESTIMATORS.items():
        assert estimator.key == name
        assert estimator.citation


def test_defaults_are_those_of_the_paper():
    assert ESTIMATORS["notears"].settings().model_dump() == {
        "lambdas": (0.01, 0.05, 0.1, 0.2),
        "max_iter": 100,
        "h_tol": 1e-8,
        "rho_max": 1e16,
        "w_threshold": 0.3,
    }
    assert ESTIMATORS["lingam"].settings().thresholds == (0.01, 0.05, 0.1, 0.2)
    assert ESTIMATORS["chow_liu"].settings().bins == 10


@pytest.mark.parametrize("method", METHODS)
def test_order_of_the_columns_does_not_matter(method):
    for matrix in (one_hot_table(150, seed=1), matrix_of(linear_sem(150, 6, seed=2))):
        order = np.random.default_rng(0).permutation(matrix.n_nodes)
        before = estimate_graph(matrix, method)
        after = estimate_graph(permuted(matrix, order), method)
        np.testing.assert_array_equal(after.adjacency, before.adjacency[np.ix_(order, order)])


@pytest.mark.parametrize("method", METHODS)
def test_runs_repeat_to_the_last_digit_with_any_number_of_threads(method):
    matrix = matrix_of(linear_sem(300, 8, seed=3))
    first = estimate_graph(matrix, method)
    with threadpool_limits(limits=1):
        second = estimate_graph(matrix, method)
    np.testing.assert_array_equal(first.adjacency, second.adjacency)
    assert first.facts == second.facts


@pytest.mark.parametrize("method", METHODS)
def test_input_is_left_alone(method):
    matrix = matrix_of(np.asfortranarray(linear_sem(100, 5, seed=4)))
    before = matrix.values.copy()
    estimate_graph(matrix, method)
    np.testing.assert_array_equal(matrix.values, before)


@pytest.mark.parametrize("method", METHODS)
def test_one_and_two_nodes(method):
    rng = np.random.default_rng(0)
    one = estimate_graph(matrix_of(rng.normal(size=(50, 1))), method)
    assert one.adjacency.shape == (1, 1)
    assert one.n_edges == 0
    assert "needs two" in one.reason
    x = rng.laplace(size=50)
    two = estimate_graph(matrix_of(np.column_stack([x, x + rng.laplace(size=50)])), method)
    assert np.isfinite(two.adjacency).all()
    twins = estimate_graph(matrix_of(np.column_stack([x, -x])), method)
    assert np.isfinite(twins.adjacency).all()


@pytest.mark.parametrize("method", METHODS)
def test_graph_survives_its_files(method):
    graph = estimate_graph(one_hot_table(100, seed=0), method)
    metadata = json.loads(json.dumps(graph.to_metadata()))
    loaded = Graph.from_edges(graph.edges(), metadata)
    np.testing.assert_array_equal(loaded.adjacency, graph.adjacency)
    np.testing.assert_array_equal(loaded.feature_of, graph.feature_of)
    assert loaded.to_metadata() == metadata
    needed = "method settings seconds n_nodes n_edges entropy fiedler components status warnings"
    assert set(needed.split()) <= set(metadata)


def test_unknown_names_are_told_with_what_is_allowed():
    matrix = matrix_of(linear_sem(50, 3, seed=0))
    with pytest.raises(TabpetError, match="there is no graph 'personal'.*pearson"):
        estimate_graph(matrix, "personal")
    with pytest.raises(TabpetError, match="`lamda` is not a setting; did you mean `lambdas`"):
        estimate_graph(matrix, "notears", {"lamda": 0.1})
    with pytest.raises(TabpetError, match="missing or infinite"):
        broken = matrix.values.copy()
        broken[0, 0] = np.nan
        estimate_graph(
            NodeMatrix(broken, matrix.nodes, matrix.features, matrix.feature_of), "pearson"
        )


def test_import_is_light():
    heavy = {"torch", "lingam", "causallearn", "matplotlib"}
    code = f"import sys, tabpet.graphs, tabpet.encodings; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def failing(values, settings, clock):
    raise FloatingPointError("no luck")


def impatient(values, settings, clock):
    raise OutOfTime


@pytest.mark.parametrize(
    ("function", "status", "said"),
    [(failing, "error", "FloatingPointError: no luck"), (impatient, "timeout", "budget ended")],
)
def test_an_estimator_that_fails_is_a_row_that_says_so(monkeypatch, function, status, said):
    broken = dataclasses.replace(ESTIMATORS["pearson"], function=function)
    monkeypatch.setitem(ESTIMATORS, "pearson", broken)
    graph = estimate_graph(matrix_of(linear_sem(50, 3, seed=0)), "pearson")
    assert (graph.status, graph.n_edges) == (status, 0)
    assert said in graph.reason
    assert encode(graph).values.shape[0] == 3


def test_what_another_try_may_mend_is_raised_while_there_are_tries(monkeypatch):
    def short(values, settings, clock):
        raise MemoryError("full")

    broken = dataclasses.replace(ESTIMATORS["pearson"], function=short)
    monkeypatch.setitem(ESTIMATORS, "pearson", broken)
    matrix = matrix_of(linear_sem(50, 3, seed=0))
    with pytest.raises(MemoryError):
        estimate_graph(matrix, "pearson", retries_left=1)
    assert estimate_graph(matrix, "pearson").status == "error"


def test_a_table_without_nodes():
    empty = NodeMatrix(np.zeros((9, 0)), (), ("x", "y"), np.zeros(0, dtype=np.int64), ("x", "y"))
    for method in METHODS:
        graph = estimate_graph(empty, method)
        assert graph.n_edges == 0
        assert "needs two" in graph.reason
        json.dumps(graph.to_metadata(), allow_nan=False)
        assert not encode(graph).values.any()


def test_the_estimator_of_the_guide_works():
    module: dict = {}
    exec(guide_modules()["tabpet_extras/kendall.py"], module)
    estimator = module["ESTIMATOR"]
    values = matrix_of(linear_sem(60, 4, seed=0)).values
    estimate = estimator.function(values, estimator.settings(), Clock())
    expected = abs(kendalltau(values[:, 1], values[:, 3]).statistic)
    assert estimate.adjacency[1, 3] == estimate.adjacency[3, 1] == pytest.approx(expected)
    assert estimator.function(values, estimator.settings(), Clock(0.0)).status == "timeout"
