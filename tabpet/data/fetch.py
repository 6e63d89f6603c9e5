"""fetch_dataset: from a catalog row to a raw table in one convention, and its card.

The raw table has its features in source order and the target last; numeric columns are int64 or
float64, categorical ones have text levels, and a missing target removes the row.
"""

import logging
import os
from pathlib import Path

import numpy as np
import pandas as pd

from tabpet.catalog import CatalogRow
from tabpet.config import FetchSettings
from tabpet.data.card import Card, check_expectation, make_card
from tabpet.data.readers import as_category, as_convention, read_table
from tabpet.data.synthetic import generate_groups
from tabpet.errors import TabpetError

RESERVED = ("part", "row")  # columns that prepare_split adds
logger = logging.getLogger(__name__)


def fetch_dataset(row: CatalogRow, settings: FetchSettings) -> tuple[pd.DataFrame, Card]:
    """Get the table of a catalog row from its source, check it, and describe it."""
    frame, target, origin = _load(row, settings)
    logger.info("%s: %d rows, %d columns from %s", row.name, *frame.shape, origin)
    frame, target, warnings = _to_raw(frame, row, target)
    card = make_card(frame, row, target, origin, warnings)
    mismatch = check_expectation(card, row)
    if mismatch and settings.on_mismatch == "error":
        raise TabpetError(
            f"{mismatch}\nFix the catalog row, or set `fetch: {{on_mismatch: warn}}` to go on."
        )
    if mismatch:
        card.warnings.append(mismatch)
    for warning in card.warnings:
        logger.warning("%s", warning)
    return frame, card


def mirror_folder(settings: FetchSettings) -> Path | None:
    """The mirror folder: `TABPET_MIRROR`, else the setting, else none."""
    folder = os.environ.get("TABPET_MIRROR") or settings.mirror
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise TabpetError(
            f"The mirror folder {folder} does not exist. Correct TABPET_MIRROR or "
            "`fetch: {mirror: ...}`, or remove it to use OpenML."
        )
    return Path(folder)


def mirror_file(row: CatalogRow, folder: Path) -> Path:
    """Where a mirror folder keeps the table of an OpenML row."""
    return folder / f"{row.name}_v{row.version}.parquet"


def _load(row: CatalogRow, settings: FetchSettings) -> tuple[pd.DataFrame, str | None, str]:
    """The table as its source has it, the name of its target, and where it came from."""
    # Clients and libraries that only one source needs are imported there: they take a second each.
    if row.source == "bundled":
        from tabpet.data.bundled import load_bundled

        return load_bundled(row.name), row.target, "bundled"
    if row.source == "synthetic":
        try:
            return generate_groups(**row.options)[0], row.target, f"generated with {row.options}"
        except TypeError:
            raise TabpetError(
                f"{row.name}: `options` of a synthetic table must be `d=..;k=..;n=..;seed=..` "
                f"and may have `n_categorical=..`; found {row.options}."
            ) from None
    if row.source == "file":
        assert row.path is not None  # the catalog checks it
        return read_table(row.path), row.target, str(row.path)
    folder = mirror_folder(settings)
    if folder is not None and mirror_file(row, folder).is_file():
        return read_table(mirror_file(row, folder)), row.target, mirror_file(row, folder).name
    if folder is not None:
        logger.info("%s is not in the mirror %s: trying OpenML", row.name, folder)
    from tabpet.data.openml_source import download

    table = download(row.openml_id, row.name, row.version, settings)
    return table.frame, row.target or table.default_target, table.origin


def _to_raw(
    frame: pd.DataFrame, row: CatalogRow, target: str | None
) -> tuple[pd.DataFrame, str, list[str]]:
    """Bring a table into the raw convention; returns it, its target's name and warnings."""
    warnings: list[str] = []
    if target is None or target not in frame:
        raise TabpetError(
            f"{row.name}: the target {target!r} is not a column of the table. "
            f"Columns: {_listing(frame.columns)}. Correct `target` in the catalog."
        )
    for option, names in (("categorical", row.categorical), ("ignore", row.ignore)):
        unknown = [name for name in names if name not in frame]
        if unknown:
            raise TabpetError(
                f"{row.name}: `{option}` names {_listing(unknown)}, not columns of the table. "
                f"Columns: {_listing(frame.columns)}."
            )
    frame = frame.drop(columns=[name for name in row.ignore if name != target])
    features = [name for name in frame if name != target]
    if not features:
        raise TabpetError(f"{row.name}: no feature columns are left beside the target {target!r}.")
    columns = {}
    for name in features:
        column = as_category(frame[name]) if name in row.categorical else as_convention(frame[name])
        if column.dtype.kind == "f" and np.isinf(column).any():
            warnings.append(f"{name}: {int(np.isinf(column).sum())} infinite values set to missing")
            column = column.replace([np.inf, -np.inf], np.nan)
        columns[name] = column
    columns[target] = _target_column(frame[target], row)
    renamed = {name: f"{name}_" for name in columns if name in RESERVED}
    for old, new in renamed.items():
        warnings.append(f"column {old!r} renamed to {new!r}: the name is used by prepared splits")
    raw = pd.DataFrame(columns).rename(columns=renamed)
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
        return as_category(column)
    numbers = as_convention(column)
    if isinstance(numbers.dtype, pd.CategoricalDtype):
        numbers = as_convention(numbers.astype(object))
    if isinstance(numbers.dtype, pd.CategoricalDtype):
        raise TabpetError(
            f"{row.name}: the task is regression, but the target {column.name!r} is not numeric "
            f"(values such as {_listing(numbers.cat.categories[:3])}). "
            "Correct `task` or `target` in the catalog."
        )
    return numbers.astype("float64").replace([np.inf, -np.inf], np.nan)


def _listing(names: "pd.Index | list[str]", most: int = 20) -> str:
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return shown + (f", ... ({len(names)} in all)" if len(names) > most else "")
