"""From the training rows of an estimator, or from given edges, to positional encodings."""

import warnings
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from tabpet.data.nodes import build_node_matrix
from tabpet.data.prepare import Split, SplitInfo
from tabpet.encodings import Encoding, control, encode
from tabpet.errors import TableError
from tabpet.graphs.estimate import estimate_graph
from tabpet.graphs.graph import Graph
from tabpet.names import EncodingName
from tabpet.registry import CONTROLS
from tabpet.seeds import derive_seed
from tabpet.settings import EncodingSettings, load_section

Edges = Iterable[tuple[str | int, str | int] | tuple[str | int, str | int, float]] | pd.DataFrame
NO_GRAPH = "none"
CONTROL_GRAPH = "spearman"  # behind a control that names no graph


def encode_features(
    split: Split,
    graph: str | Edges,
    graph_settings: Mapping[str, Any] | None,
    graph_seconds: float,
    encoding_settings: Mapping[str, Any] | None,
    columns: Mapping[str, str],
    seed: int,
) -> tuple[Graph | None, Encoding | None]:
    """The graph and the encoding that a parameter `graph` stands for; None for none.

    `columns` are the features by the names, or places in an array, that edges may give them.
    """
    if isinstance(graph, str) and graph == NO_GRAPH:
        return None, None
    settings = load_section(EncodingSettings, dict(encoding_settings or {}), "encoding_settings")
    name = None
    if isinstance(graph, str):
        alone = graph in CONTROLS
        name = EncodingName(CONTROL_GRAPH, graph) if alone else EncodingName.parse(graph)
        matrix = build_node_matrix(split)
        weighted = estimate_graph(matrix, name.graph, graph_settings, graph_seconds)
    else:
        weighted = graph_of_edges(graph, split.info, columns)
    encoding = encode(weighted, **settings.model_dump())
    if encoding.graph_state == "failed":
        more = "Raise graph_seconds or max_seconds, c" if weighted.status == "timeout" else "C"
        raise TableError(f"{encoding.graph_reason}. {more}hoose another graph, or graph='none'.")
    if encoding.graph_reason:
        warnings.warn(encoding.graph_reason, UserWarning, stacklevel=4)
    if name is not None and name.control is not None:
        encoding = control(encoding, name.control, derive_seed(seed, "control"))
    return weighted, encoding


def graph_of_edges(edges: Edges, info: SplitInfo, columns: Mapping[str, str]) -> Graph:
    """An undirected graph over features from pairs of names, with a weight or without."""
    if isinstance(edges, Mapping) or not isinstance(edges, Iterable):
        raise TableError(
            f"graph is {edges!r}; it is the name of a graph, 'none', or edges between features "
            "such as [('a', 'b'), ('b', 'c', 2.5)]."
        )
    rows = edges.itertuples(index=False, name=None) if isinstance(edges, pd.DataFrame) else edges
    features = [feature.name for feature in info.features]
    places = {name: place for place, name in enumerate(features)}
    known = {**{name: name for name in columns.values()}, **columns}
    adjacency = np.zeros((len(features), len(features)))
    for edge in rows:
        source, target, weight = _read_edge(edge, known)
        if left_out := {source, target} & set(info.dropped_features):
            warnings.warn(
                f"The edge {edge} is ignored: {' and '.join(sorted(left_out))} was left out",
                UserWarning,
                stacklevel=5,
            )
            continue
        i, j = places[source], places[target]
        adjacency[i, j] = adjacency[j, i] = weight
    return Graph(
        method="given",
        nodes=tuple(features),
        features=tuple(features),
        feature_of=np.arange(len(features)),
        adjacency=adjacency,
        directed=False,
    )


def _read_edge(edge: Any, known: Mapping[str, str]) -> tuple[str, str, float]:
    """The two features of an edge and its weight, 1 if it has none."""
    parts = list(edge) if isinstance(edge, Iterable) and not isinstance(edge, str) else []
    ends, weight = [str(name) for name in parts[:2]], parts[2] if len(parts) == 3 else 1.0
    unknown = [name for name in ends if name not in known]
    problem = None
    if len(parts) not in (2, 3):
        problem = f"it has {len(parts)} parts"
    elif unknown:
        problem = f"{unknown[0]!r} is not a feature of X"
    elif known[ends[0]] == known[ends[1]]:
        problem = "it joins a feature to itself"
    elif not (isinstance(weight, Real) and np.isfinite(float(weight))):
        problem = f"the weight {weight!r} is not a number"
    if problem is not None:
        names = list(dict.fromkeys(known.values()))
        raise TableError(
            f"The edge {edge!r} can't be used: {problem}. An edge is (feature, feature) or "
            f"(feature, feature, weight); features are {', '.join(names[:10])}"
            f"{' ...' if len(names) > 10 else ''}."
        )
    return known[ends[0]], known[ends[1]], float(weight)
