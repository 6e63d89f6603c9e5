"""Quirks of files that people really have."""

import numpy as np
import pandas as pd
import pytest

from tabpet.data.convention import as_convention
from tabpet.data.readers import read_table
from tabpet.errors import TabpetError


def read(path) -> pd.DataFrame:
    frame = read_table(path)
    return pd.DataFrame({name: as_convention(frame[name]) for name in frame})


def levels(column: pd.Series) -> list[str]:
    return list(column.cat.categories)


def test_csv_with_byte_order_mark_and_spaces(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\ufeffage, ln(VOTES/POP),job title\n1, 2.5, clerk\n3, ?, cook\n", "utf-8")
    frame = read(path)
    assert list(frame) == ["age", "ln(VOTES/POP)", "job title"]
    assert frame["age"].dtype == "int64"
    assert frame["ln(VOTES/POP)"].isna().tolist() == [False, True]
    assert levels(frame["job title"]) == ["clerk", "cook"]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_separator_is_recognised(tmp_path, separator):
    path = tmp_path / "t.csv"
    path.write_text(f"a{separator}b\n1{separator}x\n2{separator}y\n")
    assert list(read(path)) == ["a", "b"]


def test_separator_inside_a_quoted_name_does_not_count(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('"a;b;c",d\n1,2\n')
    assert list(read(path)) == ["a;b;c", "d"]


def test_missing_tokens_and_the_level_none(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,garage\n1,None\n?,brick\nNA,\n4,None\n")
    frame = read(path)
    assert frame["x"].isna().tolist() == [False, True, True, False]
    # "None" is an answer (no garage), not a missing one.
    assert levels(frame["garage"]) == ["None", "brick"]
    assert frame["garage"].isna().tolist() == [False, False, True, False]


def test_a_separator_at_the_end_of_every_row_is_harmless(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2,\n4,5,\n")
    assert read(path).to_numpy().tolist() == [[1, 2], [4, 5]]


def test_booleans_become_categories(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("flag\nTrue\nFalse\n")
    assert levels(read(path)["flag"]) == ["False", "True"]


def test_arff_quirks(tmp_path):
    path = tmp_path / "t.arff"
    path.write_text(
        "\ufeff% comment\n@relation r\n"
        "@attribute 'a b' {'x y', \"it's\", '\\'0\\'', never}\n"
        "@attribute flag {TRUE, FALSE}\n"
        "@attribute code {2, 1, 10}\n"
        "@attribute n numeric\n@attribute s string\n@data\n"
        "'x y', TRUE, 1, ?, 'free text'\n\"it's\", FALSE, 10, 2, b\n?, FALSE, 2, 3, b\n",
        "utf-8",
    )
    frame = read(path)
    assert levels(frame["a b"]) == ["x y", "it's"]
    assert frame["a b"].isna().sum() == 1
    assert levels(frame["flag"]) == ["TRUE", "FALSE"]
    assert levels(frame["code"]) == ["2", "1", "10"]
    assert frame["n"].dtype == "float64"
    assert levels(frame["s"]) == ["b", "free text"]


def test_sparse_arff(tmp_path):
    path = tmp_path / "t.arff"
    path.write_text(
        "@relation r\n@attribute a numeric\n@attribute b numeric\n@data\n{1 5}\n{0 2}\n"
    )
    assert read(path).to_numpy().tolist() == [[0, 5], [2, 0]]


def test_parquet_kinds(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame(
        {
            "i": pd.array([1, None, 3], dtype="Int64"),
            "small": np.array([1, 2, 3], dtype="int8"),
            "f": np.array([1, 2, 3], dtype="float32"),
            "c": pd.Categorical(["1", "2", "1"]),
            "o": ["1", "2", "?"],
            "when": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-01"]),
        }
    ).to_parquet(path)
    frame = read(path)
    kinds = {name: frame[name].dtype.name for name in frame}
    assert kinds == {
        "i": "float64",
        "small": "int64",
        "f": "float64",
        "c": "category",
        "o": "float64",
        "when": "category",
    }
    assert levels(frame["c"]) == ["1", "2"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"caf\xe9\n1\n", "not UTF-8"),
        ("t.csv", b"", "not a CSV table"),
        ("t.csv", b"a,b\n", "no rows"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n", "not a CSV table"),
        ("t.csv", b"a,b\n1,2,3\n4,5,6\n", "more cells than the header"),
        ("t.arff", b"@relation r\n@attribute a {x,y}\n@data\nz\n", "not a readable ARFF"),
        ("t.parquet", b"PAR1 cut", "not a readable Parquet"),
        ("t.xlsx", b"", "Use one of .csv"),
    ],
)
def test_unreadable_files_are_named_with_the_reason(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(TabpetError, match=message) as caught:
        read_table(path)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("values", "kind", "missing"),
    [
        (pd.array(["u", "v", None], dtype="string"), ["u", "v"], 1),
        (pd.array([True, None, False], dtype="boolean"), ["False", "True"], 1),
        (np.array([True, None, False], dtype=object), ["False", "True"], 1),
        (np.array(["1", " 2 ", "? "], dtype=object), "float64", 1),
        (np.array([1, 2, 2**63], dtype="uint64"), "float64", 0),
        (pd.array([1, None, 3], dtype="Int64"), "float64", 1),
        (pd.to_timedelta([1, 2, 3], unit="s"), "float64", 0),
    ],
)
def test_kinds_that_pandas_has(values, kind, missing):
    column = as_convention(pd.Series(values, name="x"))
    assert (kind if isinstance(kind, str) else "category") == column.dtype.name
    assert column.isna().sum() == missing
    if isinstance(kind, list):
        assert levels(column) == kind
    else:
        assert column.dropna().min() > 0


def test_csv_booleans_with_gaps_are_categories(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("b,x\nTrue,1\n,2\nFalse,3\n")
    assert levels(read(path)["b"]) == ["False", "True"]


def test_nested_values_are_refused_by_name(tmp_path):
    with pytest.raises(TabpetError, match="'x' holds list values.*`ignore`"):
        as_convention(pd.Series([[1, 2], [3]], name="x"))


def test_parquet_index_is_a_column_when_it_has_a_name(tmp_path):
    frame = pd.DataFrame({"k": [1, 2], "x": [0.5, 1.5]})
    frame.set_index("k").to_parquet(tmp_path / "named.parquet")
    frame[frame["x"] > 1].to_parquet(tmp_path / "unnamed.parquet")
    assert set(read(tmp_path / "named.parquet")) == {"k", "x"}
    assert set(read(tmp_path / "unnamed.parquet")) == {"k", "x"}


def test_decimals_of_arff_integers_are_kept(tmp_path):
    path = tmp_path / "t.arff"
    path.write_text("@relation r\n@ATTRIBUTE 'an integer' Integer\n@data\n1.5\n2\n")
    assert read(path)["an integer"].tolist() == [1.5, 2.0]
