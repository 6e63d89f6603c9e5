"""Collect the effective ranks of all runs of a study.

Reads: the `.ranks.parquet` beside each run. Writes: `ranks.parquet`, with the names of the runs.
"""

from pathlib import Path

import pandas as pd

from tabpet.files import write_parquet
from tabpet.plan import Cell
from tabpet.workflow import run_job

with run_job(snakemake) as log:
    frames = [
        pd.read_parquet(path).assign(**Cell.parse(path.replace(".ranks.", ".")).identity)
        for path in snakemake.input
    ]
    ranks = pd.concat(frames, ignore_index=True)
    log.info("%d ranks", len(ranks))
    write_parquet(ranks, Path(snakemake.output[0]))
