"""Tables whose graph is known: Algorithm 1 of the paper, a mixed-type variant, linear DAGs."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from tabpet.data.true_graph import TrueGraph
from tabpet.errors import TabpetError

NOISE_VARIANCE = 0.01  # NOTE[PAPER]: N(0, 0.01) is read as mean and variance
LEVELS = 4  # of a categorical column of the mixed variant
TargetWeights = Literal["per_table", "per_sample"]
# Noise of a DAG, of mean 0 and variance 1.
NOISES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "laplace": lambda rng, n: rng.laplace(scale=0.5**0.5, size=n),
    "uniform": lambda rng, n: rng.uniform(-(3**0.5), 3**0.5, size=n),
    "exponential": lambda rng, n: rng.exponential(size=n) - 1,
}


def generate_table(options: dict[str, Any]) -> tuple[pd.DataFrame, TrueGraph]:
    """The table of a catalog row of source `synthetic`, target `y` last, and its true graph."""
    rest = dict(options)
    generator = rest.pop("generator", "groups")
    if generator not in GENERATORS:
        raise TabpetError(f"generator is {generator!r}; known are {', '.join(GENERATORS)}")
    try:
        frame, structure = GENERATORS[generator](**rest)
    except TypeError:
        raise TabpetError(
            "`options` of a synthetic table must be `d=..;k=..;n=..;seed=..` and may have "
            "`n_categorical=..` and `target_weights=per_sample`, or be "
            "`generator=dag;d=..;n=..;density=..;seed=..` and may have `noise=..`; "
            f"found {options}."
        ) from None
    if generator == "groups":  # features of a group are all joined
        structure = (structure[:, None] == structure).astype(float) - np.eye(len(structure))
    names = _names(len(structure))
    return frame, TrueGraph.from_adjacency(structure, names, directed=generator == "dag")


def generate_groups(
    d: int,
    k: int,
    n: int,
    seed: int,
    n_categorical: int = 0,
    target_weights: TargetWeights = "per_table",
) -> tuple[pd.DataFrame, np.ndarray]:
    """A regression table of `d` features in `k` groups, and the group of each feature.

    Every feature is its group's latent variable times a fixed weight plus noise; the target is a
    linear function of one group's latent variable. With `n_categorical`, that many features
    (spread over the groups) are cut at their quartiles into text levels.
    """
    if not (1 <= k <= d and n >= 1 and 0 <= n_categorical <= d):
        raise TabpetError(
            f"A synthetic table needs 1 <= k <= d, n >= 1 and n_categorical <= d; "
            f"got d={d}, k={k}, n={n}, n_categorical={n_categorical}."
        )
    if target_weights not in get_args(TargetWeights):
        raise TabpetError(
            f"target_weights is {target_weights!r}; known are {', '.join(get_args(TargetWeights))}"
        )
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.arange(d) % k)  # disjoint groups, equal in size up to one feature
    weight = rng.uniform(-1, 1, size=d)
    target_group = rng.integers(k)
    # NOTE[PAPER]: w_t and b stand inside the loop over samples; drawn anew for each sample the
    # target would be noise, so they are drawn once for the table unless it is asked for.
    slope, intercept = rng.uniform(-1, 1, size=2)
    latent = rng.uniform(-2, 2, size=(n, k))
    noise = rng.normal(0, np.sqrt(NOISE_VARIANCE), size=(n, d))
    frame = pd.DataFrame(latent[:, group] * weight + noise, columns=_names(d))
    for f in np.argsort(group, kind="stable")[:: max(1, d // max(1, n_categorical))][
        :n_categorical
    ]:
        name = frame.columns[f]
        cuts = frame[name].quantile(np.arange(1, LEVELS) / LEVELS)
        codes = np.searchsorted(cuts.to_numpy(), frame[name].to_numpy())
        frame[name] = pd.Categorical([f"q{code + 1}" for code in codes])
    if target_weights == "per_sample":
        slope, intercept = rng.uniform(-1, 1, size=(2, n))
    return frame.assign(y=slope * latent[:, target_group] + intercept), group


def generate_dag(
    d: int, n: int, density: float, seed: int, noise: str = "laplace"
) -> tuple[pd.DataFrame, np.ndarray]:
    """A regression table of a random linear DAG over `d` features, and weights [i, j] of i -> j.

    Each pair is joined with probability `density`, in the direction of a random order, with a
    weight of 0.5 to 1.5 and either sign. The target is a further node without children, with at
    least one parent.
    """
    if not (d >= 2 and n >= 1 and 0 <= density <= 1 and noise in NOISES):
        raise TabpetError(
            f"A table of a DAG needs d >= 2, n >= 1, a density from 0 to 1 and a noise of "
            f"{', '.join(NOISES)}; got d={d}, n={n}, density={density}, noise={noise}."
        )
    rng = np.random.default_rng(seed)
    joined = np.triu(rng.uniform(size=(d + 1, d + 1)) < density, 1)
    if not joined[:d, d].any():
        joined[rng.integers(d), d] = True
    weights = np.where(joined, rng.uniform(0.5, 1.5, size=joined.shape), 0.0)
    weights *= rng.choice([-1, 1], size=joined.shape)
    values = np.zeros((n, d + 1))
    for node in range(d + 1):
        values[:, node] = values @ weights[:, node] + NOISES[noise](rng, n)
    # Columns in another order than causes: nothing may be read off from it.
    order = rng.permutation(d)
    frame = pd.DataFrame(values[:, order], columns=_names(d)).assign(y=values[:, d])
    return frame, weights[np.ix_(order, order)]


def _names(d: int) -> list[str]:
    return [f"x{f + 1}" for f in range(d)]


GENERATORS: dict[str, Callable[..., tuple[pd.DataFrame, np.ndarray]]] = {
    "groups": generate_groups,
    "dag": generate_dag,
}
