"""Effective rank, the paper's bounds on it (section "Motivation"; appendix, "Proofs of Theoretical
Results"), and the attention that the proofs assume, to hold the bounds against. docs/theory.md
says what holds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
import pandas as pd

from tabpet.errors import TabpetError

Inputs = Literal["independent", "halves"]
Encodings = Literal["random", "shared"]


def effective_rank(matrix: np.ndarray, *, squared: bool = False) -> float:
    """Definition 1: exponential of the entropy of a matrix's normalised singular values.

    With `squared` of their squares, the shares of the matrix's energy. From 1 to the rank; 0 for
    zeros, which have no direction.
    """
    matrix = np.atleast_2d(np.asarray(matrix, dtype=np.float64))
    if not np.isfinite(matrix).all():
        raise TabpetError("an effective rank needs finite numbers; there are NaN or infinite ones")
    values = np.linalg.svd(matrix, compute_uv=False)
    return exp_entropy(values**2 if squared else values)


def exp_entropy(sizes: np.ndarray) -> float:
    """Exponential of the Shannon entropy of non-negative numbers, scaled to sum to 1."""
    total = sizes.sum()
    if total == 0:
        return 0.0
    shares = sizes / total
    shares = shares[shares > 0]
    return float(np.exp(-(shares * np.log(shares)).sum()))


def c_alpha(alpha: float, tau: float, norms: float, d_t: int) -> float:
    """C_alpha = exp((alpha tau - 2 c_K c_Q c_q) / sqrt(d_T)); `norms` is c_K c_Q c_q.

    By the proof, the attention weight of token i* is at least C_alpha times any other.
    """
    return float(np.exp((alpha * tau - 2 * norms) / np.sqrt(d_t)))


def theorem_1(c: float, d: int) -> float:
    """(C + d) exp(-C / (C + d) log C): independent inputs."""
    return float((c + d) * np.exp(-c / (c + d) * np.log(c)))


def theorem_1_approximation(c: float, d: int) -> float:
    """1 + d / C, "in the regime where C >> d"."""
    return 1 + d / c


def theorem_2a(c: float, d: int) -> float:
    """(2C + d) exp(-(2C log 2C + d log d) / (2C + d)): two latent inputs, random encodings."""
    return float((2 * c + d) * np.exp(-(2 * c * np.log(2 * c) + d * np.log(d)) / (2 * c + d)))


def theorem_2a_approximation(c: float, d: int) -> float:
    """1 + d / 2C, "when C >> d"."""
    return 1 + d / (2 * c)


def theorem_2b(c: float, d: int) -> float:
    """(C + 1) exp(-C / (C + 1) log C), whatever d: two latent inputs, an encoding for each."""
    return float((c + 1) * np.exp(-c / (c + 1) * np.log(c)))


def theorem_2b_approximation(c: float, d: int) -> float:
    """1 + 1 / C, "for large C"."""
    return 1 + 1 / c


@dataclass(frozen=True)
class Attention:
    """What the CLS token sees in the proofs: one layer, one head, tokens x_i w_i and alpha p_i."""

    content: np.ndarray  # (d,), <Q^T q, K_x^T w_i>: a token's score per unit of its input
    position: np.ndarray  # (d,), <Q^T q, K_p^T p_i>: a token's score per unit of alpha
    values: np.ndarray  # (d, width), V^T w_i, rows of equal norm
    norms: float  # c_K c_Q c_q
    d_t: int

    @property
    def tau(self) -> float:
        """The gap between the largest and the second largest position score."""
        second, first = np.sort(self.position)[-2:]
        return float(first - second)

    def weights(self, x: np.ndarray, alpha: float) -> np.ndarray:
        """Attention of CLS to the tokens of each row of inputs (n, d), of the same shape."""
        scores = (x * self.content + alpha * self.position) / np.sqrt(self.d_t)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    def outputs(self, x: np.ndarray, alpha: float) -> np.ndarray:
        """The CLS token after attention, sum_i alpha_i x_i v_i of each row, (n, width)."""
        # NOTE[PAPER]: the proofs leave out CLS's attention to itself and the residual.
        return (self.weights(x, alpha) * x) @ self.values


def draw_attention(
    rng: np.random.Generator, d: int, encodings: Encodings, *, width: int = 64, norms: float = 1.0
) -> Attention:
    """Random weights under the conditions of the theorems, with a gap of 1.

    The gap of shared encodings is that between the halves: by the text's definition it is 0.
    Tokens are orthonormal, the worst case by the proofs, as long as the width allows.
    """
    d_pe = 4
    d_t = width + d_pe
    query, key = (_scaled(rng.normal(size=(d_t, d_t))) for _ in range(2))
    queried = norms * query.T @ _scaled(rng.normal(size=(d_t, 1)))[:, 0]
    tokens = rng.normal(size=(d, width))
    tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
    if d <= width:
        tokens = _orthonormal(tokens)
    position = rng.normal(size=(d if encodings == "random" else 2, d_pe)) @ key[width:] @ queried
    second, first = np.sort(position)[-2:]
    position = position / (first - second)
    return Attention(
        content=tokens @ key[:width] @ queried,
        position=position if encodings == "random" else np.repeat(position, d // 2),
        # NOTE[PAPER]: V can't keep the norm of whole tokens and have V_p = 0; it keeps that of w_i.
        values=tokens @ _orthonormal(rng.normal(size=(width, width))),
        norms=norms,
        d_t=d_t,
    )


def draw_inputs(rng: np.random.Generator, n: int, d: int, inputs: Inputs) -> np.ndarray:
    """Uniform rows in (0, 1): independent, or two latent variables for half of the tokens each."""
    if inputs == "independent":
        return rng.uniform(size=(n, d))
    return np.repeat(rng.uniform(size=(n, 2)), d // 2, axis=1)


@dataclass(frozen=True)
class Theorem:
    """A bound with its approximation, and what it supposes."""

    bound: Callable[[float, int], float]
    approximation: Callable[[float, int], float]
    inputs: Inputs
    encodings: Encodings


THEOREMS = {
    "1": Theorem(theorem_1, theorem_1_approximation, "independent", "random"),
    "2a": Theorem(theorem_2a, theorem_2a_approximation, "halves", "random"),
    "2b": Theorem(theorem_2b, theorem_2b_approximation, "halves", "shared"),
}


def simulate(
    alphas: Sequence[float],
    dimensions: Sequence[int],
    *,
    draws: int = 20,
    n: int = 1000,
    norms: float = 1.0,
    seed: int = 0,
) -> pd.DataFrame:
    """Simulated effective ranks (column `rank`) beside their bounds, a row per draw and alpha."""
    rng = np.random.default_rng(seed)
    rows = []
    for (name, theorem), d, draw in product(THEOREMS.items(), dimensions, range(draws)):
        attention = draw_attention(rng, d, theorem.encodings, norms=norms)
        x = draw_inputs(rng, n, d, theorem.inputs)
        for alpha in alphas:
            bound = theorem.bound(c_alpha(alpha, 1.0, norms, attention.d_t), d)
            rows.append((name, d, alpha, draw, effective_rank(attention.outputs(x, alpha)), bound))
    return pd.DataFrame(rows, columns=["theorem", "d", "alpha", "draw", "rank", "bound"])


def _scaled(matrix: np.ndarray) -> np.ndarray:
    """The matrix with spectral norm 1."""
    return matrix / np.linalg.norm(matrix, 2)


def _orthonormal(matrix: np.ndarray) -> np.ndarray:
    """Orthonormal rows that span those of the matrix."""
    return np.linalg.qr(matrix.T)[0].T
