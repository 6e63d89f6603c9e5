"""The true graph of a table as a graph like any other, and how well an estimate recovers it."""

from dataclasses import dataclass

import numpy as np

from tabpet.data.nodes import NodeMatrix
from tabpet.data.true_graph import TrueGraph
from tabpet.graphs.graph import Graph
from tabpet.graphs.methods.true import NO_TRUE_GRAPH


def place_true_graph(matrix: NodeMatrix, truth: TrueGraph | None) -> Graph:
    """The true graph over the nodes of a table: an edge joins all nodes of its two features."""
    shape = (matrix.n_nodes, matrix.n_nodes)
    adjacency, directed, warnings = np.zeros(shape), False, []
    if truth is not None:
        by_feature = truth.adjacency(matrix.features)
        adjacency = by_feature[np.ix_(matrix.feature_of, matrix.feature_of)]
        directed = truth.directed
        gone = len(truth.edges) - np.count_nonzero(by_feature) // (1 if directed else 2)
        if gone:
            warnings.append(f"{gone} edges of features that the split does not have")
    return Graph(
        method="true",
        nodes=matrix.nodes,
        features=matrix.features,
        feature_of=matrix.feature_of,
        adjacency=adjacency,
        directed=directed,
        status="ok" if truth is not None else "error",
        reason="" if truth is not None else NO_TRUE_GRAPH,
        warnings=warnings,
    )


@dataclass(frozen=True)
class Recovery:
    """How well the edges of a graph are those of the true one, over pairs of nodes.

    Average precision and AUC are those of absolute weights, the larger of both directions; None
    where all pairs or none are true. Both structural Hamming distances count the pairs that differ:
    `shd` in the direction too (None unless both graphs have directions), `shd_skeleton` in whether
    they are joined.
    """

    pairs: int
    true_edges: int
    edges: int
    average_precision: float | None
    auc: float | None
    shd: int | None
    shd_skeleton: int


def edge_recovery(graph: Graph, truth: Graph) -> Recovery:
    """Compare a graph with the true one over the same nodes; nodes of one feature are no pair."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    first, second = np.triu_indices(truth.n_nodes, 1)
    apart = truth.feature_of[first] != truth.feature_of[second]
    pairs = (first[apart], second[apart])
    there, back = np.abs(graph.adjacency[pairs]), np.abs(graph.adjacency.T[pairs])
    true_there, true_back = truth.adjacency[pairs] != 0, truth.adjacency.T[pairs] != 0
    weights, labels = np.maximum(there, back), true_there | true_back
    mixed = labels.any() and not labels.all()
    differs = ((there > 0) != true_there) | ((back > 0) != true_back)
    return Recovery(
        pairs=len(labels),
        true_edges=int(labels.sum()),
        edges=int((weights > 0).sum()),
        average_precision=float(average_precision_score(labels, weights)) if mixed else None,
        auc=float(roc_auc_score(labels, weights)) if mixed else None,
        shd=int(differs.sum()) if graph.directed and truth.directed else None,
        shd_skeleton=int(((weights > 0) != labels).sum()),
    )
