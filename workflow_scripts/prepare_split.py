"""Prepare one split of one dataset.

Reads: the raw table and its card. Writes: the coded rows with their part (train, val, test) as
Parquet, and all that was learned from the training rows as JSON.
"""

from pathlib import Path

import pandas as pd

from tabpet.data.card import Card
from tabpet.data.prepare import prepare_split
from tabpet.files import read_json
from tabpet.settings import PrepareSettings
from tabpet.workflow import run_job

with run_job(snakemake):
    raw = pd.read_parquet(snakemake.input.raw)
    card = Card.model_validate(read_json(snakemake.input.card))
    settings = PrepareSettings.model_validate(snakemake.params.prepare)
    split = prepare_split(raw, card, int(snakemake.wildcards.split), settings)
    split.save(Path(snakemake.output.table), Path(snakemake.output.info))
