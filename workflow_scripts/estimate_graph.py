"""Estimate one graph over the features of one split.

Reads: the prepared split; for the graph `true`, the card that has it. Writes: the edges (source,
target, weight, over nodes) as Parquet, and how the graph was made, its quality and its node ->
feature map as JSON.
"""

from pathlib import Path

from tabpet.data.card import Card
from tabpet.data.nodes import build_node_matrix
from tabpet.data.prepare import Split
from tabpet.files import read_json, write_json, write_parquet
from tabpet.graphs.estimate import estimate_graph
from tabpet.graphs.true_graph import place_true_graph
from tabpet.settings import NodeSettings
from tabpet.workflow import exported_settings, retries_left, run_job

with run_job(snakemake) as log:
    split = Split.load(Path(snakemake.input.table), Path(snakemake.input.info))
    nodes = NodeSettings.model_validate(snakemake.params.nodes)
    matrix = build_node_matrix(split, nodes.rows, nodes.max_rows, nodes.max_levels)
    log.info("%d rows, %d nodes of %d features", *matrix.values.shape, len(matrix.features))
    if snakemake.wildcards.graph == "true":
        card = Card.model_validate(read_json(snakemake.input.card))
        graph = place_true_graph(matrix, card.true_graph)
    else:
        graph = estimate_graph(
            matrix,
            snakemake.wildcards.graph,
            snakemake.params.method,
            exported_settings().graph_seconds,
            retries_left=retries_left(snakemake.resources.attempt),
        )
    log.info("%s after %.2f s: %d edges", graph.status, graph.seconds, graph.n_edges)
    if graph.reason:
        log.warning("%s", graph.reason)
    for warning in graph.warnings:
        log.warning("%s", warning)
    write_parquet(graph.edges(), Path(snakemake.output.edges))
    about = {
        "dataset": split.info.dataset,
        "split": split.info.split,
        "rows": len(matrix.values),
        "dropped_nodes": list(matrix.dropped),
        "node_settings": nodes.model_dump(mode="json"),
    }
    write_json({**about, **graph.to_metadata()}, Path(snakemake.output.info))
