"""The catalog: one row per dataset, read from `datasets.csv` and from people's own sheets."""

import csv
import difflib
import io
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from tabpet.errors import TabpetError

SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
SHA256 = re.compile(r"[0-9a-f]{16,64}")
LISTS = ("categorical", "ignore", "groups", "notears_lambdas")
Task = Literal["classification", "regression"]
Option = Annotated[int | float | str, Field(union_mode="left_to_right")]


class CatalogRow(BaseModel):
    """One dataset: where its table comes from, what is predicted, and what it should look like."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    source: Literal["openml", "file", "bundled", "synthetic"] = "file"
    task: Task
    target: str | None = None  # None: OpenML's default target
    openml_id: int | None = None
    version: int | None = None
    path: Path | None = None
    options: dict[str, Option] = {}  # of a synthetic table: d, k, n, seed, ...
    graph: Path | None = None  # the true graph, a CSV file of edges between features
    categorical: tuple[str, ...] = ()  # number-coded columns that are categories
    ignore: tuple[str, ...] = ()  # columns that are no features
    abbreviation: str | None = None
    n_rows: int | None = Field(None, ge=1)
    n_features: int | None = Field(None, ge=1)
    n_categorical: int | None = Field(None, ge=0)
    sha256: str | None = None  # of the content (a card has it), or its beginning; None: unchecked
    sha256_of: Literal["mirror"] | None = None  # a mirror's copy, not compared with OpenML's table
    batch_size: int = Field(32, ge=1)  # FT-Transformer and TabTransformer
    batch_size_saint: int | None = Field(None, ge=1)  # None: by the number of features
    notears_lambdas: tuple[float, ...] = ()  # empty: the configured grid
    groups: tuple[str, ...] = ()

    @field_validator("name")
    @classmethod
    def _safe(cls, value: str) -> str:
        if problem := name_problem(value):
            raise ValueError(problem)
        return value

    @field_validator("sha256")
    @classmethod
    def _hexadecimal(cls, value: str | None) -> str | None:
        if value is not None and not SHA256.fullmatch(value):
            raise ValueError("16 to 64 hexadecimal digits are needed, as a table's card has them")
        return value

    @model_validator(mode="after")
    def _complete(self) -> "CatalogRow":
        if self.source == "file" and self.path is None:
            raise ValueError("source `file` needs a `path`")
        if self.source == "openml" and self.openml_id is None and self.version is None:
            raise ValueError("source `openml` needs an `openml_id`, or a `version` with the name")
        if self.source != "openml" and self.target is None:
            raise ValueError("`target` is missing: name the column to predict")
        return self

    def fetch_fields(self) -> dict[str, Any]:
        """The fields of the row that decide what the raw table is, as plain JSON values."""
        aside = {"abbreviation", "groups", "batch_size", "batch_size_saint", "notears_lambdas"}
        if self.graph is None:
            aside.add("graph")
        return self.model_dump(mode="json", exclude=aside)


def name_problem(name: str) -> str | None:
    """What is wrong with the name of a dataset; None for a good one."""
    # The name becomes a folder under results/, so nothing in it may lead elsewhere.
    if SAFE_NAME.fullmatch(name) and ".." not in name:
        return None
    return (
        "a name starts with a letter or digit and goes on with letters, digits, '_', '-' or single "
        "'.'; it becomes a folder name"
    )


def read_catalogs(paths: Iterable[Path]) -> dict[str, CatalogRow]:
    """Read all sheets into one catalog by name; a name may stand in one sheet only."""
    catalog: dict[str, CatalogRow] = {}
    origin: dict[str, Path] = {}
    for path in paths:
        for row in _read_sheet(Path(path)):
            if row.name in catalog:
                raise TabpetError(
                    f"The dataset name {row.name!r} stands in {origin[row.name]} and again in "
                    f"{path}. Rename one of them."
                )
            catalog[row.name], origin[row.name] = row, Path(path)
    return catalog


def select_datasets(
    catalog: Mapping[str, CatalogRow], wanted: Iterable[str], exclude: Iterable[str] = ()
) -> list[str]:
    """Resolve names and `@group`s to dataset names, in catalog order."""
    chosen = _resolve(catalog, wanted) - _resolve(catalog, exclude)
    if not chosen:
        raise TabpetError("`exclude` leaves no dataset to run. Remove some of its entries.")
    return [name for name in catalog if name in chosen]


def select_dataset(catalog: Mapping[str, CatalogRow], name: str) -> CatalogRow:
    """The row of one dataset; unknown names, and those of several, are errors."""
    if select_datasets(catalog, [name]) != [name]:
        raise TabpetError(f"{name} stands for several datasets: name one of them.")
    return catalog[name]


def _resolve(catalog: Mapping[str, CatalogRow], entries: Iterable[str]) -> set[str]:
    groups: dict[str, set[str]] = {}
    for row in catalog.values():
        for group in row.groups:
            groups.setdefault(f"@{group}", set()).add(row.name)
    names: set[str] = set()
    for entry in entries:
        if entry in groups:
            names |= groups[entry]
        elif entry in catalog:
            names.add(entry)
        else:
            known = [*groups, *catalog]
            close = difflib.get_close_matches(entry, known, n=3, cutoff=0.5)
            hint = f"Did you mean {' or '.join(close)}? " if close else ""
            raise TabpetError(
                f"There is no dataset or group {entry!r} in the catalogs. {hint}"
                f"Groups: {', '.join(sorted(groups)) or 'none'}. "
                "`tabpet datasets` lists everything; your own tables go into a sheet of your own "
                "(`catalogs: [datasets.csv, mine.csv]`)."
            )
    return names


def _read_sheet(path: Path) -> list[CatalogRow]:
    """The rows of a sheet; the first problem is an error."""
    rows, problems = parse_sheet(path)
    if problems:
        more = f" ({len(problems) - 1} more problems: `tabpet dataset check {path}`)"
        raise TabpetError(problems[0] + (more if len(problems) > 1 else ""))
    return rows


def parse_sheet(path: Path) -> tuple[list[CatalogRow], list[str]]:
    """The rows of a sheet that can be read, and what is wrong with the others."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise TabpetError(f"There is no catalog {path}. Check `catalogs` in the config.") from None
    except (UnicodeDecodeError, OSError) as error:
        raise TabpetError(
            f"The catalog {path} can't be read ({error}). It must be a CSV file, saved as UTF-8."
        ) from None
    names, separator, body = split_sheet(text)
    unknown = set(names) - set(CatalogRow.model_fields)
    if unknown or not {"name", "task"} <= set(names):
        raise TabpetError(
            f"{path} needs the columns name and task, and may have: "
            f"{', '.join(CatalogRow.model_fields)}. "
            + (f"Not known: {', '.join(sorted(unknown))}." if unknown else "")
        )
    rows, problems = [], []
    lines = io.StringIO(body, newline="")  # a cell in quotes may have several
    reader = csv.DictReader(lines, fieldnames=names, delimiter=separator)
    for number, fields in enumerate(reader, start=2):
        if not any(fields.values()):
            continue  # spreadsheets leave such lines behind
        try:
            rows.append(CatalogRow.model_validate(_parse_fields(fields, path.parent)))
        except ValueError as error:  # also pydantic's
            problems.append(
                f"{path}, line {number} ({fields.get('name') or 'no name'}): {_first_line(error)}"
            )
    return rows, problems


def split_sheet(text: str) -> tuple[list[str], str, str]:
    """The names in the header of a sheet, what separates them, and the lines below it."""
    header, _, body = text.partition("\n")
    separator = ";" if header.count(";") > header.count(",") else ","
    names = [name.strip() for name in next(csv.reader([header], delimiter=separator), [])]
    return names, separator, body


def one_line(text: str) -> str:
    """A text of a spreadsheet without the line breaks in it: of a column's name, wherever it is."""
    return re.sub(r"\s*[\r\n]+\s*", " ", text).strip()


def _parse_fields(fields: Mapping[str | None, str | None], folder: Path) -> dict[str, Any]:
    """Turn the texts of one line into values; empty ones take the defaults."""
    if None in fields or None in fields.values():
        raise ValueError("the line does not have as many cells as the header has columns")
    values: dict[str, Any] = {str(key): one_line(text) for key, text in fields.items() if text}
    for key in LISTS:
        if key in values:
            values[key] = tuple(item.strip() for item in values[key].split(";") if item.strip())
    if "options" in values:
        items = [item for item in values["options"].split(";") if item.strip()]
        if not all(re.fullmatch(r"\s*\w+\s*=\s*[\w.]+\s*", item) for item in items):
            raise ValueError(f"options: write `key=value;key=value`, not {values['options']!r}")
        values["options"] = dict(item.replace(" ", "").split("=") for item in items)
    for key in ("path", "graph"):
        if key in values:
            values[key] = folder / values[key]
    return values


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"]))
        message = problem["msg"].removeprefix("Value error, ")
        return f"{where}: {message}" if where else message
    return str(error)
