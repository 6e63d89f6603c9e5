"""Reading CSV, Parquet and ARFF files as people and spreadsheets write them."""

import csv
import io
import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tabpet.catalog import one_line
from tabpet.data.convention import MISSING_NUMBERS, MISSING_TOKENS
from tabpet.errors import TabpetError
from tabpet.extras import need

NOTES = "tabpet: notes"  # in a frame's attrs: what is worth knowing about how a file was read
SEPARATORS = ",;\t|"
# 1,5 or 1.234,5 or 12: numbers where the comma is the decimal mark.
DECIMAL_COMMA = re.compile(r"[-+]?(\d{1,3}(\.\d{3})+|\d+|(?=,))(,\d+)?([eE][-+]?\d+)?")
THOUSANDS_COMMA = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")
THOUSANDS_POINT = re.compile(r"[-+]?[1-9]\d{0,2}\.\d{3}")
INTEGER_ATTRIBUTE = re.compile(
    r"""^(\s*@attribute\s+(?:'[^']*'|"[^"]*"|\S+)\s+)integer\b""", re.IGNORECASE | re.MULTILINE
)


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV, TSV, Parquet or ARFF file; `as_convention` then settles the kind of a column."""
    path = Path(path)
    if not path.is_file():
        raise TabpetError(f"There is no file {path}. Check the path.")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise TabpetError(f"{path} can't be read: {error.strerror}.") from None
    return parse_table(content, path)


def parse_table(content: bytes, path: Path) -> pd.DataFrame:
    """The table in the bytes of a file, whose ending says how they are read."""
    readers = {
        ".csv": _read_csv,
        ".tsv": _read_csv,
        ".txt": _read_csv,
        ".parquet": _read_parquet,
        ".pq": _read_parquet,
        ".arff": _read_arff,
    }
    if path.suffix.lower() not in readers:
        raise TabpetError(
            f"{path}: files ending in {path.suffix or 'nothing'!r} can't be read. "
            f"Use one of {', '.join(readers)}."
        )
    return _tidy(readers[path.suffix.lower()](content, path), path)


def _tidy(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """A table as it was read, with clean names and something in it."""
    frame.columns = pd.Index(_clean_names(frame.columns), dtype=object)
    if frame.empty:
        raise TabpetError(f"{path} has no rows or no columns.")
    return frame


def _clean_names(names: Iterable[object]) -> list[str]:
    """Column names as text without a byte-order mark; empty ones are numbered."""
    cleaned = [
        one_line(str(name).lstrip("\ufeff")) or f"column_{number}"
        for number, name in enumerate(names, start=1)
    ]
    repeated = sorted({name for name in cleaned if cleaned.count(name) > 1})
    if repeated:
        raise TabpetError(f"The column names {repeated} occur more than once. Rename them.")
    return cleaned


def _read_csv(content: bytes, path: Path) -> pd.DataFrame:
    try:
        return _parse_csv(content, path, "utf-8-sig")
    except UnicodeDecodeError:
        pass
    try:
        if b"\0" in content:  # UTF-16, or no text at all
            raise UnicodeError
        frame = _parse_csv(content, path, "cp1252")
    except UnicodeError:
        raise TabpetError(f"{path} is not UTF-8 text. Save it again as UTF-8.") from None
    frame.attrs[NOTES].insert(
        0, f"{path.name} is not UTF-8 text and was read as Windows-1252: check letters with accents"
    )
    return frame


def _parse_csv(content: bytes, path: Path, encoding: str) -> pd.DataFrame:
    try:
        names, separator = _read_header(content, encoding)
        options: dict[str, Any] = {
            "sep": separator,
            "encoding": encoding,
            "names": _clean_names(names),  # pandas would rename repeated columns without a word
            "header": 0,
            "index_col": False,
            "skipinitialspace": True,
            "keep_default_na": False,
            "na_values": list(MISSING_TOKENS),
            "low_memory": False,
            "float_precision": "round_trip",  # the number that Parquet and ARFF would give
        }
        with warnings.catch_warnings():
            # pandas says so when it would cut rows that are longer than the header.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame: pd.DataFrame = pd.read_csv(io.BytesIO(content), **options)
        notes = []
        commas = {
            str(name): numbers
            for name in frame
            if (numbers := _read_decimal_commas(frame[name], separator)) is not None
        }
        for name, numbers in commas.items():
            frame[name] = numbers
        floats = [name for name in frame if frame[name].dtype == "float64" and name not in commas]
        if commas and floats:
            first = next(iter(commas))
            texts = pd.read_csv(io.BytesIO(content), **options, usecols=floats, dtype=str)
            notes = [
                f"{name}: {number} was read with a decimal point, but {first} has decimal "
                "commas; if the point stands between thousands, remove it"
                for name in floats
                if (number := _find_thousands(texts[name]))
            ]
    except pd.errors.ParserWarning:
        raise TabpetError(
            f"{path} is not a CSV table: rows have more values than the header has names."
        ) from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError, csv.Error) as error:
        raise TabpetError(f"{path} is not a CSV table: {error}") from None
    frame.attrs[NOTES] = notes
    return frame


def _read_header(content: bytes, encoding: str) -> tuple[list[str], str]:
    """The names in the first record that is not blank, and the separator that makes most of it."""
    headers = {}
    for separator in SEPARATORS:
        stream = io.TextIOWrapper(io.BytesIO(content), encoding, newline="")
        records = csv.reader(stream, delimiter=separator, skipinitialspace=True)
        headers[separator] = next((names for names in records if names not in ([], [""])), [])
    separator = max(SEPARATORS, key=lambda separator: len(headers[separator]))
    return headers[separator], separator


def _read_decimal_commas(column: pd.Series, separator: str) -> pd.Series | None:
    """Numbers, if all have decimal commas, or points between thousands; None for others.

    Spreadsheets separate by `;` where the comma is the decimal mark; elsewhere 1,234 may be a
    thousand, and is left alone.
    """
    if separator == "," or column.dtype != object:
        return None
    texts = _texts(column)
    commas = texts[texts.str.contains(",", regex=False)]
    if commas.empty or not texts.str.fullmatch(DECIMAL_COMMA.pattern).all():
        return None
    if separator != ";" and commas.str.fullmatch(THOUSANDS_COMMA.pattern).all():
        return None
    texts = texts.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
    return texts.astype("float64").reindex(column.index)


def _texts(column: pd.Series) -> pd.Series:
    """The values of a column that are not missing."""
    texts = column.dropna().astype(str).str.strip()
    return texts[~texts.isin(MISSING_NUMBERS)]


def _find_thousands(column: pd.Series) -> str | None:
    """The first number with a point, when every point has three digits behind it."""
    texts = _texts(column)
    points = texts[texts.str.contains(".", regex=False)]
    if points.empty or not points.str.fullmatch(THOUSANDS_POINT.pattern).all():
        return None
    return str(points.iloc[0])


def _read_parquet(content: bytes, path: Path) -> pd.DataFrame:
    try:
        # Without pandas' metadata every stored column is a column, also one that was an index.
        frame = pq.ParquetFile(pa.BufferReader(content)).read().to_pandas(ignore_metadata=True)
    except (pa.ArrowException, OSError) as error:
        raise TabpetError(
            f"{path} is not a readable Parquet file ({error}). Copy or download it again."
        ) from None
    unnamed = [name for name in frame if str(name).startswith("__index_level_")]
    return frame.drop(columns=unnamed)


def _read_arff(content: bytes, path: Path) -> pd.DataFrame:
    arff = need("arff", "Reading ARFF files")
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
