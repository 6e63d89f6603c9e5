"""`tabpet train`: one cell by hand, with a live view of its training."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
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
from tabpet.plan import batch_size
from tabpet.registry import GRAPHS, MODELS

if TYPE_CHECKING:  # torch is loaded by the functions that need it: other commands stay quick
    from tabpet.runs import Run
    from tabpet.training.cell import TrainingCell

console = Console()


def train(
    dataset: DatasetArgument,
    model: Annotated[str, typer.Argument(help=", ".join(MODELS.own))],
    encoding: EncodingArgument,
    seed: Annotated[int, typer.Option(min=0, help="Seed of weights, batches and dropout.")] = 1,
    split: Annotated[int | None, typer.Option(min=0, help="Split; the config's first one.")] = None,
    config: ConfigFiles = DEFAULT_CONFIG,  # type: ignore[assignment]
    results: Annotated[Path, typer.Option(help="Results folder.")] = Path("results"),
) -> None:
    """Train one cell by hand and watch it; nothing is written but its checkpoint, if it has one."""
    from tabpet.training.cell import TrainingCell

    settings, catalog = read_experiment(config)
    MODELS.find(model)  # wrong names are errors
    GRAPHS.find(EncodingName.parse(encoding).graph)
    cell = TrainingCell(
        dataset=dataset,
        split=settings.splits[0] if split is None else split,
        model=model,
        encoding=encoding,
        seed=seed,
        alphas=tuple(settings.alphas),
        batch_size=batch_size(select_dataset(catalog, dataset), model),
        model_settings=settings.model_settings.of(model),
        training=settings.training,
    )
    files = require_files(list(cell.inputs.values()), results, config)
    runs = _train(cell, files, results)
    console.print(_runs_table(runs))
    console.print(f"\n{runs[0].seconds:.1f} s on {runs[0].device}, d_pe {runs[0].d_pe}")
    if not any(run.test_score is not None for run in runs):
        raise typer.Exit(1)


def _train(cell: "TrainingCell", files: Sequence[Path], results: Path) -> "list[Run]":
    """Train the cell under a live bar."""
    from tabpet.data.prepare import Split
    from tabpet.training.cell import run_cell
    from tabpet.training.checkpoint import Checkpoint
    from tabpet.training.memory import keep_freed_memory
    from tabpet.training.progress import live_bar

    keep_freed_memory()
    # A name of its own: a job of the workflow may have, or need, one of the same cell.
    path = results / cell.run.relative_to("results").with_suffix(".hand.pt")
    saved = path if cell.training.checkpoint else None
    checkpoint = Checkpoint(saved, cell.training.checkpoint_seconds)
    table, info, *encoding = files
    with live_bar(cell.training.max_epochs, console) as progress:
        result = run_cell(
            cell,
            Split.load(table, info),
            (encoding[0], encoding[1]),
            progress=progress,
            checkpoint=checkpoint,
        )
    checkpoint.delete_groups()
    return result.runs


def _runs_table(runs: "list[Run]") -> Table:
    """A line per alpha."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("alpha", "val", "test", "best epoch", "epochs", "status"):
        table.add_column(name, justify="left" if name == "status" else "right")
    for run in runs:
        table.add_row(
            f"{run.alpha:g}",
            *(
                "-" if score is None else f"{score:.4f}"
                for score in (run.val_score, run.test_score)
            ),
            *("-" if epoch is None else str(epoch) for epoch in (run.best_epoch, run.epochs)),
            f"{run.status}: {run.reason}" if run.reason else run.status,
        )
    return table
