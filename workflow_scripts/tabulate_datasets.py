"""Write one line per prepared split of every dataset.

Reads: all cards and split descriptions. Writes: `tables/datasets.csv`.
"""

from pathlib import Path

from tabpet.data.card import Card
from tabpet.data.prepare import SplitInfo
from tabpet.data.summary import tabulate_datasets
from tabpet.files import read_json, write_text
from tabpet.workflow import run_job

with run_job(snakemake):
    cards = [Card.model_validate(read_json(path)) for path in snakemake.input.cards]
    splits = [SplitInfo.model_validate(read_json(path)) for path in snakemake.input.splits]
    table = tabulate_datasets(cards, splits)
    write_text(table.to_csv(index=False), Path(snakemake.output[0]))
