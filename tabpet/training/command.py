"""`tabpet train`: one cell by hand, with a live view of its training."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer
from rich.console import Console
from rich.table import Table

from tabpet.catalog import read_catalogs, select_datasets
from tabpet.config import CONTROL_KINDS, GraphName, ModelName, Settings, read_settings
from tabpet.errors import TabpetError
from tabpet.plan import split_encoding_name

if TYPE_CHECKING:  # torch is loaded by the functions that need it: other commands stay quick
    from tabpet.runs import Run
    from tabpet.training.cell import Cell

ROOT = Path(__file__).resolve().parents[2]
console = Console()


def train(
    dataset: Annotated[str, typer.Argument(help="A dataset of the catalogs.")],
    model: Annotated[str, typer.Argument(help=", ".join(get_args(ModelName)))],
    encoding: Annotated[
        str, typer.Argument(help="A graph's name, or <graph>-random, -shuffled or -learnable.")
    ],
    seed: Annotated[int, typer.Option(help="Seed of weights, batches and dropout.")] = 1,
    split: Annotated[int | None, typer.Option(help="Split; the config's first one.")] = None,
    config: Annotated[Path, typer.Option(help="Config file with the settings.")] = (
        ROOT / "config.yaml"
    ),
    results: Annotated[Path, typer.Option(help="Results folder.")] = Path("results"),
) -> None:
    """Train one cell by hand and watch it; nothing is written but its checkpoint, if it has one."""
    settings = read_settings(config)
    cell = _find_cell(settings, dataset, model, encoding, seed, split)
    place = f"{dataset}/split{cell.split}"
    stems = [f"data/{place}", f"encodings/{place}/{split_encoding_name(encoding)[0]}"]
    files = [results / f"{stem}.{kind}" for stem in stems for kind in ("parquet", "json")]
    _need(files, results, config)
    runs = _train(cell, files, results)
    console.print(_runs_table(runs))
    console.print(f"\n{runs[0].seconds:.1f} s on {runs[0].device}, d_pe {runs[0].d_pe}")
    if not any(run.test_score is not None for run in runs):
        raise typer.Exit(1)


def _find_cell(
    settings: Settings, dataset: str, model: str, encoding: str, seed: int, split: int | None
) -> "Cell":
    """The cell that the arguments name, with its settings; wrong names are errors."""
    from tabpet.training.cell import Cell

    if model not in get_args(ModelName):
        known = ", ".join(get_args(ModelName))
        raise TabpetError(f"There is no model {model!r}; the models are {known}.")
    if split_encoding_name(encoding)[0] not in get_args(GraphName):
        raise TabpetError(
            f"There is no encoding {encoding!r}; encodings are {', '.join(get_args(GraphName))}, "
            f"each also with {', '.join(f'-{kind}' for kind in CONTROL_KINDS)}."
        )
    catalog = read_catalogs(path if path.exists() else ROOT / path for path in settings.catalogs)
    if select_datasets(catalog, [dataset]) != [dataset]:
        raise TabpetError(f"{dataset} stands for several datasets: name one of them.")
    return Cell(
        dataset=dataset,
        split=settings.splits[0] if split is None else split,
        model=cast(ModelName, model),
        encoding=encoding,
        seed=seed,
        alphas=tuple(settings.alphas),
        batch_size=catalog[dataset].batch_size_of(model),
        model_settings=getattr(settings.model_settings, model),
        training=settings.training,
    )


def _need(files: Sequence[Path], results: Path, config: Path) -> None:
    """Say which command makes the files, if one is missing."""
    missing = [path for path in files if not path.is_file()]
    if missing:
        # The workflow names its files from the folder that holds `results`.
        targets = " ".join(f"results/{path.relative_to(results)}" for path in missing)
        raise TabpetError(
            f"There is no {missing[0]}. This makes what is missing:\n"
            f"snakemake {targets} --cores all --configfile {config}"
        )


def _train(cell: "Cell", files: Sequence[Path], results: Path) -> "list[Run]":
    """Train the cell under a live bar."""
    from tabpet.data.prepare import Split
    from tabpet.training.cell import run_cell
    from tabpet.training.checkpoint import Checkpoint
    from tabpet.training.memory import keep_freed_memory
    from tabpet.training.progress import live_bar

    keep_freed_memory()
    folder = results / "runs" / cell.dataset / f"split{cell.split}" / cell.model / cell.encoding
    checkpoint = Checkpoint()
    if cell.training.checkpoint:
        # A name of its own: a job of the workflow may have, or need, one of the same cell.
        path = folder / f"seed{cell.seed}.hand.pt"
        checkpoint = Checkpoint(path, cell.training.checkpoint_seconds)
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
            *("-" if one is None else f"{one:.4f}" for one in (run.val_score, run.test_score)),
            *("-" if one is None else str(one) for one in (run.best_epoch, run.epochs)),
            f"{run.status}: {run.reason}" if run.reason else run.status,
        )
    return table
