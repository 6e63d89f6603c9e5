"""Feature graphs: estimators, their registry, quality facts and figures (Methodology, "Graph
Estimation")."""

from tabpet.graphs.facts import graph_facts
from tabpet.graphs.graph import Graph
from tabpet.graphs.registry import Estimate, Estimator, _find_estimators, estimate_graph

ESTIMATORS: dict[str, Estimator] = _find_estimators()

__all__ = ["ESTIMATORS", "Estimate", "Estimator", "Graph", "estimate_graph", "graph_facts"]
