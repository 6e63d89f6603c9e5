"""Fit all plain references of one split, with all its seeds.

Reads: the prepared split. Writes: a run per reference and seed as Parquet.
"""

from tabpet.cells import Bundle
from tabpet.gpus import gpu_slot

settings = snakemake.params.settings
bundle = Bundle(snakemake, settings)
if cells := bundle.unfinished():
    with gpu_slot(wanted=bool(snakemake.resources.get("gpu"))):
        from tabpet.trees.jobs import TreeJob  # heavy: only where there is something to do

        job = TreeJob(settings, snakemake.threads)
        bundle.run(cells, job.fit, job.lose)
