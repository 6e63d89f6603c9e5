"""`tabpet status`: how far a run has come, from its files alone: from any machine, at any time."""

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Column, Table
from rich.text import Text

from tabpet.catalog import CatalogRow
from tabpet.errors import TabpetError
from tabpet.forecast import expected_seconds, load_run, measured_speeds, show_hours
from tabpet.options import DEFAULT_CONFIG, ConfigFiles
from tabpet.plan import Cell, Stage, planned_cells
from tabpet.registry import DEFAULT, TUNED
from tabpet.settings import Settings
from tabpet.state import ended_badly, input_stages, last_error, unfinished_log

console = Console(highlight=False)
COLUMNS = ("data", "graphs", "transformers", "trees", "references")
_SILENT_MINUTES = 15  # after which a job that says nothing may be gone
_SHOWN = 15


@dataclass
class Overview:
    """Counts by dataset and column, and what is worth a line of its own."""

    # dataset -> column -> results
    total: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    done: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    # (dataset, column) -> how many run or failed
    now: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    running: list[Stage] = field(default_factory=list)
    silent: list[Stage] = field(default_factory=list)
    failed: list[tuple[Stage, str]] = field(default_factory=list)
    unfinished: list[Cell] = field(default_factory=list)
    ended_badly: list[tuple[Cell, str, str]] = field(default_factory=list)


def status(
    config: ConfigFiles = DEFAULT_CONFIG,  # type: ignore[assignment]
    directory: Annotated[Path, typer.Option(help="Folder that holds `results`.")] = Path(),
    watch: Annotated[bool, typer.Option("--watch", help="Look again every few seconds.")] = False,
    seconds: Annotated[float, typer.Option(help="Between two looks with --watch.")] = 10.0,
) -> None:
    """Say what of a run is done, running, failed and to do, and how long the rest may take."""
    settings, rows = load_run(config)
    if not (directory / "results").is_dir():
        raise TabpetError(
            f"There is no folder {directory / 'results'}: give the folder that holds the results "
            "of the run with --directory."
        )
    if not watch:
        counts, words = show_status(settings, rows, directory)
        console.print(Group(counts, Text(), words))
        return
    with Live(console=console, auto_refresh=False) as live:
        while True:
            counts, words = show_status(settings, rows, directory)
            # What is too long for the window is cut at its end.
            live.update(Group(words, Text(), counts), refresh=True)
            time.sleep(seconds)


def read_status(settings: Settings, rows: Sequence[CatalogRow], folder: Path = Path()) -> Overview:
    """Look at every file and log of a run once."""
    names = [row.name for row in rows]
    overview = Overview()
    for name in names:
        for stage in dict.fromkeys(input_stages(settings, name)):
            column = "data" if "data" in stage.output.parts else "graphs"
            _count(overview, name, column, stage, folder)
    finished: list[Cell] = []
    for cell in planned_cells(settings, names):
        there = _count(overview, cell.dataset, _column(cell), cell.stages[-1], folder)
        (finished if there else overview.unfinished).append(cell)
    overview.ended_badly = list(ended_badly(settings, rows, finished, folder))
    for cell, ended, _ in overview.ended_badly:
        if ended == "outdated":
            overview.done[cell.dataset][_column(cell)] -= 1
            overview.unfinished.append(cell)
    return overview


def _column(cell: Cell) -> str:
    return {TUNED: "trees", DEFAULT: "references"}.get(cell.encoding, "transformers")


def _count(overview: Overview, dataset: str, column: str, stage: Stage, folder: Path) -> bool:
    """Count one result, and note what its job is doing if it is not there."""
    overview.total[dataset][column] += 1
    if (folder / stage.output).is_file():
        overview.done[dataset][column] += 1
        return True
    log = folder / stage.log
    text = unfinished_log(log)
    if text is None:
        return False
    if reason := last_error(text):
        overview.failed.append((stage, reason))
        overview.now[dataset, column]["failed"] += 1
    elif time.time() - log.stat().st_mtime > 60 * _SILENT_MINUTES:
        overview.silent.append(stage)
    else:
        overview.running.append(stage)
        overview.now[dataset, column]["running"] += 1
    return False


def show_status(
    settings: Settings, rows: Sequence[CatalogRow], folder: Path
) -> tuple[Table, Group]:
    """The state of a run: a table of counts, and what there is to say about them."""
    overview = read_status(settings, rows, folder)
    done = sum(counter.total() for counter in overview.done.values())
    total = sum(counter.total() for counter in overview.total.values())
    waiting = total - done - len(overview.running) - len(overview.silent) - len(overview.failed)
    blocks: list[RenderableType] = [
        Text(
            f"{done:,} of {total:,} results are there, {len(overview.running):,} running, "
            f"{len(overview.failed):,} failed, {waiting:,} to do."
        )
    ]
    if left := _time_left(settings, rows, overview, folder):
        blocks.append(Text(left))
    if overview.silent:
        logs = ", ".join(str(stage.log) for stage in overview.silent[:3])
        blocks.append(
            Text(
                f"{len(overview.silent)} began and have said nothing for {_SILENT_MINUTES} min: "
                f"they work on something long or were killed ({logs})."
            )
        )
    if overview.failed:
        blocks += [Text(), _failed_table(overview)]
    if overview.ended_badly:
        blocks += [Text(), _bad_table(overview)]
    return _counts_table(overview), Group(*blocks)


def _time_left(
    settings: Settings, rows: Sequence[CatalogRow], overview: Overview, folder: Path
) -> str:
    """How long unfinished cells take, by what finished ones took."""
    if not overview.unfinished:
        return ""
    speeds = {device: measured_speeds(settings, rows, device, folder) for device in ("cpu", "gpu")}
    # Where transformers were trained so far is where the rest will be.
    device = max(speeds, key=lambda name: len(speeds[name]))
    measured = speeds[device]
    seconds = sum(expected_seconds(settings, rows, overview.unfinished, device, measured))
    slots = max(1, len(overview.running))
    known = "by what finished cells took" if measured else "by estimate"
    return (
        f"About {show_hours(seconds / 3600)} of work are left for the cells, "
        f"{show_hours(seconds / 3600 / slots)} with {slots} at a time, {known}."
    )


def _counts_table(overview: Overview) -> Table:
    """A line per dataset, done of all and what is going on, and a line of totals."""
    shown = [
        column for column in COLUMNS if any(counts[column] for counts in overview.total.values())
    ]
    numbers = (Column(column, justify="right") for column in shown)
    table = Table("dataset", *numbers, box=None, pad_edge=False)

    def cell(column: str, *datasets: str) -> str:
        done, total = (
            sum(counts[name][column] for name in datasets)
            for counts in (overview.done, overview.total)
        )
        now = sum((overview.now[name, column] for name in datasets), Counter())
        busy = ", ".join(f"{number:,} {state}" for state, number in sorted(now.items()))
        text = f"{done:,}" if done == total else f"[bold]{done:,}[/]/{total:,}"
        return f"{text} ({busy})" if busy else text

    for name in overview.total:
        table.add_row(escape(name), *(cell(column, name) for column in shown))
    if len(overview.total) > 1:
        table.add_section()
        table.add_row("all", *(cell(column, *overview.total) for column in shown))
    return table


def _failed_table(overview: Overview) -> Table:
    """Jobs that failed, with the end of their log and where it is."""
    table = _list_table("failed", "why", "log")
    for stage, reason in overview.failed[:_SHOWN]:
        table.add_row(stage.rule, escape(reason), str(stage.log))
    if len(overview.failed) > _SHOWN:
        table.add_row(f"and {len(overview.failed) - _SHOWN} more")
    return table


def _bad_table(overview: Overview) -> Table:
    """Cells that did not end well, or are of other settings; `tabpet retry` repeats them."""
    table = _list_table("ended as", "cells", "why", "log, for example")
    alike = Counter((ended, reason) for _, ended, reason in overview.ended_badly)
    for (ended, reason), cells in alike.most_common(_SHOWN):
        first = next(cell for cell, *how in overview.ended_badly if how == [ended, reason])
        table.add_row(ended, str(cells), escape(str(reason)), str(first.stages[-1].log))
    if len(alike) > _SHOWN:
        table.add_row(f"and {len(alike) - _SHOWN} more")
    return table


def _list_table(*names: str) -> Table:
    return Table(*(Column(name, overflow="fold") for name in names), box=None, pad_edge=False)
