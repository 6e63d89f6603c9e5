"""Fit one plain reference on one split, with one seed.

Reads: the prepared split. Writes: the run as Parquet.
"""

from pathlib import Path

from tabpet.config import TreeSettings
from tabpet.data.prepare import Split
from tabpet.runs import write_runs
from tabpet.trees.references import fit_reference
from tabpet.workflow import run_job

with run_job(snakemake) as log:
    split = Split.load(Path(snakemake.input.table), Path(snakemake.input.info))
    settings = TreeSettings.model_validate(snakemake.params.trees)
    name, seed = snakemake.wildcards.reference, int(snakemake.wildcards.seed)
    run = fit_reference(split, name, seed, settings, snakemake.threads)
    log.info("%s: validation %s, test %s", run.status, run.val_score, run.test_score)
    if run.reason:
        log.warning("%s", run.reason)
    write_runs([run], Path(snakemake.output[0]))
