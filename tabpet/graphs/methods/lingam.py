"""LiNGAM graph (Methodology, "Graph Estimation"; LiNGAM hyperparameters in the appendix):
DirectLiNGAM with a fast search for the causal order, and the paper's choice of threshold."""

import numpy as np
from pydantic import Field, model_validator

from tabpet.clock import Clock, OutOfTime
from tabpet.entries import Estimate, Estimator
from tabpet.extras import need
from tabpet.section import NonNegative, Section


class LingamSettings(Section):
    """Settings of LiNGAM (paper, appendix C)."""

    thresholds: tuple[NonNegative, ...] = Field(
        (0.01, 0.05, 0.1, 0.2),
        min_length=1,
        description="Cuts on absolute weights; the first with an allowed number of edges is taken.",
    )
    min_edges: int = Field(10, ge=0, description="Fewest edges that a threshold may leave.")
    max_edges: int = Field(50, ge=0, description="Most edges that a threshold may leave.")

    @model_validator(mode="after")
    def _ordered(self) -> "LingamSettings":
        if self.min_edges > self.max_edges:
            raise ValueError(
                f"min_edges ({self.min_edges}) is larger than max_edges ({self.max_edges})"
            )
        return self


def estimate_lingam(values: np.ndarray, settings: LingamSettings, clock: Clock) -> Estimate:
    """Find the causal order, fit the weights along it, and cut weak edges."""
    model = need("tabpet.graphs.methods._direct_lingam", "LiNGAM").FastDirectLiNGAM(clock)
    status, reason = "ok", ""
    try:
        model.fit(values)
    except OutOfTime:
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


def estimate_seconds(nodes: float, rows: float) -> float:
    """As measured (docs/performance.md)."""
    return 2 + 0.5 * (nodes / 60) ** 2.4 * rows / 2000


ESTIMATOR = Estimator(
    key="lingam",
    label="LiNGAM",
    function=estimate_lingam,
    settings=LingamSettings,
    directed=True,
    growth="n d^3 for the order, d^4 for the weights",
    seconds=estimate_seconds,
    citation="Shimizu et al. (2011), DirectLiNGAM, Journal of Machine Learning Research 12; "
    "Hyvarinen and Smith (2013), Pairwise likelihood ratios, JMLR 14",
    needs=("lingam",),
    order=2,
)
