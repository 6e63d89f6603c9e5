"""Everything that is said about one method against another, from the improvements of datasets."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from tabpet.extras import need
from tabpet.stats.improvement import Summary, summarize
from tabpet.stats.signed_rank import HodgesLehmann, Wilcoxon, hodges_lehmann, wilcoxon
from tabpet.stats.values import Values, split_missing

BAYES_SAMPLES = 10_000


@dataclass(frozen=True)
class BootstrapInterval:
    """An interval of a mean over datasets; NaN below two datasets."""

    datasets: int
    missing: int
    estimate: float
    low: float
    high: float
    significance: float
    samples: int
    method: Literal["BCa", "percentile", "none"]
    seed: int


@dataclass(frozen=True)
class BayesianSignedRank:
    """How often, in draws from the posterior, a region has more pairwise averages than the others.

    Worse, practically none, or better. It is not the probability that the median of these averages
    is in that region, which may be in the middle one while most averages are outside of it.
    """

    datasets: int
    missing: int
    rope: float  # half width of the region of practical equivalence, in the unit of the differences
    worse: float
    equal: float
    better: float
    samples: int
    seed: int


@dataclass(frozen=True)
class Comparison:
    """Two methods over datasets: how much better, how sure, by which rules."""

    summary: Summary
    wilcoxon: Wilcoxon
    paper_wilcoxon: Wilcoxon  # the same differences by the paper's rule
    shift: HodgesLehmann
    interval: BootstrapInterval  # of the mean
    bayes: BayesianSignedRank


def compare(
    percent: Values, significance: float = 0.05, rope: float = 0.5, samples: int = 10_000
) -> Comparison:
    """Compare by the improvements in percent; datasets without one are counted and left out."""
    return Comparison(
        summary=summarize(percent),
        wilcoxon=wilcoxon(percent),
        paper_wilcoxon=wilcoxon(percent, rule="paper"),
        shift=hodges_lehmann(percent, significance),
        interval=bootstrap(percent, significance, samples),
        bayes=bayesian_signed_rank(percent, rope),
    )


def bootstrap(
    values: Values, significance: float = 0.05, samples: int = 10_000, seed: int = 0
) -> BootstrapInterval:
    """How much would other datasets change the mean? BCa, or percentiles of constant values."""
    finite, missing = split_missing(values)
    estimate = float(np.mean(finite)) if len(finite) else np.nan
    low, high = np.nan, np.nan
    method: Literal["BCa", "percentile", "none"] = "none"
    if len(finite) > 1:
        # The jackknife behind BCa divides by the spread.
        method = "BCa" if np.ptp(finite) > 0 else "percentile"
        resampled = stats.bootstrap(
            (finite,),
            np.mean,
            n_resamples=samples,
            confidence_level=1 - significance,
            method=method,
            rng=np.random.default_rng(seed),
        )
        low, high = map(float, resampled.confidence_interval)
    return BootstrapInterval(
        len(finite), missing, estimate, low, high, significance, samples, method, seed
    )


def bayesian_signed_rank(
    differences: Values, rope: float, samples: int = BAYES_SAMPLES, seed: int = 0
) -> BayesianSignedRank:
    """A second opinion (Benavoli et al., 2014) on which region has most; NaN without data."""
    finite, missing = split_missing(differences)
    if not len(finite):
        probabilities = (np.nan, np.nan, np.nan)
    elif rope == 0 and not finite.any():
        probabilities = (0.0, 1.0, 0.0)  # baycomp would have to call a side the winner
    else:
        none = np.zeros_like(finite)
        test = need("baycomp", "The Bayesian test").SignedRankTest
        posterior = test(none, finite, rope, nsamples=samples, random_state=seed)
        probabilities = posterior.probs()
    worse, equal, better = map(float, probabilities)
    return BayesianSignedRank(len(finite), missing, rope, worse, equal, better, samples, seed)
