"""Spearman graph (Methodology, "Graph Estimation"): absolute rank correlations of all pairs."""

import numpy as np

from tabpet.clock import Clock
from tabpet.entries import Estimate, Estimator
from tabpet.graphs.methods._correlation import absolute_correlations
from tabpet.section import NoSettings


def estimate_spearman(values: np.ndarray, settings: NoSettings, clock: Clock) -> Estimate:
    """Rank every column once, with average ranks for ties, and correlate the ranks."""
    from scipy.stats import rankdata

    return Estimate(absolute_correlations(rankdata(values, axis=0)))


ESTIMATOR = Estimator(
    key="spearman",
    label="Spearman",
    function=estimate_spearman,
    directed=False,
    growth="n d^2, one matrix product, after d sorts",
    citation="Spearman (1904), The proof and measurement of association between two things",
    cost="instant",
    order=4,
)
