"""From a file to a raw table and its card."""

import numpy as np
import pandas as pd
import pytest

from tabpet.catalog import CatalogRow
from tabpet.data.fetch import fetch_dataset
from tabpet.data.own import read_own
from tabpet.errors import TabpetError
from tabpet.settings import FetchSettings


def write(tmp_path, frame: pd.DataFrame):
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return path


def fetch(path, **fields):
    options = {"name": "mine", "path": path, "task": "classification", "target": "y", **fields}
    return fetch_dataset(CatalogRow(**options), FetchSettings())


@pytest.fixture
def frame():
    n = 12
    return pd.DataFrame(
        {
            "y": ["b", "a"] * 6,
            "id": range(100, 100 + n),
            "same": "k",
            "code": [3, 1, 2] * 4,
            "x": [0.5, None, np.inf, 4.0] * 3,
        }
    )


def test_card_facts(tmp_path, frame):
    raw, card = fetch(write(tmp_path, frame), categorical=("code",))
    assert list(raw) == ["id", "same", "code", "x", "y"]
    facts = {column.name: column for column in card.columns}
    assert {name: fact.kind for name, fact in facts.items()} == {
        "id": "numeric",
        "same": "categorical",
        "code": "categorical",
        "x": "numeric",
    }
    assert facts["code"].levels == ["1", "2", "3"]
    assert facts["x"].missing == 6  # 3 empty, 3 infinite
    assert card.target.classes == {"a": 6, "b": 6}
    assert card.constant_columns == ["same"]
    assert card.id_like_columns == ["id"]
    assert any("x: 3 infinite values" in warning for warning in card.warnings)


def test_ignored_columns_and_duplicates(tmp_path, frame):
    raw, card = fetch(write(tmp_path, frame), ignore=("id",))
    assert "id" not in raw
    assert (
        card.duplicate_rows == frame.drop(columns="id").replace(np.inf, np.nan).duplicated().sum()
    )


def test_rows_without_target_are_dropped_and_counted(tmp_path, frame):
    frame.loc[:2, "y"] = None
    raw, card = fetch(write(tmp_path, frame))
    assert len(raw) == card.rows == 9
    assert "3 rows without a target were dropped" in card.warnings


def test_reserved_names_are_renamed_openly(tmp_path, frame):
    raw, card = fetch(
        write(tmp_path, frame.rename(columns={"x": "part", "y": "row"})), target="row"
    )
    assert list(raw)[-2:] == ["part_", "row_"]
    assert card.target.name == "row_"
    assert sum("renamed" in warning for warning in card.warnings) == 2


def test_renaming_avoids_names_that_are_taken(tmp_path, frame):
    clashing = frame.rename(columns={"x": "part", "code": "part_"})
    raw, _ = fetch(write(tmp_path, clashing))
    assert {"part_", "part__"} <= set(raw)


def test_numbers_with_decimal_commas_are_pointed_out(tmp_path, frame):
    path = tmp_path / "table.csv"
    frame["price"] = [f"{i},5 %" for i in range(len(frame))]
    frame.to_csv(path, index=False, sep=";")
    assert any("price: text that looks like numbers" in w for w in fetch(path)[1].warnings)


def test_ignored_columns_may_hold_anything(tmp_path, frame):
    path = tmp_path / "table.parquet"
    frame.assign(blob=[[1, 2]] * len(frame)).to_parquet(path)
    assert "blob" not in fetch(path, ignore=("blob",))[0]


def test_number_coded_classes_are_text(tmp_path, frame):
    path = write(tmp_path, frame.assign(y=[2.0, 1.0] * 6))
    assert fetch(path)[1].target.classes == {"1": 6, "2": 6}


def test_mismatch_can_be_a_warning(tmp_path, frame):
    row = CatalogRow(
        name="mine", path=write(tmp_path, frame), task="classification", target="y", n_rows=5
    )
    _, card = fetch_dataset(row, FetchSettings(on_mismatch="warn"))
    assert any("n_rows: catalog 5, table 12" in warning for warning in card.warnings)


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (["0", "1", "-"], {"0": 4, "1": 4}),
        (["yes", "no", "#N/A"], {"no": 4, "yes": 4}),
        (["yes", "no", " <NA>"], {"no": 4, "yes": 4}),
        (["yes", "no", "-"], {"-": 4, "no": 4, "yes": 4}),  # among words it may be an answer
    ],
)
def test_what_is_missing_is_no_class(tmp_path, frame, values, classes):
    _, card = fetch(write(tmp_path, frame.assign(y=values * 4)))
    assert card.target.classes == classes


def test_a_target_of_numbers_with_odd_values_is_told(tmp_path, frame):
    table = pd.concat([frame] * 3, ignore_index=True)
    table["y"] = [*map(str, np.arange(34) / 4), "cheap", "cheap"]
    path = write(tmp_path, table)
    warning = "y: 34 numbers were read as categories because of 'cheap'"
    assert any(one.startswith(warning) for one in fetch(path)[1].warnings)
    with pytest.raises(TabpetError, match=r"not numeric \(values such as 'cheap'\)"):
        fetch(path, task="regression")


@pytest.mark.parametrize("token", ["missing", "na", "–", "-"])
def test_a_missing_number_does_not_change_the_task(tmp_path, frame, token):
    path = write(tmp_path, frame.assign(y=[*np.arange(11) / 4, token]))
    row, raw, _ = read_own(path, "y")
    assert row.task == "regression" and len(raw) == 11


@pytest.mark.parametrize("mark", ["{},5", "1,{}34"])
def test_commas_in_the_numbers_of_a_target_are_pointed_out(tmp_path, frame, mark):
    path = write(tmp_path, frame.assign(y=[mark.format(one) for one in range(12)]))
    _, _, card = read_own(path, "y")
    assert any("y: text that looks like numbers" in one for one in card.warnings)
