"""`tabpet try`: from a file to an answer in minutes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tabpet.data.command import Categorical, Ignored, TableFile, Target, Task
from tabpet.errors import TabpetError

if TYPE_CHECKING:  # torch is loaded by the functions that need it: other commands stay quick
    import pandas as pd

    from tabpet.data.card import Card
    from tabpet.trial.experiment import Outcome, Plan

console = Console()
_MOST_COLUMNS = 30  # that are shown one by one


def try_table(
    file: TableFile,
    target: Target,
    task: Task = None,
    categorical: Categorical = None,
    ignore: Ignored = None,
    minutes: Annotated[float, typer.Option(min=0.05, help="How long it may take.")] = 5.0,
    splits: Annotated[int, typer.Option(min=1, help="Most splits of the table.")] = 10,
    model: Annotated[str, typer.Option(help="The transformer.")] = "ft_transformer",
    graph: Annotated[str, typer.Option(help="The graph estimator.")] = "spearman",
    size: Annotated[
        str, typer.Option(help="small: seconds per split; paper: the paper's model and grid.")
    ] = "small",
    page: Annotated[
        Path | None, typer.Option(help="The page to write; <file>.tabpet.html by default.")
    ] = None,
) -> None:
    """Find out whether encodings help on a table of your own: a table, a sentence, a page."""
    from tabpet.data.own import read_own

    if size not in ("small", "paper"):
        raise TabpetError(f"--size is {size!r}; allowed are small and paper.")
    _, raw, card = read_own(file, target, None, task, categorical or (), ignore or ())
    # What follows loads torch; a wrong name has been told by now.
    from tabpet.files import write_text
    from tabpet.trial.experiment import Plan
    from tabpet.trial.report import render_page

    _print_reading(card)
    plan = Plan(model, graph, size, splits, 60 * minutes)  # type: ignore[arg-type]
    outcome = _run(raw, card, plan)
    _print_outcome(outcome)
    path = page or file.with_name(f"{file.stem}.tabpet.html")
    write_text(render_page(outcome), path)
    console.print(f"\nGraph, curves and scores: {path}", soft_wrap=True)


def _print_reading(card: "Card") -> None:
    """How the table was read, and how to correct it."""
    from tabpet.data.own import describe_target
    from tabpet.trial.report import describe_columns

    columns = describe_columns(card)
    console.print(f"{card.rows} rows, {describe_target(card)}", markup=False)
    if len(columns) > _MOST_COLUMNS:
        counts = columns["read as"].value_counts()
        kinds = ", ".join(f"{number} {kind}" for kind, number in counts.items())
        console.print(f"{len(columns)} columns: {kinds}")
    else:
        table = Table(box=None, header_style="bold", pad_edge=False)
        for name in map(str, columns):
            table.add_column(name, justify="right" if name in ("values", "missing") else "left")
        for line in columns.astype(str).itertuples(index=False):
            table.add_row(*map(escape, line))
        console.print(table)
    for warning in card.warnings:
        console.print(f"- {warning}", markup=False)
    console.print(
        "Read otherwise: --categorical COLUMN, --ignore COLUMN, --task TASK\n", markup=False
    )


def _run(raw: "pd.DataFrame", card: "Card", plan: "Plan") -> "Outcome":
    """Run the trial under a bar of the time that is gone."""
    from tabpet.training.memory import keep_freed_memory
    from tabpet.trial.experiment import run_trial

    keep_freed_memory()
    columns = (
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn(f"of at most {plan.seconds / 60:g} min"),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=1.0)

        def step(what: str, share: float) -> None:
            bar.update(task, description=escape(what), completed=share)

        return run_trial(raw, card, plan, step)


def _print_outcome(outcome: "Outcome") -> None:
    """A line per learner, the notes and the sentence."""
    from tabpet.formats import percent
    from tabpet.trial.report import sentence, tabulate

    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("learner", f"test {outcome.metric}", "± sd", "splits", "% better than plain"):
        table.add_column(name, justify="left" if name == "learner" else "right")
    for line in tabulate(outcome):
        sd = "–" if line.splits < 2 else f"{line.sd:.2g}"
        gain = percent(line.better)
        table.add_row(line.learner, f"{line.score:.4g}", sd, str(line.splits), gain)
    console.print(table)
    console.print()
    for note in outcome.notes:
        console.print(f"- {note}", markup=False)
    console.print(f"\n{outcome.seconds:.0f} s. {sentence(outcome)}", style="bold", markup=False)
