"""What people get wrong, and the message that each mistake gets: the problem and the fix."""

import pandas as pd
import pytest

from tabpet.catalog import read_catalogs, select_datasets
from tabpet.data.fetch import fetch_dataset
from tabpet.errors import TabpetError
from tabpet.settings import FetchSettings, load_settings, read_settings

GOOD_CONFIG = {"datasets": ["@demo"]}

BAD_CONFIGS = {
    "misspelt key": ({"dataset": ["a"]}, "`dataset` is not a setting; did you mean `datasets`?"),
    "misspelt nested key": (
        {"datasets": ["a"], "fetch": {"atempts": 2}},
        "`fetch.atempts` is not a setting; did you mean `attempts`?",
    ),
    "key of nowhere": (
        {"datasets": ["a"], "prepare": {"zzz": 2}},
        "known keys here: fractions, max_missing, min_complete",
    ),
    "no datasets": ({}, '`datasets` is missing; add for example `datasets: ["@demo"]`'),
    "datasets not a list": (
        {"datasets": "@demo"},
        "`datasets` is '@demo': input should be a valid list",
    ),
    "text for a number": (
        {"datasets": ["a"], "splits": ["x"]},
        "`splits.0` is 'x': input should be a valid integer",
    ),
    "negative seed": ({"datasets": ["a"], "splits": [-1]}, "greater than or equal to 0"),
    "repeated split": ({"datasets": ["a"], "splits": [1, 1]}, "splits lists [1] more than once"),
    "fractions do not sum to one": (
        {"datasets": ["a"], "prepare": {"fractions": [0.6, 0.6, 0.2]}},
        "three positive numbers that sum to 1",
    ),
    "unknown choice": (
        {"datasets": ["a"], "fetch": {"on_mismatch": "ignore"}},
        "should be 'error' or 'warn'",
    ),
    "empty section": ({"datasets": ["a"], "fetch": None}, "`fetch` is empty: remove the line"),
    "fraction missing": (
        {"datasets": ["a"], "prepare": {"fractions": [0.6, 0.4]}},
        "`prepare.fractions.2` is missing.",
    ),
    "not a number": (
        {"datasets": ["a"], "prepare": {"max_missing": float("nan")}},
        "should be a finite number",
    ),
    "main encoding that is not run": (
        {"datasets": ["a"], "graphs": ["pearson"], "analysis": {"main_encoding": "spearman"}},
        "analysis.main_encoding is 'spearman', which is not a graph that a model of this run is "
        "trained with (pearson)",
    ),
    "main encoding that no model has": (
        {
            "datasets": ["a"],
            "graphs": ["spearman", "pc"],
            "models": ["saint"],
            "model_encodings": {"saint": ["pc"]},
        },
        "is not a graph that a model of this run is trained with (pc)",
    ),
    "a control as the main encoding": (
        {
            "datasets": ["a"],
            "controls": ["spearman-random"],
            "analysis": {"main_encoding": "spearman-random"},
        },
        "analysis.main_encoding is 'spearman-random', which is not a graph",
    ),
    "nothing to compare the model with": (
        {"datasets": ["a"], "alphas": [0]},
        "0 is the model without encodings: add a scale to compare it with",
    ),
    "transformers without a graph": (
        {"datasets": ["a"], "graphs": []},
        "ft_transformer would be trained without any encoding",
    ),
    "one transformer without an encoding": (
        {"datasets": ["a"], "model_encodings": {"saint": []}},
        "saint would be trained without any encoding",
    ),
    "pairs that do not fit": (
        {"datasets": ["a"], "splits": [1, 2], "seeds": [1], "seeds_of_splits": "paired"},
        "there are 2 splits and 1 seeds",
    ),
    "k out of order": (
        {"datasets": ["a"], "encoding": {"k_min": 5, "k_max": 3}},
        "k_min (5) is larger than k_max (3)",
    ),
    "heads that do not fit": (
        {"datasets": ["a"], "model_settings": {"ft_transformer": {"width": 30, "n_heads": 8}}},
        "width (30) is not a multiple of n_heads (8)",
    ),
    "control without its graph": (
        {"datasets": ["a"], "graphs": ["spearman"], "controls": ["pearson-random"]},
        "for example spearman-random",
    ),
    "unknown encoding of a model": (
        {"datasets": ["a"], "model_encodings": {"saint": ["spearman-learnable"]}},
        "neither in `graphs` nor in `controls`",
    ),
    "negative lambda": (
        {"datasets": ["a"], "graph_methods": {"notears": {"lambdas": [-1.0]}}},
        "greater than or equal to 0",
    ),
    "unknown graph": (
        {"datasets": ["a"], "graphs": ["spearmen"]},
        "`graphs.0` is 'spearmen': there is no graph 'spearmen'; did you mean 'spearman'?",
    ),
}

BAD_SHEETS = {
    "unknown column": ("name,task,colour\na,regression,red\n", "Not known: colour"),
    "no task column": ("name,path\na,a.csv\n", "needs the columns name and task"),
    "unknown task": (
        "name,path,target,task\na,a.csv,y,clustering\n",
        "line 2 (a): task: Input should be 'classification' or 'regression'",
    ),
    "no path": ("name,target,task\na,y,regression\n", "source `file` needs a `path`"),
    "no target": ("name,path,task\na,a.csv,regression\n", "`target` is missing"),
    "openml without id": (
        "name,source,task\na,openml,regression\n",
        "needs an `openml_id`, or a `version`",
    ),
    "name that leaves the results folder": (
        "name,path,target,task\n../a,a.csv,y,regression\n",
        "a name starts with a letter or digit",
    ),
    "name with a slash": (
        "name,path,target,task\na/b,a.csv,y,regression\n",
        "it becomes a folder name",
    ),
    "same name twice": (
        "name,path,target,task\na,a.csv,y,regression\na,b.csv,y,regression\n",
        "Rename one of them",
    ),
    "too many cells": (
        "name,path,target,task\na,b,c,regression,e\n",
        "as many cells as the header",
    ),
    "too few cells": ("name,path,target,task\na,b\n", "as many cells as the header"),
    "bad options": (
        "name,source,target,task,options\na,synthetic,y,regression,d=12;k\n",
        "options: write `key=value;key=value`",
    ),
    "negative batch": (
        "name,path,target,task,batch_size\na,a.csv,y,regression,-3\n",
        "batch_size: Input should be greater than or equal to 1",
    ),
    "number expected": (
        "name,path,target,task,n_rows\na,a.csv,y,regression,many\n",
        "n_rows: Input should be a valid integer",
    ),
}

TABLE = "x,c,y\n" + "".join(f"{i}.5,{'ab'[i % 2]},{'uv'[i % 3 == 0]}\n" for i in range(30))
BAD_TABLES = {
    "missing file": (None, {}, "There is no file"),
    "wrong target": (TABLE, {"target": "price"}, "the target 'price' is not a column"),
    "target of words for regression": (TABLE, {"task": "regression"}, "target 'y' is not numeric"),
    "unknown categorical column": (
        TABLE,
        {"categorical": "z"},
        "`categorical` names 'z', not columns of the table",
    ),
    "unknown ignored column": (TABLE, {"ignore": "z"}, "`ignore` names 'z'"),
    "no features": ("y\na\nb\n", {}, "no feature columns are left"),
    "one class": ("x,y\n1,a\n2,a\n", {}, "has only one class ('a')"),
    "constant regression target": (
        "x,y\n1,5\n2,5\n",
        {"task": "regression"},
        "'y' is 5 in every row",
    ),
    "target all missing": ("x,y\n1,?\n2,?\n", {}, "every value of the target 'y' is missing"),
    "another shape than the catalog says": (
        TABLE,
        {"n_rows": "31", "n_categorical": "1"},
        "n_rows: catalog 31, table 30",
    ),
    "repeated column": ("x, x,y\n1,2,a\n1,3,b\n", {}, "occur more than once"),
}


@pytest.mark.parametrize(("config", "message"), BAD_CONFIGS.values(), ids=BAD_CONFIGS)
def test_bad_config(config, message):
    with pytest.raises(TabpetError) as caught:
        load_settings(config)
    assert message in str(caught.value)
    assert "docs/configuration.md" in str(caught.value)


def test_all_problems_of_a_config_are_told_at_once():
    with pytest.raises(TabpetError, match="3 problem"):
        load_settings({"dataset": ["a"], "splits": ["x"]})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: [", "not valid YAML"),
        ("- a\n", "must hold `key: value` lines"),
        (None, "no config file"),
    ],
)
def test_unreadable_config_file(tmp_path, content, message):
    path = tmp_path / "c.yaml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(TabpetError, match=message):
        read_settings(path)


@pytest.mark.parametrize(("sheet", "message"), BAD_SHEETS.values(), ids=BAD_SHEETS)
def test_bad_sheet(tmp_path, sheet, message):
    path = tmp_path / "mine.csv"
    path.write_text(sheet)
    with pytest.raises(TabpetError) as caught:
        read_catalogs([path])
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_missing_sheet_and_repeated_name_across_sheets(tmp_path):
    with pytest.raises(TabpetError, match="There is no catalog"):
        read_catalogs([tmp_path / "none.csv"])
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("name,path,target,task\na,a.csv,y,regression\n")
    with pytest.raises(TabpetError, match=r"one\.csv and again in .*two\.csv"):
        read_catalogs([tmp_path / "one.csv", tmp_path / "two.csv"])


def test_unknown_dataset_gets_a_suggestion(tmp_path):
    (tmp_path / "s.csv").write_text("name,path,target,task,groups\nvehicle,a.csv,y,regression,g\n")
    catalog = read_catalogs([tmp_path / "s.csv"])
    with pytest.raises(TabpetError, match="Did you mean vehicle"):
        select_datasets(catalog, ["vehicel"])
    with pytest.raises(TabpetError, match="Groups: @g"):
        select_datasets(catalog, ["@paper"])
    with pytest.raises(TabpetError, match="leaves no dataset"):
        select_datasets(catalog, ["@g"], exclude=["vehicle"])


@pytest.mark.parametrize(("content", "fields", "message"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_bad_table(tmp_path, content, fields, message):
    if content is not None:
        (tmp_path / "mine.csv").write_text(content)
    cells = {"name": "mine", "path": "mine.csv", "target": "y", "task": "classification", **fields}
    sheet = tmp_path / "sheet.csv"
    pd.DataFrame([cells]).to_csv(sheet, index=False)
    [row] = read_catalogs([sheet]).values()
    with pytest.raises(TabpetError) as caught:
        fetch_dataset(row, FetchSettings())
    assert message in str(caught.value)


def test_missing_mirror_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("TABPET_MIRROR", str(tmp_path / "nowhere"))
    (tmp_path / "s.csv").write_text("name,source,version,task\na,openml,1,regression\n")
    [row] = read_catalogs([tmp_path / "s.csv"]).values()
    with pytest.raises(TabpetError, match="mirror folder .* does not exist"):
        fetch_dataset(row, FetchSettings())


def test_sheets_from_spreadsheet_programs(tmp_path):
    (tmp_path / "excel.csv").write_bytes(
        b"\xef\xbb\xbfname; path;target;task\r\na;a b.csv;y;regression\r\n;;;\r\n"
    )
    assert read_catalogs([tmp_path / "excel.csv"])["a"].path == tmp_path / "a b.csv"
    (tmp_path / "lines.csv").write_bytes(
        b'name,path,target,task\r\na,a.csv,"price\n(EUR)",regression\r\nb,b.csv,y,regression\r\n'
    )
    broken = read_catalogs([tmp_path / "lines.csv"])
    assert [row.target for row in broken.values()] == ["price (EUR)", "y"]  # as in its table
    (tmp_path / "old.csv").write_bytes(b"name,path,target,task\ncaf\xe9,a.csv,y,regression\n")
    with pytest.raises(TabpetError, match="saved as UTF-8"):
        read_catalogs([tmp_path / "old.csv"])
    with pytest.raises(TabpetError, match="must be a CSV file"):
        read_catalogs([tmp_path])
