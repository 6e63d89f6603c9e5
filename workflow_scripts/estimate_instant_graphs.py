"""Estimate the graphs that take a moment over the features of one split, and encode them.

Reads: the prepared split. Writes for each of them what `estimate_graph` and `encode_positions`
write for one. They never look at the clock, so that their result can't depend on it.
"""

from pathlib import Path

from tabpet.data.prepare import Split
from tabpet.encodings.jobs import write_encoding, write_graph
from tabpet.settings import EncodingSettings, NodeSettings
from tabpet.workflow import retries_left, run_job

with run_job(snakemake):
    output, params = snakemake.output, snakemake.params
    split = Split.load(Path(snakemake.input.table), Path(snakemake.input.info))
    nodes = NodeSettings.model_validate(params.nodes)
    encoding = EncodingSettings.model_validate(params.encoding)
    for edges, about, *encoded in zip(
        *(output.edges, output.graph_info, output.table, output.info, output.figure), strict=True
    ):
        method = Path(edges).stem
        graph = write_graph(
            *(split, method, params.methods[method], nodes, Path(edges), Path(about)),
            retries_left=retries_left(snakemake.resources.attempt),
        )
        write_encoding(graph, split.info.dataset, encoding, *map(Path, encoded))
