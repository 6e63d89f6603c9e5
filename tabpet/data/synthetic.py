"""Tables with a known amount of structure: Algorithm 1 of the paper, and a mixed-type variant."""

import numpy as np
import pandas as pd

from tabpet.errors import TabpetError

NOISE_VARIANCE = 0.01  # NOTE[PAPER]: N(0, 0.01) is read as mean and variance
LEVELS = 4  # of a categorical column of the mixed variant


def generate_groups(
    d: int, k: int, n: int, seed: int, n_categorical: int = 0
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
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.arange(d) % k)  # disjoint groups, equal in size up to one feature
    weight = rng.uniform(-1, 1, size=d)
    target_group = rng.integers(k)
    # NOTE[PAPER]: w_t and b stand inside the loop over samples; drawn anew for each sample the
    # target would be noise, so they are drawn once for the table.
    slope, intercept = rng.uniform(-1, 1, size=2)
    latent = rng.uniform(-2, 2, size=(n, k))
    noise = rng.normal(0, np.sqrt(NOISE_VARIANCE), size=(n, d))
    frame = pd.DataFrame(latent[:, group] * weight + noise, columns=[f"x{f + 1}" for f in range(d)])
    for f in np.argsort(group, kind="stable")[:: max(1, d // max(1, n_categorical))][
        :n_categorical
    ]:
        name = frame.columns[f]
        cuts = frame[name].quantile(np.arange(1, LEVELS) / LEVELS)
        codes = np.searchsorted(cuts.to_numpy(), frame[name].to_numpy())
        frame[name] = pd.Categorical([f"q{code + 1}" for code in codes])
    return frame.assign(y=slope * latent[:, target_group] + intercept), group
