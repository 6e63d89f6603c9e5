"""Quirks of files that people really have."""

import numpy as np
import pandas as pd
import pytest

from tabpet.data.convention import as_convention, to_convention
from tabpet.data.readers import NOTES, read_table
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
        ("t.csv", b"\xff\xfea\0\n\0001\0\n\0", "not UTF-8"),
        ("t.csv", b"", "not a CSV table"),
        ("t.csv", b"a,b\n", "no rows"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n", "not a CSV table"),
        ("t.csv", b"a,b\n1,2,3\n4,5,6\n", "more values than the header"),
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


@pytest.mark.parametrize("token", ["None", "n/a", "-", "missing"])
def test_what_people_write_for_a_missing_number(tmp_path, token):
    path = tmp_path / "t.csv"
    path.write_text(f"x,word\n1.5,{token}\n{token},a\n3,b\n")
    frame = read(path)
    assert frame["x"].dtype == "float64" and frame["x"].isna().tolist() == [False, True, False]
    assert token in levels(frame["word"])  # among words it may be an answer


@pytest.mark.parametrize("token", ["#N/A", "<NA>", "#DIV/0!"])
def test_what_spreadsheets_write_is_missing_everywhere(tmp_path, token):
    path = tmp_path / "t.csv"
    path.write_text(f"x,word\n1.5,{token}\n{token},a\n3,b\n")
    frame = read(path)
    assert frame["x"].dtype == "float64" and frame["x"].isna().tolist() == [False, True, False]
    assert levels(frame["word"]) == ["a", "b"]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1,5", "2", "-0,25"], [1.5, 2.0, -0.25]),
        (["1.234,5", "12.345.678", ",5"], [1234.5, 12345678.0, 0.5]),
        (["1,5e3", "#N/A", "2,0"], [1500.0, np.nan, 2.0]),
    ],
)
@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas(tmp_path, separator, cells, expected):
    path = tmp_path / "t.csv"
    path.write_text(f"x{separator}y\n" + "".join(f"{cell}{separator}a\n" for cell in cells))
    np.testing.assert_array_equal(read(path)["x"], expected)


def test_decimal_commas_in_a_column_of_any_name(tmp_path):
    (tmp_path / "t.csv").write_text("self;b\n1,5;2\n2,5;3\n")
    assert list(read_table(tmp_path / "t.csv")["self"]) == [1.5, 2.5]


def test_a_decimal_comma_is_no_guess(tmp_path):
    path = tmp_path / "t.csv"
    # Both marks as decimals: which one is meant can't be known.
    path.write_text("x;y\n1,5;a\n2.25;b\n")
    assert levels(read(path)["x"]) == ["2.25", "1,5"]
    path.write_text('x,y\n"1,5",a\n"2,5",b\n')
    assert levels(read(path)["x"]) == ["1,5", "2,5"]


def test_line_breaks_in_quoted_names(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('"price\n(in euro)",b\r\n1,2\r\n3,4\r\n')
    frame = read(path)
    assert list(frame) == ["price (in euro)", "b"]
    assert frame.to_numpy().tolist() == [[1, 2], [3, 4]]


def reading_warnings(**columns):
    return to_convention(pd.DataFrame(columns))[1]


def test_values_that_make_categories_of_numbers_are_named():
    numbers = [str(one) for one in range(30)]
    assert reading_warnings(x=[*numbers, "ca. 5", "many"]) == [
        "x: 30 numbers were read as categories because of 'ca. 5', 'many'; correct these values "
        "or make them missing"
    ]
    [warning] = reading_warnings(x=[f"{one} kg" for one in range(12)])
    assert warning.startswith(
        "x: text that looks like numbers ('0 kg', '1 kg', '10 kg' and 9 more)"
    )
    for price in ("€{}.50", "$ {}", "-£{}", "{} €"):
        assert "looks like numbers" in reading_warnings(x=[*map(price.format, range(12))])[0]
    assert reading_warnings(x=[*"abcdefghijklmnop"], y=range(16)) == []


def test_dates_are_told():
    days = [f"2024-01-{day:02d}" for day in range(1, 13)]
    [warning] = reading_warnings(day=days)
    assert "day: dates such as '2024-01-01', '2024-01-02', '2024-01-03' and 9 more" in warning
    assert "12 categories" in warning
    assert len(reading_warnings(day=pd.to_datetime(days))) == 1
    assert len(reading_warnings(day=["1/2/2024 10:00", "13.2.24", "3-4-1999"])) == 1
    assert reading_warnings(version=["1.2.3", "1.2.4", "2.0.1"]) == []
    assert len(reading_warnings(day=[*days, "soon"])) == 1
    assert len(reading_warnings(day=["3 March 2024", "Jan 5, 2023", "01-FEB-99 10:00"])) == 1
    assert reading_warnings(word=["march", "may 1st", "august man"]) == []


@pytest.mark.parametrize("separator", ["\t", "|"])
def test_thousands_are_no_decimals(tmp_path, separator):
    path = tmp_path / "t.csv"
    path.write_text(f"x{separator}y\n1,100{separator}0,100\n2,101{separator}5,101\n")
    frame = read(path)
    assert levels(frame["x"]) == ["1,100", "2,101"]  # a thousand or one: not decided here
    assert frame["y"].tolist() == [0.1, 5.101]  # no thousand begins with 0


def test_points_beside_decimal_commas_are_told(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("price;sold;share\n1,5;1.100;0.125\n2,5;2.101;0.5\n")
    [note] = read_table(path).attrs[NOTES]
    assert note.startswith("sold: 1.100 was read with a decimal point, but price has decimal comm")
    path.write_text("price;sold\n1;1.100\n2;2.101\n")
    assert read_table(path).attrs[NOTES] == []


def test_a_quote_inside_a_name(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('5" pipe,b\n' + "1,2\n" * 40_000)
    assert list(read(path)) == ['5" pipe', "b"]


def test_a_quote_that_is_never_closed(tmp_path):
    path = tmp_path / "t.csv"
    for rows in (2, 40_000):
        path.write_text('"pipe,b\n' + "1,2\n" * rows)
        with pytest.raises(TabpetError, match=r"t.csv is not a CSV table"):
            read(path)


def test_blank_lines_before_the_header(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n  \n\na;b\n1;2\n3;4\n")
    assert read(path).to_dict("list") == {"a": [1, 3], "b": [2, 4]}


def test_windows_1252_is_read_and_told(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("größe,b\n1,Orléans\n2,5 €\n".encode("cp1252"))
    frame = read_table(path)
    assert list(frame) == ["größe", "b"] and frame["b"].tolist() == ["Orléans", "5 €"]
    assert "t.csv is not UTF-8 text and was read as Windows-1252" in frame.attrs[NOTES][0]
    path.write_bytes("größe,b\n1,2\n".encode("utf-16"))
    with pytest.raises(TabpetError, match=r"not UTF-8 text. Save it again as UTF-8"):
        read(path)


@pytest.mark.parametrize("first", [10**19, 10**21])
@pytest.mark.parametrize("last", ["7", "?"])
def test_identifiers_of_more_than_64_bits_stay_distinct(tmp_path, first, last):
    path = tmp_path / "t.csv"
    path.write_text("id,x\n" + "".join(f"{first + i},{i}\n" for i in range(12)) + f"{last},1\n")
    column = read(path)["id"]
    assert column.nunique() == 12 + (last == "7") and str(first + 1) in levels(column)


def test_large_numbers_are_numbers():
    for values in ([1e300, 2e300], ["1e300", "2e19"], np.array([2**63, 5], dtype="uint64")):
        assert as_convention(pd.Series(values)).dtype == "float64"
