"""The `tabpet` command: look at the catalog, the settings and the results of a run."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from tabpet import __version__
from tabpet.catalog import CatalogRow, select_datasets
from tabpet.data.command import dataset
from tabpet.encodings.command import encoding
from tabpet.errors import TabpetError
from tabpet.files import write_text
from tabpet.forecast import plan
from tabpet.formats import count
from tabpet.options import DEFAULT_CONFIG, ROOT, ConfigFiles, read_experiment
from tabpet.places import find_mirror
from tabpet.reference import print_headline, reference
from tabpet.retry import retry
from tabpet.settings import FetchSettings
from tabpet.settings.docs import schema_text, settings_table
from tabpet.state import newer_runs
from tabpet.status import status
from tabpet.training.command import train
from tabpet.trial.command import try_table

if TYPE_CHECKING:
    import pandas as pd

app = typer.Typer(
    help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)
console = Console()
app.command()(train)
app.command()(retry)
app.command()(encoding)
app.command()(plan)
app.command()(status)
app.command()(reference)
app.command("try")(try_table)
app.add_typer(dataset, name="dataset")


def _show_version(wanted: bool) -> None:
    if wanted:
        console.print(f"tabpet {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Options that stand before a command."""


@app.command()
def datasets(
    wanted: Annotated[
        list[str] | None, typer.Argument(help="Names or @groups to show; everything by default.")
    ] = None,
    config: ConfigFiles = DEFAULT_CONFIG,  # type: ignore[assignment]
) -> None:
    """List the datasets of the catalogs, and whether their tables are already here."""
    settings, catalog = read_experiment(config)
    fetch = find_mirror(settings.fetch, config)
    names = select_datasets(catalog, wanted) if wanted else list(catalog)
    table = Table(
        *(Column(name, no_wrap=True) for name in ("dataset", "task")),
        *(Column(name, justify="right") for name in ("rows", "feat.", "cat.")),
        "groups",
        Column("table", no_wrap=True),
        box=None,
        pad_edge=False,
    )
    places = [_whereabouts(catalog[name], fetch) for name in names]
    for name, place in zip(names, places, strict=True):
        row = catalog[name]
        shape = (row.n_rows, row.n_features, row.n_categorical)
        table.add_row(
            row.name,
            row.task.removesuffix("ification").removesuffix("ression"),
            *("-" if number is None else f"{number:,}" for number in shape),
            " ".join(row.groups),
            place,
        )
    console.print(table)
    here = sum(place not in ("to download", "file missing") for place in places)
    console.print(f"\n{count(len(names), 'dataset')}, {here} available without a download")


@app.command()
def settings(
    write: Annotated[
        bool, typer.Option("--write", help="Write the JSON schema and the docs page.")
    ] = False,
) -> None:
    """Print every setting with its default and meaning."""
    if not write:
        console.print(settings_table(), markup=False)
        return
    for path, text in generated_files().items():
        write_text(text, path)
        console.print(f"wrote {path}")


def generated_files() -> dict[Path, str]:
    """The files that are made from the settings' definition, with their content."""
    return {
        ROOT / "config.schema.json": schema_text(),
        ROOT / "docs" / "configuration.md": settings_table(),
    }


@app.command()
def summary(
    results: Annotated[Path, typer.Argument(help="Results folder of a run.")] = Path("results"),
) -> None:
    """Print the main result of a run in a few lines, and where the details are."""
    from tabpet.analysis.results import read_table

    place = _newest_summary(results)
    tables = place / "tables"
    datasets = read_table(tables / "datasets.csv")
    if datasets is None:
        console.print("No dataset has been prepared.")
    else:
        _print_datasets(datasets, place)
    graphs = read_table(tables / "graphs.csv") if (tables / "graphs.csv").is_file() else None
    if graphs is not None:
        _print_graphs(graphs, place)
    headline = place / "summary" / "headline.json"
    if headline.is_file():
        console.print()
        print_headline(headline)
        console.print(f"\nThe whole story: {place / 'summary' / 'index.html'}")
    _print_age(results, headline)


def _newest_summary(results: Path) -> Path:
    """The results folder itself, or `partial` in it where that was made later."""
    made = {
        place: max(
            path.stat().st_mtime
            for path in (place / "tables/datasets.csv", place / "summary/headline.json")
            if path.is_file()
        )
        for place in (results, results / "partial")
        if (place / "tables/datasets.csv").is_file()
    }
    if made:
        return max(made, key=lambda place: made[place])
    if runs := newer_runs(results):
        raise TabpetError(
            f"{results} holds {runs} run files and no summary of them: "
            "`snakemake partial --cores all` makes one of what is there."
        )
    raise TabpetError(
        f"There is no {results / 'tables/datasets.csv'}: run `snakemake --cores all` first."
    )


def _print_age(results: Path, headline: Path) -> None:
    """Say so where runs are newer than what was printed."""
    newer = newer_runs(results, headline if headline.is_file() else None)
    if newer:
        console.print(
            f"\n[bold]This is not the latest:[/] {newer} run files are newer. `snakemake` brings "
            "it up to date, or `snakemake partial` with what is there."
        )


def _print_datasets(frame: "pd.DataFrame", results: Path) -> None:
    """A line per prepared split."""
    columns = ["dataset", "task", "features", "categorical", "train", "val", "test"]
    if len(set(frame["split"])) > 1:
        columns.insert(1, "split")
    console.print(_frame_table(frame[columns].itertuples(index=False), columns))
    warned = int(frame["warnings"].notna().sum())
    console.print(
        f"\n{count(frame['dataset'].nunique(), 'dataset')} prepared"
        f"{f', {warned} with warnings' if warned else ''}. Details: "
        f"{results / 'tables' / 'datasets.csv'}"
    )


def _print_graphs(graphs: "pd.DataFrame", results: Path) -> None:
    """A line per estimator: how its graphs look on average, and how long they took."""
    names = ("graphs", "not ok", "density", "entropy", "Fiedler", "k", "seconds")
    numbers = (Column(name, justify="right") for name in names)
    table = Table("graph", *numbers, box=None, pad_edge=False)
    for method, some in graphs.groupby("method", sort=False):
        table.add_row(
            str(method),
            str(len(some)),
            str(int((some["status"] != "ok").sum())),
            *(f"{some[name].mean():.2f}" for name in ("density", "entropy", "fiedler")),
            f"{some['k'].min()}-{some['k'].max()}",
            f"{some['seconds'].sum():.1f}",
        )
    console.print()
    console.print(table)
    console.print(
        f"\n{count(len(graphs), 'graph')} with encodings (means over graphs, seconds in all). "
        f"Details: {results / 'tables' / 'graphs.csv'}, pictures: {results / 'figures' / 'graphs'}"
    )


def _whereabouts(row: CatalogRow, fetch: FetchSettings) -> str:
    """Where the table of a row is now."""
    from tabpet.data.fetch import mirror_file

    if (Path("results/data") / row.name / "raw.parquet").is_file():
        return "fetched"
    if row.source == "file":
        return "file" if row.path is not None and row.path.is_file() else "file missing"
    if row.source != "openml":
        return row.source
    return "in mirror" if fetch.mirror and mirror_file(row, fetch.mirror) else "to download"


def _frame_table(rows: Iterable[tuple], columns: list[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    lines = [
        [f"{value:,}" if isinstance(value, int) else str(value) for value in row] for row in rows
    ]
    for position, name in enumerate(columns):
        numeric = all(line[position].replace(",", "").isdigit() for line in lines)
        table.add_column(name, justify="right" if numeric else "left")
    for line in lines:
        table.add_row(*map(escape, line))
    return table


def main() -> None:
    """Run the command; problems that the user can fix are shown without a traceback."""
    try:
        app()
    except TabpetError as error:
        plain = Console(stderr=True, highlight=False)
        plain.print("[bold red]error:[/]", end=" ")
        plain.print(str(error), markup=False, soft_wrap=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
