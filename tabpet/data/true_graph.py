"""The graph that a table is known to have: of a generator, or an edge list that its row names."""

from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import BaseModel

from tabpet.errors import TabpetError


class TrueGraph(BaseModel):
    """Edges between features: source, target, weight; an undirected edge once."""

    directed: bool
    edges: list[tuple[str, str, float]]

    @classmethod
    def from_adjacency(
        cls, weights: np.ndarray, names: list[str], *, directed: bool
    ) -> "TrueGraph":
        """The graph with an edge i -> j of each weight [i, j] that is not 0."""
        present = np.argwhere(weights if directed else np.triu(weights))
        edges = [(names[i], names[j], float(weights[i, j])) for i, j in present]
        return cls(directed=directed, edges=edges)

    def adjacency(self, features: tuple[str, ...]) -> np.ndarray:
        """Weights [i, j] of the edges i -> j among some features; symmetric when undirected."""
        place = {name: i for i, name in enumerate(features)}
        weights = np.zeros((len(features), len(features)))
        for source, target, weight in self.edges:
            if source in place and target in place:
                weights[place[source], place[target]] = weight
        return weights if self.directed else weights + weights.T


def read_edges(path: Path, features: Collection[str]) -> TrueGraph:
    """A CSV file of arrows, `source,target` and perhaps `weight` (1 without it), checked."""
    try:
        table = pd.read_csv(path, dtype={"source": str, "target": str}, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise TabpetError(f"{path} can't be read as a CSV file of edges: {error}") from None
    if not {"source", "target"} <= set(table) <= {"source", "target", "weight"}:
        raise TabpetError(
            f"{path} needs the columns source and target, and may have weight; it has: "
            f"{', '.join(map(str, table))}."
        )
    if not isinstance(table.index, pd.RangeIndex):  # pandas would take the first values for names
        raise TabpetError(f"{path} has lines with more values than its header has columns.")
    if "weight" not in table:
        table["weight"] = 1.0
    table["weight"] = pd.to_numeric(table["weight"], errors="coerce").astype("float64")
    repeated = table.duplicated(["source", "target"])
    edges = list(table[["source", "target", "weight"]].itertuples(index=False, name=None))
    for line, (source, target, weight) in enumerate(edges, start=2):
        if unknown := [name for name in (source, target) if name not in features]:
            problem = f"{unknown[0]!r} is not a feature of the table"
        elif source == target:
            problem = f"{source!r} can't be joined with itself"
        elif not np.isfinite(weight) or weight == 0:
            problem = "a weight is a number other than 0; leave out edges that are none"
        elif repeated[line - 2]:
            problem = f"the edge from {source!r} to {target!r} is listed twice"
        else:
            continue
        raise TabpetError(f"{path}, line {line}: {problem}.")
    return TrueGraph(directed=True, edges=edges)
