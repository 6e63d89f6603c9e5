"""fetch_dataset: from a catalog row to a raw table in one convention, and its card.

The raw table has its features in source order and the target last; numeric columns are int64 or
float64, categorical ones have text levels, and a missing target removes the row.
"""

import difflib
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tabpet.catalog import CatalogRow
from tabpet.data.card import Card, check_content, check_expectation, make_card
from tabpet.data.convention import (
    RESERVED,
    as_classes,
    as_convention,
    describe_reading,
    free_name,
    not_numbers,
    to_convention,
)
from tabpet.data.readers import NOTES, read_table
from tabpet.data.synthetic import generate_table
from tabpet.data.true_graph import TrueGraph, read_edges
from tabpet.errors import TabpetError
from tabpet.extras import need
from tabpet.places import find_mirror
from tabpet.settings import FetchSettings

ADVICE = (
    "If this is the right table, correct the catalog row: what the table has is shown above. If it "
    "is not, get the right one. `fetch: {on_mismatch: warn}` goes on with a warning."
)
logger = logging.getLogger(__name__)


def fetch_dataset(row: CatalogRow, settings: FetchSettings) -> tuple[pd.DataFrame, Card]:
    """Get the table of a catalog row from its source, check it, and describe it."""
    loaded = _load(row, settings)
    logger.info("%s: %d rows, %d columns from %s", row.name, *loaded.frame.shape, loaded.origin)
    frame, target, warnings = _to_raw(loaded.frame, row, loaded.target)
    card = make_card(frame, row, target, loaded.origin, warnings)
    card.openml_id, card.version = loaded.openml_id, loaded.version
    card.true_graph = loaded.true_graph
    if row.graph is not None:
        card.true_graph = read_edges(row.graph, set(frame.columns) - {target})
    shape, content = check_expectation(card, row), check_content(card, row)
    if content and loaded.downloaded and row.sha256_of == "mirror":
        card.warnings.append(
            f"{content}\nThe catalog's hash is that of a copy which was not compared with OpenML."
        )
        content = None
    mismatches = [text for text in (shape, content) if text]
    if mismatches and settings.on_mismatch == "error":
        raise TabpetError("\n".join([*mismatches, ADVICE]))
    card.warnings += mismatches
    for warning in card.warnings:
        logger.warning("%s", warning)
    return frame, card


def mirror_file(row: CatalogRow, folder: Path) -> Path | None:
    """The mirror's file for an OpenML row; without a version, the only one of that name."""
    version = "*" if row.version is None else row.version
    files = sorted(folder.glob(f"{row.name}_v{version}.parquet"))
    if len(files) > 1:
        raise TabpetError(
            f"{row.name}: the mirror has {', '.join(path.name for path in files)}. "
            "Name one of them by `version` in the catalog."
        )
    return files[0] if files else None


@dataclass(frozen=True)
class _Loaded:
    """A table as its source has it, and what the source says about it."""

    frame: pd.DataFrame
    target: str | None
    origin: str
    openml_id: int | None = None
    version: int | None = None
    downloaded: bool = False  # from OpenML itself
    true_graph: TrueGraph | None = None


def _load(row: CatalogRow, settings: FetchSettings) -> _Loaded:
    # Clients and libraries that only one source needs are imported there: they take a second each.
    if row.source == "bundled":
        from tabpet.data.bundled import load_bundled

        return _Loaded(load_bundled(row.name), row.target, "bundled")
    if row.source == "synthetic":
        try:
            table, truth = generate_table(row.options)
        except TabpetError as error:
            raise TabpetError(f"{row.name}: {error}") from None
        origin = f"generated with {row.options}"
        return _Loaded(table, row.target, origin, true_graph=truth)
    if row.source == "file":
        assert row.path is not None  # the catalog checks it
        return _Loaded(read_table(row.path), row.target, str(row.path))
    folder = find_mirror(settings).mirror
    if folder is not None and (path := mirror_file(row, folder)):
        return _Loaded(read_table(path), row.target, path.name, row.openml_id, row.version)
    if folder is not None:
        logger.info("%s is not in the mirror %s: trying OpenML", row.name, folder)
    table = need("tabpet.data.openml_source", "A download from OpenML").download(
        row.openml_id, row.name, row.version, settings
    )
    if row.version is not None and table.version != row.version:
        raise TabpetError(
            f"{row.name}: the catalog says version {row.version}, but OpenML dataset "
            f"{table.openml_id} is version {table.version}. Correct one of them in the catalog."
        )
    target = row.target or table.default_target
    return _Loaded(
        table.frame, target, table.origin, table.openml_id, table.version, downloaded=True
    )


def _to_raw(
    frame: pd.DataFrame, row: CatalogRow, target: str | None
) -> tuple[pd.DataFrame, str, list[str]]:
    """Bring a table into the raw convention; returns it, its target's name and warnings."""
    if target is None or target not in frame:
        problem = f"the target {target!r} is not a column of the table" if target else "no target"
        raise TabpetError(
            f"{row.name}: {problem}. {nearest(target or '', frame.columns)} Correct `target` in "
            "the catalog."
        )
    for option, names in (("categorical", row.categorical), ("ignore", row.ignore)):
        unknown = [name for name in names if name not in frame]
        if unknown:
            raise TabpetError(
                f"{row.name}: `{option}` names {_listing(unknown)}, not columns of the table. "
                f"{nearest(unknown[0], frame.columns)}"
            )
    frame = frame.drop(columns=[name for name in row.ignore if name != target])
    features = [name for name in frame if name != target]
    if not features:
        raise TabpetError(f"{row.name}: no feature columns are left beside the target {target!r}.")
    columns, warnings = to_convention(frame[features], row.categorical)
    warnings = [*frame.attrs.get(NOTES, ()), *warnings]
    columns[target] = _target_column(frame[target], row)
    warnings += describe_reading(frame[target], columns[target])
    renamed = {name: free_name(name, columns) for name in columns if name in RESERVED}
    for old, new in renamed.items():
        warnings.append(f"column {old!r} renamed to {new!r}: the name is used by prepared splits")
    raw = columns.rename(columns=renamed)
    target = renamed.get(target, target)
    unlabelled = int(raw[target].isna().sum())
    if unlabelled:
        warnings.append(f"{unlabelled} rows without a target were dropped")
        raw = raw[raw[target].notna()].reset_index(drop=True)
    if raw.empty:
        raise TabpetError(f"{row.name}: every value of the target {target!r} is missing.")
    return raw, target, warnings


def _target_column(column: pd.Series, row: CatalogRow) -> pd.Series:
    if row.task == "classification":
        return as_classes(column)
    numbers = as_convention(column)
    if isinstance(numbers.dtype, pd.CategoricalDtype):
        numbers = as_convention(numbers.astype(object))
    if isinstance(numbers.dtype, pd.CategoricalDtype):
        raise TabpetError(
            f"{row.name}: the task is regression, but the target {column.name!r} is not numeric "
            f"(values such as {_listing(not_numbers(numbers.cat.categories)[:3])}). "
            "Correct these values, or the task or the target."
        )
    return numbers.astype("float64").replace([np.inf, -np.inf], np.nan)


def nearest(name: str, known: Iterable[object]) -> str:
    """The columns whose names are near a wrong one, or all of them."""
    names = [str(column) for column in known]
    lower = {column.lower(): column for column in names}
    close = difflib.get_close_matches(name.lower(), list(lower), n=3, cutoff=0.5)
    if close:
        return f"Did you mean {' or '.join(repr(lower[column]) for column in close)}?"
    return f"Columns: {_listing(names)}."


def _listing(names: "pd.Index | list[str]", most: int = 20) -> str:
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return shown + (f", ... ({len(names)} in all)" if len(names) > most else "")
