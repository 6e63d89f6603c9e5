import networkx as nx
import numpy as np
import pytest

from tabpet.graphs.facts import fiedler_value, graph_entropy, graph_facts
from tabpet.graphs.graph import Graph


def graph_of(adjacency, directed=False, feature_of=None) -> Graph:
    adjacency = np.array(adjacency, dtype=float)
    n = len(adjacency)
    owners = np.arange(n) if feature_of is None else np.array(feature_of)
    names = tuple(f"n{i}" for i in range(n))
    features = tuple(f"f{i}" for i in range(owners.max() + 1))
    return Graph("test", names, features, owners, adjacency, directed)


def test_fiedler_value_is_that_of_networkx():
    rng = np.random.default_rng(0)
    for n in (3, 8, 15):
        weights = np.triu(rng.uniform(size=(n, n)), 1)
        weights = weights + weights.T
        expected = nx.algebraic_connectivity(nx.from_numpy_array(weights), method="lanczos")
        assert fiedler_value(weights) == pytest.approx(expected, rel=1e-6)


def test_fiedler_value_of_a_path_and_of_two_parts():
    path = np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)
    assert fiedler_value(path) == pytest.approx(2 - 2 * np.cos(np.pi / 4))
    assert fiedler_value(np.kron(np.eye(2), [[0, 1], [1, 0]])) == 0.0


def test_entropy_by_hand():
    complete = 0.3 * (np.ones((4, 4)) - np.eye(4))
    assert graph_entropy(complete) == pytest.approx(1.0)
    # A star of 3 leaves: the centre has three equal edges (1), each leaf has one (0).
    star = np.zeros((4, 4))
    star[0, 1:] = star[1:, 0] = 1
    assert graph_entropy(star) == pytest.approx(0.25)
    # Edges 3/4 and 1/4 at the middle of a path: -(0.75 ln 0.75 + 0.25 ln 0.25) / ln 2 / 3 nodes.
    path = np.array([[0, 3.0, 0], [3, 0, 1], [0, 1, 0]])
    assert graph_entropy(path) == pytest.approx(0.8112781244591328 / 3)
    assert graph_entropy(np.zeros((5, 5))) == 0.0
    assert graph_entropy(np.array([[0, 1.0], [1, 0]])) == 0.0


def test_edges_and_density_count_directed_edges_once():
    directed = graph_facts(graph_of([[0, -1, 0], [0, 0, 2], [0, 0, 0]], directed=True))
    assert (directed["n_edges"], directed["density"]) == (2, pytest.approx(2 / 6))
    undirected = graph_facts(graph_of([[0, 1, 0], [1, 0, 2], [0, 2, 0]]))
    assert (undirected["n_edges"], undirected["density"]) == (2, pytest.approx(2 / 3))


def test_weight_within_and_between_features():
    # Nodes 0 and 1 are one feature; their edge of 3 stays inside, the edge of 1 leaves.
    facts = graph_facts(graph_of([[0, 3, 0], [3, 0, 1], [0, 1, 0]], feature_of=[0, 0, 1]))
    assert facts["weight_within_features"] == pytest.approx(0.75)
    assert facts["weight_between_features"] == pytest.approx(0.25)


def test_components_and_isolated_nodes():
    facts = graph_facts(graph_of([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]))
    assert (facts["components"], facts["isolated"], facts["fiedler"]) == (3, 2, 0.0)


def test_empty_graph_has_zeros():
    facts = graph_facts(graph_of(np.zeros((3, 3))))
    assert facts["entropy"] == facts["density"] == facts["weight_within_features"] == 0.0
    assert facts["weight_between_features"] == 0.0
