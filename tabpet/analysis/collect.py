"""From run files to one table of scores, in which nothing that was planned is silently missing.

A run is taken only if it was made with the settings of the config and from the inputs that are
there now; one of other settings is a row `outdated`, and a cell without a file a row `missing`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from tabpet.catalog import CatalogRow
from tabpet.data.card import Card
from tabpet.data.prepare import SplitInfo
from tabpet.data.summary import tabulate_datasets
from tabpet.encodings.summary import tabulate_graphs
from tabpet.errors import TabpetError
from tabpet.files import read_json
from tabpet.plan import (
    Cell,
    describe_differences,
    input_settings,
    member_alphas,
    planned_cells,
    run_settings,
)
from tabpet.registry import DEFAULT, TUNED
from tabpet.runs import Run, input_digest, read_runs, runs_frame
from tabpet.settings import Settings
from tabpet.state import why_missing

RETRY = "`tabpet retry --status outdated` (with the run's --config) has snakemake repeat it"


def collect_runs(
    settings: Settings,
    rows: Iterable[CatalogRow],
    folder: Path = Path(),
    study: str | None = None,
) -> pd.DataFrame:
    """The rows of every planned cell of some datasets, in the order of the plan."""
    inputs = _Inputs(folder)
    frames = []
    for row in rows:
        for cell in planned_cells(settings, [row.name], study):
            frames += _cell_rows(cell, row, settings, inputs)
    return pd.concat(frames, ignore_index=True) if frames else runs_frame([])


class _Inputs:
    """The files that runs are made from, each read once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.digest = cache(input_digest)
        self.read = cache(read_json)

    def digests(self, cell: Cell) -> dict[str, str]:
        """Digests of a cell's inputs, as far as they are there."""
        paths = {name: self.folder / path for name, path in cell.inputs.items()}
        return {name: self.digest(name, path) for name, path in paths.items() if path.is_file()}

    def difference(self, wanted: Mapping[Path, Mapping[str, Any]]) -> str:
        """How the inputs differ from what the config would make; empty where they do not."""
        for path, settings in wanted.items():
            if (self.folder / path).is_file():
                try:
                    about = self.read(self.folder / path)
                except ValueError as error:
                    return f"made from a {path} that can't be read ({error})"
                made = {name: about.get(name) for name in settings}
                if difference := describe_differences(made, settings):
                    return f"made from a {path} of other settings ({difference})"
        return ""


def _cell_rows(
    cell: Cell, row: CatalogRow, settings: Settings, inputs: _Inputs
) -> list[pd.DataFrame]:
    """The rows of one cell, or the one that stands in their place."""
    if not (inputs.folder / cell.run).is_file():
        return [_note(cell, row, "missing", why_missing(cell, inputs.folder))]
    try:
        frame = read_run_file(inputs.folder / cell.run)
    except TabpetError as error:
        return [_note(cell, row, "error", str(error))]
    wanted = run_settings(settings, row, cell.model, cell.encoding)
    difference = _difference(frame, {"settings": wanted, "inputs": inputs.digests(cell)})
    difference = difference or inputs.difference(input_settings(settings, row, cell))
    if difference:
        return [_note(cell, row, "outdated", f"{difference}; {RETRY}")]
    return _of_alphas(frame, cell, row, settings)


@dataclass(frozen=True)
class Collected:
    """What a run has so far, as the tables that everything else is made from."""

    scores: pd.DataFrame
    graphs: pd.DataFrame
    datasets: pd.DataFrame


def collect_existing(
    settings: Settings, rows: Sequence[CatalogRow], folder: Path = Path()
) -> Collected:
    """The rows of every planned cell, and the graphs and splits that exist."""
    datasets = [row.name for row in rows]
    if not any((folder / cell.run).is_file() for cell in planned_cells(settings, datasets)):
        raise TabpetError(
            f"No run has finished yet in {folder / 'results'}, so there is nothing to show. Start "
            "them with `snakemake --keep-going`."
        )
    cards, splits, graphs, encodings = {}, [], [], []
    for dataset, split in product(datasets, settings.splits):
        cell = Cell(dataset, split, "", DEFAULT, 0)
        info = folder / cell.inputs["split info"]
        card = info.with_name("card.json")
        if info.is_file() and card.is_file():
            cards[dataset] = Card.model_validate(read_json(card))
            splits.append(SplitInfo.model_validate(read_json(info)))
        for graph in settings.graphs:
            cell = Cell(dataset, split, "", graph, 0)
            pair = folder / cell.graph_info, folder / cell.inputs["encoding info"]
            if all(path.is_file() for path in pair):
                graphs.append(read_json(pair[0]))
                encodings.append(read_json(pair[1]))
    return Collected(
        scores=collect_runs(settings, rows, folder),
        graphs=tabulate_graphs(graphs, encodings),
        datasets=tabulate_datasets(list(cards.values()), splits),
    )


def join_scores(paths: Iterable[Path]) -> pd.DataFrame:
    """The scores of all datasets as one table."""
    frames = [read_runs(path) for path in paths]
    return pd.concat(frames, ignore_index=True) if frames else runs_frame([])


def read_run_file(path: Path) -> pd.DataFrame:
    """One run file, checked to hold the cell that its path names."""
    try:
        frame = read_runs(path)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OSError) as error:
        raise TabpetError(
            f"{path} can't be read as a run file ({error}). Delete it, or take it back with "
            "`tabpet retry`, and run again."
        ) from None
    for name, value in Cell.parse(path).identity.items():
        held = set(frame[name])
        if held != {value}:
            listed = ", ".join(sorted(map(str, held))) or "nothing"
            raise TabpetError(
                f"{path} should hold {name} {value}, but holds {listed}. Was it copied or "
                "renamed? Delete it and run again."
            )
    if frame["alpha"].duplicated().any():
        raise TabpetError(f"{path} holds an alpha twice. Delete it and run again.")
    return frame


def _difference(frame: pd.DataFrame, wanted: dict[str, Any]) -> str:
    """How a run file differs from what the config asks for now; empty where it does not."""
    for text in frame["provenance"].unique():
        if pd.isna(text):
            return "no record of the settings it was made with"
        made = json.loads(text)
        if difference := describe_differences(made["settings"], wanted["settings"]):
            return f"made with other settings ({difference})"
        # An input that is gone or not yet made again can't be compared.
        changed = [
            name
            for name, digest in wanted["inputs"].items()
            if made["inputs"].get(name, digest) != digest
        ]
        if changed:
            return f"made from another {' and '.join(changed)}"
    return ""


def _of_alphas(
    frame: pd.DataFrame, cell: Cell, row: CatalogRow, settings: Settings
) -> list[pd.DataFrame]:
    """The rows of the alphas that are wanted now, and a row for each that is not trained yet."""
    if cell.encoding in (TUNED, DEFAULT):
        return [frame]
    wanted = member_alphas(cell.encoding, settings.alphas)
    missing = [alpha for alpha in wanted if alpha not in set(frame["alpha"])]
    notes = [
        _note(cell, row, "missing", f"alpha {alpha:g} has not been trained", alpha)
        for alpha in missing
    ]
    return [frame[frame["alpha"].isin(wanted)], *notes]


def _note(
    cell: Cell, row: CatalogRow, status: Any, reason: str, alpha: float | None = None
) -> pd.DataFrame:
    """A row in the place of a result."""
    note = Run(**cell.identity, task=row.task, status=status, reason=reason, alpha=alpha)
    return runs_frame([note])
