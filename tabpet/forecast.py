"""`tabpet plan`: what a run consists of and what it takes, before anything has run."""

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from tabpet.catalog import CatalogRow, select_datasets
from tabpet.costs import START_SECONDS, cell_seconds, graph_seconds, small_tables
from tabpet.formats import count
from tabpet.options import DEFAULT_CONFIG, ConfigFiles, read_experiment
from tabpet.plan import RULES, Cell, planned_cells, shares_job
from tabpet.registry import DEFAULT, TUNED
from tabpet.resources import table_shape, training_megabytes
from tabpet.settings import Settings
from tabpet.state import finished_seconds

console = Console(highlight=False)
_CELL_BYTES = 60_000  # run, curves, trials, journal and log of a cell
_PREDICTED_BYTES = 12  # of a predicted row, compressed
_SUMMARIES = 6  # scores, tables of datasets, graphs and results, figures, page


class Where(StrEnum):
    """What transformers are trained on."""

    cpu = "cpu"
    gpu = "gpu"


@dataclass(frozen=True)
class StagePlan:
    """One stage of a run: how many cells and jobs, and how long they take one after the other."""

    name: str
    cells: int
    jobs: int
    seconds: float


def plan(
    config: ConfigFiles = DEFAULT_CONFIG,  # type: ignore[assignment]
    device: Annotated[Where, typer.Option(help="Where transformers are trained.")] = Where.cpu,
    slots: Annotated[int, typer.Option(help="Jobs that run at a time.")] = os.cpu_count() or 1,
) -> None:
    """Say what a run consists of: cells and jobs, hours, the longest cells, memory and disk."""
    settings, rows = load_run(config)
    measured = measured_speeds(settings, rows, device.value)
    stages = plan_stages(settings, rows, device.value, measured)
    console.print(_stage_table(stages))
    hours = sum(stage.seconds for stage in stages) / 3600
    console.print(
        f"\n{count(len(rows), 'dataset')}, {sum(stage.jobs for stage in stages):,} jobs, about "
        f"{show_hours(hours)} one after the other, {show_hours(hours / slots)} with {slots} at a "
        f"time. {_source(settings, measured, device.value)}"
    )
    console.print()
    console.print(_longest_table(settings, rows, device.value, measured))
    memory, row, model = largest_memory(settings, rows)
    if model:
        console.print(f"\nMemory: up to {memory / 1000:.1f} GB for {model} on {row}.")
    console.print(f"Disk: about {disk_bytes(settings, rows) / 1e6:,.0f} MB in `results`.")
    if "studies" in settings.model_fields_set:
        console.print(
            "The studies of this config are not counted: `snakemake -n synthetic_study "
            "effective_rank_study` shows their jobs."
        )


def load_run(config: Sequence[Path]) -> tuple[Settings, list[CatalogRow]]:
    """The settings of a run, and the catalog rows of its datasets."""
    settings, catalog = read_experiment(list(config))
    names = select_datasets(catalog, settings.datasets, settings.exclude)
    return settings, [catalog[name] for name in names]


def measured_speeds(
    settings: Settings, rows: Sequence[CatalogRow], device: str, folder: Path = Path()
) -> dict[str, float]:
    """By learner, how much longer its finished cells took than estimated; none without any."""
    catalog = {row.name: row for row in rows}
    taken: dict[str, float] = defaultdict(float)
    guessed: dict[str, float] = defaultdict(float)
    for cell, seconds, where in finished_seconds(planned_cells(settings, catalog), folder):
        # Trees report where they grow, transformers the name of their GPU.
        if cell.graph is not None and where.startswith("cpu") != (device == "cpu"):
            continue
        key, row = speed_key(cell), catalog[cell.dataset]
        taken[key] += seconds
        guessed[key] += cell_seconds(settings, row, cell.model, cell.encoding, device)
    return {key: taken[key] / guessed[key] for key in taken if guessed[key] > 0}


def speed_key(cell: Cell) -> str:
    """What has a speed of its own: a transformer, a tuned or an untuned learner."""
    return f"{cell.model} {cell.encoding}" if cell.encoding in RULES else cell.model


def expected_seconds(
    settings: Settings,
    rows: Sequence[CatalogRow],
    cells: Iterable[Cell],
    device: str,
    measured: dict[str, float],
) -> list[float]:
    """The seconds of each cell: estimated, and corrected by what its like has taken."""
    catalog = {row.name: row for row in rows}
    return [
        cell_seconds(settings, catalog[cell.dataset], cell.model, cell.encoding, device)
        * measured.get(speed_key(cell), 1.0)
        for cell in cells
    ]


def plan_stages(
    settings: Settings,
    rows: Sequence[CatalogRow],
    device: str = "cpu",
    measured: dict[str, float] | None = None,
) -> list[StagePlan]:
    """The stages of a run in their order."""
    splits = len(rows) * len(settings.splits)
    slow = [graph for graph in settings.graphs if not shares_job(graph)]
    instant = [graph for graph in settings.graphs if graph not in slow]
    slow_seconds = len(settings.splits) * sum(
        graph_seconds(settings, row, graph) for row in rows for graph in slow
    )
    stages = [
        _quick("fetch", len(rows)),
        _quick("prepare", splits),
        _quick("instant graphs", splits * len(instant), splits if instant else 0),
        StagePlan("slow graphs", splits * len(slow), splits * len(slow), slow_seconds),
        _quick("encodings of slow graphs", splits * len(slow)),
    ]
    cells = list(planned_cells(settings, [row.name for row in rows]))
    kinds = {
        "train": [cell for cell in cells if cell.graph is not None],
        "tune trees": [cell for cell in cells if cell.encoding == TUNED],
        "references": [cell for cell in cells if cell.encoding == DEFAULT],
    }
    for name, some in kinds.items():
        jobs = _count_jobs(settings, rows, name, some)
        seconds = sum(expected_seconds(settings, rows, some, device, measured or {}))
        stages.append(StagePlan(name, len(some), jobs, seconds + jobs * START_SECONDS))
    collected = len(rows) if cells else 0
    return [*stages, _quick("summaries", collected + _SUMMARIES)]


def _quick(name: str, cells: int, jobs: int | None = None) -> StagePlan:
    """A stage whose jobs only start and end."""
    jobs = cells if jobs is None else jobs
    return StagePlan(name, cells, jobs, jobs * START_SECONDS)


def _count_jobs(
    settings: Settings, rows: Sequence[CatalogRow], stage: str, some: Sequence[Cell]
) -> int:
    """Jobs of some cells: seeds of small tables share one, and all references of a split."""
    if stage == "references":
        paired = settings.seeds_of_splits == "paired"
        return len({(cell.dataset, cell.split, cell.seed if paired else 0) for cell in some})
    together = small_tables(settings, rows, {(cell.model, cell.encoding) for cell in some})
    return len({replace(cell, seed=0) if cell.dataset in together else cell for cell in some})


def largest_memory(settings: Settings, rows: Sequence[CatalogRow]) -> tuple[int, str, str]:
    """The most memory that a training job asks for, and for what."""
    needs = (
        (training_megabytes(settings, row, model, encoding), row.name, model)
        for row in rows
        for model, encoding in settings.treatments
    )
    return max(needs, default=(0, "", ""))


def disk_bytes(settings: Settings, rows: Sequence[CatalogRow]) -> float:
    """About how much a run leaves in `results`."""
    cells = sum(1 for _ in planned_cells(settings, [row.name for row in rows])) * _CELL_BYTES
    copies = 1 + len(settings.splits)
    shapes = [table_shape(row) for row in rows]
    tables = sum(4 * n * d for n, d in shapes)
    predicted = 0.0
    if settings.training.keep_predictions:
        share = sum(settings.prepare.fractions[1:]) * _PREDICTED_BYTES * (1 + len(settings.alphas))
        each = len(settings.treatments) * len(settings.split_seeds)
        predicted = each * share * sum(n for n, _ in shapes)
    return cells + copies * tables + predicted


def show_hours(hours: float) -> str:
    """`20 s`, `12 min`, `3.4 h` or `12 days`."""
    if hours < 1 / 40:
        return f"{3600 * hours:.0f} s"
    if hours < 1.5:
        return f"{60 * hours:.0f} min"
    return f"{hours:,.1f} h" if hours < 72 else f"{hours / 24:,.0f} days"


def _source(settings: Settings, measured: dict[str, float], device: str) -> str:
    """Where the hours come from; finished trees say nothing about the speed of a GPU."""
    words = [f"Corrected by finished cells of {', '.join(sorted(measured))}."] if measured else []
    if device == "gpu" and (assumed := [one for one in settings.models if one not in measured]):
        words.append(
            f"The speed of a GPU is an assumption until one of yours has finished a cell of "
            f"{', '.join(assumed)}."
        )
    default = "Estimated from a core of a server processor; finished cells correct it."
    return " ".join(words) or default


def _stage_table(stages: Iterable[StagePlan]) -> Table:
    numbers = (Column(name, justify="right") for name in ("cells", "jobs", "time"))
    table = Table("stage", *numbers, box=None, pad_edge=False)
    for stage in stages:
        if stage.cells:
            time = show_hours(stage.seconds / 3600)
            table.add_row(stage.name, f"{stage.cells:,}", f"{stage.jobs:,}", time)
    return table


def _longest_table(
    settings: Settings, rows: Sequence[CatalogRow], device: str, measured: dict[str, float]
) -> Table:
    """What decides when a run ends; a cell is a seed with all its alphas."""
    time = Column("time", justify="right")
    table = Table("longest cells", "", time, box=None, pad_edge=False)
    cells = list(planned_cells(settings, [row.name for row in rows]))
    longest: dict[tuple[str, str], float] = {}
    for cell, seconds in zip(
        cells, expected_seconds(settings, rows, cells, device, measured), strict=True
    ):
        place = cell.dataset, cell.model
        longest[place] = max(seconds, longest.get(place, 0.0))
    for (dataset, model), seconds in sorted(longest.items(), key=lambda pair: -pair[1])[:5]:
        table.add_row(dataset, model, show_hours(seconds / 3600))
    return table
