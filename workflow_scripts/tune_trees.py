"""Tune one tree learner on one split, with one seed.

Reads: the prepared split, and the journal of the search if an earlier job left one. Writes: the
run of the best trial and all trials as Parquet; the journal stays, so that a search can go on.
"""

from pathlib import Path

from tabpet.data.prepare import Split
from tabpet.files import write_parquet
from tabpet.plan import Cell
from tabpet.registry import TUNED
from tabpet.runs import make_provenance, write_runs
from tabpet.settings import TreeSettings
from tabpet.trees.tuning import tune_trees
from tabpet.workflow import exported_settings, retries_left, run_job

with run_job(snakemake) as log:
    split = Split.load(Path(snakemake.input.table), Path(snakemake.input.info))
    learner, seed = snakemake.wildcards.learner, int(snakemake.wildcards.seed)
    cell = Cell(snakemake.wildcards.dataset, split.info.split, learner, TUNED, seed)
    job = exported_settings()
    settings = {**snakemake.params.settings, "max_seconds": job.tree_seconds}
    run, trials = tune_trees(
        split,
        learner,
        seed,
        TreeSettings.model_validate(settings),
        cell.journal,
        snakemake.threads,
        provenance=make_provenance(snakemake.params.settings, cell.inputs),
        retries_left=retries_left(snakemake.resources.attempt),
    )
    log.info("%s: validation %s, test %s", run.status, run.val_score, run.test_score)
    if run.reason:
        log.warning("%s", run.reason)
    write_parquet(trials, Path(snakemake.output.trials))
    write_runs([run], Path(snakemake.output.run))
