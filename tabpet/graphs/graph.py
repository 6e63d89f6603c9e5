"""A feature graph: weighted edges over nodes, the features behind them, and how it was made."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from tabpet.errors import TabpetError
from tabpet.graphs.facts import graph_facts

# What the description of a graph has as it is.
_PLAIN = ("method", "directed", "settings", "seconds", "status", "reason", "warnings")


@dataclass(frozen=True)
class Graph:
    """Weights `adjacency[i, j]` of edges i -> j; symmetric when the method is undirected."""

    method: str
    nodes: tuple[str, ...]
    features: tuple[str, ...]
    feature_of: np.ndarray  # (n_nodes,), index into `features`
    adjacency: np.ndarray  # (n_nodes, n_nodes), float64, zero diagonal
    directed: bool
    settings: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    status: str = "ok"  # ok, timeout or error
    reason: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @property
    def n_edges(self) -> int:
        """Number of edges; an undirected edge counts once."""
        n_entries = int(np.count_nonzero(self.adjacency))
        return n_entries if self.directed else n_entries // 2

    def edges(self) -> pd.DataFrame:
        """Edges by node names: source, target, weight; an undirected edge appears once."""
        present = self.adjacency != 0
        source, target = np.nonzero(present if self.directed else np.triu(present, 1))
        names = np.array(self.nodes, dtype=object)
        return pd.DataFrame(
            {
                "source": pd.Series(names[source], dtype="str"),
                "target": pd.Series(names[target], dtype="str"),
                "weight": self.adjacency[source, target].astype(np.float64),
            }
        )

    @classmethod
    def from_edges(cls, edges: pd.DataFrame, metadata: dict[str, Any]) -> "Graph":
        """The graph that `edges` and `to_metadata` describe."""
        nodes = tuple(metadata["nodes"])
        position = {name: i for i, name in enumerate(nodes)}
        features = tuple(metadata["features"])
        feature_position = {name: i for i, name in enumerate(features)}
        unknown = sorted((set(edges["source"]) | set(edges["target"])) - set(nodes))
        if unknown:
            raise TabpetError(f"the edges name nodes that the graph does not have: {unknown[:5]}")
        source = [position[name] for name in edges["source"]]
        target = [position[name] for name in edges["target"]]
        adjacency = np.zeros((len(nodes), len(nodes)))
        adjacency[source, target] = edges["weight"].to_numpy()
        if not metadata["directed"]:
            adjacency[target, source] = edges["weight"].to_numpy()
        owners = [feature_position[metadata["node_features"][name]] for name in nodes]
        return cls(
            nodes=nodes,
            features=features,
            feature_of=np.array(owners, dtype=np.int64),
            adjacency=adjacency,
            **{name: metadata[name] for name in (*_PLAIN, "facts")},
        )

    def to_metadata(self) -> dict[str, Any]:
        """Everything but the edges, and the quality facts, as plain JSON types."""
        return {
            **{name: getattr(self, name) for name in _PLAIN},
            **graph_facts(self),
            "facts": self.facts,
            "features": list(self.features),
            "nodes": list(self.nodes),
            "node_features": {
                node: self.features[owner]
                for node, owner in zip(self.nodes, self.feature_of, strict=True)
            },
        }
