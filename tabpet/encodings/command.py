"""`tabpet encoding`: what a model was given, the control of a seed included."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tabpet.catalog import select_dataset
from tabpet.names import EncodingName
from tabpet.options import (
    DEFAULT_CONFIG,
    ConfigFiles,
    DatasetArgument,
    EncodingArgument,
    read_experiment,
    require_files,
)
from tabpet.plan import Cell
from tabpet.registry import GRAPHS

if TYPE_CHECKING:
    import pandas as pd

console = Console()


def encoding(
    dataset: DatasetArgument,
    encoding: EncodingArgument,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the run; it draws a control.")] = 1,
    split: Annotated[int | None, typer.Option(help="Split; the config's first one.")] = None,
    config: ConfigFiles = DEFAULT_CONFIG,  # type: ignore[assignment]
    results: Annotated[Path, typer.Option(help="Results folder.")] = Path("results"),
    write: Annotated[
        Path | None, typer.Option(help="CSV file for all digits; nothing is printed then.")
    ] = None,
) -> None:
    """Print the encoding of every feature as a run with this seed had it."""
    from tabpet.encodings.controls import load_encoding
    from tabpet.files import write_text

    settings, catalog = read_experiment(config)
    name = EncodingName.parse(encoding)
    GRAPHS.find(name.graph)
    select_dataset(catalog, dataset)
    cell = Cell(dataset, settings.splits[0] if split is None else split, "", encoding, seed)
    files = [cell.inputs["encoding"], cell.inputs["encoding info"]]
    table, info = require_files(files, results, config)
    shown = load_encoding(name, seed, table, info)
    if write is not None:
        write_text(shown.to_frame().to_csv(index=False), write)
        console.print(f"wrote {write}")
        return
    drawn = f", seed {seed}" if name.control else ""
    console.print(
        f"{dataset}, split {cell.split}{drawn}: {name.label}, k = {shown.k}", markup=False
    )
    for note in shown.notes:
        console.print(f"- {note}", markup=False)
    console.print(_table(shown.to_frame()))


def _table(frame: "pd.DataFrame") -> Table:
    """A line per feature, three digits per column."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in frame:
        table.add_column(str(column), justify="left" if column == "feature" else "right")
    for feature, *values in frame.itertuples(index=False):
        table.add_row(escape(str(feature)), *(f"{value:.3f}" for value in values))
    return table
