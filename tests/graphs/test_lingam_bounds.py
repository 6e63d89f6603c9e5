"""The bounds of docs/lingam.md, against lingam's own functions in double and extended precision."""

from dataclasses import dataclass

import lingam
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tabpet.data.bundled import load_bundled
from tabpet.graphs.methods import _direct_lingam
from tabpet.graphs.methods._direct_lingam import FastDirectLiNGAM
from tests.graphs.tables import linear_sem

LINGAM = lingam.DirectLiNGAM()


@dataclass
class Step:
    """What one step of the search knew when it ended, by position among the nodes left."""

    finalists: np.ndarray  # (f,)
    leads: np.ndarray  # (u, u)
    margins: np.ndarray  # (u, u)
    known: np.ndarray  # (u, u)


def watched_search(values: np.ndarray) -> tuple[list[int], list[Step]]:
    """The causal order and the steps that found it, none if there are dependent nodes."""
    steps = []

    class WatchedStep(_direct_lingam._OrderStep):
        def run(self) -> np.ndarray:
            finalists = super().run()
            steps.append(Step(finalists, self.leads.copy(), self._margins, self._known))
            return finalists

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_direct_lingam, "_OrderStep", WatchedStep)
        model = FastDirectLiNGAM()
        order = model._find_order(values)
    n_left = range(len(order), 0, -1)
    independent = [len(step.leads) for step in steps] == list(n_left)
    return order, steps if independent else []


def leads_of_lingam(values: np.ndarray, order: list[int]) -> list[np.ndarray]:
    """All leads of every step along an order by lingam's functions, in the precision of values."""
    columns = values.copy()
    every_step = []
    for n_done, chosen in enumerate(order):
        left = sorted(order[n_done:])
        scaled = [(columns[:, i] - columns[:, i].mean()) / columns[:, i].std() for i in left]
        leads = np.zeros((len(left), len(left)), dtype=values.dtype)
        for i, x in enumerate(scaled):
            for j, y in enumerate(scaled):
                if i != j:
                    forward, backward = LINGAM._residual(x, y), LINGAM._residual(y, x)
                    leads[i, j] = LINGAM._diff_mutual_info(x, y, forward, backward)
        every_step.append(leads)
        for i in left:
            if i != chosen:
                columns[:, i] = LINGAM._residual(columns[:, i], columns[:, chosen])
    return every_step


def order_of_lingam(values: np.ndarray) -> list[int]:
    """The causal order of lingam.DirectLiNGAM without its weights."""

    class OrderOnly(lingam.DirectLiNGAM):
        def _estimate_adjacency_matrix(self, X, prior_knowledge=None):
            return self

    return [int(node) for node in OrderOnly().fit(values).causal_order_]


def check_bounds(values: np.ndarray) -> bool:
    """Margins hold, no winner is given up, and the order is lingam's; False for dependent nodes."""
    order, steps = watched_search(values)
    if not steps:
        return False
    for precision in (np.float64, np.longdouble):
        for step, leads in zip(
            steps, leads_of_lingam(values.astype(precision), order), strict=True
        ):
            errors = np.abs(step.leads - leads)[step.known]
            assert (errors <= step.margins[step.known]).all()
            penalties = (np.minimum(leads, 0) ** 2).sum(axis=1)
            given_up = np.setdiff1d(np.arange(len(leads)), step.finalists)
            assert (penalties[given_up] > penalties.min()).all()
    assert order == order_of_lingam(values)
    return True


def standardised(values: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and variance 1, without constant ones, as in a node matrix."""
    values = values[:, np.ptp(values, axis=0) > 0]
    return (values - values.mean(axis=0)) / values.std(axis=0)


def near_copies(rng: np.random.Generator, n: int, d: int, gap: float) -> np.ndarray:
    """Half of the columns are others but for a gap, every second one mirrored."""
    values, half = rng.laplace(size=(n, d)), d // 2
    signs = np.where(np.arange(half) % 2, -1.0, 1.0)
    values[:, half : 2 * half] = signs * values[:, :half] + gap * values[:, half : 2 * half]
    return values


def exchangeable_near_copies(rng: np.random.Generator, n: int, d: int, gap: float) -> np.ndarray:
    """Columns and their near copies change places halfway, so their penalties are equal."""
    half = d // 2
    few = rng.integers(0, 3, size=(n, half)).astype(float)
    near = few + gap * rng.normal(size=(n, half))
    rest = rng.integers(0, 3, size=(n, d - 2 * half)).astype(float)
    return np.vstack([np.hstack([few, near, rest]), np.hstack([near, few, rest])])


def near_sum(rng: np.random.Generator, n: int, d: int, gap: float) -> np.ndarray:
    """The last column is the sum of the others but for a gap: nearly constant after regression."""
    values = rng.laplace(size=(n, d))
    values[:, -1] = values[:, :-1].sum(axis=1) + gap * values[:, -1]
    return values


def near_chain(rng: np.random.Generator, n: int, d: int, gap: float) -> np.ndarray:
    """Each column is the one before it and a little more; the gap is spread over the chain."""
    return np.cumsum(rng.laplace(size=(n, d)) * gap ** (np.arange(d) / d), axis=1)


def heavy_tails(rng: np.random.Generator, n: int, d: int, gap: float) -> np.ndarray:
    """Cauchy noise in a dense linear model: single rows decide."""
    return rng.standard_cauchy((n, d)) @ (np.eye(d) + np.triu(rng.normal(size=(d, d)), 1))


def nearly_gaussian(rng: np.random.Generator, n: int, d: int, gap: float) -> np.ndarray:
    """Mixed normal noise: all leads are near 0 and differ little."""
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d))


def rotated_columns(rng: np.random.Generator, n: int, d: int, gap: float) -> np.ndarray:
    """Every column takes every place in turn, so all penalties are equal."""
    block = rng.normal(size=(n, d))
    return np.vstack([np.roll(block, shift, axis=1) for shift in range(d)])


def few_values(rng: np.random.Generator, n: int, d: int, gap: float) -> np.ndarray:
    """Small integers: equal and zero leads are common."""
    return rng.integers(0, 3, size=(n, d)).astype(float)


FAMILIES = [
    near_copies,
    exchangeable_near_copies,
    near_sum,
    near_chain,
    heavy_tails,
    nearly_gaussian,
    rotated_columns,
    few_values,
]


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=25, deadline=None)
@given(
    n=st.sampled_from([3, 5, 8, 20, 60]),
    d=st.integers(2, 7),
    gap=st.sampled_from([0.3, 1e-2, 1e-3, 1e-4, 2e-5]),
    seed=st.integers(0, 2**32 - 1),
    exponents=st.lists(st.integers(-9, 9), min_size=7, max_size=7),
)
def test_bounds_hold_on_adversarial_tables(family, n, d, gap, seed, exponents):
    assume(d < n)  # else columns are dependent
    values = standardised(family(np.random.default_rng(seed), n, d, gap))
    assume(check_bounds(values))
    assert check_bounds(values * 10.0 ** np.array(exponents[: values.shape[1]]))


@settings(max_examples=100, deadline=None)
@given(
    st.tuples(st.integers(4, 12), st.integers(2, 3)).flatmap(
        lambda shape: arrays(np.int64, shape, elements=st.integers(-2, 2))
    )
)
@example(np.array([[0, 0], [0, 1], [1, 0], [2, 2]]))  # exchangeable
@example(np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]))  # uncorrelated, all leads 0
def test_bounds_hold_on_small_integers(table):
    assume(check_bounds(standardised(table.astype(float))))


@pytest.mark.parametrize(("n", "d"), [(300, 12), (13, 12), (40, 10)])
def test_bounds_hold_on_wider_tables(n, d):
    assert check_bounds(standardised(linear_sem(n, d, seed=n)))


@pytest.mark.parametrize("name", ["demo-wine", "demo-diabetes", "demo-breast-cancer"])
def test_bounds_hold_on_real_tables(name):
    # Counts, skewed and nearly dependent columns: radius, perimeter and area of a tumour.
    features = load_bundled(name).iloc[:, :13].drop(columns="target", errors="ignore")
    assert check_bounds(standardised(features.to_numpy(dtype=np.float64)))


@pytest.mark.parametrize("d", [4, 5, 7])
def test_near_copies_that_can_be_exchanged_are_ties_as_well(d):
    # Their leads carry more rounding than others, as their residuals are small.
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = standardised(exchangeable_near_copies(rng, 8, d, gap=2e-5))
        assert FastDirectLiNGAM()._find_order(values) == order_of_lingam(values)


def triangular_columns(n: int, d: int) -> np.ndarray:
    """Columns whose least spread after regression hides how near they are to dependent (Kahan)."""
    sine, cosine = 0.6, 0.8
    factor = np.triu(np.full((d, d), -cosine), 1) + np.eye(d)
    factor *= sine ** np.arange(d)[:, None]
    return np.random.default_rng(0).laplace(size=(n, d)) @ factor


@pytest.mark.parametrize("d", [4, 8, 12])
def test_bounds_hold_where_many_small_dependences_add_up(d):
    assert check_bounds(standardised(triangular_columns(200, d)))


def test_error_of_a_small_residual_passes_to_those_regressed_on_it():
    # Node 1 is chosen early and keeps 2e-4 of its spread: the rounding in it reaches the rest.
    rng = np.random.default_rng(1)
    first, second, *others = rng.laplace(size=(6, 40))
    values = np.column_stack([first, first + 2e-4 * second, *(second + 0.5 * o for o in others)])
    assert check_bounds(standardised(values))


def test_margins_are_small():
    _, steps = watched_search(standardised(linear_sem(500, 12, seed=0)))
    assert max(step.margins.max() for step in steps) < 1e-9
    assert all(len(step.finalists) == 1 for step in steps)
