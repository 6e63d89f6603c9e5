"""Write every table of results.

Reads: `scores.parquet`, `tables/graphs.csv` (if there are graphs), `tables/datasets.csv`. Writes:
the tables that `tabpet.analysis.captions.TABLES` lists, as CSV and LaTeX.
"""

from pathlib import Path

from tabpet.analysis.results import Results
from tabpet.analysis.tables import write_tables
from tabpet.settings import AnalysisSettings
from tabpet.workflow import run_job

with run_job(snakemake) as log:
    results = Results.load(
        Path(snakemake.input.scores),
        AnalysisSettings.model_validate(snakemake.params.analysis),
        snakemake.params.abbreviations,
        graphs_path=next(map(Path, snakemake.input.graphs), None),
        datasets_path=Path(snakemake.input.datasets),
    )
    for table in write_tables(results, Path(snakemake.output[0]).parent).values():
        log.info("%s: %s", table.name, table.reason or f"{len(table.data)} lines")
