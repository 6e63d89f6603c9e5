"""Pearson graph (Methodology, "Graph Estimation"): absolute linear correlations of all pairs."""

import numpy as np

from tabpet.clock import Clock
from tabpet.entries import Estimate, Estimator
from tabpet.graphs.methods._correlation import absolute_correlations
from tabpet.section import NoSettings


def estimate_pearson(values: np.ndarray, settings: NoSettings, clock: Clock) -> Estimate:
    """Connect every pair of nodes by its absolute correlation."""
    return Estimate(absolute_correlations(values))


ESTIMATOR = Estimator(
    key="pearson",
    label="Pearson",
    function=estimate_pearson,
    directed=False,
    growth="n d^2, one matrix product",
    citation="Pearson (1895), Notes on regression and inheritance in the case of two parents",
    cost="instant",
    order=3,
)
