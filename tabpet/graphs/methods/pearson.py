"""Pearson graph (Methodology, "Graph Estimation"): absolute linear correlations of all pairs."""

import numpy as np

from tabpet.config import NoSettings
from tabpet.graphs.budget import Budget
from tabpet.graphs.methods._correlation import absolute_correlations
from tabpet.graphs.registry import Estimate, Estimator


def estimate_pearson(values: np.ndarray, settings: NoSettings, budget: Budget) -> Estimate:
    """Connect every pair of nodes by its absolute correlation."""
    return Estimate(absolute_correlations(values))


ESTIMATOR = Estimator(
    name="pearson",
    function=estimate_pearson,
    settings=NoSettings,
    directed=False,
    nonlinear=False,
    tree=False,
    causal=False,
    cost="n d^2, one matrix product",
    citation="Pearson (1895), Notes on regression and inheritance in the case of two parents",
)
