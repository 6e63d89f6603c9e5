"""Spearman graph (Methodology, "Graph Estimation"): absolute rank correlations of all pairs."""

import numpy as np

from tabpet.config import NoSettings
from tabpet.graphs.budget import Budget
from tabpet.graphs.methods._correlation import absolute_correlations
from tabpet.graphs.registry import Estimate, Estimator


def estimate_spearman(values: np.ndarray, settings: NoSettings, budget: Budget) -> Estimate:
    """Rank every column once, with average ranks for ties, and correlate the ranks."""
    from scipy.stats import rankdata

    return Estimate(absolute_correlations(rankdata(values, axis=0)))


ESTIMATOR = Estimator(
    name="spearman",
    function=estimate_spearman,
    settings=NoSettings,
    directed=False,
    nonlinear=True,
    tree=False,
    causal=False,
    cost="n d^2, one matrix product, after d sorts",
    citation="Spearman (1904), The proof and measurement of association between two things",
)
