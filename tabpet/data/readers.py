"""Reading CSV, Parquet and ARFF files as people and spreadsheets write them."""

import csv
import re
import warnings
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tabpet.data.convention import MISSING_NUMBERS, MISSING_TOKENS
from tabpet.errors import TabpetError
from tabpet.extras import need

SEPARATORS = ",;\t|"
# 1,5 or 1.234,5 or 12: numbers where the comma is the decimal mark.
DECIMAL_COMMA = re.compile(r"[-+]?(\d{1,3}(\.\d{3})+|\d+|(?=,))(,\d+)?([eE][-+]?\d+)?")
LINE_BREAK = re.compile(r"\s*[\r\n]+\s*")
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


def _tidy(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """A table as it was read, with clean names and something in it."""
    frame.columns = pd.Index(_clean_names(frame.columns), dtype=object)
    if frame.empty:
        raise TabpetError(f"{path} has no rows or no columns.")
    return frame


def _clean_names(names: Iterable[object]) -> list[str]:
    """Column names as text without a byte-order mark; empty ones are numbered."""
    cleaned = [
        LINE_BREAK.sub(" ", str(name).lstrip("\ufeff")).strip() or f"column_{number}"
        for number, name in enumerate(names, start=1)
    ]
    repeated = sorted({name for name in cleaned if cleaned.count(name) > 1})
    if repeated:
        raise TabpetError(f"The column names {repeated} occur more than once. Rename them.")
    return cleaned


def _read_csv(path: Path) -> pd.DataFrame:
    try:
        header = _read_header(path)
        separator = max(SEPARATORS, key=re.sub(r'"[^"]*"', "", header).count)
        names = next(csv.reader([header], delimiter=separator, skipinitialspace=True), [])
        with warnings.catch_warnings():
            # pandas says so when it would cut rows that are longer than the header.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                path,
                sep=separator,
                encoding="utf-8-sig",
                names=_clean_names(names),  # pandas would rename repeated columns without a word
                header=0,
                index_col=False,
                skipinitialspace=True,
                keep_default_na=False,
                na_values=list(MISSING_TOKENS),
                low_memory=False,
                float_precision="round_trip",  # the number that Parquet and ARFF would give
            )
        if separator != ",":
            for name in frame:
                frame[name] = _read_decimal_commas(frame[name])
        return frame
    except UnicodeDecodeError:
        raise TabpetError(f"{path} is not UTF-8 text. Save it again as UTF-8.") from None
    except pd.errors.ParserWarning:
        raise TabpetError(
            f"{path} is not a CSV table: rows have more cells than the header has names."
        ) from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise TabpetError(f"{path} is not a CSV table: {error}") from None


def _read_header(path: Path) -> str:
    """The first record of a text file: names in quotes may have line breaks."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        header = stream.readline()
        while header.count('"') % 2 and (line := stream.readline()):
            header += line
    return header


def _read_decimal_commas(column: pd.Series) -> pd.Series:
    """A column whose numbers all have decimal commas, or points between thousands, as numbers."""
    if column.dtype != object:
        return column
    texts = column.dropna().astype(str).str.strip()
    texts = texts[~texts.isin(MISSING_NUMBERS)]
    if not texts.str.contains(",", regex=False).any():
        return column
    if not texts.str.fullmatch(DECIMAL_COMMA.pattern).all():
        return column
    numbers = texts.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
    return numbers.astype("float64").reindex(column.index)


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
