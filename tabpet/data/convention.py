"""The one convention for columns: int64, float64, or categories whose levels are text.

Tables from files, OpenML and people's own data frames all pass through here.
"""

import re
from collections.abc import Collection, Hashable, Mapping

import numpy as np
import pandas as pd

from tabpet.errors import TableError

RESERVED = ("part", "row")  # columns that prepare_split adds
MISSING_TOKENS = (
    *("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "<NA>"),
    *("#N/A", "#NA", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"),  # spreadsheets'
)
# What people write where a number is missing; in a column of words each of them may be an answer
# (no garage: "None"), so it counts as missing among numbers alone.
MISSING_NUMBERS = (
    *("None", "none", "n/a", "na", "N.A.", "n.a.", "nil", "missing", "Missing", "unknown"),
    *("-", "--", "\N{EN DASH}", "\N{EM DASH}", ".", ".."),
)
_NUMBER_WITH_MARKS = re.compile(r"[-+]?([$€£¥]\s*)?[-+]?[\d.,' ]*\d[.,]?\s*\S{0,2}")
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
_DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})"
    rf"|(\d{{1,2}}[-/. ]+)?{_MONTH}[-/., ]+(\d{{1,2}}, *)?(\d{{4}}|\d{{2}}))([T ].*)?",
    re.IGNORECASE,
)
_BEYOND = 2**63  # the first whole number that int64 does not have
_SHOWN = 3  # values that a message names


def to_convention(
    frame: pd.DataFrame, categorical: Collection[str] = ()
) -> tuple[pd.DataFrame, list[str]]:
    """All columns in the convention, and what is worth knowing about how they were read."""
    warnings: list[str] = []
    columns = {}
    for name in frame:
        column = _as_levels(frame[name]) if name in categorical else as_convention(frame[name])
        if name not in categorical:
            warnings += describe_reading(frame[name], column)
        columns[name], infinite = _without_infinities(column)
        if infinite:
            warnings.append(f"{name}: {infinite} infinite values set to missing")
    return pd.DataFrame(columns, index=frame.index), warnings


def follow_convention(
    frame: pd.DataFrame, levels: Mapping[str, Collection[str] | None]
) -> pd.DataFrame:
    """The named columns of a later table as they were before: levels, or None for numbers."""
    columns = {
        name: _as_numbers(frame[name]) if known is None else _as_levels(frame[name])
        for name, known in levels.items()
    }
    return pd.DataFrame(columns, index=frame.index)


def as_classes(column: pd.Series) -> pd.Series:
    """The target of a classification; among number-coded classes `-` is missing, no class."""
    if not _holds_objects(column):
        return as_category(column)
    values = _tidy_objects(column)
    coded = _numbers_of(values) is not None
    return as_category(values.mask(values.isin(MISSING_NUMBERS)) if coded else values)


def not_numbers(values: pd.Index) -> pd.Index:
    """The texts among levels that are no numbers."""
    return values[pd.to_numeric(values.to_series(), errors="coerce").isna().to_numpy()]


def _as_levels(column: pd.Series) -> pd.Series:
    """A column that is known to hold categories."""
    return as_category(_tidy_objects(column) if _holds_objects(column) else column)


def _as_numbers(column: pd.Series) -> pd.Series:
    """A column that held numbers before, as float64."""
    if _holds_objects(column) or isinstance(column.dtype, pd.CategoricalDtype):
        values = _tidy_objects(column)
        numbers = _numbers_of(values)
        if numbers is None:
            wrong = values[pd.to_numeric(values, errors="coerce").isna() & values.notna()]
            raise TableError(
                f"The column {column.name!r} held numbers before and now holds "
                f"{_examples(wrong)}. Correct these values or make them missing."
            )
        column = numbers
    elif pd.api.types.is_timedelta64_dtype(column.dtype):
        column = column.dt.total_seconds()
    return _without_infinities(column.astype("float64"))[0]


def free_name(name: str, taken: Collection[Hashable]) -> str:
    """`name`, with underscores added until it is neither taken nor reserved."""
    while name in taken or name in RESERVED:
        name += "_"
    return name


def as_convention(column: pd.Series) -> pd.Series:
    """A column as float64, int64, or a category whose levels are text."""
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(kind):
        return as_category(column)
    if pd.api.types.is_integer_dtype(kind):
        if not column.isna().any() and column.max() < _BEYOND:
            return column.astype("int64")
        numbers = column.astype("float64")
        return as_category(column) if _are_identifiers(column, numbers) else numbers
    if pd.api.types.is_timedelta64_dtype(kind):
        return column.dt.total_seconds()
    if pd.api.types.is_numeric_dtype(kind):
        return column.astype("float64")
    if pd.api.types.is_datetime64_any_dtype(kind):
        return as_category(column.dt.strftime("%Y-%m-%dT%H:%M:%S"))
    return _from_objects(column)


def _from_objects(column: pd.Series) -> pd.Series:
    """A column of Python objects: numbers when all of them are, else categories."""
    values = _tidy_objects(column)
    present = values.dropna()
    if present.empty or present.map(lambda value: isinstance(value, bool)).all():
        return as_category(values)
    numbers = _numbers_of(values)
    if numbers is None or _are_identifiers(values, numbers):
        return as_category(values)
    return as_convention(numbers)


def _are_identifiers(values: pd.Series, numbers: pd.Series) -> bool:
    """Whether values beyond 64 bits are numbers that a float can't tell from each other."""
    floats = numbers.astype("float64")
    finite = floats[np.isfinite(floats)]
    return bool(finite.abs().max() >= _BEYOND) and floats.nunique() < values.nunique()


def _holds_objects(column: pd.Series) -> bool:
    return pd.api.types.is_object_dtype(column.dtype) or pd.api.types.is_string_dtype(column.dtype)


def _tidy_objects(column: pd.Series) -> pd.Series:
    """Python objects without spaces around them, what stands for nothing as missing."""
    column = column.astype(object).where(column.notna(), np.nan)
    nested = column.map(lambda value: isinstance(value, list | dict | set | np.ndarray | bytes))
    if nested.any():
        raise TableError(
            f"The column {column.name!r} holds {type(column[nested].iloc[0]).__name__} values, "
            "not numbers or text. Leave it out; in a catalog, add it to `ignore`."
        )
    stripped = column.map(lambda value: value.strip() if isinstance(value, str) else value)
    return stripped.mask(stripped.isin(MISSING_TOKENS))


def _numbers_of(values: pd.Series) -> pd.Series | None:
    """Numbers, or None when something else is among them."""
    values = values.mask(values.isin(MISSING_NUMBERS))
    numbers = pd.to_numeric(values, errors="coerce")
    return numbers if len(values.dropna()) and numbers.notna().equals(values.notna()) else None


def as_category(column: pd.Series) -> pd.Series:
    """A column as a category with text levels that occur; known levels keep their order."""
    values = column.astype(object)
    if isinstance(column.dtype, pd.CategoricalDtype):
        known: list = list(column.cat.categories)
    else:
        known = sorted(values.dropna().unique(), key=_level_order)
    texts = {level: level_text(level) for level in known}
    category = pd.Categorical(values.map(texts), categories=list(dict.fromkeys(texts.values())))
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


def _without_infinities(column: pd.Series) -> tuple[pd.Series, int]:
    """The column with infinite values missing, and how many there were."""
    if column.dtype.kind != "f" or not np.isinf(column).any():
        return column, 0
    return column.replace([np.inf, -np.inf], np.nan), int(np.isinf(column).sum())


def describe_reading(before: pd.Series, after: pd.Series) -> list[str]:
    """Warnings about a column that was read as categories and may have been meant otherwise."""
    if not isinstance(after.dtype, pd.CategoricalDtype):
        return []
    name, levels = before.name, after.cat.categories
    if pd.api.types.is_datetime64_any_dtype(before.dtype) or _looks_like_dates(levels):
        return [
            f"{name}: dates such as {_examples(levels)} were read as {len(levels)} categories; "
            "make numbers of them (year, month, days since), or leave the column out"
        ]
    if any(level.isdecimal() and int(level) >= _BEYOND for level in levels):
        return [
            f"{name}: numbers of more than 64 bits, as identifiers are, were read as {len(levels)} "
            "categories; leave such a column out"
        ]
    if not _holds_objects(before) or len(levels) < 10:
        return []
    odd = not_numbers(levels)
    if odd.empty:  # number-coded classes
        return []
    if len(odd) <= len(levels) // 10:
        return [
            f"{name}: {len(levels) - len(odd)} numbers were read as categories because of "
            f"{_examples(odd)}; correct these values or make them missing"
        ]
    if levels.str.fullmatch(_NUMBER_WITH_MARKS.pattern).mean() > 0.9:
        return [
            f"{name}: text that looks like numbers ({_examples(odd)}) was read as {len(levels)} "
            "categories; check decimal commas, thousands separators and units"
        ]
    return []


def _looks_like_dates(levels: pd.Index) -> bool:
    """Most of them: a few may be something else."""
    dates = [level for level in levels if _DATE.fullmatch(level)]
    return len(levels) > 2 and len(dates) > 0.9 * len(levels)


def _examples(values: "pd.Index | pd.Series") -> str:
    """The first few values, quoted."""
    distinct = list(dict.fromkeys(map(str, values)))
    shown = ", ".join(map(repr, distinct[:_SHOWN]))
    return shown + (f" and {len(distinct) - _SHOWN} more" if len(distinct) > _SHOWN else "")
