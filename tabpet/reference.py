"""The project's own results on real tables, shipped under `reference/`, and a run beside them.

A block is a folder with the scores of a run and all that today's code makes of them: tables,
headline, figures, page. Nothing but the scores and the descriptions of tables and graphs is
copied, so a test can make a block again and see that it has not drifted from the code.
"""

import json
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from tabpet.catalog import read_catalogs, select_datasets
from tabpet.errors import TabpetError
from tabpet.files import file_digest, read_json, write_json, write_parquet, write_text
from tabpet.formats import count
from tabpet.places import ROOT
from tabpet.plan import Cell, planned_cells
from tabpet.registry import TUNED
from tabpet.settings import load_settings, read_settings

if TYPE_CHECKING:
    import pandas as pd

SHIPPED = ROOT / "reference"
BLOCKS = ("main", "graphs", "authors", "cloud")
# Where a results folder has what a block is made from.
INPUTS = {
    "scores.parquet": "scores.parquet",
    "datasets.csv": "tables/datasets.csv",
    "graphs.csv": "tables/graphs.csv",
}
FIGURE = "null_controls"  # that README and docs show; the page holds all
RUN = ["dataset", "split", "model", "encoding", "seed", "alpha"]
_SHOWN = 20  # runs that are listed one by one
console = Console()


def reference(
    results: Annotated[
        Path, typer.Argument(help="Results folder of your own run, to compare with.")
    ] = Path("results"),
    block: Annotated[str, typer.Option(help=f"Which part: {', '.join(BLOCKS)}.")] = "main",
    ship: Annotated[
        bool,
        typer.Option("--ship", help="Put what the results folder has finished into the block."),
    ] = False,
    config: Annotated[
        list[Path] | None, typer.Option(help="Config of the run, with --ship; may be repeated.")
    ] = None,
    restore: Annotated[
        bool,
        typer.Option(
            "--restore",
            help="Lay the block's finished cells into the results folder, for a run to go on from.",
        ),
    ] = False,
) -> None:
    """Print what the reference run says and, run by run, how your own results compare."""
    if block not in BLOCKS:
        raise TabpetError(f"There is no block {block!r}; blocks are {', '.join(BLOCKS)}.")
    if ship and restore:
        raise TabpetError("--ship makes a block and --restore takes it back: give one of them.")
    folder = SHIPPED / block
    if ship:
        if not config:
            raise TabpetError("--ship needs the --config that the run was made with.")
        settings = read_settings(*config).model_dump(mode="json", exclude={"fetch", "catalogs"})
        ship_block(results, folder, settings)
        console.print(f"wrote {folder}")
    if restore:
        restored = restore_cells(folder, results)
        console.print(f"{restored:,} finished cells of {folder} are in {results}")
        return
    about = read_about(folder)
    print_headline(folder / "headline.json")
    console.print(
        f"\n{about['finished']:,} of {about['planned']:,} cells finished, "
        f"{about['hours']:.1f} hours of computing. The whole story: {folder / 'index.html'}"
    )
    own = results / "scores.parquet"
    if ship or not own.is_file():
        return
    from tabpet.runs import read_runs

    print_comparison(compare_runs(read_runs(own), read_runs(folder / "scores.parquet")), own)


def print_headline(path: Path) -> None:
    """The verdict of a run and the reasons for it."""
    headline = read_json(path)
    console.print(f"[bold]{escape(headline['verdict'])}[/]")
    for line in headline["lines"]:
        console.print(f"- {line}", markup=False)


def read_about(folder: Path) -> dict[str, Any]:
    """What a shipped block was made from."""
    if not (folder / "about.json").is_file():
        raise TabpetError(
            f"There is no {folder / 'about.json'}: the reference results come with a checkout of "
            "the repository, not with the installed package."
        )
    return read_json(folder / "about.json")


def ship_block(results: Path, folder: Path, settings: Mapping[str, Any]) -> None:
    """Make a block from the results folder of a run: its scores, and what follows from them.

    A cell that has finished in the block, with these settings, and not in the folder is kept: so a
    block grows by runs on several machines.
    """
    for source in INPUTS.values():
        if not (results / source).is_file():
            raise TabpetError(
                f"There is no {results / source}: `snakemake partial` makes it of what is there."
            )
    check_plan(results, settings)
    made = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    try:
        for name, source in INPUTS.items():
            shutil.copyfile(results / source, made / name)
        if (folder / "about.json").is_file() and read_about(folder)["settings"] == settings:
            keep_finished(folder, made)
        make_block(made, made, settings)
        shutil.rmtree(folder, ignore_errors=True)
        made.replace(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)  # what failed; else it is the block by now


def keep_finished(shipped: Path, made: Path) -> None:
    """Add to the inputs of a block what another block of the same settings has besides."""
    import pandas as pd

    from tabpet.runs import read_runs

    own, other = (read_runs(folder / "scores.parquet") for folder in (made, shipped))
    finished, kept = (
        set(runs.set_index(RUN[:-1]).index[_is_finished(runs)]) for runs in (own, other)
    )
    kept -= finished
    cells = pd.MultiIndex.from_frame(own[RUN[:-1]])
    order = {cell: place for place, cell in enumerate(cells.unique())}
    of_other = pd.MultiIndex.from_frame(other[RUN[:-1]])
    joined = pd.concat([own[~cells.isin(kept)], other[of_other.isin(kept)]])
    place = pd.MultiIndex.from_frame(joined[RUN[:-1]]).map(order)
    joined = joined.iloc[place.argsort(kind="stable")]
    _check_splits(joined)
    write_parquet(joined, made / "scores.parquet")
    datasets = list(own["dataset"].drop_duplicates())
    for name, key in (
        ("datasets.csv", ["dataset", "split"]),
        ("graphs.csv", ["dataset", "split", "method"]),
    ):
        tables = [
            pd.read_csv(folder / name, dtype=str, keep_default_na=False)
            for folder in (made, shipped)
        ]
        table = pd.concat(tables).drop_duplicates(key)
        table = table.sort_values(
            ["dataset", "split"],
            key=lambda column: (
                column.map(datasets.index) if column.name == "dataset" else column.astype(int)
            ),
            kind="stable",
        )
        write_text(table.to_csv(index=False), made / name)


def _is_finished(runs: "pd.DataFrame") -> "pd.Series[bool]":
    """Whether the cell of a run has ended well with all of its alphas."""
    return (runs["status"] == "ok").groupby([runs[name] for name in RUN[:-1]]).transform("all")


def _check_splits(runs: "pd.DataFrame") -> None:
    """See that all cells of a split were made from the same rows."""
    made = runs.dropna(subset="provenance")
    digests = made["provenance"].map(lambda text: json.loads(text)["inputs"].get("split"))
    different = digests.groupby([made["dataset"], made["split"]]).nunique()
    if len(mixed := different[different > 1]):
        dataset, split = mixed.index[0]
        raise TabpetError(
            f"{dataset}, split {split}: the cells of the results folder and those of the block are "
            "of different rows. Fetch the table from where the block has it, or remove the block."
        )


def check_plan(results: Path, settings: Mapping[str, Any]) -> None:
    """Blocks share folders: see that scores are those of the cells that these settings plan."""
    from tabpet.runs import read_runs

    chosen = load_settings(settings)
    catalog = read_catalogs([ROOT / "datasets.csv"])
    datasets = select_datasets(catalog, chosen.datasets, chosen.exclude)
    planned = set(planned_cells(chosen, datasets))
    runs = read_runs(results / "scores.parquet")
    there = set(starmap(Cell, runs[RUN[:-1]].itertuples(index=False)))
    if planned != there:
        raise TabpetError(
            f"{results / 'scores.parquet'} has {count(len(there), 'cell')} and the config plans "
            f"{len(planned):,}, of which {len(planned & there):,} are the same: make it with "
            "`snakemake partial` and the same --configfile."
        )


def make_block(inputs: Path, folder: Path, settings: Mapping[str, Any]) -> None:
    """Make tables, headline, figures, page and `about.json` of a block from its inputs."""
    from tabpet.analysis.coverage import job_outcomes
    from tabpet.analysis.figures import draw_all
    from tabpet.analysis.headline import headline
    from tabpet.analysis.page import render_page, used_versions
    from tabpet.analysis.results import Results
    from tabpet.analysis.tables import make_tables

    chosen = load_settings(settings)
    catalog = read_catalogs([ROOT / "datasets.csv"])
    results = Results.load(
        inputs / "scores.parquet",
        chosen.analysis,
        {name: row.abbreviation or name for name, row in catalog.items()},
        graphs_path=inputs / "graphs.csv",
        datasets_path=inputs / "datasets.csv",
    )
    verdict = headline(results)
    write_json(asdict(verdict), folder / "headline.json")
    for table in make_tables(results).values():
        if table.reason is None:
            write_text(table.to_csv(), folder / "tables" / f"{table.name}.csv")
    with tempfile.TemporaryDirectory() as drawn:
        draw_all(results, Path(drawn))
        pictures = {path.stem: path.read_text("utf-8") for path in Path(drawn).glob("*.svg")}
    write_text(pictures[FIGURE], folder / f"{FIGURE}.svg")
    write_text(render_page(results, verdict, pictures, settings), folder / "index.html")
    jobs = job_outcomes(results.scores)
    write_json(
        {
            "planned": len(jobs),
            "finished": int((jobs["outcome"] == "ok").sum()),
            "hours": round(float(jobs["seconds"].astype(float).sum()) / 3600, 2),
            "digests": {name: file_digest(inputs / name) for name in INPUTS},
            "versions": used_versions(results),
            "settings": dict(settings),
        },
        folder / "about.json",
    )


def restore_cells(folder: Path, results: Path) -> int:
    """Lay every cell that a block has whole where a job finds it; return their number.

    For a transformer that is its journal, for a learner its run file. A job takes what has its
    very settings and inputs (of encodings, to six decimals), so a run goes on where the shipped one
    ended, and nothing of another run can get in. Learning curves and the trials of a search are not
    shipped: those are empty.
    """
    from tabpet.runs import Run, stored_runs, write_runs
    from tabpet.training.files import CellResult, Journal
    from tabpet.trees.tuning import tabulate_trials

    read_about(folder)
    cells: dict[Cell, list[Run]] = defaultdict(list)
    for run in stored_runs(folder / "scores.parquet"):
        cells[Cell(run.dataset, run.split, run.model, run.encoding, run.seed)].append(run)
    restored = 0
    for cell, runs in cells.items():
        learner = cell.graph is None
        path = results / (cell.run if learner else cell.journal).relative_to("results")
        if path.exists() or not all(run.status == "ok" for run in runs):
            continue
        if learner:
            if cell.encoding == TUNED:
                trials = results / cell.trials.relative_to("results")
                write_parquet(tabulate_trials([]), trials)
            write_runs(runs, path)
        else:
            Journal(path).save(CellResult(runs))
        restored += 1
    return restored


def compare_runs(own: "pd.DataFrame", shipped: "pd.DataFrame") -> "pd.DataFrame":
    """The runs that both have a score for, with both test scores and how far apart they are.

    `same_settings`: whether both were made with the same settings and inputs.
    """
    both = own.merge(shipped, on=RUN, suffixes=("", "_shipped"))
    both = both[both["test_score"].notna() & both["test_score_shipped"].notna()]
    same = both["provenance"].notna() & (both["provenance"] == both["provenance_shipped"])
    change = (both["test_score"] / both["test_score_shipped"] - 1).astype(float)
    table = both[[*RUN, "metric", "test_score", "test_score_shipped"]]
    return table.assign(same_settings=same.fillna(False).astype(bool), change=100 * change)


def print_comparison(both: "pd.DataFrame", own: Path) -> None:
    """How many runs are the same, and those that are farthest apart."""
    if both.empty:
        console.print(f"\n{own} has no run in common with it.")
        return
    exact = both["test_score"] == both["test_score_shipped"]
    console.print(
        f"\n[bold]{own} beside it:[/] {len(both):,} runs in common, "
        f"{int(both['same_settings'].sum()):,} of them with the same settings and inputs; "
        f"{int(exact.sum()):,} test scores are equal to the last digit, the median difference of "
        f"all is {both['change'].abs().median():.2g} %."
    )
    apart = both[~exact].sort_values("change", key=abs, ascending=False)
    if apart.empty:
        return
    numbers = (Column(name, justify="right") for name in ("yours", "reference", "%"))
    listing = Table(*RUN, *numbers, box=None, pad_edge=False)
    for run in apart.head(_SHOWN).to_dict("records"):
        listing.add_row(
            *(str(run[name]) for name in RUN[:-1]),
            "" if run["alpha"] != run["alpha"] else f"{run['alpha']:g}",
            f"{run['test_score']:.4f}",
            f"{run['test_score_shipped']:.4f}",
            f"{run['change']:+.2f}",
        )
    console.print(listing)
    if len(apart) > _SHOWN:
        console.print(f"and {len(apart) - _SHOWN:,} more")
