"""The project's own results on real tables, shipped under `reference/`, and a run beside them.

A block is a folder with the scores of a run and all that today's code makes of them: tables,
headline, figures, page. Nothing but the scores and the descriptions of tables and graphs is
copied, so a test can make a block again and see that it has not drifted from the code.
"""

import fcntl
import json
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from operator import attrgetter
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
from tabpet.plan import Cell, describe_differences, planned_cells, run_settings
from tabpet.registry import TUNED
from tabpet.settings import load_settings, read_settings

if TYPE_CHECKING:
    import pandas as pd

SHIPPED = ROOT / "reference"
# The configs of each, as `make reference` lays them over each other.
_AUTHORS = ("paper", "authors", "reference-authors")
BLOCKS = {
    "main": ("reference",),
    "graphs": ("reference", "reference-graphs"),
    "authors": _AUTHORS,
    "cloud": (*_AUTHORS, "reference-cloud"),
}
INPUTS = ("scores.parquet", "datasets.csv", "graphs.csv")  # what the rest is made from
# What decides a cell besides its `run_settings`.
_OF_CELLS = {"prepare", "nodes", "graph_methods", "encoding", "alphas"}
_ABOUT = {"planned", "finished", "hours", "digests", "settings"}  # what is asked of an `about.json`
FIGURE = "null_controls"  # that README and docs show; the page holds all
RUN = ["dataset", "split", "model", "encoding", "seed", "alpha"]
_SHOWN = 20  # runs that are listed one by one
console = Console()


def reference(
    results: Annotated[
        Path | None,
        typer.Argument(
            help="Results folder of your own run, to compare with.", show_default="results"
        ),
    ] = None,
    block: Annotated[str, typer.Option(help=f"Which part: {', '.join(BLOCKS)}.")] = "main",
    ship: Annotated[
        bool,
        typer.Option("--ship", help="Add what the results folder has finished to the block."),
    ] = False,
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
    folder, place = (SHIPPED / block).resolve(), results or Path("results")
    if place.exists() and not place.is_dir():
        raise TabpetError(f"{place} is not a folder: name the results folder of a run.")
    if (ship or restore) and place.absolute().name != "results":
        raise TabpetError(f"{place} should be a run's folder `results`.")
    bring_back(folder)
    if ship:
        with _alone(folder):
            ship_block(place, folder, block_settings(block))
        console.print(f"wrote {folder}")
    if restore:
        laid, there = restore_cells(folder, place)
        more = f"; {there:,} were there already" if there else ""
        console.print(f"laid {laid:,} finished cells of {folder} into {place}{more}")
        return
    about = read_about(folder)
    print_headline(folder / "headline.json")
    console.print(
        f"\n{about['finished']:,} of {about['planned']:,} cells finished, "
        f"{about['hours']:.1f} hours of computing. The whole story: {folder / 'index.html'}"
    )
    own = place / "scores.parquet"
    if ship or (results is None and not own.is_file()):
        return
    print_comparison(compare_runs(_own_scores(own), _shipped_scores(folder)), own)


def block_settings(block: str) -> dict[str, Any]:
    """The settings of a block; how tables are fetched is no part of it."""
    configs = (ROOT / f"configs/{name}.yaml" for name in BLOCKS[block])
    return read_settings(*configs).model_dump(mode="json", exclude={"fetch", "catalogs"})


def _own_scores(path: Path) -> "pd.DataFrame":
    """The scores of a run."""
    import pyarrow as pa

    from tabpet.runs import read_runs

    if not path.is_file():
        raise TabpetError(
            f"There is no {path}: name the results folder of a run. `snakemake partial` puts the "
            "scores of an unfinished one into its folder `partial`."
        )
    try:
        return read_runs(path)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OSError) as error:
        raise TabpetError(f"{path} can't be read as scores ({error}).") from None


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Name a file of a block that is damaged or gone, and what to do about it."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, ValueError, LookupError, TypeError, OSError) as error:
        raise TabpetError(
            f"{path} is damaged or gone ({error.__cause__ or error}). Take the folder back from "
            "version control, or remove it to begin anew."
        ) from None


def _shipped_scores(folder: Path) -> "pd.DataFrame":
    """The scores of a block."""
    from tabpet.runs import read_runs

    with _reading(folder / "scores.parquet"):
        return read_runs(folder / "scores.parquet")


def print_headline(path: Path) -> None:
    """The verdict of a run and the reasons for it."""
    with _reading(path):
        headline = read_json(path)
        verdict, lines = headline["verdict"], headline["lines"]
    console.print(f"[bold]{escape(verdict)}[/]")
    for line in lines:
        console.print(f"- {line}", markup=False)


def read_about(folder: Path) -> dict[str, Any]:
    """What a shipped block was made from."""
    if not folder.is_dir():
        raise TabpetError(
            f"There is no {folder}: the reference results come with a checkout of the repository, "
            "not with the installed package."
        )
    with _reading(folder / "about.json"):
        about = read_json(folder / "about.json")
        if lacking := _ABOUT - about.keys():
            raise ValueError(f"it lacks {', '.join(sorted(lacking))}")
    return about


def ship_block(results: Path, folder: Path, settings: Mapping[str, Any]) -> None:
    """Add what a results folder has finished to a block, and make the block again.

    A cell that has finished in the block, and not in the folder, is kept: so a block grows by runs
    on several machines. All must be of the block's settings.
    """
    from tabpet.analysis.collect import collect_existing

    if _old(folder).exists():
        raise TabpetError(
            f"{_old(folder)} was set aside by a command that was killed, and there is {folder} as "
            "well. Remove the one that you do not need."
        )
    chosen, catalog = load_settings(settings), read_catalogs([ROOT / "datasets.csv"])
    rows = [catalog[name] for name in select_datasets(catalog, chosen.datasets, chosen.exclude)]
    there = collect_existing(chosen, rows, results.absolute().parent)
    outdated = there.scores[there.scores["status"] == "outdated"]
    if len(outdated):
        reason = outdated["reason"].iloc[0].partition(";")[0]
        left_out = f"left out {count(len(outdated), 'cell')} of other settings or inputs"
        console.print(f"{left_out}; the first was {reason}", markup=False)
    made = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(made, ignore_errors=True)
    try:
        write_parquet(there.scores, made / "scores.parquet")
        write_text(there.datasets.to_csv(index=False), made / "datasets.csv")
        write_text(there.graphs.to_csv(index=False), made / "graphs.csv")
        put_block(made, folder, settings)
    finally:
        shutil.rmtree(made, ignore_errors=True)  # what failed; else it is the block by now


def put_block(made: Path, folder: Path, settings: Mapping[str, Any]) -> None:
    """Make a block of its inputs, in the place of the one that is there, whose cells it keeps."""
    if folder.exists():
        check_block(folder, settings)
        keep_shipped(folder, made)
    make_block(made, made, settings)
    try:
        if folder.exists():
            folder.replace(_old(folder))
        made.replace(folder)
    except OSError as error:
        raise TabpetError(
            f"Could not replace {folder}: {error.strerror or error}. Nothing was changed there."
        ) from None
    finally:
        bring_back(folder)
    shutil.rmtree(_old(folder), ignore_errors=True)


def _old(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


def bring_back(folder: Path) -> None:
    """Bring back a block that was set aside when the command was killed."""
    if _old(folder).exists() and not folder.exists():
        _old(folder).replace(folder)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """See that nobody else makes a block beside this one at the same time."""
    beside = os.open(folder.parent, os.O_RDONLY)
    try:
        try:
            fcntl.flock(beside, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TabpetError(f"Another --ship is at work in {folder.parent}.") from None
        yield
    finally:
        os.close(beside)


def check_block(folder: Path, settings: Mapping[str, Any]) -> None:
    """See that a block is as it was written, and what it has finished made with these settings."""
    about = read_about(folder)
    for name in INPUTS:
        with _reading(folder / name):
            if file_digest(folder / name) != about["digests"][name]:
                raise ValueError("its digest is not the one in about.json")
    chosen, catalog = load_settings(settings), read_catalogs([ROOT / "datasets.csv"])
    old, new = (
        some.model_dump(mode="json", include=_OF_CELLS)
        for some in (load_settings(about["settings"]), chosen)
    )
    differences = [describe_differences(old, new)]
    runs = _shipped_scores(folder).dropna(subset="provenance")
    datasets = select_datasets(catalog, chosen.datasets, chosen.exclude)
    planned = map(attrgetter(*RUN[:-1]), planned_cells(chosen, datasets))
    runs = runs[_cells_of(runs).isin(list(planned))]
    for run in runs.drop_duplicates(["dataset", "model", "encoding", "provenance"]).to_dict(
        "records"
    ):
        wanted = run_settings(chosen, catalog[run["dataset"]], run["model"], run["encoding"])
        differences.append(describe_differences(json.loads(run["provenance"])["settings"], wanted))
    if difference := next(filter(None, differences), None):
        raise TabpetError(
            f"{folder} was made with other settings than its config has ({difference}). Take the "
            "change back, or remove the folder to begin anew."
        )


def keep_shipped(shipped: Path, made: Path) -> None:
    """Add to the inputs of a block the cells of which another has more."""
    import pandas as pd

    own, other = (_shipped_scores(folder) for folder in (made, shipped))
    there, before = _outcomes(own), _outcomes(other)
    order = {cell: place for place, cell in enumerate(there.index)}  # that of the plan
    more = before[before > there.reindex(before.index, fill_value=0)]
    kept = more[more.index.isin(order)]
    if left_out := len(more) - len(kept):
        gone = f"left out {count(left_out, 'shipped cell')} that the config no longer plans"
        console.print(gone, markup=False)
    parts = own[~_cells_of(own).isin(kept.index)], other[_cells_of(other).isin(kept.index)]
    joined = pd.concat([part for part in parts if len(part)])
    joined = joined.iloc[_cells_of(joined).map(order).argsort(kind="stable")]
    _check_splits(joined)
    write_parquet(joined, made / "scores.parquet")
    there = there[~there.index.isin(kept.index)]
    splits = {(cell[0], str(cell[1])): place for cell, place in reversed(order.items())}
    for name, key in (
        ("datasets.csv", ["dataset", "split"]),
        ("graphs.csv", ["dataset", "split", "method"]),
    ):
        new, old = (_read_texts(folder / name) for folder in (made, shipped))
        by_new, by_old = (_most(outcomes, len(key)) for outcomes in (there, kept))
        # A row goes with the cells that came of it; where none did, the new one.
        first = [by_old[row] > by_new[row] for row in _rows(old, key)]
        table = pd.concat([old[first], new, old])
        if table.empty:  # of folders that hold run files alone
            continue
        table = table.drop_duplicates(key)
        place = pd.MultiIndex.from_frame(table[["dataset", "split"]]).map(splits)
        table, place = table[place.notna()], place[place.notna()]
        write_text(table.iloc[place.argsort(kind="stable")].to_csv(index=False), made / name)


def _read_texts(path: Path) -> "pd.DataFrame":
    """A table as it is written; without columns where a run had nothing to write."""
    import pandas as pd

    with _reading(path):
        if not path.read_text(encoding="utf-8").strip():
            return pd.DataFrame()
        return pd.read_csv(path, dtype=str, keep_default_na=False)


def _rows(table: "pd.DataFrame", columns: list[str]) -> list[tuple[str, ...]]:
    """Rows as tuples; none of a table without columns."""
    return [] if table.empty else list(table[columns].itertuples(index=False, name=None))


def _cells_of(runs: "pd.DataFrame") -> "pd.MultiIndex":
    """The cell of every run."""
    import pandas as pd

    return pd.MultiIndex.from_frame(runs[RUN[:-1]])


def _outcomes(runs: "pd.DataFrame") -> "pd.Series[int]":
    """What came of every cell, in order: more with every alpha that ended well; 0 for nothing."""
    cells = [runs[name] for name in RUN[:-1]]
    well = (runs["status"] == "ok").groupby(cells, sort=False).sum()
    tried = (~runs["status"].isin(["missing", "outdated"])).groupby(cells, sort=False).any()
    return 2 * well + tried


def _most(outcomes: "pd.Series[int]", length: int) -> dict[tuple[str | None, ...], int]:
    """The most that came of a cell of each split, or with a third name of each graph on it."""
    most: dict[tuple[str | None, ...], int] = defaultdict(int)
    for names, outcome in zip(outcomes.index, outcomes, strict=True):
        cell = Cell(*names)
        key = (cell.dataset, str(cell.split), cell.graph)[:length]
        most[key] = max(most[key], outcome)
    return most


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
    where = "All tables are in tables/ beside this page as CSV, all runs in scores.parquet."
    page = render_page(results, verdict, pictures, settings, whereabouts=where)
    write_text(page, folder / "index.html")
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


def restore_cells(folder: Path, results: Path) -> tuple[int, int]:
    """Lay every cell that a block has whole where a job finds it.

    Returned: how many were laid, and how many had something there already, which stays.

    For a transformer that is its journal, for a learner its run file. A job takes what has its
    very settings and inputs (of encodings, to six decimals), so a run goes on where the shipped one
    ended, and nothing of another run can get in. Learning curves and the trials of a search are not
    shipped: those are empty.
    """
    from tabpet.runs import Run, stored_runs, write_runs
    from tabpet.training.files import CellResult, Journal
    from tabpet.trees.tuning import tabulate_trials

    read_about(folder)
    with _reading(folder / "scores.parquet"):
        shipped = stored_runs(folder / "scores.parquet")
    cells: dict[Cell, list[Run]] = defaultdict(list)
    for run in shipped:
        cells[Cell(run.dataset, run.split, run.model, run.encoding, run.seed)].append(run)
    laid = there = 0
    for cell, runs in cells.items():
        learner = cell.graph is None
        path = results / (cell.run if learner else cell.journal).relative_to("results")
        if not all(run.status == "ok" for run in runs):
            continue
        if path.exists():
            there += 1
            continue
        if learner:
            if cell.encoding == TUNED:
                trials = results / cell.trials.relative_to("results")
                write_parquet(tabulate_trials([]), trials)
            write_runs(runs, path)
        else:
            Journal(path).save(CellResult(runs))
        laid += 1
    return laid, there


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
    apart = apart.sort_values("same_settings", ascending=False, kind="stable")
    numbers = (Column(name, justify="right") for name in ("yours", "reference", "%"))
    listing = Table(*RUN, *numbers, "", box=None, pad_edge=False)
    for run in apart.head(_SHOWN).to_dict("records"):
        listing.add_row(
            *(str(run[name]) for name in RUN[:-1]),
            "" if run["alpha"] != run["alpha"] else f"{run['alpha']:g}",
            f"{run['test_score']:.4f}",
            f"{run['test_score_shipped']:.4f}",
            f"{run['change']:+.2f}",
            "" if run["same_settings"] else "of other settings or inputs",
        )
    console.print(listing)
    if len(apart) > _SHOWN:
        console.print(f"and {len(apart) - _SHOWN:,} more")
