"""Tune one tree learner on one split, seed after seed.

Reads: the prepared split, and the journal of the search if an earlier job left one. Writes: the
run of the best trial and all trials as Parquet; the journal stays, so that a search can go on.
"""

from tabpet.cells import Bundle
from tabpet.gpus import gpu_slot
from tabpet.workflow import exported_settings

settings = {snakemake.wildcards.learner: snakemake.params.settings}
bundle = Bundle(snakemake, settings)
if cells := bundle.unfinished():
    with gpu_slot(wanted=bool(snakemake.resources.get("gpu"))):
        from tabpet.trees.jobs import TreeJob  # heavy: only where there is something to do

        job = TreeJob(settings, snakemake.threads, exported_settings().tree_seconds)
        bundle.run(cells, job.tune, job.lose_search)
