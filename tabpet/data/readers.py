"""Reading CSV, Parquet and ARFF files into one convention: numbers, or text categories."""

import csv
import re
from collections.abc import Iterable
from pathlib import Path

import arff
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tabpet.errors import TabpetError

MISSING_TOKENS = ["", "?", "NA", "N/A", "NaN", "nan", "null", "NULL"]
SEPARATORS = ",;\t|"


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV, TSV, Parquet or ARFF file; columns are float64, int64 or text categories."""
    path = Path(path)
    readers = {
        ".csv": _read_csv,
        ".tsv": _read_csv,
        ".txt": _read_csv,
        ".parquet": _read_parquet,
        ".pq": _read_parquet,
        ".arff": _read_arff,
    }
    if not path.is_file():
        raise TabpetError(f"There is no file {path}. Check the `path` in the catalog.")
    if path.suffix.lower() not in readers:
        raise TabpetError(
            f"{path}: files ending in {path.suffix or 'nothing'!r} can't be read. "
            f"Use one of {', '.join(readers)}."
        )
    frame = readers[path.suffix.lower()](path)
    frame.columns = _clean_names(frame.columns)
    if frame.empty:
        raise TabpetError(f"{path} has no rows or no columns.")
    return pd.DataFrame({name: as_convention(frame[name]) for name in frame.columns})


def as_convention(column: pd.Series) -> pd.Series:
    """A column as float64, int64, or a category whose levels are text."""
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        return as_category(column)
    if pd.api.types.is_bool_dtype(kind):
        return as_category(column)
    if pd.api.types.is_integer_dtype(kind) and not column.isna().any():
        return column.astype("int64")
    if pd.api.types.is_numeric_dtype(kind):
        return column.astype("float64")
    if pd.api.types.is_datetime64_any_dtype(kind):
        return as_category(column.dt.strftime("%Y-%m-%dT%H:%M:%S"))
    values = column.map(lambda value: np.nan if value in MISSING_TOKENS else value)
    numbers = pd.to_numeric(values, errors="coerce")
    if numbers.notna().any() and numbers.notna().equals(values.notna()):
        return as_convention(numbers)
    return as_category(values)


def as_category(column: pd.Series) -> pd.Series:
    """A column as a category with text levels that occur; known levels keep their order."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        known: list = list(column.cat.categories)
        values = column.astype(object)
    else:
        values = column.astype(object)
        known = sorted(values.dropna().unique(), key=_level_order)
    texts = {level: level_text(level) for level in known}
    levels = list(dict.fromkeys(texts[level] for level in known))
    category = pd.Categorical(values.map(texts), categories=levels)
    return pd.Series(category.remove_unused_categories(), index=column.index, name=column.name)


def level_text(value: object) -> str:
    """The text of a category level: 1 and 1.0 are the same level."""
    if isinstance(value, bytes):
        value = value.decode("utf-8")
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    return str(value).strip()


def _level_order(value: object) -> tuple[bool, float, str]:
    text = level_text(value)
    try:
        return (False, float(text), text)
    except ValueError:
        return (True, 0.0, text)


def _clean_names(names: Iterable[object]) -> list[str]:
    """Column names as text without a byte-order mark; empty ones are numbered."""
    cleaned = [
        str(name).lstrip("\ufeff").strip() or f"column_{number}"
        for number, name in enumerate(names, start=1)
    ]
    repeated = sorted({name for name in cleaned if cleaned.count(name) > 1})
    if repeated:
        raise TabpetError(f"The column names {repeated} occur more than once. Rename them.")
    return cleaned


def _read_csv(path: Path) -> pd.DataFrame:
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            header = stream.readline()
        separator = max(SEPARATORS, key=re.sub(r'"[^"]*"', "", header).count)
        # Checked here because pandas would rename repeated columns without a word.
        _clean_names(next(csv.reader([header], delimiter=separator, skipinitialspace=True), []))
        return pd.read_csv(
            path,
            sep=separator,
            encoding="utf-8-sig",
            skipinitialspace=True,
            keep_default_na=False,
            na_values=MISSING_TOKENS,
            low_memory=False,
        )
    except UnicodeDecodeError:
        raise TabpetError(f"{path} is not UTF-8 text. Save it again as UTF-8.") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise TabpetError(f"{path} is not a CSV table: {error}") from None


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        return pq.read_table(path).to_pandas()
    except (pa.ArrowInvalid, pa.ArrowException, OSError) as error:
        raise TabpetError(f"{path} is not a readable Parquet file: {error}") from None


def _read_arff(path: Path) -> pd.DataFrame:
    try:
        with path.open(encoding="utf-8-sig") as stream:
            content = arff.load(stream)
    except UnicodeDecodeError:
        raise TabpetError(f"{path} is not UTF-8 text. Save it again as UTF-8.") from None
    except arff.ArffException as error:
        raise TabpetError(f"{path} is not a readable ARFF file: {error}") from None
    names = [name for name, _ in content["attributes"]]
    frame = pd.DataFrame(content["data"], columns=pd.Index(names, dtype=object))
    for position, (_, kind) in enumerate(content["attributes"]):
        if isinstance(kind, list):
            levels = pd.Categorical(frame.iloc[:, position], categories=list(dict.fromkeys(kind)))
            frame.isetitem(position, levels)
    return frame
