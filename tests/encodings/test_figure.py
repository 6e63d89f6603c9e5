import dataclasses

import numpy as np
import pytest

from tabpet.encodings import encode
from tabpet.encodings.figure import feature_weights, plot_graph, save_svg
from tests.graphs.test_facts import graph_of


def test_one_hot_nodes_fold_into_features_by_their_strongest_edge():
    graph = graph_of([[0, 9, 2], [9, 0, 5], [2, 5, 0]], feature_of=[0, 0, 1])
    np.testing.assert_array_equal(feature_weights(graph), [[0, 5], [5, 0]])


@pytest.mark.parametrize("n", [1, 2, 5, 120])
@pytest.mark.parametrize("share", [0.0, 0.05, 1.0])
def test_every_graph_can_be_drawn(n, share, tmp_path):
    rng = np.random.default_rng(0)
    weights = np.triu(rng.uniform(size=(n, n)) * (rng.uniform(size=(n, n)) < share), 1)
    graph = graph_of(weights + weights.T)
    for encoding in (None, encode(graph)):
        save_svg(plot_graph(graph, encoding), tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").stat().st_size > 0


def test_spectrum_marks_what_exists_when_k_exceeds_the_nodes():
    graph = graph_of(1 - np.eye(3))
    figure = plot_graph(graph, encode(graph, k_min=5, few_nodes="repeat"))
    every, low, high = (one.get_offsets()[:, 0] for one in figure.axes[1].collections[-3:])
    assert (list(every), list(low), list(high)) == ([1, 2, 3], [2, 3], [1, 2, 3])


def test_names_may_hold_anything(tmp_path):
    graph = graph_of(1 - np.eye(3))
    named = dataclasses.replace(graph, features=("US$ in $", "ln(VOTES/POP)", "<a&b>"))
    save_svg(plot_graph(named, encode(named)), tmp_path / "graph.svg")


def test_same_figure_same_file(tmp_path):
    graph = graph_of(1 - np.eye(4))
    for name in ("one.svg", "two.svg"):
        save_svg(plot_graph(graph, encode(graph), "toy"), tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
