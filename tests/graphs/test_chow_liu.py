import itertools
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from tabpet.data.nodes import NodeMatrix
from tabpet.encodings.encoding import encode
from tabpet.graphs.estimate import estimate_graph
from tabpet.graphs.graph import Graph
from tabpet.graphs.methods.chow_liu import (
    bin_columns,
    maximum_spanning_tree,
    mutual_information,
)
from tests.graphs.tables import linear_sem, matrix_of, one_hot_table


def pairwise_information(values: np.ndarray, bins: int) -> np.ndarray:
    d = values.shape[1]
    information = np.zeros((d, d))
    for i, j in itertools.combinations(range(d), 2):
        counts = np.histogram2d(values[:, i], values[:, j], bins=bins)[0]
        information[i, j] = information[j, i] = mutual_info_score(None, None, contingency=counts)
    return information


@pytest.mark.parametrize("bins", [2, 10])
@pytest.mark.parametrize("seed", range(3))
def test_information_is_that_of_every_pair_alone(seed, bins):
    for values in (
        matrix_of(linear_sem(500, 9, seed)).values,
        one_hot_table(200, seed).values,
    ):
        together = mutual_information(bin_columns(values, bins), bins)
        np.testing.assert_allclose(together, pairwise_information(values, bins), atol=1e-12)


def test_bins_away_from_edges_are_those_of_histogram():
    values = matrix_of(linear_sem(500, 9, seed=4)).values
    for bins in (2, 7, 10):
        numbers = bin_columns(values, bins)
        for found, column in zip(numbers.T, values.T, strict=True):
            edges = np.histogram_bin_edges(column, bins=bins)
            np.testing.assert_array_equal(found, np.digitize(column, edges[1:-1]))
            np.testing.assert_array_equal(
                np.bincount(found, minlength=bins), np.histogram(column, edges)[0]
            )


def test_values_on_edges_go_to_the_right_but_the_largest():
    # 0.3 lies on an edge, though numpy's edge is 0.30000000000000004.
    values = np.array([0.0, 0.1, 0.2, 0.3, 0.6999999, 0.7, 0.7000001, 0.9, 1.0])[:, None]
    np.testing.assert_array_equal(bin_columns(values, 10)[:, 0], [0, 1, 2, 3, 6, 7, 7, 9, 9])


def exact_bins(column: list[int], bins: int) -> list[int]:
    """Bin numbers by rational arithmetic: floor of the place between the ends, the last closed."""
    low, span = min(column), max(column) - min(column)
    return [min(int(Fraction(bins * (one - low), span)), bins - 1) for one in column]


def standardise(column: np.ndarray) -> np.ndarray:
    return (column - column.mean()) / column.std()


@st.composite
def integer_columns(draw: st.DrawFn) -> tuple[int, list[int]]:
    """A bin count, and integers from 0 to a span of at most 10^7, often on bin edges."""
    bins = draw(st.integers(2, 20))
    span = draw(st.integers(1, 200) | st.integers(1, 10**7 // bins).map(lambda k: k * bins))
    on_edge = st.integers(0, bins).map(lambda i: i * span // bins)
    inner = draw(st.lists(on_edge | st.integers(0, span), max_size=40))
    return bins, draw(st.permutations([0, span, *inner]))


@settings(max_examples=300, deadline=None)
@given(
    column=integer_columns(),
    offset=st.floats(-1e5, 1e5),
    scale=st.floats(-6, 6).map(lambda e: 10.0**e),
)
def test_bins_of_integers_do_not_change_with_offset_or_unit(column, offset, scale):
    bins, integers = column
    plain = np.array(integers, dtype=float)
    shift = round(offset * plain.max())  # up to 10^5 times the span away from 0
    scaled = scale * (plain + shift)
    forms = {
        "plain": plain,
        "shifted": plain + shift,
        "scaled": scaled,
        "scaled, then shifted": scale * plain + scale * shift,
        "standardised": standardise(scaled),
        "standardised twice": standardise(standardise(scaled)),
        "between 0 and 1": (scaled - scaled.min()) / (scaled.max() - scaled.min()),
    }
    expected = exact_bins(integers, bins)
    for name, form in forms.items():
        np.testing.assert_array_equal(bin_columns(form[:, None], bins)[:, 0], expected, name)


def test_graph_does_not_change_with_offset_or_unit():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 21, (300, 1))
    integers = first + rng.integers(0, 21, (300, 8))  # ends and spans that differ
    names = tuple("abcdefgh")

    def adjacency(values: np.ndarray) -> np.ndarray:
        return estimate_graph(NodeMatrix(values, names, names, np.arange(8)), "chow_liu").adjacency

    expected = adjacency(integers.astype(float))
    for form in (
        matrix_of(integers).values,
        matrix_of(matrix_of(integers).values).values,
        (integers - integers.min(axis=0)) / np.ptp(integers, axis=0),
        1990 + 0.1 * integers,
        1e6 + integers / 7,
    ):
        np.testing.assert_array_equal(adjacency(form), expected)


def test_tree_has_the_largest_total_of_networkx():
    rng = np.random.default_rng(0)
    for d in (2, 5, 20):
        weights = rng.uniform(size=(d, d))
        weights = weights + weights.T
        tree = maximum_spanning_tree(weights)
        expected = nx.maximum_spanning_tree(
            nx.from_numpy_array(weights - np.diag(np.diag(weights)))
        )
        assert tree.sum() == 2 * (d - 1)
        assert weights[tree].sum() / 2 == pytest.approx(expected.size(weight="weight"))


def test_pairs_without_information_can_join_the_tree():
    assert maximum_spanning_tree(np.zeros((4, 4))).sum() == 2 * 3


def test_weights_that_differ_by_rounding_tie_and_the_first_joins():
    # On both sides of a number that ends where a rounding to 12 decimals changes.
    middle = 0.0965673033255
    weights = np.zeros((3, 3))
    weights[0, 1], weights[0, 2], weights[1, 2] = 1.0, middle - 1e-15, middle + 1e-15
    tree = maximum_spanning_tree(weights + weights.T)
    np.testing.assert_array_equal(np.argwhere(np.triu(tree)), [[0, 1], [0, 2]])
    weights[0, 2] = middle - 1e-11  # no rounding
    tree = maximum_spanning_tree(weights + weights.T)
    np.testing.assert_array_equal(np.argwhere(np.triu(tree)), [[0, 1], [1, 2]])


def test_copies_and_mirror_images_tie_and_the_first_joins():
    rng = np.random.default_rng(0)
    for _ in range(40):
        first = rng.normal(size=200)
        other = first + rng.normal(size=200)
        values = np.column_stack([first, other, -first])
        tree = maximum_spanning_tree(mutual_information(bin_columns(values, 10), 10))
        np.testing.assert_array_equal(np.argwhere(np.triu(tree)), [[0, 1], [0, 2]])


def test_tree_edges_without_information_are_left_out_and_told():
    # A full factorial design: the columns are independent in the sample.
    values = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))
    graph = estimate_graph(
        NodeMatrix(values, ("a", "b", "c"), ("a", "b", "c"), np.arange(3)), "chow_liu"
    )
    assert graph.n_edges == 0
    assert "2 tree edges" in graph.warnings[0]


def test_chain_is_recovered():
    rng = np.random.default_rng(1)
    a = rng.normal(size=2000)
    b = a + 0.3 * rng.normal(size=2000)
    c = b + 0.3 * rng.normal(size=2000)
    graph = estimate_graph(matrix_of(np.column_stack([a, c, b]), ["a", "c", "b"]), "chow_liu")
    pairs = {
        frozenset(pair)
        for pair in zip(graph.edges()["source"], graph.edges()["target"], strict=True)
    }
    assert pairs == {frozenset("ab"), frozenset("bc")}


def test_columns_that_fill_one_bin_share_no_information():
    values = np.column_stack([np.ones(50), np.arange(50.0), np.zeros(50), np.arange(50.0) ** 2])
    together = mutual_information(bin_columns(values, 10), 10)
    np.testing.assert_allclose(together, pairwise_information(values, 10), atol=1e-12)
    assert together[1, 3] > 1
    assert not mutual_information(bin_columns(values[:, [0, 2]], 10), 10).any()


@pytest.mark.parametrize("seed", range(10))
def test_a_graph_is_the_same_in_memory_and_from_its_file(seed):
    # Rounding gave the two directions of an edge other last digits, and the file has one of them.
    graph = estimate_graph(matrix_of(linear_sem(60, 20, seed)), "chow_liu")
    stored = Graph.from_edges(graph.edges(), graph.to_metadata())
    np.testing.assert_array_equal(stored.adjacency, graph.adjacency)
    np.testing.assert_array_equal(encode(stored).values, encode(graph).values)
