"""Fetch one dataset.

Reads: the catalog row in `params.row`. Writes: the raw table as Parquet and its card as JSON.
"""

from pathlib import Path

from tabpet.catalog import CatalogRow
from tabpet.data.fetch import fetch_dataset
from tabpet.files import write_json, write_parquet
from tabpet.workflow import exported_settings, run_job

with run_job(snakemake):
    row = CatalogRow.model_validate(snakemake.params.row)
    raw, card = fetch_dataset(row, exported_settings().fetch)
    write_parquet(raw, Path(snakemake.output.raw))
    write_json(card.model_dump(mode="json"), Path(snakemake.output.card))
