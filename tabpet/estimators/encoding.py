"""From the training rows of an estimator, or from given edges, to positional encodings."""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from tabpet.data.nodes import build_node_matrix
from tabpet.data.prepare import Split
from tabpet.encodings import Encoding, control, encode
from tabpet.errors import TableError
from tabpet.graphs.estimate import estimate_graph
from tabpet.graphs.graph import Graph
from tabpet.names import EncodingName
from tabpet.registry import CONTROLS
from tabpet.seeds import derive_seed
from tabpet.settings import EncodingSettings, load_section

Edges = Iterable[tuple[str, str] | tuple[str, str, float]] | pd.DataFrame
NO_GRAPH = "none"
CONTROL_GRAPH = "spearman"  # behind a control that names no graph


def encode_features(
    split: Split,
    graph: str | Edges,
    graph_settings: Mapping[str, Any] | None,
    graph_seconds: float,
    encoding_settings: Mapping[str, Any] | None,
    seed: int,
) -> tuple[Graph | None, Encoding | None]:
    """The graph and the encoding that a parameter `graph` stands for; None for none."""
    if isinstance(graph, str) and graph == NO_GRAPH:
        return None, None
    settings = load_section(EncodingSettings, dict(encoding_settings or {}), "encoding_settings")
    name = None
    if isinstance(graph, str):
        name = EncodingName.parse(f"{CONTROL_GRAPH}-{graph}" if graph in CONTROLS else graph)
        matrix = build_node_matrix(split)
        found = estimate_graph(matrix, name.graph, graph_settings, graph_seconds)
    else:
        found = graph_of_edges(graph, [feature.name for feature in split.info.features])
    encoding = encode(found, **settings.model_dump())
    if encoding.graph_state == "failed":
        raise TableError(f"{encoding.graph_reason}. Choose another graph, or graph='none'.")
    if encoding.graph_reason:
        warnings.warn(encoding.graph_reason, UserWarning, stacklevel=4)
    if name is not None and name.control is not None:
        encoding = control(encoding, name.control, derive_seed(seed, "control"))
    return found, encoding


def graph_of_edges(edges: Edges, features: list[str]) -> Graph:
    """An undirected graph over features from pairs of names, with a weight or without."""
    rows = edges.itertuples(index=False) if isinstance(edges, pd.DataFrame) else edges
    places = {name: place for place, name in enumerate(features)}
    adjacency = np.zeros((len(features), len(features)))
    for edge in rows:
        source, target, *weight = edge
        unknown = [str(name) for name in (source, target) if str(name) not in places]
        if unknown or source == target or len(weight) > 1 or not np.isfinite([*weight]).all():
            problem = f"{unknown[0]!r} is not a feature of X" if unknown else "not an edge"
            raise TableError(
                f"The edge {tuple(edge)} can't be used: {problem}. An edge is (feature, feature) "
                f"or (feature, feature, weight); features are {', '.join(features[:10])}"
                f"{' ...' if len(features) > 10 else ''}."
            )
        i, j = places[str(source)], places[str(target)]
        adjacency[i, j] = adjacency[j, i] = float(weight[0]) if weight else 1.0
    return Graph(
        method="given",
        nodes=tuple(features),
        features=tuple(features),
        feature_of=np.arange(len(features)),
        adjacency=adjacency,
        directed=False,
    )
