"""LiNGAM graph (Methodology, "Graph Estimation"; LiNGAM hyperparameters in the appendix):
DirectLiNGAM with a fast search for the causal order, and the paper's choice of threshold."""

import numpy as np

from tabpet.config import LingamSettings
from tabpet.graphs.budget import Budget, BudgetSpent
from tabpet.graphs.registry import Estimate, Estimator


def estimate_lingam(values: np.ndarray, settings: LingamSettings, budget: Budget) -> Estimate:
    """Find the causal order, fit the weights along it, and cut weak edges."""
    from tabpet.graphs.methods._direct_lingam import FastDirectLiNGAM

    model = FastDirectLiNGAM(budget)
    status, reason = "ok", ""
    try:
        model.fit(values)
    except BudgetSpent:
        status, reason = "timeout", model.progress()
    weights = model.weights_so_far(values.shape[1]).T  # lingam's B[i, j] is the edge j -> i
    cut, inside = choose_threshold(weights, settings)
    warnings = list(model.notes)
    if not inside and status == "ok":
        warnings.append(
            f"no threshold leaves {settings.min_edges} to {settings.max_edges} edges: "
            f"the smallest, {cut:g}, is used"
        )
    return Estimate(
        np.where(np.abs(weights) > cut, weights, 0.0),
        status=status,
        reason=reason,
        facts={
            "threshold": cut,
            "edges_before_threshold": int(np.count_nonzero(weights)),
            "pairs_compared": model.n_compared,
            "pairs_in_full_search": model.n_pairs,
            "determined_nodes": model.n_determined,
            "fitted_on_rows": model.n_fitted_by_lingam,
        },
        warnings=warnings,
    )


def choose_threshold(weights: np.ndarray, settings: LingamSettings) -> tuple[float, bool]:
    """The first threshold with an allowed number of edges, else the smallest; and which it was."""
    for cut in settings.thresholds:
        n_edges = np.count_nonzero(np.abs(weights) > cut)
        if settings.min_edges <= n_edges <= settings.max_edges:
            return cut, True
    return min(settings.thresholds), False


ESTIMATOR = Estimator(
    name="lingam",
    function=estimate_lingam,
    settings=LingamSettings,
    directed=True,
    nonlinear=False,
    tree=False,
    causal=True,
    cost="n d^3 for the order, d^4 for the weights",
    citation="Shimizu et al. (2011), DirectLiNGAM, Journal of Machine Learning Research 12; "
    "Hyvarinen and Smith (2013), Pairwise likelihood ratios, JMLR 14",
)
