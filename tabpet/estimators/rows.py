"""What people hand to `fit` and `predict`, as tables in the convention of the workflow."""

import datetime
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from sklearn.utils.validation import check_array, validate_data

from tabpet.data.convention import as_category, follow_convention, free_name, to_convention
from tabpet.data.prepare import MISSING_LEVEL, cut_rows
from tabpet.errors import TableError

TARGET = "target"
TRUTH = {"0": "False", "1": "True"}  # the same truth values in a table of numbers


def read_table(estimator: Any, X: Any, *, reset: bool) -> pd.DataFrame:
    """Features as a frame with text names; `reset` learns names and their number, else checks."""
    if scipy.sparse.issparse(X):
        raise TableError(
            "X is a sparse matrix; the transformers need every value. Use X.toarray() if it fits "
            "into memory."
        )
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if isinstance(X, pd.DataFrame):
        given = [str(name) for name in X.columns]
        # `row` and `part` belong to prepared splits.
        columns = {name: free_name(name, set(given) - {name}) for name in given}
        frame = X
    else:
        X = check_array(X, dtype=None, ensure_all_finite=False, estimator=estimator)
        columns = {str(place): f"x{place}" for place in range(X.shape[1])}
        frame = pd.DataFrame(X, columns=list(columns.values()))
    _check_frame(frame)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    frame = frame.set_axis(list(columns.values()), axis=1)
    if reset:
        estimator._columns = columns
    learned = list(estimator._columns.values())
    # As in scikit-learn, a table whose names say nothing goes by the places of its columns.
    return frame[learned] if set(frame) == set(learned) else frame.set_axis(learned, axis=1)


def _check_frame(X: pd.DataFrame) -> None:
    for number, what in zip(X.shape, ("sample", "feature"), strict=True):
        if number == 0:
            raise TableError(
                f"X has 0 {what}(s) (shape={X.shape}), while a minimum of 1 is required."
            )
    names = pd.Index(map(str, X.columns))
    if repeated := sorted(set(names[names.duplicated()])):
        raise TableError(f"X has several columns named {', '.join(repeated)}. Rename them.")
    for name, dtype in X.dtypes.items():
        if isinstance(dtype, pd.SparseDtype):
            raise TableError(
                f"The column {name!r} is sparse; the transformers need every value. Use "
                "X.sparse.to_dense()."
            )
        if dtype.kind == "c":
            raise TableError(f"Complex data not supported: the column {name!r} is {dtype}.")
        if _holds_dates(X[name]):
            raise TableError(
                f"The column {name!r} holds dates, which are neither numbers nor categories. Make "
                "numbers of them with pandas.to_datetime(column).dt.year, .dt.dayofweek or the "
                "days since a fixed day, or drop the column."
            )


def _holds_dates(column: pd.Series) -> bool:
    """Whether dates are among the values, in a dtype of their own or as objects."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.cat.categories.to_series()
    if column.dtype.kind == "M" or isinstance(column.dtype, pd.PeriodDtype):
        return True
    dates = (datetime.date, np.datetime64, pd.Period)
    return column.dtype.kind == "O" and any(isinstance(value, dates) for value in column.dropna())


def read_training_rows(
    features: pd.DataFrame,
    target: pd.Series,
    validation: tuple[pd.DataFrame, pd.Series] | None,
    share: float | None,
    seed: int,
) -> tuple[pd.DataFrame, np.ndarray, list[str]]:
    """Rows in the raw convention, the target last, the part of each (train or val), and warnings.

    Validation rows are given, a share of them, or none.
    """
    raw, warnings = to_convention(features)
    part = np.full(len(raw), "train", dtype=object)
    if validation is not None:
        levels = {
            str(name): list(column.cat.categories) if hasattr(column, "cat") else None
            for name, column in raw.items()
        }
        later = read_later_rows(validation[0], levels)
        raw = pd.DataFrame({name: _joined(raw[name], later[name]) for name in raw})
        target = _joined(target, validation[1])
        part = np.append(part, np.full(len(later), "val", dtype=object))
    elif share is not None:
        labels = target.to_numpy() if isinstance(target.dtype, pd.CategoricalDtype) else None
        _, val = cut_rows(np.arange(len(raw)), labels, share, seed)
        part[val] = "val"
    name = free_name(TARGET, set(raw))
    return raw.assign(**{name: target.array}), part, warnings


def read_later_rows(
    features: pd.DataFrame, levels: Mapping[str, Collection[str] | None]
) -> pd.DataFrame:
    """Columns of a later table in the kinds they had before: levels, or None for numbers."""
    later = follow_convention(features, levels)
    for name, known in levels.items():
        if known is not None and {MISSING_LEVEL, *TRUTH.values()} >= set(known):
            texts = later[name].astype(object)
            later[name] = as_category(texts.where(~texts.isin(TRUTH), texts.map(TRUTH)))
    return later


def _joined(first: pd.Series, second: pd.Series) -> pd.Series:
    """One column below the other; categories keep the order of the first."""
    if isinstance(first.dtype, pd.CategoricalDtype):
        return pd.Series(pd.api.types.union_categoricals([first, second]))
    return pd.concat([first, second], ignore_index=True)
