"""Collect all runs of one dataset.

Reads: its run files. Writes: `scores/{dataset}.parquet`.
"""

from pathlib import Path

from tabpet.analysis.collect import gather_runs
from tabpet.files import write_parquet
from tabpet.workflow import run_job

with run_job(snakemake) as log:
    scores = gather_runs(snakemake.input, {snakemake.wildcards.dataset: snakemake.params.task})
    log.info("%d runs, %d not ok", len(scores), int((scores["status"] != "ok").sum()))
    write_parquet(scores, Path(snakemake.output[0]))
