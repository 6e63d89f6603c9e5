"""The `tabpet` command."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

import tabpet
from tabpet import cli
from tabpet.files import write_json

runner = CliRunner()


def run(*arguments: str):
    return runner.invoke(cli.app, list(arguments))


def test_datasets_lists_the_catalog_and_where_tables_are(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TABPET_MIRROR", raising=False)
    fetched = tmp_path / "results/data/vehicle/raw.parquet"
    fetched.parent.mkdir(parents=True)
    fetched.touch()
    lines = run("datasets").output.splitlines()
    place = {line.split()[0]: line.split()[-1] for line in lines[1:] if line[:1].strip()}
    assert place["vehicle"] == "fetched"
    assert place["phoneme"] == "download"
    assert place["demo-wine"] == "bundled"
    assert lines[-1] == "56 datasets, 7 available without a download"


def test_datasets_selects_groups(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert "6 datasets" in run("datasets", "@demo").output


def test_settings_prints_the_table():
    assert "prepare.max_missing" in run("settings").output


def test_summary_before_a_run_says_what_to_do(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["tabpet", "summary"])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 1
    assert "run `snakemake --cores all` first" in " ".join(capsys.readouterr().err.split())


def test_summary_of_a_run_without_prepared_tables_goes_on_to_the_headline(tmp_path):
    tables = tmp_path / "tables"
    tables.mkdir()
    for name in ("datasets", "graphs"):
        (tables / f"{name}.csv").write_text("\n")  # as the rule `collect_partial` writes them
    write_json({"verdict": "It helps.", "lines": []}, tmp_path / "summary/headline.json")
    done = run("summary", str(tmp_path))
    assert done.exit_code == 0
    assert "No dataset has been prepared." in done.output and "It helps." in done.output


def test_errors_are_plain_messages_with_the_whole_advice():
    done = subprocess.run(
        [sys.executable, "-m", "tabpet", "datasets", "vehicel"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "Did you mean vehicle" in done.stderr
    assert "`catalogs: [datasets.csv, mine.csv]`" in done.stderr


def test_one_dataset_is_one(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert "\n1 dataset, 1 available" in run("datasets", "demo-wine").output


def test_version():
    assert run("--version").output.strip() == f"tabpet {tabpet.__version__}"


@pytest.mark.parametrize("command", ["train", "encoding"])
def test_a_seed_is_not_negative(command):
    names = ["demo-wine", "ft_transformer", "spearman"][:: 1 if command == "train" else 2]
    done = run(command, *names, "--seed", "-1")
    assert done.exit_code == 2 and "greater than or equal to 0" in done.output
