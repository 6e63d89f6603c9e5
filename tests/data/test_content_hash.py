"""The content hash of a table: what it depends on, and how the catalog's is checked."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tabpet.catalog import CatalogRow, read_catalogs
from tabpet.data.card import table_hash
from tabpet.data.fetch import fetch_dataset
from tabpet.errors import TabpetError
from tabpet.settings import FetchSettings

CATALOG = read_catalogs([Path(__file__).parents[2] / "datasets.csv"])
# One table in three formats. ARFF declares levels in an order of its own and has no whole numbers,
# Parquet has small whole numbers and booleans, and 0.1 + 0.2 needs all its digits.
CSV = """size,colour,flag,count,label
1.5,dark red,true,3,no
,blue,false,4,yes
0.30000000000000004,,true,5,yes
-0.0,blue,false,6,no
"""
ARFF = """@relation toy
@attribute size REAL
@attribute colour {unused,'dark red',blue}
@attribute flag {true,false}
@attribute count INTEGER
@attribute label {yes,no}
@data
1.5,'dark red',true,3,no
?,blue,false,4,yes
0.30000000000000004,?,true,5,yes
0,blue,false,6,no
"""
PARQUET = pd.DataFrame(
    {
        "size": [1.5, None, 0.30000000000000004, 0.0],
        "colour": pd.Categorical(["dark red", "blue", None, "blue"]),
        "flag": [True, False, True, False],
        "count": np.array([3, 4, 5, 6], dtype="uint8"),
        "label": ["no", "yes", "yes", "no"],
    }
)
# The definition, written out: a line of JSON per column.
LINES = (
    '["size", "numeric", ["1.500000000e+00", null, "3.000000000e-01", "0.000000000e+00"]]\n'
    '["colour", "categorical", ["dark red", "blue", null, "blue"]]\n'
    '["flag", "categorical", ["true", "false", "true", "false"]]\n'
    '["count", "numeric", ["3.000000000e+00", "4.000000000e+00", "5.000000000e+00", '
    '"6.000000000e+00"]]\n'
    '["label", "categorical", ["no", "yes", "yes", "no"]]\n'
)
EXPECTED = hashlib.sha256(LINES.encode()).hexdigest()


def row(path: Path, **fields) -> CatalogRow:
    given = {"name": "toy", "path": path, "task": "classification", "target": "label", **fields}
    return CatalogRow(**given)


def fetched_hash(path: Path, **fields) -> str:
    return fetch_dataset(row(path, **fields), FetchSettings())[1].sha256


@pytest.fixture
def files(tmp_path) -> dict[str, Path]:
    paths = {kind: tmp_path / f"toy.{kind}" for kind in ("csv", "arff", "parquet")}
    paths["csv"].write_text(CSV)
    paths["arff"].write_text(ARFF)
    PARQUET.to_parquet(paths["parquet"])
    return paths


@pytest.mark.parametrize("kind", ["csv", "arff", "parquet"])
def test_same_table_in_any_format_has_the_hash_of_the_definition(files, kind):
    assert fetched_hash(files[kind], sha256=EXPECTED) == EXPECTED


@pytest.mark.parametrize("options", [{"row_group_size": 1}, {"compression": "gzip"}])
def test_layout_of_a_parquet_file_does_not_matter(tmp_path, options):
    PARQUET.to_parquet(tmp_path / "toy.parquet", **options)
    assert fetched_hash(tmp_path / "toy.parquet") == EXPECTED


def test_target_anywhere_in_the_file(tmp_path):
    PARQUET[["label", "size", "colour", "flag", "count"]].to_parquet(tmp_path / "toy.parquet")
    assert fetched_hash(tmp_path / "toy.parquet") == EXPECTED


CHANGES = {
    "one value": lambda table: table.replace({"count": {5: 7}}),
    "a value in its tenth digit": lambda table: table.assign(
        size=table["size"].replace(1.5, 1.500000001)
    ),
    "one level": lambda table: table.assign(label=["no", "yes", "no", "no"]),
    "a value that is missing now": lambda table: table.assign(
        colour=["dark red", "blue", "", None]
    ),
    "a renamed column": lambda table: table.rename(columns={"count": "counts"}),
    "swapped rows": lambda table: table.iloc[[1, 0, 2, 3]],
    "swapped columns": lambda table: table[["colour", "size", "flag", "count", "label"]],
    "a column more": lambda table: table.assign(more=1)[["more", *table]],
    "a row less": lambda table: table.iloc[:3],
    "numbers as text levels": lambda table: table.assign(
        count=table["count"].astype(str).astype("category")
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_changed_table_is_an_error_that_shows_both_hashes(tmp_path, change):
    path = tmp_path / "toy.parquet"
    change(PARQUET).to_parquet(path)
    found = fetched_hash(path)
    assert found != EXPECTED
    with pytest.raises(TabpetError) as caught:
        fetch_dataset(row(path, sha256=EXPECTED[:16]), FetchSettings())
    message = str(caught.value)
    assert f"sha256: catalog {EXPECTED[:16]}, table {found[:16]}" in message
    assert "on_mismatch: warn" in message
    assert "correct the catalog row" in message


def test_values_on_either_side_of_a_separator_are_told_apart():
    texts = [pd.DataFrame({"x": pd.Categorical(pair)}) for pair in (["a,b", "c"], ["a", "b,c"])]
    assert table_hash(texts[0]) != table_hash(texts[1])


def test_changed_table_can_be_a_warning(tmp_path):
    path = tmp_path / "toy.parquet"
    CHANGES["one value"](PARQUET).to_parquet(path)
    _, card = fetch_dataset(row(path, sha256=EXPECTED), FetchSettings(on_mismatch="warn"))
    [warning] = [text for text in card.warnings if "sha256" in text]
    assert EXPECTED in warning
    assert card.sha256 in warning


def test_hash_of_ten_digits_does_not_hang_on_the_last_bits():
    # Another processor may round the last bit of a generated number differently.
    values = np.random.default_rng(0).normal(size=1000)
    nudged = np.nextafter(values, np.inf)
    assert not np.array_equal(values, nudged)
    assert table_hash(pd.DataFrame({"x": values})) == table_hash(pd.DataFrame({"x": nudged}))


@pytest.mark.parametrize("digits", ["12345", "xyz" * 8, "0" * 65])
def test_impossible_hash_in_a_sheet_is_named(tmp_path, digits):
    sheet = tmp_path / "mine.csv"
    sheet.write_text(f"name,path,target,task,sha256\ntoy,toy.csv,label,classification,{digits}\n")
    with pytest.raises(TabpetError, match="line 2 .toy.: sha256: .*16 to 64 hexadecimal digits"):
        read_catalogs([sheet])


def test_catalog_has_a_hash_for_every_table_that_was_at_hand():
    assert [name for name, row in CATALOG.items() if row.sha256 is None] == ["fri_c3_100_25"]


def test_job_that_fetches_a_table_gets_its_hash(files):
    asked = row(files["csv"], sha256="0" * 16, sha256_of="mirror")
    given = CatalogRow.model_validate(asked.fetch_fields())  # as workflow_scripts/fetch_dataset.py
    assert (given.sha256, given.sha256_of) == ("0" * 16, "mirror")


@pytest.mark.skipif("TABPET_MIRROR" not in os.environ, reason="no mirror folder")
@pytest.mark.parametrize("name", [name for name, row in CATALOG.items() if row.version])
def test_tables_of_the_mirror_have_the_hash_of_the_catalog(name):
    if CATALOG[name].sha256 is None:
        pytest.skip("not in the mirror")
    fetch_dataset(CATALOG[name], FetchSettings())  # a mismatch would raise
