"""How far a run has come, read from its files and logs: from any machine, while it runs or after.

Light: the Snakefile imports this. The folder is always the one that holds `results`.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tabpet.config import Settings
from tabpet.plan import RunCell, Stage, planned_cells

_LINE = re.compile(r"^\d\d:\d\d:\d\d ([A-Z]+) ?(.*)$")
_STATUS_WORDS = {
    "error": ("ended in an error", "ended in an error"),
    "oom": ("ran out of memory", "ran out of memory"),
    "timeout": ("was cut by a time limit", "were cut by a time limit"),
    "skipped": ("was skipped", "were skipped"),
}
_SHOWN = 20  # failed jobs that are listed one by one


@dataclass(frozen=True)
class Failure:
    """A job whose result is missing, and how its log ends."""

    stage: Stage
    reason: str
    logged: bool  # whether it has run at all
    cells: int = 1  # that wait for it


def find_failure(cell: RunCell, folder: Path = Path()) -> Failure | None:
    """The first job on the way to a cell that has no result; None when all have."""
    for stage in cell.stages:
        if not (folder / stage.output).is_file():
            log = folder / stage.log
            return Failure(stage, describe_log(log), log.is_file())
    return None


def describe_log(log: Path) -> str:
    """How a job without a result ended, from its log."""
    if not log.is_file():
        return "has not run"
    if error := last_error(log.read_text(encoding="utf-8", errors="replace")):
        return error
    return "was stopped before its end, or is still running"


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


def why_missing(cell: RunCell, folder: Path = Path()) -> str:
    """Why a planned cell has no run file."""
    failure = find_failure(cell, folder)
    if failure is None:
        return "its file was written in this moment"
    if not failure.logged:
        return f"{failure.stage.rule} has not run"
    return f"{failure.stage.rule}: {failure.reason} (log: {failure.stage.log})"


def failures(cells: Iterable[RunCell], folder: Path = Path()) -> list[Failure]:
    """Every job that has run and left no result, once, with how many cells wait for it."""
    found: dict[Stage, Failure] = {}
    waiting: Counter[Stage] = Counter()
    for cell in cells:
        failure = None if (folder / cell.run).is_file() else find_failure(cell, folder)
        if failure is not None and failure.logged:
            found.setdefault(failure.stage, failure)
            waiting[failure.stage] += 1
    return [
        Failure(one.stage, one.reason, one.logged, waiting[stage]) for stage, one in found.items()
    ]


def run_status(path: Path) -> str | None:
    """How a cell ended: its first status that is not ok; None without a readable file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        statuses = pq.read_table(path, columns=["status"]).column(0).to_pylist()
    except (OSError, pa.ArrowInvalid):
        return None
    return next((status for status in statuses if status != "ok"), "ok")


def newer_runs(results: Path, than: Path | None = None) -> int:
    """How many run files of a results folder were written after a file; all of them without one."""
    since = 0.0 if than is None else than.stat().st_mtime
    runs = (path for path in results.glob("runs/*/*/*/*/seed*.parquet") if path.stem.isalnum())
    return sum(path.stat().st_mtime > since for path in runs)


def recorded_alphas(path: Path, settings: Mapping[str, object]) -> set[float]:
    """The alphas that a run file holds, if it was made with these settings."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_file():
        return set()
    try:
        rows = pq.read_table(path, columns=["alpha", "provenance"]).to_pylist()
    except (OSError, pa.ArrowInvalid):
        return set()
    return {
        row["alpha"]
        for row in rows
        if row["provenance"] and json.loads(row["provenance"])["settings"] == settings
    }


def graph_statuses(
    settings: Settings, datasets: Iterable[str], folder: Path = Path()
) -> Iterator[tuple[Path, str, str]]:
    """Description, status and reason of every graph that exists and is not ok."""
    for dataset in datasets:
        for split in settings.splits:
            for graph in settings.graphs:
                path = Path(f"results/graphs/{dataset}/split{split}/{graph}.json")
                if (folder / path).is_file():
                    about = json.loads((folder / path).read_text(encoding="utf-8"))
                    if about["status"] != "ok":
                        yield path, about["status"], about["reason"]


def describe_end(
    settings: Settings, datasets: list[str], folder: Path = Path(), config: Path | None = None
) -> str:
    """What a person should know at the end of a run, and type next; empty when all is well.

    `config` is the file that the run was started with, if it is not the default one.
    """
    cells = list(planned_cells(settings, datasets))
    failed = failures(cells, folder)
    statuses = Counter(run_status(folder / cell.run) for cell in cells)
    graphs = list(graph_statuses(settings, datasets, folder))
    waiting = statuses.pop(None, 0)
    lines = []
    if failed:
        lines.append(f"{_jobs(len(failed))} failed:")
        for one in failed[:_SHOWN]:
            cells_text = f" ({one.cells} cells wait for it)" if one.cells > 1 else ""
            lines.append(f"  {one.stage.log.stem}, {one.stage.rule}{cells_text}: {one.reason}")
            lines.append(f"    log: {one.stage.log}")
        if len(failed) > _SHOWN:
            lines.append(f"  and {len(failed) - _SHOWN} more")
    ended = [
        f"{statuses[status]} {one if statuses[status] == 1 else several}"
        for status, (one, several) in _STATUS_WORDS.items()
        if statuses[status]
    ]
    if ended:
        lines.append(f"Of {len(cells)} cells, {', '.join(ended)}.")
    if graphs:
        several = "graph was" if len(graphs) == 1 else "graphs were"
        lines.append(f"{len(graphs)} {several} not estimated to the end:")
        lines += [f"  {path}: {status}, {reason}" for path, status, reason in graphs[:_SHOWN]]
        if len(graphs) > _SHOWN:
            lines.append(f"  and {len(graphs) - _SHOWN} more")
    repeat = [status for status in ("error", "oom", "timeout") if statuses[status]]
    repeat += [status for _, status, _ in graphs if status not in repeat]
    if waiting and waiting < len(cells):
        given = f" --configfile {config}" if config else ""
        lines.append(f"Tables and page of what there is: snakemake partial --cores all{given}")
    if repeat:
        options = "".join(f" --status {status}" for status in dict.fromkeys(repeat))
        given = f" --config {config}" if config else ""
        lines.append(f"To repeat these: tabpet retry{options}{given}, then the same snakemake call")
    return "\n".join(lines)


def _jobs(count: int) -> str:
    return f"{count} job{'' if count == 1 else 's'}"
