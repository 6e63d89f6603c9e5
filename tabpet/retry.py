"""`tabpet retry`: take back what did not end well, so that the next snakemake call repeats it.

A cell loses its run file; alphas and trials that ended well stay in its journal and are not
repeated, unless they are what is asked for. A graph loses its files, and what it leads to follows.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from tabpet.catalog import CatalogRow, select_datasets
from tabpet.errors import TabpetError
from tabpet.files import remove_result
from tabpet.options import DEFAULT_CONFIG, ConfigFiles, read_experiment
from tabpet.plan import Cell
from tabpet.registry import TUNED
from tabpet.settings import Settings
from tabpet.state import graph_statuses

STATUSES = ("error", "oom", "timeout", "outdated", "skipped", "ok")
console = Console()


@dataclass(frozen=True)
class Repeat:
    """One result that is to be repeated: a cell's, or a graph's description."""

    what: Cell | Path
    status: str
    reason: str


def retry(
    status: Annotated[
        list[str] | None,
        typer.Option(help=f"How it ended: {', '.join(STATUSES)}. Default: error and oom."),
    ] = None,
    dataset: Annotated[
        list[str] | None, typer.Option(help="Only these datasets or @groups.")
    ] = None,
    model: Annotated[list[str] | None, typer.Option(help="Only these learners; no graphs.")] = None,
    config: ConfigFiles = DEFAULT_CONFIG,  # type: ignore[assignment]
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only say what.")] = False,
) -> None:
    """List cells and graphs that ended in some way and, with --yes, have snakemake repeat them."""
    settings, catalog = read_experiment(config)
    names = select_datasets(catalog, settings.datasets, settings.exclude)
    if dataset:
        chosen = set(select_datasets(catalog, dataset))
        names = [name for name in names if name in chosen]
    statuses = _known(status or ["error", "oom"], STATUSES, "status")
    learners = {*settings.models, *settings.learners, *settings.references}
    models = _known(model, sorted(learners), "model") if model else None
    rows = [catalog[name] for name in names]
    repeats = find_repeats(settings, rows, statuses, models)
    if not repeats:
        console.print(f"Nothing of this run ended as {' or '.join(statuses)}: nothing to repeat.")
        return
    console.print(_listing(repeats))
    if not yes:
        console.print(
            f"\n{len(repeats)} to repeat. Nothing has been changed: add --yes, then run snakemake."
        )
        return
    for repeat in repeats:
        take_back(repeat)
    console.print(f"\n{len(repeats)} taken back: the next snakemake call repeats them.")


def find_repeats(
    settings: Settings,
    rows: Sequence[CatalogRow],
    statuses: Collection[str],
    models: Collection[str] | None = None,
    folder: Path = Path(),
) -> list[Repeat]:
    """Graphs, unless some models are named, then cells that ended in one of these ways."""
    import pandas as pd

    from tabpet.analysis.collect import collect_runs
    from tabpet.analysis.coverage import JOB, row_outcomes

    repeats = []
    if models is None:
        names = [row.name for row in rows]
        repeats = [
            Repeat(path, status, reason)
            for path, status, reason in graph_statuses(settings, names, folder)
            if status in statuses
        ]
    scores = collect_runs(settings, rows, folder)
    outcomes = row_outcomes(scores)
    # A row of a missing alpha beside others: the file is there and is not of these settings.
    outcomes = outcomes.mask((outcomes == "missing") & scores["alpha"].notna(), "outdated")
    scores = scores.assign(outcome=outcomes)
    chosen = scores[scores["outcome"].isin(statuses)].drop_duplicates(JOB)
    for line in chosen.to_dict("records"):
        cell = Cell(**{str(name): line[name] for name in JOB})
        if models is None or cell.model in models:
            reason = "" if line["reason"] is pd.NA else str(line["reason"])
            repeats.append(Repeat(cell, str(line["outcome"]), reason))
    return repeats


def take_back(repeat: Repeat, folder: Path = Path()) -> None:
    """Remove a result's files, and from its journal what ended in the same way."""
    if isinstance(repeat.what, Path):
        for extension in (".parquet", ".json"):
            (folder / repeat.what).with_suffix(extension).unlink(missing_ok=True)
        return
    cell = repeat.what
    results = [cell.run]
    # A journal holds what ended well, and is used for the same settings and inputs alone.
    if repeat.status == "ok":
        results.append(cell.journal)
    elif cell.encoding == TUNED and repeat.status in ("error", "oom"):
        from tabpet.trees.journal import forget_failed_trials

        forget_failed_trials(folder / cell.journal)
    for result in results:
        beside = (folder / result).parent.glob(f"{result.stem}.*.parquet")
        for name in (result.name, *(path.name for path in beside)):
            remove_result(result.with_name(name), folder)


def _known(given: Collection[str], choices: Collection[str], what: str) -> list[str]:
    if unknown := sorted(set(given) - set(choices)):
        raise TabpetError(
            f"There is no {what} {', '.join(map(repr, unknown))} in this run; choose from: "
            f"{', '.join(choices)}."
        )
    return list(dict.fromkeys(given))


def _listing(repeats: Sequence[Repeat]) -> Table:
    """A line per result."""
    columns = (Column(name, overflow="fold") for name in ("what", "status", "why"))
    table = Table(*columns, box=None, pad_edge=False)
    for repeat in repeats:
        path = repeat.what if isinstance(repeat.what, Path) else repeat.what.run
        place = path.with_suffix("").relative_to("results")
        table.add_row(escape(str(place)), repeat.status, escape(repeat.reason))
    return table
