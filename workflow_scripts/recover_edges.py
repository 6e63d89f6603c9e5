"""Compare the edges of all estimated graphs of a study with the true ones.

Reads: graphs and true graphs of the tables that a study generates. Writes: `recovery.parquet`, a
row per table and graph.
"""

from dataclasses import asdict
from pathlib import Path

import pandas as pd

from tabpet.files import read_json, write_parquet
from tabpet.graphs.graph import Graph
from tabpet.graphs.true_graph import edge_recovery
from tabpet.workflow import run_job


def read_graph(edges: Path) -> Graph:
    """The graph of a file of edges and the description beside it."""
    return Graph.from_edges(pd.read_parquet(edges), read_json(edges.with_suffix(".json")))


with run_job(snakemake) as log:
    rows = []
    for place in map(Path, snakemake.input.graphs):
        about = read_json(place.with_suffix(".json"))
        recovered = edge_recovery(read_graph(place), read_graph(place.with_stem("true")))
        names = {"dataset": about["dataset"], "split": about["split"], "graph": about["method"]}
        rows.append({**names, "status": about["status"], **asdict(recovered)})
    numbers = dict.fromkeys(["average_precision", "auc", "shd"], "float64")  # or none in all rows
    recovery = pd.DataFrame(rows).astype(numbers).assign(study=snakemake.wildcards.study)
    log.info("%d graphs", len(recovery))
    write_parquet(recovery, Path(snakemake.output[0]))
