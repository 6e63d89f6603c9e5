"""Quality facts of a graph (Experiments, "Graph Entropy"; appendix, "Fiedler Value")."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tabpet.graphs.laplacian import component_labels, laplacian_matrix, symmetric_weights

if TYPE_CHECKING:
    from tabpet.graphs.graph import Graph


def graph_facts(graph: "Graph") -> dict[str, Any]:
    """Size, density, entropy, connectivity and where the weight lies, as plain JSON types."""
    weights = symmetric_weights(graph.adjacency)
    n = len(weights)
    n_edges = graph.n_edges
    possible = n * (n - 1) if graph.directed else n * (n - 1) // 2
    labels = component_labels(weights)
    same_feature = graph.feature_of[:, None] == graph.feature_of[None, :]
    total = float(weights.sum())
    within = float(weights[same_feature].sum()) / total if total > 0 else 0.0
    return {
        "n_nodes": n,
        "n_edges": n_edges,
        "density": n_edges / possible if possible else 0.0,
        "entropy": graph_entropy(weights),
        "fiedler": fiedler_value(weights),
        "components": int(labels.max()) + 1 if n else 0,
        "isolated": int(np.count_nonzero(weights.sum(axis=1) == 0)),
        "weight_within_features": within,
        "weight_between_features": 1.0 - within if total > 0 else 0.0,
    }


def graph_entropy(weights: np.ndarray) -> float:
    """Mean over nodes of the entropy of their edge weights, divided by ln(n - 1).

    `weights` are absolute and symmetric; a node without edges has entropy 0, and so have graphs of
    fewer than three nodes, where ln(n - 1) is 0.
    """
    # NOTE[PAPER]: w_ij of a directed graph is not defined; both ends of an edge count it.
    n = len(weights)
    if n < 3:
        return 0.0
    degrees = weights.sum(axis=1, keepdims=True)
    shares = np.divide(weights, degrees, out=np.zeros_like(weights), where=degrees > 0)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    # The clip takes away a rounding below 0, or above 1 for equal weights.
    return float(np.clip(-(shares * logs).sum(axis=1) / np.log(n - 1), 0.0, 1.0).mean())


def fiedler_value(weights: np.ndarray) -> float:
    """Second-smallest eigenvalue of D - A; exactly 0 for a graph in several components."""
    # NOTE[PAPER]: "the graph Laplacian" is read as D - A, the one that the text defines.
    if len(weights) < 2 or component_labels(weights).max() > 0:
        return 0.0
    return max(0.0, float(np.linalg.eigvalsh(laplacian_matrix(weights))[1]))
