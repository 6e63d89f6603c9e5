"""Collect the runs, graphs and splits that exist; a planned run without a file is a row `error`.

Reads: run files, descriptions of graphs, encodings, cards and splits, as far as they are there.
Writes: `partial/scores.parquet`, `partial/tables/graphs.csv`, `partial/tables/datasets.csv`.
"""

from pathlib import Path

from tabpet.analysis.collect import gather_runs
from tabpet.data.card import Card
from tabpet.data.prepare import SplitInfo
from tabpet.data.summary import tabulate_datasets
from tabpet.encodings.summary import tabulate_graphs
from tabpet.errors import TabpetError
from tabpet.files import read_json, write_parquet, write_text
from tabpet.workflow import run_job

with run_job(snakemake) as log:
    planned = [Path(path) for path in snakemake.params.runs]
    found = sum(path.is_file() for path in planned)
    log.info("%d of %d run files exist", found, len(planned))
    if not found:
        raise TabpetError(
            "No run has finished yet, so there is nothing to show. Start them with "
            "`snakemake --keep-going`."
        )
    scores = gather_runs(planned, snakemake.params.tasks)

    # A graph is shown when its encoding exists too, a split when its dataset's card does.
    encodings = {path: path.replace("/graphs/", "/encodings/") for path in snakemake.params.graphs}
    pairs = [
        (read_json(graph), read_json(encoding))
        for graph, encoding in encodings.items()
        if Path(graph).is_file() and Path(encoding).is_file()
    ]
    graphs = tabulate_graphs([graph for graph, _ in pairs], [encoding for _, encoding in pairs])

    splits = [Path(path) for path in snakemake.params.splits if Path(path).is_file()]
    cards = dict.fromkeys(path.with_name("card.json") for path in splits)
    datasets = tabulate_datasets(
        [Card.model_validate(read_json(path)) for path in cards],
        [SplitInfo.model_validate(read_json(path)) for path in splits],
    )

    write_parquet(scores, Path(snakemake.output.scores))
    write_text(graphs.to_csv(index=False), Path(snakemake.output.graphs))
    write_text(datasets.to_csv(index=False), Path(snakemake.output.datasets))
