"""A second opinion on differences: the Bayesian signed-rank test (Benavoli et al., 2014)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tabpet.extras import need

SAMPLES = 10_000


@dataclass(frozen=True)
class BayesianSignedRank:
    """Posterior probabilities that the typical difference is worse, practically none, or better."""

    datasets: int
    missing: int
    rope: float  # half width of the region of practical equivalence, in the unit of the differences
    worse: float
    equal: float
    better: float
    samples: int
    seed: int


def bayesian_signed_rank(
    differences: pd.Series | np.ndarray, rope: float, samples: int = SAMPLES, seed: int = 0
) -> BayesianSignedRank:
    """Probabilities of the three regions; not a number without data."""
    values = np.asarray(differences, dtype=float)
    known = values[np.isfinite(values)]
    if not len(known):
        probabilities = (np.nan, np.nan, np.nan)
    elif rope == 0 and not known.any():
        probabilities = (0.0, 1.0, 0.0)  # baycomp would have to call a side the winner
    else:
        posterior = need("baycomp", "The Bayesian test").SignedRankTest(
            np.zeros_like(known), known, rope, nsamples=samples, random_state=seed
        )
        probabilities = posterior.probs()
    worse, equal, better = map(float, probabilities)
    return BayesianSignedRank(
        len(known), len(values) - len(known), rope, worse, equal, better, samples, seed
    )
