"""How far a run has come, read from its files and logs: from any machine, while it runs or after.

Light: the Snakefile imports this. The folder is always the one that holds `results`.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from tabpet.catalog import CatalogRow
from tabpet.files import read_json
from tabpet.plan import (
    Cell,
    Stage,
    describe_differences,
    member_alphas,
    planned_cells,
    run_settings,
)
from tabpet.registry import DEFAULT
from tabpet.settings import Settings

_SAMPLE = 400  # run files that tell how long cells take
_LINE = re.compile(r"^\d\d:\d\d:\d\d ([A-Z]+) ?(.*)$")
# A file of every rule that makes one of many.
_SUMMARIES = {
    "collect_scores": "scores.parquet",
    "tabulate_datasets": "tables/datasets.csv",
    "tabulate_graphs": "tables/graphs.csv",
    "tabulate_results": "tables/main.csv",
    "plot_results": "figures/size.svg",
    "write_page": "summary/index.html",
    "collect_partial": "partial/scores.parquet",
    "tabulate_partial": "partial/tables/main.csv",
    "plot_partial": "partial/figures/size.svg",
    "write_partial_page": "partial/summary/index.html",
}


@dataclass(frozen=True)
class Failure:
    """A job that has run and left no result, and how its log ends."""

    stage: Stage
    reason: str
    cells: int = 0  # that wait for it


def unfinished_log(log: Path) -> str | None:
    """The log of a job that has begun and not come to its end.

    None for one that has not run, and for one whose result has been taken back since.
    """
    if not log.is_file():
        return None
    text = log.read_text(encoding="utf-8", errors="replace")
    return None if text.rstrip().endswith(" INFO done") else text


def describe_log(log: Path) -> str | None:
    """How a job without a result ended, from its log; None if it has not run."""
    text = unfinished_log(log)
    if text is None:
        return None
    return last_error(text) or "was stopped before its end, or is still running"


def last_error(text: str) -> str | None:
    """The last error in a log, in one line: its message, or the end of its traceback."""
    blocks: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if match := _LINE.match(line):
            blocks.append((match[1], [match[2]]))
        elif blocks:
            blocks[-1][1].append(line)
    errors = [lines for level, lines in blocks if level == "ERROR"]
    if not errors:
        return None
    lines = [line.strip() for line in errors[-1] if line.strip()]
    if any(line.startswith("Traceback") for line in lines):
        return lines[-1]
    return lines[0] if lines else None


def why_missing(cell: Cell, folder: Path = Path()) -> str:
    """Why a planned cell has no run file."""
    stage = _missing_stage(cell, folder)
    if stage is None:
        return "its file was written in this moment"
    reason = describe_log(folder / stage.log)
    if reason is None:
        return f"{stage.rule} has not run"
    return f"{stage.rule}: {reason} (log: {stage.log})"


def _missing_stage(cell: Cell, folder: Path) -> Stage | None:
    """The first job on the way to a cell that has no result; None for a cell that has one."""
    if (folder / cell.run).is_file():
        return None
    return next((stage for stage in cell.stages if not (folder / stage.output).is_file()), None)


def failures(settings: Settings, datasets: Iterable[str], folder: Path = Path()) -> list[Failure]:
    """Every job that has run and left no result, once, with how many cells wait for it."""
    names = list(datasets)
    waiting = Counter(_missing_stage(cell, folder) for cell in planned_cells(settings, names))
    failed = [
        Failure(stage, reason, cells)
        for stage, cells in waiting.items()
        if stage is not None and (reason := describe_log(folder / stage.log))
    ]
    inputs = (stage for name in names for stage in input_stages(settings, name))
    for stage in dict.fromkeys([*inputs, *_summary_stages(names)]):
        if stage not in waiting and not (folder / stage.output).is_file():
            reason = last_error(unfinished_log(folder / stage.log) or "")
            failed += [Failure(stage, reason)] if reason else []
    return failed


def input_stages(settings: Settings, dataset: str) -> Iterator[Stage]:
    """Jobs of a dataset before training, also in a run that trains nothing."""
    for split in settings.splits:
        for encoding in [*settings.graphs, DEFAULT]:
            yield from Cell(dataset, split, "", encoding, 0).stages[:-1]


def _summary_stages(datasets: Iterable[str]) -> Iterator[Stage]:
    """Jobs that make one file of many."""
    for dataset in datasets:
        yield Stage.of("collect_dataset", Path(f"results/scores/{dataset}.parquet"), dataset)
    for rule, name in _SUMMARIES.items():
        yield Stage.of(rule, Path("results", name))


def newer_runs(results: Path, than: Path | None = None) -> int:
    """How many run files of a results folder were written after a file; all of them without one."""
    since = 0.0 if than is None else than.stat().st_mtime
    runs = (path for path in results.glob("runs/*/*/*/*/seed*.parquet") if path.stem.isalnum())
    return sum(path.stat().st_mtime > since for path in runs)


def recorded_alphas(path: Path, settings: Mapping[str, object]) -> set[float]:
    """The alphas that a run file holds, if it was made with these settings."""
    try:
        rows = _read_rows(path, "alpha", "provenance")
    except OSError:
        return set()
    return {
        row["alpha"]
        for row in rows
        if row["provenance"] and json.loads(row["provenance"])["settings"] == settings
    }


def finished_seconds(
    cells: Iterable[Cell], folder: Path = Path()
) -> Iterator[tuple[Cell, float, str]]:
    """Cells that ended well, with their seconds and the device: a sample where there are many."""
    there = [cell for cell in cells if (folder / cell.run).is_file()]
    for cell in there[:: 1 + len(there) // _SAMPLE]:
        try:
            ended = _read_rows(folder / cell.run, "status", "seconds", "device")
        except OSError:
            continue
        if ended and all(row["status"] == "ok" for row in ended):
            yield cell, max(row["seconds"] or 0.0 for row in ended), str(ended[0]["device"])


def ended_badly(
    settings: Settings, rows: Iterable[CatalogRow], cells: Iterable[Cell], folder: Path = Path()
) -> Iterator[tuple[Cell, str, str]]:
    """Finished cells that are not well, with status and reason.

    `outdated` are those of other settings and those without a wanted alpha.
    """
    catalog = {row.name: row for row in rows}

    def look(cell: Cell) -> tuple[str, str] | None:
        try:
            runs = _read_rows(folder / cell.run, "alpha", "status", "reason", "provenance")
        except OSError as error:
            return "error", f"can't be read: {error}"
        wanted = run_settings(settings, catalog[cell.dataset], cell.model, cell.encoding)
        for text in {run["provenance"] for run in runs}:
            made = json.loads(text)["settings"] if text else {}
            if made != wanted:
                return "outdated", f"made with other settings: {describe_differences(made, wanted)}"
        alphas = {None} if cell.graph is None else {*member_alphas(cell.encoding, settings.alphas)}
        if lacking := sorted(map(str, alphas - {run["alpha"] for run in runs})):
            return "outdated", f"alpha {lacking[0]} has not been trained"
        bad = [run for run in runs if run["alpha"] in alphas and run["status"] != "ok"]
        return (bad[0]["status"], bad[0]["reason"]) if bad else None

    listed = list(cells)
    with ThreadPoolExecutor(8) as pool:
        for cell, ended in zip(listed, pool.map(look, listed), strict=True):
            if ended is not None:
                yield cell, *ended


def _read_rows(path: Path, *columns: str) -> list[dict[str, Any]]:
    """Some columns of a run file, row by row; an OSError where it is missing or damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Much quicker than `read_table` for many small files.
        table = pq.ParquetFile(path).read(columns, use_threads=False)
        return table.select(columns).to_pylist()
    except (pa.ArrowInvalid, KeyError) as error:  # no Parquet, or a column is missing
        raise OSError(*error.args) from None


def graph_statuses(
    settings: Settings, datasets: Iterable[str], folder: Path = Path()
) -> Iterator[tuple[Path, str, str]]:
    """Description, status and reason of every graph that exists and is not ok."""
    for dataset, split, graph in product(datasets, settings.splits, settings.graphs):
        path = Path(f"results/graphs/{dataset}/split{split}/{graph}.json")
        if (folder / path).is_file():
            about = read_json(folder / path)
            if about["status"] != "ok":
                yield path, about["status"], about["reason"]


def state_key(settings: Settings, datasets: Iterable[str], folder: Path = Path()) -> str:
    """A key of all that is there: it changes with any result, and with the log of any failure."""
    digest = hashlib.sha256()
    stages = {stage for cell in planned_cells(settings, datasets) for stage in cell.stages}
    for stage in sorted(stages, key=lambda stage: str(stage.output)):
        for path in (folder / stage.output, folder / stage.log):
            if path.is_file():
                digest.update(f"{path.name} {path.stat().st_mtime_ns}\n".encode())
                break
            digest.update(b"-\n")
    return digest.hexdigest()[:16]
