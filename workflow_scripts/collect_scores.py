"""Collect the runs of all datasets.

Reads: `scores/{dataset}.parquet`. Writes: `scores.parquet`.
"""

from pathlib import Path

from tabpet.analysis.collect import join_scores
from tabpet.files import write_parquet
from tabpet.workflow import run_job

with run_job(snakemake) as log:
    scores = join_scores(map(Path, snakemake.input))
    log.info("%d runs of %d datasets", len(scores), scores["dataset"].nunique())
    write_parquet(scores, Path(snakemake.output[0]))
