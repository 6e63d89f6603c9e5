"""Collect the runs, graphs and splits that exist; a planned run without a file is a row `missing`.

Reads: run files, descriptions of graphs, encodings, cards and splits, as far as they are there, and
the logs of what is not. Writes: `partial/scores.parquet`, `partial/tables/graphs.csv`,
`partial/tables/datasets.csv`.
"""

from pathlib import Path

from tabpet.analysis.collect import collect_runs
from tabpet.catalog import CatalogRow
from tabpet.data.card import Card
from tabpet.data.prepare import SplitInfo
from tabpet.data.summary import tabulate_datasets
from tabpet.encodings.summary import tabulate_graphs
from tabpet.errors import TabpetError
from tabpet.files import read_json, write_parquet, write_text
from tabpet.settings import Settings
from tabpet.workflow import run_job

with run_job(snakemake) as log:
    planned = [Path(path) for path in snakemake.params.runs]
    finished = sum(path.is_file() for path in planned)
    log.info("%d of %d run files exist", finished, len(planned))
    if not finished:
        raise TabpetError(
            "No run has finished yet, so there is nothing to show. Start them with "
            "`snakemake --keep-going`."
        )
    rows = [CatalogRow.model_validate(row) for row in snakemake.params.rows]
    scores = collect_runs(Settings.model_validate(snakemake.params.settings), rows)

    # A graph is shown when its encoding exists too, a split when its dataset's card does.
    encodings = {path: path.replace("/graphs/", "/encodings/") for path in snakemake.params.graphs}
    pairs = [
        (read_json(graph), read_json(encoding))
        for graph, encoding in encodings.items()
        if Path(graph).is_file() and Path(encoding).is_file()
    ]
    graphs = tabulate_graphs([graph for graph, _ in pairs], [encoding for _, encoding in pairs])

    cards = {path: path.with_name("card.json") for path in map(Path, snakemake.params.splits)}
    splits = [path for path, card in cards.items() if path.is_file() and card.is_file()]
    datasets = tabulate_datasets(
        [Card.model_validate(read_json(card)) for card in {cards[path]: None for path in splits}],
        [SplitInfo.model_validate(read_json(path)) for path in splits],
    )

    write_parquet(scores, Path(snakemake.output.scores))
    write_text(graphs.to_csv(index=False), Path(snakemake.output.graphs))
    write_text(datasets.to_csv(index=False), Path(snakemake.output.datasets))
