"""Effective rank, the paper's bounds, and the attention of its proofs (docs/theory.md)."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import entropy, ortho_group

from tabpet.errors import TabpetError
from tabpet.theory import (
    THEOREMS,
    Attention,
    c_alpha,
    draw_attention,
    draw_inputs,
    effective_rank,
    simulate,
    theorem_1,
    theorem_2a,
    theorem_2b,
)

MANY = 200_000  # rows, for values that are those of the distribution to about 1 %


def test_effective_rank_of_known_matrices():
    assert effective_rank(np.eye(7)) == pytest.approx(7)
    assert effective_rank(3 * np.eye(7), squared=True) == pytest.approx(7)
    column, row = np.arange(1.0, 6.0)[:, None], np.arange(1.0, 4.0)[None]
    assert effective_rank(column @ row) == pytest.approx(1, abs=1e-12)
    assert effective_rank(row) == pytest.approx(1, abs=1e-12)
    assert effective_rank(row[0]) == pytest.approx(1, abs=1e-12)
    assert effective_rank(np.zeros((4, 3))) == 0


@pytest.mark.parametrize("spectrum", [[1.0, 1, 1], [3, 1, 0.5], [5, 5, 1e-3], [2, 0, 0]])
def test_effective_rank_of_an_orthogonal_matrix_with_a_given_spectrum(spectrum):
    left, right = ortho_group.rvs(9, random_state=0)[:, :3], ortho_group.rvs(3, random_state=1)
    matrix = left * spectrum @ right
    assert effective_rank(matrix) == pytest.approx(np.exp(entropy(spectrum)))
    assert effective_rank(matrix, squared=True) == pytest.approx(
        np.exp(entropy(np.square(spectrum)))
    )


def test_squares_make_the_largest_direction_count_more():
    matrix = np.diag([4.0, 2, 1])
    assert effective_rank(matrix, squared=True) < effective_rank(matrix) < 3


def test_effective_rank_depends_on_directions_alone():
    matrix = np.random.default_rng(0).normal(size=(20, 5))
    turned = 1e6 * matrix @ ortho_group.rvs(5, random_state=2)
    assert effective_rank(turned[::-1]) == pytest.approx(effective_rank(matrix))
    assert effective_rank(matrix.T) == pytest.approx(effective_rank(matrix))
    with pytest.raises(TabpetError, match="NaN"):
        effective_rank(np.array([[1.0, np.nan]]))


def test_c_alpha_by_hand():
    assert c_alpha(4, 3, norms=2, d_t=16) == pytest.approx(np.exp((12 - 4) / 4))


@pytest.mark.parametrize("c", [0.2, 1, 3, 50, 1e6])
@pytest.mark.parametrize("d", [2, 10, 64])
def test_bounds_are_the_entropies_of_the_weights_in_the_proofs(c, d):
    assert theorem_1(c, d) == pytest.approx(np.exp(entropy([c, *[1] * d])))
    assert theorem_2a(c, d) == pytest.approx(np.exp(entropy([2 * c, d])))
    assert theorem_2b(c, d) == pytest.approx(np.exp(entropy([c, 1])))


@pytest.mark.parametrize(("name", "mass"), [("1", 10), ("2a", 5), ("2b", 1)])
def test_the_approximations_miss_a_logarithm(name, mass):
    """Of d = 10: (bound - 1) / (approximation - 1) is 1 + log(C / ...), which grows without end."""
    theorem = THEOREMS[name]
    for c in (1e6, 1e12):
        ratio = (theorem.bound(c, 10) - 1) / (theorem.approximation(c, 10) - 1)
        missed = 1 + np.log(c if name == "1" else c / mass)
        assert ratio == pytest.approx(missed, rel=1e-3)


@pytest.mark.parametrize("encodings", ["random", "shared"])
def test_drawn_weights_meet_the_conditions(encodings):
    rng = np.random.default_rng(0)
    attention = draw_attention(rng, 8, encodings, norms=3.0)
    x = draw_inputs(rng, 200, 8, "halves")
    assert (np.abs(attention.content) <= 3).all()  # |<Q^T q, K_x^T w_i>| <= c_K c_Q c_q
    np.testing.assert_allclose(np.linalg.norm(attention.values, axis=1), 1)
    # By the text's tau, which compares tokens, shared encodings have no gap at all.
    assert attention.tau == pytest.approx(1.0 if encodings == "random" else 0.0)
    weights = np.sort(attention.weights(x, 60.0), axis=1)
    first, others = weights[:, -1], weights[:, : (-1 if encodings == "random" else 4)]
    c = c_alpha(60.0, 1.0, 3.0, attention.d_t)
    assert (first[:, None] >= c * others).all()


def test_where_the_bounds_hold():
    """20 draws per theorem and d: 1 always, 2 (a) with 2 C >= d, 2 (b) for middling alpha."""
    found = simulate([0.0, 10, 20, 40, 80], [4, 16, 64], draws=20, n=500)
    c = np.exp((found["alpha"] - 2) / np.sqrt(68))
    holds = found["rank"] <= found["bound"]
    assert holds[found["theorem"] == "1"].all()
    assert holds[(found["theorem"] == "2a") & (2 * c >= found["d"])].all()
    assert holds[(found["theorem"] == "2b") & found["alpha"].between(10, 40)].all()


def test_where_the_bounds_fail():
    found = simulate([0.0, 80], [4, 16, 64], draws=20, n=500)
    fails = found["rank"] > found["bound"]
    # 2 (a) with 2 C < d: the smaller C, the smaller the bound, and the larger the rank.
    assert fails[(found["theorem"] == "2a") & (found["alpha"] == 0) & (found["d"] > 4)].all()
    # 2 (b) with large alpha: inside a half, the inputs decide who is attended to.
    assert fails[(found["theorem"] == "2b") & (found["alpha"] == 80)].all()


def test_on_structured_inputs_random_encodings_have_the_lower_rank():
    """The opposite of what the two bounds suggest, for the same gap, alpha and d."""
    found = simulate([20.0, 40], [16, 64], draws=20, n=500)
    means = found.groupby(["d", "alpha", "theorem"])["rank"].mean().unstack()
    assert (means["2a"] < means["2b"]).all()


def test_equal_tokens_in_a_half_are_the_case_of_the_proof_of_2b():
    rng, d = np.random.default_rng(0), 16
    drawn = draw_attention(rng, d, "shared")
    half = np.repeat([0, d // 2], d // 2)
    equal = replace(drawn, content=drawn.content[half], values=drawn.values[half])
    x = draw_inputs(rng, 500, d, "halves")
    bound = theorem_2b(c_alpha(80.0, 1.0, drawn.norms, drawn.d_t), d)
    assert effective_rank(equal.outputs(x, 80.0)) <= bound < effective_rank(drawn.outputs(x, 80.0))


def _fixed(position: list[float], content: list[float] | None = None) -> Attention:
    """Orthonormal tokens; scores as the softmax sees them, after division by sqrt(d_T) = 4."""
    d = len(position)
    content = content or [0.0] * d
    return Attention(4 * np.array(content), 4 * np.array(position), np.eye(d), 0.0, 16)


def test_counterexample_two_rows():
    """Theorem 1 with d = 2: nothing keeps two rows from being (1/C, 0) and (0, 1), nearly."""
    c, tiny = 100.0, 1e-6
    x = np.array([[1 / c, tiny], [tiny, 1 - tiny]])
    rank = effective_rank(_fixed([np.log(c), 0]).outputs(x, alpha=1))
    assert rank == pytest.approx(2, abs=1e-3)
    assert theorem_1(c, 2) == pytest.approx(1.117, abs=1e-3)


def test_counterexample_latent_variables_of_two_sizes():
    """Theorem 2 with d = 2: what gets C times the attention may have 1/C of the input."""
    c = 100.0
    x = draw_inputs(np.random.default_rng(0), MANY, 2, "halves") * [1 / c, 1]
    exact = np.exp(entropy(np.sqrt(np.linalg.eigvalsh([[1 / 3, 1 / 4], [1 / 4, 1 / 3]]))))
    rank = effective_rank(_fixed([np.log(c), 0]).outputs(x, alpha=1))
    assert rank == pytest.approx(exact, rel=0.01)
    assert exact == pytest.approx(1.799, abs=1e-3)
    assert theorem_2a(c, 2) == pytest.approx(theorem_2b(c, 2)) == pytest.approx(1.057, abs=1e-3)


def test_counterexample_sparse_inputs():
    """Theorem 2 (a) with d = 2 is attained, so of sparse inputs about half of all samples fail."""
    c, rng = 100.0, np.random.default_rng(0)
    attention = _fixed([np.log(c), 0])
    one_or_the_other = np.repeat([[1.0, 0], [0, 1]], 50, axis=0)
    rank = effective_rank(attention.outputs(one_or_the_other, alpha=1))
    assert rank == pytest.approx(theorem_2a(c, 2))
    samples = [np.where(rng.uniform(size=(20_000, 2)) < 0.01, 1.0, 1e-9) for _ in range(40)]
    ranks = [effective_rank(attention.outputs(x, alpha=1)) for x in samples]
    assert 0.25 < np.mean(np.array(ranks) > theorem_2a(c, 2)) < 0.75
    assert max(ranks) < theorem_1(c, 2)


def test_counterexample_many_tokens():
    """Theorem 2 (a) without attention to speak of (C = 1): two equal halves, uniform inputs."""
    # Of uniform inputs E x^2 = 1/3 and E x x' = 1/4.
    exact = np.exp(entropy(np.sqrt(np.linalg.eigvalsh([[1 / 3, 1 / 4], [1 / 4, 1 / 3]]))))
    for d, fails in ((4, False), (6, True)):
        x = draw_inputs(np.random.default_rng(0), MANY, d, "halves")
        rank = effective_rank(_fixed([0.0] * d).outputs(x, alpha=0))
        assert rank == pytest.approx(exact, rel=0.01)
        assert bool(exact > theorem_2a(1.0, d)) == fails


def test_counterexample_four_tokens():
    """Theorem 2 (a) with d = 4 and C = 1: skewed inputs are nearly uncorrelated about 0."""
    # Of Beta(0.1, 0.9): mean 0.1, variance 0.1 * 0.9 / 2.
    moments = [[0.045 + 0.01, 0.01], [0.01, 0.045 + 0.01]]
    exact = np.exp(entropy(np.sqrt(np.linalg.eigvalsh(moments))))
    x = np.repeat(np.random.default_rng(0).beta(0.1, 0.9, size=(MANY, 2)), 2, axis=1)
    assert effective_rank(_fixed([0.0] * 4).outputs(x, alpha=0)) == pytest.approx(exact, rel=0.01)
    assert exact == pytest.approx(1.992, abs=1e-3)
    assert theorem_2a(1.0, 4) == pytest.approx(1.890, abs=1e-3)


def test_counterexample_two_tokens():
    """Theorem 2 (a) with d = 2 and equal attention: uniform inputs break it from C < 0.378 on."""
    x = draw_inputs(np.random.default_rng(0), MANY, 2, "halves")
    rank = effective_rank(_fixed([0.0, 0.0]).outputs(x, alpha=0))
    assert theorem_2a(0.37, 2) < rank < theorem_2a(0.386, 2)


def test_counterexample_shared_encodings():
    """Theorem 2 (b) with d = 4: the bound goes to 1 with alpha, the rank stays where it is."""
    attention = _fixed([1, 1, 0, 0], content=[4, -4, 0, 0])
    x = draw_inputs(np.random.default_rng(0), MANY, 4, "halves")
    for alpha in (30.0, 300.0):
        # c_K c_Q c_q may be 16 sqrt(2) here; the gap of the halves is 4, the text's tau is 0.
        assert theorem_2b(c_alpha(alpha, 4.0, 16 * np.sqrt(2), 16), 4) < 1.0001
        assert effective_rank(attention.outputs(x, alpha)) == pytest.approx(1.138, abs=0.002)
    same_content = _fixed([1, 1, 0, 0], content=[4, 4, 0, 0])
    assert effective_rank(same_content.outputs(x, 300.0)) == pytest.approx(1, abs=1e-6)


def test_counterexample_cls_attends_to_itself():
    """In FT-Transformer CLS is a key too, without encoding: its score does not move with alpha."""
    tokens = _fixed([0.0, -1.0, 0.0])  # the best token scores 0, as does CLS, the third
    x = draw_inputs(np.random.default_rng(0), MANY, 3, "independent")
    x[:, 2] = 1  # the value of CLS is the same in every row
    exact = np.exp(entropy(np.sqrt(np.linalg.eigvalsh([[1 / 3, 1 / 2], [1 / 2, 1]]))))
    rank = effective_rank(tokens.outputs(x, alpha=50.0))
    assert rank == pytest.approx(exact, rel=0.01)
    assert theorem_1(np.exp(50.0), 2) < 1.0001 < 1.5 < exact
