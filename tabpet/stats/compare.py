"""Everything that is said about one method against another, from the improvements of datasets."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tabpet.stats.bayes import BayesianSignedRank, bayesian_signed_rank
from tabpet.stats.bootstrap import BootstrapInterval, bootstrap
from tabpet.stats.improvement import Summary, summarize
from tabpet.stats.signed_rank import HodgesLehmann, Wilcoxon, hodges_lehmann, wilcoxon


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
    percent: pd.Series | np.ndarray,
    level: float = 0.05,
    rope: float = 0.5,
    samples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare by the improvements in percent; datasets without one are counted and left out."""
    return Comparison(
        summary=summarize(percent),
        wilcoxon=wilcoxon(percent),
        paper_wilcoxon=wilcoxon(percent, rule="paper"),
        shift=hodges_lehmann(percent, level),
        interval=bootstrap(percent, level, samples, seed),
        bayes=bayesian_signed_rank(percent, rope, seed=seed),
    )
