import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabpet.encodings import Encoding, control, encode, select_k
from tabpet.encodings.spectrum import eigenpairs
from tabpet.errors import TabpetError
from tabpet.graphs.estimate import estimate_graph
from tabpet.graphs.graph import Graph
from tabpet.graphs.laplacian import laplacian_matrix, symmetric_weights
from tests.graphs.tables import linear_sem, matrix_of, one_hot_table, permuted
from tests.graphs.test_facts import graph_of


def path(n: int) -> np.ndarray:
    return np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)


def star(n: int) -> np.ndarray:
    weights = np.zeros((n, n))
    weights[0, 1:] = weights[1:, 0] = 1
    return weights


# Laplacians


def test_symmetrising_by_hand():
    adjacency = np.array([[5.0, -2.0], [1.0, 0.0]])
    np.testing.assert_array_equal(symmetric_weights(adjacency, "mean"), [[0, 1.5], [1.5, 0]])
    np.testing.assert_array_equal(symmetric_weights(adjacency, "max"), [[0, 2], [2, 0]])


def test_laplacians_of_a_path_of_three_by_hand():
    np.testing.assert_array_equal(
        laplacian_matrix(path(3), "combinatorial"), [[1, -1, 0], [-1, 2, -1], [0, -1, 1]]
    )
    s = np.sqrt(0.5)
    np.testing.assert_allclose(
        laplacian_matrix(path(3), "normalized"), [[1, -s, 0], [-s, 1, -s], [0, -s, 1]]
    )


def test_isolated_node_has_eigenvalue_one_in_the_normalized_laplacian():
    weights = np.zeros((3, 3))
    weights[0, 1] = weights[1, 0] = 4
    np.testing.assert_allclose(
        np.linalg.eigvalsh(laplacian_matrix(weights, "normalized")), [0, 1, 2], atol=1e-12
    )


# Eigenpairs


@pytest.mark.parametrize("kind", ["combinatorial", "normalized"])
@pytest.mark.parametrize(
    "weights",
    [path(6), star(7), np.ones((5, 5)) - np.eye(5), np.kron(np.eye(3), path(3)), np.zeros((4, 4))],
    ids=["path", "star", "complete", "three paths", "empty"],
)
def test_eigenpairs_are_orthonormal_and_solve_the_equation(weights, kind):
    values, vectors = eigenpairs(weights, kind)
    matrix = laplacian_matrix(weights, kind)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(weights)), atol=1e-10)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-8)
    largest = np.abs(vectors).max(axis=0)
    np.testing.assert_allclose(vectors.max(axis=0), largest, rtol=1e-8)


def test_first_eigenvector_is_constant_even_when_the_graph_is_in_parts():
    weights = np.kron(np.eye(2), path(3))
    vectors = eigenpairs(weights, "combinatorial")[1]
    np.testing.assert_allclose(vectors[:, 0], np.full(6, 6**-0.5))
    np.testing.assert_allclose(vectors[:, 1], np.repeat([6**-0.5, -(6**-0.5)], 3))


def test_largest_component_is_told_apart_first():
    weights = np.zeros((6, 6))
    weights[2:, 2:] = path(4)  # nodes 0 and 1 are alone
    vectors = eigenpairs(weights, "combinatorial")[1]
    # Orthogonal to the constant: (2, 2, -1, -1, -1, -1), scaled to length 1.
    np.testing.assert_allclose(vectors[:, 1], np.array([2, 2, -1, -1, -1, -1]) / np.sqrt(12))


def test_basis_of_an_eigenspace_does_not_come_from_lapack(monkeypatch):
    expected = eigenpairs(star(6), "combinatorial")[1]
    plain = np.linalg.eigh

    def turned(matrix):
        values, vectors = plain(matrix)
        rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
        vectors[:, 1:5] = vectors[:, 1:5] @ rotation  # the eigenvalue 1 has multiplicity 4
        return values, vectors

    monkeypatch.setattr(np.linalg, "eigh", turned)
    np.testing.assert_allclose(eigenpairs(star(6), "combinatorial")[1], expected, atol=1e-9)


# k


@pytest.mark.parametrize(
    ("eigenvalues", "low", "high", "k"),
    [
        ([0, 0.3, 0.6, 0.75, 1.0, 1.25, 1.6], 3, 2, 3),  # both ends of the window count
        ([0, 1, 1, 1, 1], 0, 0, 2),  # at least 2
        ([0] + [0.1] * 14 + [1.9] * 12, 14, 12, 10),  # at most 10
        ([0, 0.01, 0.02, 0.03, 0.7, 1.0], 3, 0, 3),  # a gap of 0.67 after the third
        ([0, 0.05, 0.1, 0.15, 0.2, 0.74], 4, 0, 4),  # 0.54 exceeds both 0.5 and 10 x 0.05
        ([0, 0.06, 0.12, 0.18, 0.24, 0.75], 5, 0, 5),  # 0.51 is below 10 x 0.06
        ([0, 0.01, 0.7], 2, 0, 2),  # too few for gaps
        ([0, 0.5, 1.26, 1.27, 1.97, 1.98, 1.99], 1, 3, 2),  # high side: after the last gap
    ],
)
def test_k_selection_by_hand(eigenvalues, low, high, k):
    choice = select_k(np.array(eigenvalues))
    assert (choice.low_count, choice.high_count, choice.k_first, choice.k_last) == (low, high, k, k)


# Encodings


def test_path_of_five_by_hand():
    # D - A of a path has the eigenvectors cos(pi j (i + 1/2) / 5), normalized A's choice is k = 2:
    # 1 - cos(pi j / 4) is at most 0.75 for j = 1 only, and 2 is the least.
    encoding = encode(graph_of(path(5)))
    i = np.arange(5)
    columns = [np.cos(np.pi * j * (i + 0.5) / 5) for j in (1, 2, 3, 4)]
    # The entry of largest size, the first in a tie, is negative in the second and third: i = 2
    # with cos(pi), and i = 1 with cos(0.9 pi).
    signs = np.array([1, -1, -1, 1])
    expected = signs * np.column_stack([one / one.std(ddof=1) for one in columns])
    assert (encoding.k, encoding.used, encoding.choice["low_count"]) == (2, (1, 2, 3, 4), 1)
    np.testing.assert_allclose(
        encoding.eigenvalues, 2 - 2 * np.cos(np.pi * np.arange(5) / 5), atol=1e-12
    )
    np.testing.assert_allclose(encoding.values, expected, atol=1e-9)


def test_star_by_hand():
    # The highest eigenvector of a star of n nodes is (n - 1, -1, ..., -1).
    encoding = encode(graph_of(star(6)))
    top = np.array([5.0, -1, -1, -1, -1, -1])
    np.testing.assert_allclose(encoding.values[:, -1], top / top.std(ddof=1), atol=1e-9)
    np.testing.assert_allclose(encoding.eigenvalues, [0, 1, 1, 1, 1, 6], atol=1e-12)


def test_columns_have_zero_mean_and_unit_sample_variance():
    encoding = encode(estimate_graph(matrix_of(linear_sem(200, 12, seed=0)), "pearson"))
    np.testing.assert_allclose(encoding.values.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(encoding.values.std(axis=0, ddof=1), 1)


def test_values_are_clipped():
    # One node tied loosely to a dense group of 200 stands alone in the lowest eigenvector.
    weights = np.ones((200, 200)) - np.eye(200)
    weights[0, 1:] = weights[1:, 0] = 1e-3
    assert np.abs(encode(graph_of(weights)).values).max() == 10.0
    assert np.abs(encode(graph_of(weights), clip=3.0).values).max() == 3.0


def test_one_hot_nodes_are_averaged_into_features():
    weights = path(5)
    by_node = encode(graph_of(weights)).values
    grouped = encode(graph_of(weights, feature_of=[0, 0, 0, 1, 2])).values
    np.testing.assert_allclose(grouped[0], by_node[:3].mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(grouped[1:], by_node[3:], atol=1e-12)


def test_feature_without_nodes_gets_zeros():
    graph = graph_of(path(5))
    longer = Graph(
        "test", graph.nodes, (*graph.features, "constant"), graph.feature_of, graph.adjacency, False
    )
    encoding = encode(longer)
    assert not encoding.values[5].any()
    assert "1 features have no node: their encoding is zero" in encoding.notes


@pytest.mark.parametrize(
    ("n", "k", "used"),
    [(1, 1, (-1, -1)), (2, 1, (1, -1)), (3, 1, (1, 2)), (4, 1, (1, 3)), (5, 2, (1, 2, 3, 4))],
)
def test_no_eigenvector_is_used_twice(n, k, used):
    encoding = encode(graph_of(path(n) if n > 1 else np.zeros((1, 1))))
    assert (encoding.k, encoding.used, encoding.d_pe) == (k, used, 2 * k)
    assert any("k lowered from 2 to 1" in one for one in encoding.notes) == (n < 5)


# The released slices of n eigenvectors, vectors[:, 1 : k + 1] and vectors[:, -k:].
@pytest.mark.parametrize(
    ("n", "k", "used", "notes"),
    [
        (1, 2, (-1,), ["1 columns instead of 4"]),
        (2, 2, (1, 0, 1), ["1 eigenvectors are used at both ends", "3 columns instead of 4"]),
        (3, 2, (1, 2, 1, 2), ["2 eigenvectors are used at both ends"]),
        (4, 2, (1, 2, 2, 3), ["1 eigenvectors are used at both ends"]),
        (5, 2, (1, 2, 3, 4), []),
        (4, 3, (1, 2, 3, 1, 2, 3), ["3 eigenvectors are used at both ends"]),
        (4, 5, (1, 2, 3, 0, 1, 2, 3), ["3 eigenvectors", "7 columns instead of 10"]),
    ],
)
def test_repeating_keeps_k_and_uses_eigenvectors_twice(n, k, used, notes):
    graph = graph_of(path(n) if n > 1 else np.zeros((1, 1)))
    encoding = encode(graph, k_min=k, few_nodes="repeat")
    assert (encoding.k, encoding.used) == (k, used)
    assert encoding.values.shape == (n, encoding.d_pe) == (n, len(used))
    assert encoding.settings["few_nodes"] == "repeat"
    told = [one for one in encoding.notes if one.startswith("k = ")]
    assert bool(told) == bool(notes)
    assert all(one in " ".join(told) for one in notes)


def test_repeated_columns_by_hand():
    s = np.sqrt(0.5)
    # The trivial eigenvector is the constant: a zero column.
    two = encode(graph_of(path(2)), few_nodes="repeat").values
    np.testing.assert_allclose(two, [[s, 0, s], [-s, 0, -s]], atol=1e-12)
    # (1, 0, -1) and (-1, 2, -1), with sample variances 1 and 3.
    three = encode(graph_of(path(3)), few_nodes="repeat").values
    low, high = np.array([1, 0, -1]), np.array([-1, 2, -1]) / np.sqrt(3)
    np.testing.assert_allclose(three, np.column_stack([low, high, low, high]), atol=1e-12)
    # cos(pi j (i + 1/2) / 4) for j = 1, 2, 3; the last turned, its i = 1 being cos(9 pi / 8).
    four = encode(graph_of(path(4)), few_nodes="repeat").values
    i = np.arange(4)
    columns = [sign * np.cos(np.pi * j * (i + 0.5) / 4) for j, sign in ((1, 1), (2, 1), (3, -1))]
    first, second, third = (one / one.std(ddof=1) for one in columns)
    np.testing.assert_allclose(four, np.column_stack([first, second, second, third]), atol=1e-12)


@pytest.mark.parametrize("n", [5, 6, 9])
def test_repeating_changes_nothing_where_nodes_suffice(n):
    lowered, repeated = (encode(graph_of(path(n)), few_nodes=one) for one in ("lower", "repeat"))
    assert 2 * lowered.k < n
    np.testing.assert_array_equal(repeated.values, lowered.values)
    assert (repeated.k, repeated.used, repeated.notes) == (lowered.k, lowered.used, lowered.notes)


def test_repeating_without_nodes_has_no_columns():
    none = np.zeros(0, dtype=np.int64)
    encoding = encode(
        Graph("test", (), ("x", "y"), none, np.zeros((0, 0)), False), few_nodes="repeat"
    )
    assert (encoding.k, encoding.values.shape, encoding.used) == (2, (2, 0), ())
    loaded = Encoding.from_frame(encoding.to_frame(), encoding.to_metadata())
    assert loaded.values.shape == (2, 0)


def test_two_nodes_by_hand():
    s = np.sqrt(0.5)
    np.testing.assert_allclose(encode(graph_of(path(2))).values, [[s, 0], [-s, 0]])


@pytest.mark.parametrize(
    ("weights", "status", "state", "said"),
    [
        (path(3), "ok", "ok", ""),
        (path(3), "timeout", "cut", "was cut by its time limit: why"),
        (np.zeros((3, 3)), "ok", "empty", "has no edges, so the encoding is zero"),
        (np.zeros((3, 3)), "timeout", "failed", "graph: why"),
        (np.zeros((3, 3)), "error", "failed", "graph: why"),
    ],
)
def test_the_state_of_the_graph_travels_with_its_encoding(weights, status, state, said):
    graph = dataclasses.replace(graph_of(weights), status=status, reason="why" if said else "")
    encoding = encode(graph)
    assert encoding.graph_state == state and said in encoding.graph_reason
    metadata = json.loads(json.dumps(encoding.to_metadata()))
    again = Encoding.from_frame(encoding.to_frame(), metadata)
    assert (again.graph_state, again.graph_reason) == (state, encoding.graph_reason)
    for kind in ("random", "shuffled", "learnable"):
        assert control(encoding, kind, 1).graph_state == state


def test_empty_graph_is_zero_and_labelled():
    encoding = encode(graph_of(np.zeros((6, 6))))
    assert encoding.values.shape == (6, 4)
    assert not encoding.values.any()
    assert "empty graph: the encoding is zero" in encoding.notes


def test_disconnected_graph_is_labelled():
    weights = np.zeros((7, 7))
    weights[:5, :5] = path(5)
    encoding = encode(graph_of(weights))
    assert np.isfinite(encoding.values).all()
    assert any("3 components, 2 of them single" in one for one in encoding.notes)


@pytest.mark.parametrize("laplacian", ["combinatorial", "normalized"])
@pytest.mark.parametrize("method", ["pearson", "spearman", "chow_liu", "lingam", "notears"])
def test_order_of_the_columns_does_not_matter(method, laplacian):
    matrix = one_hot_table(150, seed=3)
    order = np.random.default_rng(1).permutation(matrix.n_nodes)
    before = encode(estimate_graph(matrix, method), laplacian=laplacian)
    after = encode(estimate_graph(permuted(matrix, order), method), laplacian=laplacian)
    np.testing.assert_array_equal(after.values, before.values)


@settings(max_examples=50, deadline=None)
@given(
    n=st.integers(1, 12), seed=st.integers(0, 10_000), share=st.sampled_from([0.0, 0.2, 0.5, 1.0])
)
def test_any_graph_has_a_finite_encoding_that_permutes_with_it(n, seed, share):
    rng = np.random.default_rng(seed)
    adjacency = np.round(rng.normal(size=(n, n)), 1) * (rng.uniform(size=(n, n)) < share)
    np.fill_diagonal(adjacency, 0)
    graph = graph_of(adjacency, directed=True)
    order = rng.permutation(n)
    names = tuple(graph.nodes[i] for i in order)
    turned = Graph("test", names, names, np.arange(n), adjacency[np.ix_(order, order)], True)
    before, after = encode(graph), encode(turned)
    assert np.isfinite(before.values).all()
    assert np.abs(before.values).max(initial=0) <= 10
    used = [one for one in before.used if one >= 0]
    assert len(set(used)) == len(used)
    np.testing.assert_array_equal(after.values, before.values[order])


def test_encoding_survives_its_files():
    encoding = encode(estimate_graph(one_hot_table(100, seed=0), "pearson"))
    metadata = json.loads(json.dumps(encoding.to_metadata()))
    loaded = Encoding.from_frame(encoding.to_frame(), metadata)
    np.testing.assert_array_equal(loaded.values, encoding.values)
    assert loaded.features == encoding.features
    assert loaded.to_metadata() == metadata


def test_wrong_settings_are_told_with_what_is_allowed():
    graph = graph_of(path(5))
    with pytest.raises(TabpetError, match="'twice'; allowed are 'lower' and 'repeat'"):
        encode(graph, few_nodes="twice")
    with pytest.raises(TabpetError, match="'median'; allowed are 'mean' and 'max'"):
        encode(graph, symmetrize="median")
    with pytest.raises(TabpetError, match="'random_walk'; allowed are 'combinatorial'"):
        encode(graph, laplacian="random_walk")
    with pytest.raises(TabpetError, match="k_min is 5 and k_max 3"):
        encode(graph, k_min=5, k_max=3)


# Controls


@pytest.fixture(scope="module")
def encoding() -> Encoding:
    return encode(estimate_graph(matrix_of(linear_sem(200, 30, seed=0)), "pearson"))


def test_random_control_has_mean_and_variance_of_the_encoding(encoding):
    drawn = np.stack([control(encoding, "random", seed).values for seed in range(400)])
    assert drawn.shape[1:] == encoding.values.shape
    # 12,000 draws per column: the standard error of the mean is near 0.009.
    np.testing.assert_allclose(drawn.mean(axis=(0, 1)), encoding.values.mean(axis=0), atol=0.05)
    np.testing.assert_allclose(drawn.std(axis=(0, 1)), encoding.values.std(axis=0), rtol=0.05)


def test_shuffled_control_has_the_same_rows_in_another_order(encoding):
    shuffled = control(encoding, "shuffled", 0).values
    assert not np.array_equal(shuffled, encoding.values)
    np.testing.assert_array_equal(np.sort(shuffled, axis=0), np.sort(encoding.values, axis=0))


@pytest.mark.parametrize("seed", range(10))
def test_two_features_are_always_swapped(seed):
    pair = encode(graph_of(path(2)))
    np.testing.assert_array_equal(control(pair, "shuffled", seed).values, pair.values[::-1])


def test_learnable_control_is_marked(encoding):
    learnable = control(encoding, "learnable", 0)
    assert (learnable.kind, learnable.values.shape) == ("learnable", encoding.values.shape)
    assert not learnable.values.any()


@pytest.mark.parametrize("kind", ["random", "shuffled", "learnable"])
def test_controls_repeat_and_go_with_the_feature(encoding, kind):
    again = control(encoding, kind, 3).values
    np.testing.assert_array_equal(control(encoding, kind, 3).values, again)
    order = np.random.default_rng(0).permutation(30)
    names = tuple(encoding.features[i] for i in order)
    metadata = encoding.to_metadata()
    turned = Encoding.from_frame(encoding.to_frame().iloc[order], metadata)
    assert turned.features == names
    np.testing.assert_array_equal(control(turned, kind, 3).values, again[order])


def test_unknown_control(encoding):
    with pytest.raises(
        TabpetError, match="no control 'noise'; known are: random, shuffled, learnable"
    ):
        control(encoding, "noise", 0)
