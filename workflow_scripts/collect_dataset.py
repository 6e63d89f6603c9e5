"""Collect all runs of one dataset.

Reads: its run files. Writes: `scores/{dataset}.parquet`.
"""

from pathlib import Path

from tabpet.analysis.collect import collect_runs
from tabpet.catalog import CatalogRow
from tabpet.files import write_parquet
from tabpet.settings import Settings
from tabpet.workflow import run_job

with run_job(snakemake) as log:
    rows = [CatalogRow.model_validate(row) for row in snakemake.params.rows]
    study = snakemake.wildcards.get("study")
    scores = collect_runs(Settings.model_validate(snakemake.params.settings), rows, study=study)
    log.info("%d runs, %d not ok", len(scores), int((scores["status"] != "ok").sum()))
    for reason in scores.loc[scores["status"] == "outdated", "reason"].unique():
        log.warning("left out: %s", reason)
    write_parquet(scores, Path(snakemake.output[0]))
