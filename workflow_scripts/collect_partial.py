"""Collect the runs, graphs and splits that exist; a planned run without a file is a row `missing`.

Reads: run files, descriptions of graphs, encodings, cards and splits, as far as they are there, and
the logs of what is not. Writes: `partial/scores.parquet`, `partial/tables/graphs.csv`,
`partial/tables/datasets.csv`.
"""

from pathlib import Path

from tabpet.analysis.collect import collect_existing
from tabpet.catalog import CatalogRow
from tabpet.files import write_parquet, write_text
from tabpet.settings import Settings
from tabpet.workflow import run_job

with run_job(snakemake) as log:
    rows = [CatalogRow.model_validate(row) for row in snakemake.params.rows]
    there = collect_existing(Settings.model_validate(snakemake.params.settings), rows)
    log.info("%d of %d rows are ok", (there.scores["status"] == "ok").sum(), len(there.scores))
    write_parquet(there.scores, Path(snakemake.output.scores))
    write_text(there.graphs.to_csv(index=False), Path(snakemake.output.graphs))
    write_text(there.datasets.to_csv(index=False), Path(snakemake.output.datasets))
