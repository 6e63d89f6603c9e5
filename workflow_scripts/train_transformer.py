"""Train the cells of one job: all alphas of a dataset, split, model and encoding, seed after seed.

Reads: the prepared split, the encoding of a graph, and what an earlier job left in the journal:
what it has with the same settings and inputs is not trained again. Writes: a run per alpha, the
learning curves and the predictions of validation and test rows (without rows unless they are
wanted), all as Parquet; with an output `ranks`, the effective ranks of the kept models' embeddings.
The state of training is saved in the journal when the job is asked to end.
"""

from tabpet.cells import Bundle
from tabpet.gpus import gpu_slot
from tabpet.workflow import exported_settings

settings, alphas = snakemake.params.settings, tuple(snakemake.params.alphas)
bundle = Bundle(snakemake, {snakemake.wildcards.model: settings}, alphas)
if cells := bundle.unfinished():
    with gpu_slot(wanted=bool(snakemake.resources.get("gpu"))):
        from tabpet.training.job import TrainingJob  # torch: only where there is something to do

        job = TrainingJob(
            settings,
            alphas,
            exported_settings(),
            snakemake.threads,
            snakemake.resources.mem_mb,
            ranks=snakemake.output.get("ranks") is not None,
        )
        bundle.run(cells, job.train, job.lose)
