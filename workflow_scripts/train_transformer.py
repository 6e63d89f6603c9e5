"""Train all alphas of one cell: a dataset, split, model, encoding and seed.

Reads: the prepared split, the encoding of a graph, and the journal if an earlier job left one: what
it has with the same settings and inputs is not trained again. Writes: a run per alpha, the learning
curves and the predictions of validation and test rows (without rows unless they are wanted), all as
Parquet; with an output `ranks`, the effective ranks of the kept models' embeddings. The state of
training is saved beside the runs while the job lasts, if the settings say so.
"""

from pathlib import Path

import torch

from tabpet.data.prepare import Split
from tabpet.registry import MODELS
from tabpet.runs import make_provenance
from tabpet.settings import TrainingSettings
from tabpet.training.cell import TrainingCell, run_cell
from tabpet.training.checkpoint import Checkpoint
from tabpet.training.files import Journal, checkpoint_path, write_cell
from tabpet.training.memory import keep_freed_memory
from tabpet.workflow import exported_settings, retries_left, run_job

with run_job(snakemake):
    torch.set_num_threads(snakemake.threads)
    keep_freed_memory()
    names, params, resources = snakemake.wildcards, snakemake.params, snakemake.resources
    job = exported_settings()
    split = Split.load(Path(snakemake.input.table), Path(snakemake.input.info))
    training = {**params.settings["training"], "max_seconds": job.training_seconds}
    cell = TrainingCell(
        names.dataset,
        int(names.split),
        names.model,
        names.encoding,
        int(names.seed),
        names.get("study"),
        alphas=tuple(params.alphas),
        batch_size=params.settings["batch_size"],
        model_settings=MODELS.find(names.model).settings.model_validate(params.settings["model"]),
        training=TrainingSettings.model_validate(training),
        ranks=snakemake.output.get("ranks") is not None,
    )
    run = Path(snakemake.output.run)
    checkpoint = Checkpoint()
    if job.checkpoint_seconds is not None:
        checkpoint = Checkpoint(checkpoint_path(run), job.checkpoint_seconds)
    result = run_cell(
        cell,
        split,
        (Path(snakemake.input.encoding), Path(snakemake.input.encoding_info)),
        checkpoint=checkpoint,
        journal=Journal(cell.journal),
        provenance=make_provenance(params.settings, cell.inputs),
        memory_mb=resources.mem_mb,
        retries_left=retries_left(resources.attempt),
    )
    write_cell(result, run)
    checkpoint.delete_groups()
