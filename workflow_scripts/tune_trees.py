"""Tune one tree learner on one split, with one seed.

Reads: the prepared split, and the journal of the search if an earlier job left one. Writes: the
run of the best trial and all trials as Parquet; the journal stays, so that a search can go on.
"""

from pathlib import Path

from tabpet.config import TreeSettings
from tabpet.data.prepare import Split
from tabpet.files import write_parquet
from tabpet.runs import write_runs
from tabpet.trees.tuning import tune_trees
from tabpet.workflow import run_job

with run_job(snakemake) as log:
    split = Split.load(Path(snakemake.input.table), Path(snakemake.input.info))
    settings = TreeSettings.model_validate(snakemake.params.trees)
    learner, seed = snakemake.wildcards.learner, int(snakemake.wildcards.seed)
    journal = Path(snakemake.params.journal)
    run, trials = tune_trees(split, learner, seed, settings, journal, snakemake.threads)
    log.info("%s: validation %s, test %s", run.status, run.val_score, run.test_score)
    if run.reason:
        log.warning("%s", run.reason)
    write_parquet(trials, Path(snakemake.output.trials))
    write_runs([run], Path(snakemake.output.run))
