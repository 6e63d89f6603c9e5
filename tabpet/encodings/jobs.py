"""A graph and its encoding in the workflow: from the files of a split to theirs."""

import logging
from pathlib import Path
from typing import Any

from tabpet.data.card import Card
from tabpet.data.nodes import build_node_matrix
from tabpet.data.prepare import Split
from tabpet.encodings.encoding import encode
from tabpet.files import read_json, write_json, write_parquet
from tabpet.graphs.estimate import estimate_graph
from tabpet.graphs.graph import Graph
from tabpet.graphs.true_graph import place_true_graph
from tabpet.settings import EncodingSettings, NodeSettings

logger = logging.getLogger(__name__)


def write_graph(
    split: Split,
    method: str,
    settings: Any,
    nodes: NodeSettings,
    edges: Path,
    info: Path,
    *,
    seconds: float | None = None,
    retries_left: int = 0,
    card: Path | None = None,
) -> Graph:
    """Estimate one graph over the features of a split; slow ones end after about `seconds`.

    With a card it is not estimated: it is the true graph, which the card has.
    """
    matrix = build_node_matrix(split, nodes.rows, nodes.max_rows, nodes.max_levels)
    logger.info("%d rows, %d nodes of %d features", *matrix.values.shape, len(matrix.features))
    if card is not None:
        graph = place_true_graph(matrix, Card.model_validate(read_json(card)).true_graph)
    else:
        graph = estimate_graph(matrix, method, settings, seconds, retries_left=retries_left)
    logger.info(
        "%s: %s after %.2f s: %d edges", *(method, graph.status, graph.seconds, graph.n_edges)
    )
    for warning in filter(None, [graph.reason, *graph.warnings]):
        logger.warning("%s", warning)
    write_parquet(graph.edges(), edges)
    about = {
        "dataset": split.info.dataset,
        "split": split.info.split,
        "rows": len(matrix.values),
        "dropped_nodes": list(matrix.dropped),
        "node_settings": nodes.model_dump(mode="json"),
    }
    write_json({**about, **graph.to_metadata()}, info)
    return graph


def write_encoding(
    graph: Graph, dataset: str, settings: EncodingSettings, table: Path, info: Path, figure: Path
) -> None:
    """Turn a graph into positional encodings of the features, and draw both."""
    from tabpet.encodings.figure import plot_graph, save_svg

    encoding = encode(graph, **settings.model_dump())
    logger.info("%s: k = %d, width %d", graph.method, encoding.k, encoding.d_pe)
    for note in encoding.notes:
        logger.warning("%s", note)
    write_parquet(encoding.to_frame(), table)
    write_json(encoding.to_metadata(), info)
    save_svg(plot_graph(graph, encoding, dataset), figure)
