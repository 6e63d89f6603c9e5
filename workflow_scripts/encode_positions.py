"""Turn one graph into positional encodings of the features, and draw both.

Reads: edges and description of the graph. Writes: a row per feature (`feature`, `pe_1` ...) as
Parquet, k and the spectrum as JSON, and a picture of the graph and its spectrum.
"""

from pathlib import Path

import pandas as pd

from tabpet.encodings import encode
from tabpet.encodings.figure import plot_graph, save_svg
from tabpet.files import read_json, write_json, write_parquet
from tabpet.graphs.graph import Graph
from tabpet.settings import EncodingSettings
from tabpet.workflow import run_job

with run_job(snakemake) as log:
    edges = pd.read_parquet(snakemake.input.edges)
    graph = Graph.from_edges(edges, read_json(snakemake.input.info))
    settings = EncodingSettings.model_validate(snakemake.params.encoding)
    encoding = encode(graph, **settings.model_dump())
    log.info("k = %d, width %d", encoding.k, encoding.d_pe)
    for note in encoding.notes:
        log.warning("%s", note)
    write_parquet(encoding.to_frame(), Path(snakemake.output.table))
    write_json(encoding.to_metadata(), Path(snakemake.output.info))
    figure = plot_graph(graph, encoding, snakemake.wildcards.dataset)
    save_svg(figure, Path(snakemake.output.figure))
