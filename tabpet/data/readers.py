"""Reading CSV, Parquet and ARFF files into one convention: numbers, or text categories."""

import csv
import re
import warnings
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
INTEGER_ATTRIBUTE = re.compile(
    r"""^(\s*@attribute\s+(?:'[^']*'|"[^"]*"|\S+)\s+)integer\b""", re.IGNORECASE | re.MULTILINE
)


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV, TSV, Parquet or ARFF file; `as_convention` then settles the kind of a column."""
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
    return _tidy(readers[path.suffix.lower()](path), path)


def parse_parquet(content: bytes, path: Path) -> pd.DataFrame:
    """The table in the bytes of a Parquet file; `path` is only named in errors."""
    return _tidy(_from_parquet(pa.BufferReader(content), path), path)


def parse_arff(content: bytes, path: Path) -> pd.DataFrame:
    """The table in the bytes of an ARFF file; `path` is only named in errors."""
    return _tidy(_from_arff(content, path), path)


def as_convention(column: pd.Series) -> pd.Series:
    """A column as float64, int64, or a category whose levels are text."""
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(kind):
        return as_category(column)
    if pd.api.types.is_integer_dtype(kind):
        fits = not column.isna().any() and column.max() <= np.iinfo(np.int64).max
        return column.astype("int64" if fits else "float64")
    if pd.api.types.is_timedelta64_dtype(kind):
        return column.dt.total_seconds()
    if pd.api.types.is_numeric_dtype(kind):
        return column.astype("float64")
    if pd.api.types.is_datetime64_any_dtype(kind):
        return as_category(column.dt.strftime("%Y-%m-%dT%H:%M:%S"))
    return _from_objects(column.astype(object).where(column.notna(), np.nan))


def _from_objects(column: pd.Series) -> pd.Series:
    """A column of Python objects: numbers when all of them are, else categories."""
    nested = column.map(lambda value: isinstance(value, list | dict | set | np.ndarray | bytes))
    if nested.any():
        raise TabpetError(
            f"The column {column.name!r} holds {type(column[nested].iloc[0]).__name__} values, "
            "not numbers or text. Add it to `ignore` in the catalog."
        )
    stripped = column.map(lambda value: value.strip() if isinstance(value, str) else value)
    values = stripped.mask(stripped.isin(MISSING_TOKENS))
    present = values.dropna()
    if not present.empty and present.map(lambda value: isinstance(value, bool)).all():
        return as_category(values)
    numbers = pd.to_numeric(values, errors="coerce")
    if not present.empty and numbers.notna().equals(values.notna()):
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


def _tidy(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """A table as it was read, with clean names and something in it."""
    frame.columns = pd.Index(_clean_names(frame.columns), dtype=object)
    if frame.empty:
        raise TabpetError(f"{path} has no rows or no columns.")
    return frame


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
        names = next(csv.reader([header], delimiter=separator, skipinitialspace=True), [])
        with warnings.catch_warnings():
            # pandas says so when it would cut rows that are longer than the header.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                path,
                sep=separator,
                encoding="utf-8-sig",
                names=_clean_names(names),  # pandas would rename repeated columns without a word
                header=0,
                index_col=False,
                skipinitialspace=True,
                keep_default_na=False,
                na_values=MISSING_TOKENS,
                low_memory=False,
                float_precision="round_trip",  # the number that Parquet and ARFF would give
            )
    except UnicodeDecodeError:
        raise TabpetError(f"{path} is not UTF-8 text. Save it again as UTF-8.") from None
    except pd.errors.ParserWarning:
        raise TabpetError(
            f"{path} is not a CSV table: rows have more cells than the header has names."
        ) from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise TabpetError(f"{path} is not a CSV table: {error}") from None


def _read_parquet(path: Path) -> pd.DataFrame:
    return _from_parquet(path, path)


def _from_parquet(source: Path | pa.BufferReader, path: Path) -> pd.DataFrame:
    try:
        # Without pandas' metadata every stored column is a column, also one that was an index.
        frame = pq.ParquetFile(source).read().to_pandas(ignore_metadata=True)
    except (pa.ArrowException, OSError) as error:
        raise TabpetError(
            f"{path} is not a readable Parquet file ({error}). Copy or download it again."
        ) from None
    unnamed = [name for name in frame if str(name).startswith("__index_level_")]
    return frame.drop(columns=unnamed)


def _read_arff(path: Path) -> pd.DataFrame:
    return _from_arff(path.read_bytes(), path)


def _from_arff(content: bytes, path: Path) -> pd.DataFrame:
    try:
        text = content.decode("utf-8-sig")
        # liac-arff cuts the decimals of INTEGER columns, and files do have them.
        decoded = arff.loads(INTEGER_ATTRIBUTE.sub(r"\1REAL", text))
    except UnicodeDecodeError:
        raise TabpetError(f"{path} is not UTF-8 text. Save it again as UTF-8.") from None
    except arff.ArffException as error:
        raise TabpetError(f"{path} is not a readable ARFF file: {error}") from None
    names = [name for name, _ in decoded["attributes"]]
    frame = pd.DataFrame(decoded["data"], columns=pd.Index(names, dtype=object))
    for position, (_, kind) in enumerate(decoded["attributes"]):
        if isinstance(kind, list):
            levels = pd.Categorical(frame.iloc[:, position], categories=list(dict.fromkeys(kind)))
            frame.isetitem(position, levels)
    return frame
