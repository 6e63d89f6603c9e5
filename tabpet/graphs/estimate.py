"""Running a graph estimator by its key (Methodology, "Graph Estimation")."""

import logging
from typing import Any

import numpy as np

from tabpet.clock import Clock, OutOfTime
from tabpet.data.nodes import NodeMatrix
from tabpet.entries import Estimate, Estimator
from tabpet.errors import TabpetError
from tabpet.graphs.graph import Graph
from tabpet.registry import GRAPHS
from tabpet.runs import is_transient
from tabpet.settings import load_section

logger = logging.getLogger(__name__)


def estimate_graph(
    matrix: NodeMatrix,
    method: str,
    settings: Any = None,
    seconds: float | None = None,
    *,
    retries_left: int = 0,
) -> Graph:
    """Estimate the graph of `matrix` with a named method; budgeted ones end after `seconds`.

    An estimator that fails gives a graph without edges that says so. While there are retries left,
    what another try may mend is raised instead.
    """
    import scipy.linalg  # noqa: F401  (loads the BLAS that is limited below)
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    estimator = GRAPHS.find(method)
    chosen = load_section(estimator.settings, settings or {}, f"settings of graph {method!r}:")
    if not np.isfinite(matrix.values).all():
        raise TabpetError(f"graph {method!r}: the node matrix has missing or infinite values")
    # Estimators see the nodes in the order of their names, so that the order of the columns in a
    # table cannot change a tie, a rounding or an optimiser's path.
    order = np.argsort(np.array(matrix.nodes, dtype=np.str_), kind="stable")
    # Instant ones have no limit, so that their result can't depend on the clock.
    clock = Clock(None if estimator.cost == "instant" else seconds)
    # One BLAS thread: sums are then added in one order, whatever the machine's thread count.
    with threadpool_limits(limits=1, user_api="blas"):
        values = np.ascontiguousarray(matrix.values[:, order])
        estimate = _run(estimator, values, chosen, clock, retries_left)
    adjacency = np.zeros_like(estimate.adjacency)
    adjacency[np.ix_(order, order)] = estimate.adjacency
    return Graph(
        method=method,
        nodes=matrix.nodes,
        features=matrix.features,
        feature_of=matrix.feature_of,
        adjacency=adjacency,
        directed=estimator.directed,
        settings=chosen.model_dump(mode="json"),
        seconds=clock.elapsed,
        status=estimate.status,
        reason=estimate.reason,
        facts=estimate.facts,
        warnings=estimate.warnings,
    )


def _run(
    estimator: Estimator, values: np.ndarray, settings: Any, clock: Clock, retries_left: int
) -> Estimate:
    """Run an estimator; fewer than two nodes or two rows leave nothing to estimate."""
    n, d = values.shape
    if d < 2 or n < 2:
        reason = f"nodes: {d}, rows: {n}; a graph needs two of each"
        return Estimate(np.zeros((d, d)), reason=reason)
    try:
        estimate = estimator.function(values, settings, clock)
    except OutOfTime:
        return Estimate(np.zeros((d, d)), status="timeout", reason="the budget ended: no edges")
    except Exception as error:  # a failed estimator is a row that says so, like any other result
        if retries_left and is_transient(error):
            raise
        logger.exception("%s failed", estimator.key)
        reason = f"{type(error).__name__}: {error}"
        return Estimate(np.zeros((d, d)), status="error", reason=reason)
    np.fill_diagonal(estimate.adjacency, 0.0)
    finite = np.isfinite(estimate.adjacency)
    if not finite.all():
        estimate.adjacency = np.where(finite, estimate.adjacency, 0.0)
        estimate.warnings.append(f"{np.count_nonzero(~finite)} weights were not finite: now 0")
    if not estimator.directed:
        # An edge has one weight, and a file holds it once: both directions to the last digit.
        upper = np.triu(estimate.adjacency, 1)
        estimate.adjacency = upper + upper.T
    return estimate
