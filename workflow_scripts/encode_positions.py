"""Turn one graph into positional encodings of the features, and draw both.

Reads: edges and description of the graph. Writes: a row per feature (`feature`, `pe_1` ...) as
Parquet, k and the spectrum as JSON, and a picture of the graph and its spectrum.
"""

from pathlib import Path

import pandas as pd

from tabpet.encodings.jobs import write_encoding
from tabpet.files import read_json
from tabpet.graphs.graph import Graph
from tabpet.settings import EncodingSettings
from tabpet.workflow import run_job

with run_job(snakemake):
    write_encoding(
        Graph.from_edges(pd.read_parquet(snakemake.input.edges), read_json(snakemake.input.info)),
        snakemake.wildcards.dataset,
        EncodingSettings.model_validate(snakemake.params.encoding),
        Path(snakemake.output.table),
        Path(snakemake.output.info),
        Path(snakemake.output.figure),
    )
