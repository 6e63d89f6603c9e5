"""Positional encodings of features from the Laplacian of their graph (Methodology, "Positional
Encoding Creation")."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

from tabpet.encodings.k_selection import select_k
from tabpet.encodings.spectrum import eigenpairs
from tabpet.errors import TabpetError
from tabpet.graphs.graph import Graph
from tabpet.graphs.laplacian import (
    LaplacianKind,
    Symmetrize,
    component_labels,
    laplacian_matrix,
    symmetric_weights,
)
from tabpet.registry import CONTROLS
from tabpet.runs import GraphState

FewNodes = Literal["lower", "repeat"]

# What the description of an encoding has as it is.
_PLAIN = ("k", "settings", "notes", "kind", "choice", "graph_state", "graph_reason")
# Spread of a column below this is rounding, not structure.
_CONSTANT = 1e-9


@dataclass(frozen=True)
class Encoding:
    """One row of `values` per feature: k columns of low and k of high graph frequency."""

    features: tuple[str, ...]
    values: np.ndarray  # (n_features, 2 k); narrower where `few_nodes: repeat` finds too few nodes
    k: int
    eigenvalues: np.ndarray  # (n_nodes,), of the Laplacian whose eigenvectors are used
    normalized_eigenvalues: np.ndarray  # (n_nodes,), from which k was chosen
    used: tuple[int, ...]  # positions of the eigenvectors used, low then high; -1 for a zero column
    settings: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    kind: str = "graph"  # graph, random, shuffled or learnable
    choice: dict[str, int] = field(default_factory=dict)  # counts behind k
    graph_state: GraphState = "ok"  # of the graph behind it
    graph_reason: str = ""  # what is special about that graph; empty for one that is ok

    @property
    def d_pe(self) -> int:
        """Width of the encoding."""
        return self.values.shape[1]

    @property
    def is_trained(self) -> bool:
        """Whether its values are weights of the model, and zeros here."""
        return self.kind in CONTROLS and CONTROLS[self.kind].trained

    def to_frame(self) -> pd.DataFrame:
        """A row per feature: feature, pe_1 ... pe_{d_pe}."""
        columns = {f"pe_{i + 1}": self.values[:, i] for i in range(self.d_pe)}
        return pd.DataFrame({"feature": pd.Series(self.features, dtype="str"), **columns})

    def to_metadata(self) -> dict[str, Any]:
        """Everything but the values, as plain JSON types."""
        return {
            "kind": self.kind,
            "k": self.k,
            "d_pe": self.d_pe,
            "used": list(self.used),
            "choice": dict(self.choice),
            "graph_state": self.graph_state,
            "graph_reason": self.graph_reason,
            "eigenvalues": self.eigenvalues.tolist(),
            "normalized_eigenvalues": self.normalized_eigenvalues.tolist(),
            "settings": dict(self.settings),
            "notes": list(self.notes),
        }

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, metadata: dict[str, Any]) -> "Encoding":
        """The encoding that `to_frame` and `to_metadata` describe."""
        if "graph_state" not in metadata:
            raise TabpetError(
                "the encoding's description does not say how its graph ended: it was made by an "
                "earlier version. Delete it and run again."
            )
        return cls(
            features=tuple(frame["feature"]),
            values=frame.drop(columns="feature").to_numpy(dtype=np.float64),
            eigenvalues=np.array(metadata["eigenvalues"], dtype=np.float64),
            normalized_eigenvalues=np.array(metadata["normalized_eigenvalues"], dtype=np.float64),
            used=tuple(metadata["used"]),
            **{name: metadata[name] for name in _PLAIN},
        )


def encode(
    graph: Graph,
    *,
    symmetrize: Symmetrize = "mean",
    laplacian: LaplacianKind = "combinatorial",
    k_min: int = 2,
    k_max: int = 10,
    clip: float = 10.0,
    few_nodes: FewNodes = "lower",
) -> Encoding:
    """Encode the features of a graph by low and high eigenvectors of its Laplacian."""
    import scipy.linalg  # noqa: F401  (loads the BLAS that is limited below)
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    if not 1 <= k_min <= k_max:
        raise TabpetError(f"k_min is {k_min} and k_max {k_max}; allowed is 1 <= k_min <= k_max")
    # Nodes go by name: the order of the columns must not choose a basis or break a tie.
    order = np.argsort(np.array(graph.nodes, dtype=np.str_), kind="stable")
    weights = symmetric_weights(graph.adjacency, symmetrize)[np.ix_(order, order)]
    # One BLAS thread, so that the result does not depend on how many there are.
    with threadpool_limits(limits=1, user_api="blas"):
        normalized = np.linalg.eigvalsh(laplacian_matrix(weights, "normalized"))
        choice = select_k(normalized, k_min, k_max)
        eigenvalues, vectors = eigenpairs(weights, laplacian)
    k, used, notes = _choose_eigenvectors(len(weights), choice.k_first, few_nodes)
    notes += _describe_graph(weights)
    if not weights.any():
        used = (-1,) * len(used)
    by_node = np.zeros((len(weights), len(used)))
    for column, position in enumerate(used):
        if position >= 0:
            by_node[:, column] = _standardise(vectors[:, position], clip)
    values = _average_by_feature(by_node, graph.feature_of[order], len(graph.features))
    notes += _describe_values(graph, by_node, values)
    state, reason = _describe_state(graph)
    return Encoding(
        features=graph.features,
        values=values,
        k=k,
        eigenvalues=eigenvalues,
        normalized_eigenvalues=normalized,
        used=used,
        settings={
            "symmetrize": symmetrize,
            "laplacian": laplacian,
            "k_min": k_min,
            "k_max": k_max,
            "clip": clip,
            "few_nodes": few_nodes,
        },
        notes=notes,
        choice=asdict(choice),
        graph_state=state,
        graph_reason=reason,
    )


def _choose_eigenvectors(
    n: int, k: int, few_nodes: FewNodes
) -> tuple[int, tuple[int, ...], list[str]]:
    """k, the positions of e_2 ... e_(k+1) and e_(n-k+1) ... e_n, and notes on too few of them."""
    if few_nodes == "lower":
        return _lower_k(n, k)
    if few_nodes == "repeat":
        return _repeat_eigenvectors(n, k)
    raise TabpetError(f"few_nodes is {few_nodes!r}; allowed are 'lower' and 'repeat'")


def _lower_k(n: int, k: int) -> tuple[int, tuple[int, ...], list[str]]:
    """As many from each end as there are different ones; position -1 where there is none."""
    largest = max(1, (n - 1) // 2)
    notes = []
    if k > largest:
        notes.append(f"k lowered from {k} to {largest}: {n} nodes have no more eigenvectors")
        k = largest
    if n >= 3:
        return k, (*range(1, k + 1), *range(n - k, n)), notes
    notes.append(f"{n} nodes: columns without an eigenvector are zero")
    return k, ((1, -1) if n == 2 else (-1, -1)), notes


def _repeat_eigenvectors(n: int, k: int) -> tuple[int, tuple[int, ...], list[str]]:
    """k from each end, or all that the end has; where the ends meet, some are in both."""
    # NOTE[AUTHORS]: the released code takes these slices.
    positions = range(n)
    low, high = positions[1 : k + 1], positions[-k:]
    used = (*low, *high)
    notes = []
    if twice := len(set(low) & set(high)):
        notes.append(f"k = {k} with {n} nodes: {twice} eigenvectors are used at both ends")
    if len(used) < 2 * k:
        notes.append(f"k = {k} with {n} nodes: {len(used)} columns instead of {2 * k}")
    return k, used, notes


def _standardise(vector: np.ndarray, clip: float) -> np.ndarray:
    """Zero mean and unit sample variance across nodes, clipped; constant vectors become zero."""
    spread = float(vector.std(ddof=1))
    if spread <= _CONSTANT:
        return np.zeros_like(vector)
    return np.clip((vector - vector.mean()) / spread, -clip, clip)


def _average_by_feature(by_node: np.ndarray, owners: np.ndarray, n_features: int) -> np.ndarray:
    """Mean over the nodes of each feature, (n_features, d_pe); zeros for one without nodes."""
    totals = np.zeros((n_features, by_node.shape[1]))
    np.add.at(totals, owners, by_node)
    counts = np.bincount(owners, minlength=n_features)
    means = totals / np.maximum(counts, 1)[:, None]
    # Nodes of opposite sign cancel up to rounding.
    return np.where(np.abs(means) < _CONSTANT, 0.0, means)


def _describe_state(graph: Graph) -> tuple[GraphState, str]:
    """Whether the graph is a result that an encoding may stand on, and what to know about it."""
    if graph.status == "error" or (graph.status == "timeout" and not graph.n_edges):
        return "failed", f"no {graph.method} graph: {graph.reason}"
    if graph.status == "timeout":
        return "cut", f"the {graph.method} graph was cut by its time limit: {graph.reason}"
    if not graph.n_edges:
        detail = f" ({graph.reason})" if graph.reason else ""
        return "empty", f"the {graph.method} graph has no edges, so the encoding is zero{detail}"
    return "ok", ""


def _describe_graph(weights: np.ndarray) -> list[str]:
    """Notes on graphs whose Laplacian says little."""
    if not weights.any():
        return ["empty graph: the encoding is zero"]
    n_components = int(component_labels(weights).max()) + 1
    if n_components > 1:
        n_isolated = int(np.count_nonzero(weights.sum(axis=1) == 0))
        return [
            f"disconnected graph: {n_components} components, {n_isolated} of them single nodes; "
            "the lowest eigenvectors tell components apart"
        ]
    return []


def _describe_values(graph: Graph, by_node: np.ndarray, values: np.ndarray) -> list[str]:
    """Notes on features and columns that carry nothing."""
    notes = []
    without = len(set(range(len(graph.features))) - set(graph.feature_of.tolist()))
    if without:
        notes.append(f"{without} features have no node: their encoding is zero")
    cancelled = int(np.count_nonzero(by_node.any(axis=0) & ~values.any(axis=0)))
    if cancelled:
        notes.append(
            f"{cancelled} columns cancel when the one-hot nodes of each feature are averaged"
        )
    return notes
