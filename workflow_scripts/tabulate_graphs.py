"""Write one line per graph.

Reads: descriptions of all graphs and encodings. Writes: `tables/graphs.csv`.
"""

from pathlib import Path

from tabpet.encodings.summary import tabulate_graphs
from tabpet.files import read_json, write_text
from tabpet.workflow import run_job

with run_job(snakemake):
    graphs = [read_json(path) for path in snakemake.input.graphs]
    encodings = [read_json(path) for path in snakemake.input.encodings]
    table = tabulate_graphs(graphs, encodings)
    write_text(table.to_csv(index=False), Path(snakemake.output[0]))
