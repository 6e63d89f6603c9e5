"""Estimate one graph over the features of one split.

Reads: the prepared split; for the graph `true`, the card that has it. Writes: the edges (source,
target, weight, over nodes) as Parquet, and how the graph was made, its quality and its node ->
feature map as JSON.
"""

from pathlib import Path

from tabpet.data.prepare import Split
from tabpet.encodings.jobs import write_graph
from tabpet.settings import NodeSettings
from tabpet.workflow import retries_left, run_job, seconds_of_graph

with run_job(snakemake):
    write_graph(
        Split.load(Path(snakemake.input.table), Path(snakemake.input.info)),
        snakemake.wildcards.graph,
        snakemake.params.method,
        NodeSettings.model_validate(snakemake.params.nodes),
        Path(snakemake.output.edges),
        Path(snakemake.output.info),
        seconds=seconds_of_graph(snakemake.resources.runtime),
        retries_left=retries_left(snakemake.resources.attempt),
        card=Path(snakemake.input.card) if snakemake.input.card else None,
    )
