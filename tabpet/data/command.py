"""`tabpet dataset`: put a table of one's own into a catalog, and check a whole sheet at once."""

import csv
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from tabpet.catalog import CatalogRow, parse_sheet, split_sheet
from tabpet.errors import TabpetError
from tabpet.files import write_text

if TYPE_CHECKING:
    from tabpet.data.card import Card

dataset = typer.Typer(help="Tables of your own in a catalog.", no_args_is_help=True)
console = Console()
GROUP = "mine"
# How a file is read, here and in `tabpet try`.
TableFile = Annotated[Path, typer.Argument(help="A CSV, Parquet or ARFF file.")]
Target = Annotated[str, typer.Option(help="The column to predict.")]
Task = Annotated[
    str | None, typer.Option(help="classification or regression; read from the target.")
]
Categorical = Annotated[
    list[str] | None, typer.Option(help="A column of numbers that are categories.")
]
Ignored = Annotated[list[str] | None, typer.Option(help="A column to leave out.")]


@dataset.command()
def add(
    file: TableFile,
    target: Target,
    name: Annotated[
        str | None, typer.Option(help="The name of the dataset; that of the file by default.")
    ] = None,
    task: Task = None,
    categorical: Categorical = None,
    ignore: Ignored = None,
    sheet: Annotated[Path, typer.Option(help="The catalog that the row is added to.")] = Path(
        "mine.csv"
    ),
) -> None:
    """Write the catalog row of a file, with what its table should look like from now on."""
    from tabpet.data.card import describe_copies
    from tabpet.data.own import describe_target, read_own

    row, _, card = read_own(file, target, name, task, categorical or (), ignore or ())
    there = parse_sheet(sheet)[0] if sheet.is_file() else []
    copies = [one.name for one in there if one.sha256 and card.sha256.startswith(one.sha256)]
    write_text(extend_sheet(sheet, row, card), sheet)
    n_rows, n_features, n_categorical = card.shape.values()
    console.print(
        f"{row.name}: {n_rows} rows, {n_features - n_categorical} numeric and "
        f"{n_categorical} categorical features, {describe_target(card)}",
        markup=False,
        soft_wrap=True,
    )
    for warning in (*card.warnings, *describe_copies(copies)):
        console.print(f"- {warning}", markup=False, soft_wrap=True)
    console.print(
        f"\nAdded to {sheet}. A run has it with these lines in its config, where @{GROUP} is "
        f"everything that was added so:\n"
        f'  catalogs: [datasets.csv, {sheet}]\n  datasets: ["@{GROUP}"]',
        markup=False,
        soft_wrap=True,
    )


@dataset.command()
def check(
    sheet: Annotated[Path, typer.Argument(help="A catalog.")] = Path("mine.csv"),
    download: Annotated[
        bool, typer.Option("--download", help="Fetch tables from OpenML as well.")
    ] = False,
) -> None:
    """Read every row of a sheet and its table, and report all problems at once."""
    from tabpet.data.card import copies_of, describe_copies
    from tabpet.data.fetch import fetch_dataset, mirror_file
    from tabpet.places import find_mirror
    from tabpet.settings import FetchSettings

    rows, problems = parse_sheet(sheet)
    names = [row.name for row in rows]
    problems += [
        f"{sheet}: {name} stands there twice" for name in {*names} if names.count(name) > 1
    ]
    settings = find_mirror(FetchSettings(), [sheet])
    folder = settings.mirror
    cards: list[Card] = []
    skipped = 0
    for row in rows:
        here = row.source != "openml" or (folder is not None and mirror_file(row, folder))
        if not (here or download):
            skipped += 1
            continue
        try:
            cards.append(fetch_dataset(row, settings)[1])
        except TabpetError as error:
            named = str(error).startswith(f"{row.name}:")
            problems.append(str(error) if named else f"{row.name}: {error}")
    for card in cards:
        for warning in (*card.warnings, *describe_copies(copies_of(card, cards))):
            console.print(f"{card.dataset}: {warning}", markup=False, soft_wrap=True)
    for problem in problems:
        console.print(f"problem: {problem}", style="red", markup=False, soft_wrap=True)
    more = f", {skipped} of OpenML not fetched (--download)" if skipped else ""
    console.print(f"Tables as the sheet says: {len(cards)} of {len(rows)}{more}")
    if problems:
        raise typer.Exit(1)


def extend_sheet(sheet: Path, row: CatalogRow, card: "Card") -> str:
    """The text of a sheet with a row more; columns that it lacks are added."""
    header: list[str] = []
    separator, lines = ",", []
    if sheet.is_file():
        rows, problems = parse_sheet(sheet)
        if problems:
            raise TabpetError(f"{problems[0]}. Correct the sheet first: `tabpet dataset check`.")
        if row.name in [known.name for known in rows]:
            raise TabpetError(f"{sheet} has a dataset {row.name!r} already: choose another --name.")
        header, separator, body = split_sheet(sheet.read_text(encoding="utf-8-sig"))
        lines = [*csv.DictReader(io.StringIO(body), header, delimiter=separator)]
    added = _as_line(row, card, sheet)
    header += [name for name in added if name not in header]
    out = io.StringIO()
    writer = csv.DictWriter(out, header, delimiter=separator, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows([*lines, added])
    return out.getvalue()


def _as_line(row: CatalogRow, card: "Card", sheet: Path) -> dict[str, str]:
    """The row as a sheet has it: paths from the sheet's folder, lists with semicolons."""
    lists = {"categorical": row.categorical, "ignore": row.ignore, "groups": (GROUP,)}
    for name, values in lists.items():
        if odd := [value for value in values if ";" in value or value != value.strip()]:
            raise TabpetError(
                f"--{name} {odd[0]!r} can't stand in a sheet, where semicolons separate names. "
                "Rename the column in the file."
            )
    assert row.path is not None
    path = os.path.relpath(row.path.resolve(), sheet.resolve().parent)
    return {
        "name": row.name,
        "source": "file",
        "path": Path(path).as_posix(),
        "task": row.task,
        "target": row.target or "",
        **{name: ";".join(values) for name, values in lists.items()},
        **{name: str(number) for name, number in card.shape.items()},
        "sha256": card.sha256[:16],
    }
