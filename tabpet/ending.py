"""The last words of a run: what failed and why, what was cut short, and what to type next."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tabpet.analysis.collect import collect_runs
from tabpet.analysis.coverage import job_outcomes
from tabpet.analysis.results import read_table
from tabpet.catalog import CatalogRow
from tabpet.data.summary import dataset_warnings
from tabpet.formats import count
from tabpet.settings import Settings
from tabpet.state import Failure, failures, graph_statuses

_WORDS = {
    "error": ("ended in an error", "ended in an error"),
    "oom": ("ran out of memory", "ran out of memory"),
    "timeout": ("was cut by a time limit", "were cut by a time limit"),
    "skipped": ("was skipped", "were skipped"),
    "no graph": ("was skipped without a graph", "were skipped without a graph"),
    "outdated": ("is of other settings and left out", "are of other settings and left out"),
}
_REPEATED = ("error", "oom", "timeout", "outdated")  # by `tabpet retry`
_SHOWN = 20  # failures that are listed one by one


def describe_end(
    settings: Settings,
    rows: Sequence[CatalogRow],
    folder: Path = Path(),
    config: Sequence[str] = (),
) -> str:
    """What a person should know at the end of a run, and type next; empty when all is well.

    `config` are the files that the run was started with, if they are not the default one.
    """
    names = [row.name for row in rows]
    failed = failures(settings, names, folder)
    counts = Counter(job_outcomes(collect_runs(settings, rows, folder))["outcome"])
    graphs = list(graph_statuses(settings, names, folder))
    lines = _list(f"{count(len(failed), 'job')} failed:", map(_describe_failure, failed))
    ended = [
        f"{counts[outcome]} {singular if counts[outcome] == 1 else plural}"
        for outcome, (singular, plural) in _WORDS.items()
        if counts[outcome]
    ]
    if ended:
        lines.append(f"Of {counts.total()} cells, {', '.join(ended)}.")
    lines += _list(
        f"{len(graphs)} graph{' was' if len(graphs) == 1 else 's were'} cut or failed:",
        (f"{path}: {status}, {reason}" for path, status, reason in graphs),
    )
    prepared = folder / "results/tables/datasets.csv"
    warnings = dataset_warnings(read_table(prepared) if prepared.is_file() else None)
    lines += _list(
        "Worth knowing about the tables:", (f"{name}: {text}" for name, text in warnings.items())
    )
    if 0 < counts["missing"] < counts.total():
        given = f" --configfile {' '.join(config)}" if config else ""
        lines.append(f"Tables and page of what there is: snakemake partial --cores all{given}")
    repeat = [status for status in _REPEATED if counts[status]]
    repeat += [status for _, status, _ in graphs]
    if repeat:
        options = "".join(f" --status {status}" for status in dict.fromkeys(repeat))
        given = "".join(f" --config {path}" for path in config)
        lines.append(f"To repeat these: tabpet retry{options}{given}, then the same snakemake call")
    return "\n".join(lines)


def _describe_failure(failure: Failure) -> str:
    stage, cells = failure.stage, failure.cells
    waiting = f" ({cells} cells wait for it)" if cells > 1 else ""
    return f"{stage.log.stem}, {stage.rule}{waiting}: {failure.reason}\n    log: {stage.log}"


def _list(title: str, texts: Iterable[str]) -> list[str]:
    """A title and some texts below it; nothing without any."""
    listed = list(texts)
    more = [f"and {len(listed) - _SHOWN} more"] if len(listed) > _SHOWN else []
    below = [f"  {text}" for text in (*listed[:_SHOWN], *more)]
    return [title, *below] if listed else []
