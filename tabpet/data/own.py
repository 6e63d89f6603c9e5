"""A person's own file: a catalog row is made for it, with the task read from the target."""

import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from tabpet.catalog import CatalogRow, Task, name_problem
from tabpet.data.card import Card
from tabpet.data.convention import as_convention
from tabpet.data.fetch import fetch_dataset, nearest
from tabpet.data.readers import read_table
from tabpet.errors import TabpetError
from tabpet.settings import FetchSettings

MOST_CLASSES = 20  # whole numbers with more different values are numbers to predict


def read_own(
    path: Path,
    target: str,
    name: str | None = None,
    task: str | None = None,
    categorical: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> tuple[CatalogRow, pd.DataFrame, Card]:
    """The catalog row of a file, its raw table and its card; wrong names get the nearest ones."""
    frame = read_table(path)
    for wanted in (target, *categorical, *ignore):
        if wanted not in frame:
            raise TabpetError(f"{path} has no column {wanted!r}. {nearest(wanted, frame.columns)}")
    if target in {*categorical, *ignore}:
        raise TabpetError(
            f"{target!r} is the target: --ignore and --categorical are for features. A target of "
            "categories is --task classification."
        )
    if task not in (None, "classification", "regression"):
        raise TabpetError(f"The task is {task!r}; allowed are classification and regression.")
    if name is not None and (problem := name_problem(name)):
        raise TabpetError(f"The name {name!r}: {problem}.")
    row = CatalogRow(
        name=name or _safe_name(path.stem),
        path=path,
        task=task or guess_task(frame[target]),
        target=target,
        categorical=tuple(categorical),
        ignore=tuple(ignore),
    )
    raw, card = fetch_dataset(row, FetchSettings())
    return row, raw, card


def guess_task(target: pd.Series) -> Task:
    """Classification for text, truth values and few different whole numbers."""
    values = as_convention(target)
    if isinstance(values.dtype, pd.CategoricalDtype):
        return "classification"
    present = values.dropna()
    few = present.nunique() <= MOST_CLASSES and bool((present % 1 == 0).all())
    return "classification" if few else "regression"


def describe_target(card: Card) -> str:
    """The task in a few words."""
    target = card.target
    if target.classes is not None:
        counts = [f"{name} ({rows})" for name, rows in list(target.classes.items())[:6]]
        more = f" and {len(target.classes) - 6} more" if len(target.classes) > 6 else ""
        return f"classification of {target.name!r}: {', '.join(counts)}{more}"
    assert target.range is not None
    low, high = target.range
    return f"regression of {target.name!r}: {low:g} to {high:g}"


def _safe_name(stem: str) -> str:
    """A name for a folder from that of a file."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", stem).strip("-_") or "table"
