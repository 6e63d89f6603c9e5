"""The card of a fetched table: what it holds, where it came from, and what looks odd about it."""

import hashlib
import json
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel

from tabpet.catalog import CatalogRow, Task
from tabpet.data.true_graph import TrueGraph
from tabpet.errors import TabpetError

MAX_LISTED_LEVELS = 50


class Column(BaseModel):
    """Facts about one feature column."""

    name: str
    kind: Literal["numeric", "categorical"]
    missing: int
    distinct: int
    levels: list[str] | None = None  # of a categorical column, the first 50


class Target(BaseModel):
    """Facts about the target column."""

    name: str
    classes: dict[str, int] | None = None  # class -> rows
    range: tuple[float, float] | None = None
    mean: float | None = None


class Card(BaseModel):
    """Everything worth knowing about a raw table before it is used."""

    dataset: str
    source: str
    origin: str  # file, address or generator that the table was taken from
    openml_id: int | None = None  # of the table that was fetched
    version: int | None = None
    sha256: str  # see `table_hash`
    task: Task
    rows: int
    columns: list[Column]
    target: Target
    duplicate_rows: int
    constant_columns: list[str]
    id_like_columns: list[str]
    warnings: list[str]
    true_graph: TrueGraph | None = None  # where it is known

    @property
    def shape(self) -> dict[str, int]:
        """The shape by the names that a catalog has for it."""
        kinds = [column.kind for column in self.columns]
        return {
            "n_rows": self.rows,
            "n_features": len(kinds),
            "n_categorical": kinds.count("categorical"),
        }


def make_card(
    frame: pd.DataFrame, row: CatalogRow, target: str, origin: str, warnings: list[str]
) -> Card:
    """Describe a table in the raw convention (target column last)."""
    features = frame.drop(columns=target)
    columns = [_describe(features[name]) for name in features]
    constant = [column.name for column in columns if column.distinct == 1]
    empty = [column.name for column in columns if column.distinct == 0]
    id_like = [column.name for column in columns if _looks_like_id(features[column.name])]
    odd = {
        "columns without any value": empty,
        "constant columns": constant,
        "columns that look like row identifiers": id_like,
    }
    notes = [f"{what}: {', '.join(names)}" for what, names in odd.items() if names]
    return Card(
        dataset=row.name,
        source=row.source,
        origin=origin,
        sha256=table_hash(frame),
        task=row.task,
        rows=len(frame),
        columns=columns,
        target=_describe_target(frame[target], row.name),
        duplicate_rows=int(frame.duplicated().sum()),
        constant_columns=constant,
        id_like_columns=id_like,
        warnings=[*warnings, *notes],
    )


def check_expectation(card: Card, row: CatalogRow) -> str | None:
    """None when the table has the shape that its catalog row says, else a text showing both."""
    lines = [
        f"  {key}: catalog {expected}, table {number}"
        for key, number in card.shape.items()
        if (expected := getattr(row, key)) is not None and expected != number
    ]
    if not lines:
        return None
    return "\n".join(
        [f"{row.name}: the table from {card.origin} is not what the catalog expects:", *lines]
    )


def check_content(card: Card, row: CatalogRow) -> str | None:
    """None when the table has the content hash of its catalog row, else a text showing both."""
    if row.sha256 is None or card.sha256.startswith(row.sha256):
        return None
    return (
        f"{row.name}: the table from {card.origin} has changed under the same name and version:"
        f"\n  sha256: catalog {row.sha256}, table {card.sha256[: len(row.sha256)]}"
    )


def copies_of(card: Card, cards: Sequence[Card]) -> list[str]:
    """The other datasets that are the same table, which a test over datasets counts twice."""
    return [other.dataset for other in cards if other.sha256 == card.sha256 and other is not card]


def describe_copies(names: Sequence[str]) -> list[str]:
    """A warning about them, if there are any."""
    return [f"the same table as {', '.join(names)}"] if names else []


def table_hash(frame: pd.DataFrame) -> str:
    """SHA-256 of a table in the raw convention, the same whichever format it was read from.

    Every column is a line of JSON: `[name, "numeric" or "categorical", values in row order]`.
    Numbers are text with ten significant digits, levels are text with true and false in small
    letters, missing values are null. The order of levels and the type of numbers are no part of it.
    """
    digest = hashlib.sha256()
    for name in frame:
        column = frame[name]
        categorical = isinstance(column.dtype, pd.CategoricalDtype)
        kind = "categorical" if categorical else "numeric"
        values = _level_texts(column) if categorical else _number_texts(column)
        digest.update(f"{json.dumps([name, kind, values])}\n".encode())
    return digest.hexdigest()


def _number_texts(column: pd.Series) -> list[str | None]:
    values = column.to_numpy(dtype="float64") + 0.0  # -0.0 becomes 0.0
    return [None if value != value else f"{value:.9e}" for value in values.tolist()]


def _level_texts(column: pd.Series) -> list[str | None]:
    # ARFF files write true or TRUE where Parquet has a boolean.
    levels = [
        text.lower() if text.lower() in ("true", "false") else text
        for text in map(str, column.cat.categories)
    ]
    return [levels[code] if code >= 0 else None for code in column.cat.codes]


def _describe(column: pd.Series) -> Column:
    levels = None
    if isinstance(column.dtype, pd.CategoricalDtype):
        levels = [str(level) for level in column.cat.categories[:MAX_LISTED_LEVELS]]
    return Column(
        name=str(column.name),
        kind="numeric" if levels is None else "categorical",
        missing=int(column.isna().sum()),
        distinct=int(column.nunique()),
        levels=levels,
    )


def _describe_target(column: pd.Series, dataset: str) -> Target:
    name = str(column.name)
    if isinstance(column.dtype, pd.CategoricalDtype):
        counts = column.value_counts(sort=False)
        if len(counts) < 2:
            raise TabpetError(
                f"{dataset}: the target {name!r} has only one class ({counts.index[0]!r}), so "
                "there is nothing to classify. Is it the right column?"
            )
        return Target(name=name, classes={str(level): int(n) for level, n in counts.items()})
    low, high = float(column.min()), float(column.max())
    if low == high:
        raise TabpetError(
            f"{dataset}: the target {name!r} is {low:g} in every row, so there is nothing to "
            "predict. Is it the right column?"
        )
    return Target(name=name, range=(low, high), mean=float(column.mean()))


def _looks_like_id(column: pd.Series) -> bool:
    """All values distinct, and either text, a run of whole numbers, or too large for a float."""
    if column.nunique() < len(column) or len(column) < 10:
        return False
    if isinstance(column.dtype, pd.CategoricalDtype):
        return True
    values = np.sort(column.to_numpy())
    if values.dtype.kind == "i" and np.abs(values[[0, -1]].astype("float64")).max() > 2**53:
        return True
    return bool((values == np.floor(values)).all() and values[-1] - values[0] == len(values) - 1)
