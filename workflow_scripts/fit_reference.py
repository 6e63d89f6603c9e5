"""Fit one plain reference on one split, with one seed.

Reads: the prepared split. Writes: the run as Parquet.
"""

from pathlib import Path

from tabpet.data.prepare import Split
from tabpet.plan import Cell
from tabpet.registry import DEFAULT
from tabpet.runs import make_provenance, write_runs
from tabpet.settings import TreeSettings
from tabpet.trees.references import fit_reference
from tabpet.workflow import retries_left, run_job

with run_job(snakemake) as log:
    split = Split.load(Path(snakemake.input.table), Path(snakemake.input.info))
    name, seed = snakemake.wildcards.reference, int(snakemake.wildcards.seed)
    cell = Cell(snakemake.wildcards.dataset, split.info.split, name, DEFAULT, seed)
    run = fit_reference(
        split,
        name,
        seed,
        TreeSettings.model_validate(snakemake.params.settings),
        snakemake.threads,
        provenance=make_provenance(snakemake.params.settings, cell.inputs),
        retries_left=retries_left(snakemake.resources.attempt),
    )
    log.info("%s: validation %s, test %s", run.status, run.val_score, run.test_score)
    if run.reason:
        log.warning("%s", run.reason)
    write_runs([run], Path(snakemake.output[0]))
