"""`tabpet dataset`: a row for one's own table, and all problems of a sheet at once."""

import pandas as pd
import pytest
from typer.testing import CliRunner

from tabpet import cli
from tabpet.catalog import read_catalogs, select_datasets
from tabpet.data.fetch import fetch_dataset
from tabpet.errors import TabpetError
from tabpet.settings import FetchSettings

runner = CliRunner()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TABPET_MIRROR", raising=False)
    (tmp_path / "files").mkdir()
    frame = pd.DataFrame({"a": range(30), "b": list("uvw") * 10, "price": [1.5, 2.5, 4.0] * 10})
    frame.to_csv(tmp_path / "files/prices.csv", index=False)
    return tmp_path


def run(*arguments):
    return runner.invoke(cli.app, ["dataset", *arguments])


def test_a_row_that_the_workflow_reads(folder):
    done = run("add", "files/prices.csv", "--target", "price", "--name", "houses")
    assert done.exit_code == 0, done.output
    assert "houses: 30 rows, 1 numeric and 1 categorical features, regression of" in done.output
    again = run(
        *("add", "files/prices.csv", "--target", "b", "--name", "letters"),
        *("--ignore", "price", "--categorical", "a"),
    )
    assert again.exit_code == 0, again.output
    catalog = read_catalogs([folder / "mine.csv"])
    assert select_datasets(catalog, ["@mine"]) == ["houses", "letters"]
    assert catalog["letters"].ignore == ("price",) and catalog["letters"].task == "classification"
    _, card = fetch_dataset(catalog["houses"], FetchSettings())  # with its shape and its hash
    assert card.sha256.startswith(catalog["houses"].sha256) and catalog["houses"].n_rows == 30


def test_a_copy_is_told_when_it_is_added(folder):
    add = ("add", "files/prices.csv", "--target", "price", "--name")
    assert "the same table" not in run(*add, "houses").output
    assert "- the same table as houses" in run(*add, "again").output


def test_columns_of_an_existing_sheet_stay(folder):
    (folder / "mine.csv").write_text("name;task;path;target;abbreviation\nx;regression;f.csv;y;X\n")
    assert run("add", "files/prices.csv", "--target", "price").exit_code == 0
    lines = (folder / "mine.csv").read_text().splitlines()
    assert lines[0].startswith("name;task;path;target;abbreviation;source;categorical")
    assert lines[1].startswith("x;regression;f.csv;y;X;")
    assert list(read_catalogs([folder / "mine.csv"])) == ["x", "prices"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "prize"], "files/prices.csv has no column 'prize'. Did you mean 'price'?"),
        (["--target", "price", "--name", "a/b"], "The name 'a/b': a name starts with a letter"),
        (["--target", "price", "--name", "my houses"], "it becomes a folder name"),
        (["--target", "price", "--ignore", "price"], "'price' is the target: --ignore"),
        (["--target", "b", "--categorical", "b"], "'b' is the target: --ignore and --categorical"),
        (["--target", "price", "--name", "old"], "has a dataset 'old' already"),
    ],
)
def test_wrong_options_leave_the_sheet_alone(folder, options, message):
    text = "name,task,path,target\nold,regression,f.csv,y\n"
    (folder / "mine.csv").write_text(text)
    done = run("add", "files/prices.csv", *options)
    assert isinstance(done.exception, TabpetError) and message in str(done.exception)
    assert (folder / "mine.csv").read_text() == text


def test_check_reports_everything_at_once(folder):
    (folder / "mine.csv").write_text(
        "name,task,path,target,n_rows\n"
        "good,regression,files/prices.csv,price,30\n"
        "copy,regression,files/prices.csv,price,\n"
        "bad name,regression,files/prices.csv,price,\n"
        "gone,regression,files/gone.csv,price,\n"
        "task,clas,files/prices.csv,price,\n"
        "target,regression,files/prices.csv,prise,\n"
        "rows,regression,files/prices.csv,price,31\n"
        "good,regression,files/prices.csv,price,30\n"
    )
    done = run("check")
    text = " ".join(done.output.split())
    assert done.exit_code == 1
    for message in (
        "line 4 (bad name): name: a name starts",
        "line 6 (task): task: Input should be",
        "gone: There is no file files/gone.csv",
        "Did you mean 'price'?",
        "n_rows: catalog 31, table 30",
        "good stands there twice",
        "copy: the same table as good",
        "Tables as the sheet says: 3 of 6",
    ):
        assert message in text, message


def test_check_of_a_good_sheet(folder):
    run("add", "files/prices.csv", "--target", "price")
    done = run("check", "mine.csv")
    assert done.exit_code == 0 and "Tables as the sheet says: 1 of 1" in done.output
