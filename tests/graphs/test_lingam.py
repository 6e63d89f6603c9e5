import lingam
import numpy as np
import pytest
from scipy.linalg import hadamard

from tabpet.clock import OutOfTime
from tabpet.data.nodes import NodeMatrix
from tabpet.graphs.estimate import estimate_graph
from tabpet.graphs.methods._direct_lingam import FastDirectLiNGAM, _entropies
from tabpet.graphs.methods.lingam import LingamSettings, choose_threshold
from tests.clocks import Countdown
from tests.graphs.tables import linear_sem, matrix_of, one_hot_table


@pytest.mark.parametrize(
    ("n", "d", "seed"),
    [(200, 4, 0), (300, 8, 1), (500, 10, 2), (60, 12, 3), (1000, 14, 4), (251, 9, 5)],
)
def test_order_and_weights_are_those_of_lingam(n, d, seed):
    values = linear_sem(n, d, seed)
    expected = lingam.DirectLiNGAM()
    expected.fit(values)
    found = FastDirectLiNGAM().fit(values)
    assert found.causal_order_ == [int(one) for one in expected.causal_order_]
    np.testing.assert_allclose(found.adjacency_matrix_, expected.adjacency_matrix_, atol=1e-9)


@pytest.mark.parametrize("noise", ["normal", "uniform", "exponential"])
def test_order_is_that_of_lingam_for_other_noise(noise):
    rng = np.random.default_rng(7)
    values = getattr(rng, noise)(size=(400, 9)) @ rng.normal(size=(9, 9))
    expected = lingam.DirectLiNGAM()
    expected.fit(values)
    found = FastDirectLiNGAM().fit(values)
    assert found.causal_order_ == [int(one) for one in expected.causal_order_]
    np.testing.assert_allclose(found.adjacency_matrix_, expected.adjacency_matrix_, atol=1e-9)


def order_pair_by_pair(values: np.ndarray) -> list[int]:
    """The order by definition: all pairs in every step; equal candidates by position."""
    reference = lingam.DirectLiNGAM()
    columns = (values - values.mean(axis=0)).T.copy()
    start, left, order = columns.var(axis=1), list(range(len(columns))), []
    while left := [one for one in left if columns[one].var() > 1e-10 * start[one]]:
        scaled = {one: columns[one] / columns[one].std() for one in left}
        penalties = []
        for one in left:
            penalty = 0.0
            for other in left:
                forward = reference._residual(scaled[one], scaled[other])
                backward = reference._residual(scaled[other], scaled[one])
                if other != one and min(forward.var(), backward.var()) > 1e-10:
                    lead = reference._diff_mutual_info(
                        scaled[one], scaled[other], forward, backward
                    )
                    penalty += min(0.0, lead) ** 2
            penalties.append(penalty)
        equal = [p <= min(penalties) * (1 + 1e-9) + 1e-24 for p in penalties]
        chosen = left.pop(equal.index(True))
        order.append(chosen)
        for one in left:
            columns[one] = reference._residual(columns[one], columns[chosen])
    return order + sorted(set(range(len(columns))) - set(order))


def test_ties_are_broken_as_lingam_does():
    # Few rows and few levels: penalties are equal but for what rounding makes of them.
    rng = np.random.default_rng(0)
    n_compared = 0
    for _ in range(120):
        values = rng.integers(0, 3, size=(int(rng.integers(8, 16)), int(rng.integers(2, 5))))
        spread = values.std(axis=0)
        if not spread.all():
            continue
        values = (values - values.mean(axis=0)) / spread
        if np.linalg.eigvalsh(np.corrcoef(values.T))[0] < 1e-6:
            continue
        expected = lingam.DirectLiNGAM()
        expected.fit(values)
        found = FastDirectLiNGAM()._find_order(values)
        assert found == [int(one) for one in expected.causal_order_]
        n_compared += 1
    assert n_compared > 50


def test_columns_that_can_be_exchanged_are_ties_as_well():
    rng = np.random.default_rng(2)
    for _ in range(60):
        half = rng.integers(0, 2, size=(int(rng.integers(40, 80)), 5)).astype(float)
        values = np.vstack([half, half[:, ::-1]])
        values = (values - values.mean(axis=0)) / values.std(axis=0)
        expected = lingam.DirectLiNGAM()
        expected.fit(values)
        found = FastDirectLiNGAM()._find_order(values)
        assert found == [int(one) for one in expected.causal_order_]


def test_nearly_alike_columns_that_are_not_alike_in_a_chain():
    rng = np.random.default_rng(0)
    first, *steps = rng.normal(size=(4, 200))
    chain = [first]
    for step in steps:
        chain.append(chain[-1] + 0.8e-5 * step)
    graph = estimate_graph(matrix_of(np.column_stack([*chain, 3.3 * first])), "lingam")
    assert graph.status == "ok"
    assert np.isfinite(graph.adjacency).all()


def test_two_rows_give_no_weights():
    graph = estimate_graph(matrix_of(np.array([[0.0, 1.0, 3.0], [2.0, 0.0, 1.0]])), "lingam")
    assert (graph.status, graph.n_edges) == ("ok", 0)


@pytest.mark.parametrize("seed", range(4))
def test_order_is_that_of_all_pairs_where_nodes_are_mirror_images(seed):
    rng = np.random.default_rng(seed)
    two = rng.integers(0, 2, size=(300, 3))
    three = rng.integers(0, 3, size=300)
    numbers = rng.exponential(size=(300, 3)) + two + (three == 1)[:, None]
    levels = [two == 0, two == 1, three[:, None] == np.arange(3), numbers, -2 * numbers[:, :1]]
    values = np.column_stack(levels).astype(float)
    values = (values - values.mean(axis=0)) / values.std(axis=0)
    assert FastDirectLiNGAM().fit(values).causal_order_ == order_pair_by_pair(values)


@pytest.mark.parametrize("seed", range(6))
def test_copies_count_as_often_as_they_occur(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(300, 6)) @ rng.normal(size=(6, 6))
    values = np.column_stack([values, -values[:, [0, 0, 0, 1]]])
    values = (values - values.mean(axis=0)) / values.std(axis=0)
    assert FastDirectLiNGAM().fit(values).causal_order_ == order_pair_by_pair(values)


def test_search_compares_fewer_pairs_than_there_are():
    model = FastDirectLiNGAM().fit(linear_sem(400, 20, seed=0))
    assert model.n_compared < model.n_pairs


def test_entropies_are_those_of_lingam():
    rng = np.random.default_rng(0)
    values = rng.standard_t(3, size=(5, 777))
    values -= values.mean(axis=1, keepdims=True)
    expected = [lingam.DirectLiNGAM()._entropy(row / row.std()) for row in values]
    entropies, _ = _entropies(values)
    np.testing.assert_allclose(entropies, expected, rtol=1e-12)


def test_edge_goes_from_cause_to_effect():
    rng = np.random.default_rng(0)
    cause = rng.uniform(-1, 1, 2000)
    values = np.column_stack([2 * cause + rng.uniform(-1, 1, 2000), cause])
    graph = estimate_graph(matrix_of(values, ["effect", "cause"]), "lingam")
    assert graph.edges()[["source", "target"]].to_numpy().tolist() == [["cause", "effect"]]


def test_collinear_groups_give_finite_weights_and_a_note():
    graph = estimate_graph(one_hot_table(200, seed=0), "lingam")
    assert graph.status == "ok"
    assert np.isfinite(graph.adjacency).all()
    # One of b's levels, one of a's and both of c, the copy of a, follow from the rest.
    assert graph.facts["determined_nodes"] == 4
    assert any("linear combinations" in one for one in graph.warnings)


def test_fewer_rows_than_nodes():
    graph = estimate_graph(matrix_of(linear_sem(12, 20, seed=0)), "lingam")
    assert graph.status == "ok"
    assert np.isfinite(graph.adjacency).all()


def weights_with(sizes: list[float]) -> np.ndarray:
    weights = np.zeros((20, 20))
    weights[np.triu_indices(20, 1)] = np.pad(sizes, (0, 190 - len(sizes)))
    return weights


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([0.5] * 20, (0.01, True)),  # the first fits
        ([0.5] * 20 + [0.02] * 40, (0.05, True)),  # 60 edges are too many, 20 fit
        ([0.5] * 9, (0.01, False)),  # too few at any threshold
        ([0.5] * 60, (0.01, False)),  # too many at any threshold
        ([0.15] * 10 + [0.5] * 50, (0.2, True)),
    ],
)
def test_first_threshold_with_10_to_50_edges_else_the_smallest(sizes, expected):
    assert choose_threshold(weights_with(sizes), LingamSettings()) == expected


def test_budget_that_is_over_gives_a_labelled_graph():
    graph = estimate_graph(matrix_of(linear_sem(100, 5, seed=0)), "lingam", seconds=0.0)
    assert graph.status == "timeout"
    assert graph.n_edges == 0
    assert "causal order" in graph.reason


def test_budget_ends_also_between_many_equal_candidates():
    # No column of this matrix can be told from another: all are finalists.
    values = hadamard(64)[:, 1:].astype(float)
    clock = Countdown(looks=200)
    with pytest.raises(OutOfTime):
        FastDirectLiNGAM(clock).fit(values)
    assert clock.looks == -1


def test_budget_that_ends_in_the_weights_keeps_those_that_are_ready():
    values = linear_sem(200, 6, seed=0)
    whole = FastDirectLiNGAM().fit(values)
    model = FastDirectLiNGAM()
    model._causal_order = whole.causal_order_
    model._clock = Countdown(looks=3)
    with pytest.raises(OutOfTime):
        model._estimate_adjacency_matrix(values)
    ready = whole.causal_order_[:4]
    expected = np.zeros((6, 6))
    expected[ready] = whole.adjacency_matrix_[ready]
    np.testing.assert_array_equal(model.weights_so_far(6), expected)
    assert "first 4 of 6" in model.progress()


def test_constant_input_does_not_fail():
    values = np.column_stack([linear_sem(50, 2, seed=0), np.ones(50)])
    graph = estimate_graph(
        NodeMatrix(values, ("a", "b", "c"), ("a", "b", "c"), np.arange(3)), "lingam"
    )
    assert np.isfinite(graph.adjacency).all()
    assert not graph.adjacency[2].any()
