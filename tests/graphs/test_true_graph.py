"""True graphs over nodes, and how well estimates recover them."""

import numpy as np
import pytest
from causallearn.graph.Dag import Dag
from causallearn.graph.GraphNode import GraphNode
from causallearn.graph.SHD import SHD

from tabpet.data.nodes import NodeMatrix
from tabpet.data.true_graph import TrueGraph
from tabpet.graphs.graph import Graph
from tabpet.graphs.true_graph import edge_recovery, place_true_graph


def nodes_of(features: str, owners: list[int] | None = None) -> NodeMatrix:
    owners = owners or list(range(len(features)))
    names = tuple(f"{features[owner]}{place}" for place, owner in enumerate(owners))
    values = np.zeros((3, len(owners)))
    return NodeMatrix(values, names, tuple(features), np.array(owners))


def graph_of(adjacency, directed=True) -> Graph:
    adjacency = np.array(adjacency, dtype=float)
    names = tuple(f"n{i}" for i in range(len(adjacency)))
    return Graph("test", names, names, np.arange(len(names)), adjacency, directed)


def test_an_edge_joins_all_nodes_of_its_features():
    truth = TrueGraph(directed=False, edges=[("a", "b", 1.0)])
    graph = place_true_graph(nodes_of("abc", [0, 0, 1, 2]), truth)
    expected = np.zeros((4, 4))
    expected[:2, 2] = expected[2, :2] = 1
    np.testing.assert_array_equal(graph.adjacency, expected)
    assert graph.status == "ok" and not graph.warnings


def test_arrows_keep_their_direction_and_weight():
    truth = TrueGraph(directed=True, edges=[("b", "a", -2.0), ("b", "gone", 1.0)])
    graph = place_true_graph(nodes_of("ab"), truth)
    np.testing.assert_array_equal(graph.adjacency, [[0, 0], [-2, 0]])
    assert graph.directed and graph.warnings == ["1 edges of features that the split does not have"]


def test_a_table_without_one_says_what_to_do():
    graph = place_true_graph(nodes_of("ab"), None)
    assert graph.status == "error" and "column `graph` of its catalog row" in graph.reason
    assert not graph.adjacency.any()


def test_recovery_by_hand():
    """True pairs 01 and 12; weights rank 01, 02, 12, so precision is 1 and then 2/3."""
    truth = graph_of([[0, 1, 0], [1, 0, 1], [0, 1, 0]], directed=False)
    found = edge_recovery(graph_of([[0, 0.9, 0.5], [0.9, 0, 0.1], [0.5, 0.1, 0]], False), truth)
    assert found.average_precision == pytest.approx((1 + 2 / 3) / 2)
    assert found.auc == pytest.approx(0.5)  # one of two true pairs is above the false one
    assert (found.pairs, found.true_edges, found.edges) == (3, 2, 3)
    assert found.shd is None and found.shd_skeleton == 1


def test_a_perfect_graph():
    truth = graph_of([[0, 1, 0], [0, 0, 2], [0, 0, 0]])
    found = edge_recovery(truth, truth)
    assert (found.average_precision, found.auc, found.shd, found.shd_skeleton) == (1, 1, 0, 0)


@pytest.mark.parametrize("full", [0, 1])
def test_nothing_to_rank(full):
    truth = graph_of(np.full((3, 3), full) * (1 - np.eye(3)), directed=False)
    found = edge_recovery(graph_of(np.ones((3, 3)) - np.eye(3), directed=False), truth)
    assert found.average_precision is None and found.auc is None


def test_nodes_of_one_feature_are_no_pair():
    matrix = nodes_of("ab", [0, 0, 1])
    truth = place_true_graph(matrix, TrueGraph(directed=False, edges=[("a", "b", 1.0)]))
    assert edge_recovery(truth, truth).pairs == 2


@pytest.mark.parametrize("seed", range(5))
def test_structural_hamming_distance_is_causal_learns(seed):
    rng = np.random.default_rng(seed)
    ours, theirs = [], []
    for _ in range(2):
        adjacency = np.triu(rng.uniform(size=(6, 6)) < 0.5, 1)
        order = rng.permutation(6)
        adjacency = adjacency[np.ix_(order, order)]
        ours.append(graph_of(adjacency))
        dag = Dag([GraphNode(f"n{i}") for i in range(6)])
        for source, target in np.argwhere(adjacency):
            dag.add_directed_edge(dag.nodes[source], dag.nodes[target])
        theirs.append(dag)
    assert edge_recovery(ours[1], ours[0]).shd == SHD(*theirs).get_shd()
