"""Train all alphas of one cell: a dataset, split, model, encoding and seed.

Reads: the prepared split and the encoding of a graph. Writes: a run per alpha, the learning curves
and, where they are wanted, predictions of validation and test rows, all as Parquet. The state of
training is saved beside the runs while the job lasts, if the settings say so.
"""

from pathlib import Path

import torch

from tabpet.config import ModelSettings, TrainingSettings
from tabpet.data.prepare import Split
from tabpet.training.cell import Cell, run_cell
from tabpet.training.checkpoint import Checkpoint
from tabpet.training.files import checkpoint_path, write_cell
from tabpet.training.memory import keep_freed_memory
from tabpet.workflow import exported_checkpoint_seconds, run_job

with run_job(snakemake):
    torch.set_num_threads(snakemake.threads)
    keep_freed_memory()
    names, params = snakemake.wildcards, snakemake.params
    split = Split.load(Path(snakemake.input.table), Path(snakemake.input.info))
    models = ModelSettings.model_validate({names.model: params.model})
    cell = Cell(
        dataset=names.dataset,
        split=int(names.split),
        model=names.model,
        encoding=names.encoding,
        seed=int(names.seed),
        alphas=tuple(params.alphas),
        batch_size=params.batch_size,
        model_settings=getattr(models, names.model),
        training=TrainingSettings.model_validate(params.training),
    )
    run = Path(snakemake.output.run)
    seconds = exported_checkpoint_seconds()
    checkpoint = Checkpoint() if seconds is None else Checkpoint(checkpoint_path(run), seconds)
    encoding = (Path(snakemake.input.encoding), Path(snakemake.input.encoding_info))
    result = run_cell(cell, split, encoding, checkpoint=checkpoint)
    predictions = snakemake.output.get("predictions")
    write_cell(
        result,
        run,
        Path(snakemake.output.curves),
        Path(predictions[0]) if predictions else None,
    )
    checkpoint.delete_groups()
