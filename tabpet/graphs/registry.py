"""The graph estimators by name, and the one function that runs them (Methodology, "Graph
Estimation"). Every module in `tabpet.graphs.methods` defines one `ESTIMATOR`."""

import importlib
import logging
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tabpet.config import Section, load_section
from tabpet.data.nodes import NodeMatrix
from tabpet.errors import TabpetError
from tabpet.graphs.budget import Budget, BudgetSpent
from tabpet.graphs.graph import Graph
from tabpet.runs import is_transient

logger = logging.getLogger(__name__)


@dataclass
class Estimate:
    """What an estimator returns: weights over the columns it was given, and how it went."""

    adjacency: np.ndarray  # (d, d), [i, j] is the weight of the edge i -> j
    status: str = "ok"  # ok, timeout or error
    reason: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Estimator:
    """An estimator and what is worth knowing about it."""

    name: str
    function: Callable[[np.ndarray, Any, Budget], Estimate]  # (n, d) standardised values
    settings: type[Section]  # its defaults are the paper's
    directed: bool
    nonlinear: bool
    tree: bool
    causal: bool
    cost: str  # how the time grows with n rows and d nodes
    citation: str


def _find_estimators() -> dict[str, Estimator]:
    """Import every public module of `tabpet.graphs.methods` and collect its estimator."""
    from tabpet.graphs import methods

    found = {}
    for module in pkgutil.iter_modules(methods.__path__):
        if not module.name.startswith("_"):
            estimator = importlib.import_module(f"{methods.__name__}.{module.name}").ESTIMATOR
            found[estimator.name] = estimator
    return found


def estimate_graph(
    matrix: NodeMatrix,
    method: str,
    settings: Any = None,
    seconds: float | None = None,
    *,
    retries_left: int = 0,
) -> Graph:
    """Estimate the graph of `matrix` with a named method; slow ones end after about `seconds`.

    An estimator that fails gives a graph without edges that says so. While there are retries left,
    what another try may mend is raised instead.
    """
    import scipy.linalg  # noqa: F401  (loads the BLAS that is limited below)
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    from tabpet.graphs import ESTIMATORS

    if method not in ESTIMATORS:
        known = ", ".join(ESTIMATORS)
        raise TabpetError(f"graph {method!r} is not known; the known graphs are: {known}")
    estimator = ESTIMATORS[method]
    chosen = load_section(estimator.settings, settings or {}, f"settings of graph {method!r}:")
    if not np.isfinite(matrix.values).all():
        raise TabpetError(f"graph {method!r}: the node matrix has missing or infinite values")
    # Estimators see the nodes in the order of their names, so that the order of the columns in a
    # table cannot change a tie, a rounding or an optimiser's path.
    order = np.argsort(np.array(matrix.nodes, dtype=np.str_), kind="stable")
    budget = Budget(seconds)
    # One BLAS thread: sums are then added in one order, whatever the machine's thread count.
    with threadpool_limits(limits=1, user_api="blas"):
        values = np.ascontiguousarray(matrix.values[:, order])
        estimate = _run(estimator, values, chosen, budget, retries_left)
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
        seconds=budget.used,
        status=estimate.status,
        reason=estimate.reason,
        facts=estimate.facts,
        warnings=estimate.warnings,
    )


def _run(
    estimator: Estimator, values: np.ndarray, settings: Any, budget: Budget, retries_left: int
) -> Estimate:
    """Run an estimator; fewer than two nodes or two rows leave nothing to estimate."""
    n, d = values.shape
    if d < 2 or n < 2:
        reason = f"nodes: {d}, rows: {n}; a graph needs two of each"
        return Estimate(np.zeros((d, d)), reason=reason)
    try:
        estimate = estimator.function(values, settings, budget)
    except BudgetSpent:
        return Estimate(np.zeros((d, d)), status="timeout", reason="the budget ended: no edges")
    except Exception as error:  # a failed estimator is a row that says so, like any other result
        if retries_left and is_transient(error):
            raise
        logger.exception("%s failed", estimator.name)
        reason = f"{type(error).__name__}: {error}"
        return Estimate(np.zeros((d, d)), status="error", reason=reason)
    np.fill_diagonal(estimate.adjacency, 0.0)
    finite = np.isfinite(estimate.adjacency)
    if not finite.all():
        estimate.adjacency = np.where(finite, estimate.adjacency, 0.0)
        estimate.warnings.append(f"{np.count_nonzero(~finite)} weights were not finite: now 0")
    return estimate
