"""`tabpet status`: how far a run has come, from its files alone: from any machine, at any time."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from tabpet.catalog import CatalogRow
from tabpet.errors import TabpetError
from tabpet.forecast import expected_seconds, load_run, measured_speeds, show_hours
from tabpet.options import DEFAULT_CONFIG, ConfigFiles
from tabpet.plan import Cell, Stage, planned_cells
from tabpet.registry import DEFAULT, TUNED
from tabpet.settings import Settings
from tabpet.state import ended_badly, is_done, last_error

console = Console(highlight=False)
STAGES = ("data", "graphs", "transformers", "trees", "references")
_SILENT_MINUTES = 15  # after which a job that says nothing may be gone
_SHOWN = 15


@dataclass
class Status:
    """Counts by dataset and stage, and what is worth a line of its own."""

    total: dict[str, Counter[str]] = field(default_factory=dict)  # dataset -> stage -> results
    done: dict[str, Counter[str]] = field(default_factory=dict)
    # (dataset, stage) -> how many run or failed
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


def read_status(settings: Settings, rows: Sequence[CatalogRow], folder: Path = Path()) -> Status:
    """Look at every file and log of a run once."""
    names = [row.name for row in rows]
    found = Status({name: Counter() for name in names}, {name: Counter() for name in names})
    seen: set[Stage] = set()
    for dataset, kind, stage in _input_stages(settings, names):
        if stage not in seen:
            seen.add(stage)
            _count(found, dataset, kind, stage, folder)
    finished: list[Cell] = []
    for cell in planned_cells(settings, names):
        there = _count(found, cell.dataset, _kind(cell), cell.stages[-1], folder)
        (finished if there else found.unfinished).append(cell)
    found.ended_badly = list(ended_badly(settings, rows, finished, folder))
    for cell, ended, _ in found.ended_badly:
        if ended == "outdated":
            found.done[cell.dataset][_kind(cell)] -= 1
            found.unfinished.append(cell)
    return found


def _kind(cell: Cell) -> str:
    return {TUNED: "trees", DEFAULT: "references"}.get(cell.encoding, "transformers")


def _input_stages(settings: Settings, names: Sequence[str]) -> Iterator[tuple[str, str, Stage]]:
    """What must be there before anything is trained, by dataset and kind."""
    for dataset in names:
        for split in settings.splits:
            for encoding in [DEFAULT, *settings.graphs]:
                for stage in Cell(dataset, split, "", encoding, 0).stages[:-1]:
                    kind = "data" if "data" in stage.output.parts else "graphs"
                    yield dataset, kind, stage


def _count(found: Status, dataset: str, kind: str, stage: Stage, folder: Path) -> bool:
    """Count one result, and note what its job is doing if it is not there."""
    found.total[dataset][kind] += 1
    if (folder / stage.output).is_file():
        found.done[dataset][kind] += 1
        return True
    log = folder / stage.log
    if not log.is_file() or is_done(log):
        return False  # has not run, or was taken back
    if reason := last_error(log.read_text(encoding="utf-8", errors="replace")):
        found.failed.append((stage, reason))
        found.now[dataset, kind]["failed"] += 1
    elif time.time() - log.stat().st_mtime > 60 * _SILENT_MINUTES:
        found.silent.append(stage)
    else:
        found.running.append(stage)
        found.now[dataset, kind]["running"] += 1
    return False


def show_status(
    settings: Settings, rows: Sequence[CatalogRow], folder: Path
) -> tuple[Table, Group]:
    """The state of a run: a table of counts, and what there is to say about them."""
    found = read_status(settings, rows, folder)
    parts: list[RenderableType] = []
    done = sum(counter.total() for counter in found.done.values())
    total = sum(counter.total() for counter in found.total.values())
    waiting = total - done - len(found.running) - len(found.silent) - len(found.failed)
    parts.append(
        Text(
            f"{done:,} of {total:,} results are there, {len(found.running):,} running, "
            f"{len(found.failed):,} failed, {waiting:,} to do."
        )
    )
    if left := _time_left(settings, rows, found, folder):
        parts.append(Text(left))
    if found.silent:
        logs = ", ".join(str(stage.log) for stage in found.silent[:3])
        parts.append(
            Text(
                f"{len(found.silent)} began and have said nothing for {_SILENT_MINUTES} min: they "
                f"work on something long or were killed ({logs})."
            )
        )
    if found.failed:
        parts += [Text(), _failed_table(found)]
    if found.ended_badly:
        parts += [Text(), _bad_table(found)]
    return _counts_table(found), Group(*parts)


def _time_left(settings: Settings, rows: Sequence[CatalogRow], found: Status, folder: Path) -> str:
    """How long unfinished cells take, by what finished ones took."""
    if not found.unfinished:
        return ""
    catalog = {row.name: row for row in rows}
    speeds = {device: measured_speeds(settings, rows, device, folder) for device in ("cpu", "gpu")}
    # Where transformers were trained so far is where the rest will be.
    device = max(speeds, key=lambda name: len(speeds[name]))
    measured = speeds[device]
    seconds = sum(
        expected_seconds(settings, catalog[cell.dataset], cell, device, measured)
        for cell in found.unfinished
    )
    slots = max(1, len(found.running))
    known = "by what finished cells took" if measured else "by estimate"
    return (
        f"About {show_hours(seconds / 3600)} of work are left for the cells, "
        f"{show_hours(seconds / 3600 / slots)} with {slots} at a time, {known}."
    )


def _counts_table(found: Status) -> Table:
    """A line per dataset, done of all and what is going on, and a line of totals."""
    shown = [kind for kind in STAGES if any(counts[kind] for counts in found.total.values())]
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("dataset")
    for kind in shown:
        table.add_column(kind, justify="right")

    def cell(kind: str, *datasets: str) -> str:
        done, total = (
            sum(counts[name][kind] for name in datasets) for counts in (found.done, found.total)
        )
        now = sum((found.now[name, kind] for name in datasets), Counter())
        busy = ", ".join(f"{number:,} {state}" for state, number in sorted(now.items()))
        text = f"{done:,}" if done == total else f"[bold]{done:,}[/]/{total:,}"
        return f"{text} ({busy})" if busy else text

    for name in found.total:
        table.add_row(escape(name), *(cell(kind, name) for kind in shown))
    if len(found.total) > 1:
        table.add_section()
        table.add_row("all", *(cell(kind, *found.total) for kind in shown))
    return table


def _failed_table(found: Status) -> Table:
    """Jobs that failed, with the end of their log and where it is."""
    table = _list_table("failed", "why", "log")
    for stage, reason in found.failed[:_SHOWN]:
        table.add_row(stage.rule, escape(reason), str(stage.log))
    if len(found.failed) > _SHOWN:
        table.add_row(f"and {len(found.failed) - _SHOWN} more")
    return table


def _bad_table(found: Status) -> Table:
    """Cells that did not end well, or are of other settings; `tabpet retry` repeats them."""
    table = _list_table("ended as", "cells", "why", "log, for example")
    alike = Counter((ended, reason) for _, ended, reason in found.ended_badly)
    for (ended, reason), cells in alike.most_common(_SHOWN):
        first = next(cell for cell, *how in found.ended_badly if how == [ended, reason])
        table.add_row(ended, str(cells), escape(str(reason)), str(first.stages[-1].log))
    if len(alike) > _SHOWN:
        table.add_row(f"and {len(alike) - _SHOWN} more")
    return table


def _list_table(*names: str) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in names:
        table.add_column(name, overflow="fold")
    return table
