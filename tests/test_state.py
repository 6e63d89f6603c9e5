"""What the files and logs of a run say about it."""

import os

import pytest
import yaml
from typer.testing import CliRunner

from tabpet.catalog import read_catalogs
from tabpet.cli import app
from tabpet.ending import describe_end
from tabpet.files import write_json, write_text
from tabpet.plan import Cell, input_settings, planned_cells, run_settings
from tabpet.retry import find_repeats, take_back
from tabpet.runs import Run, make_provenance, read_runs, write_runs
from tabpet.settings import Settings
from tabpet.state import last_error, newer_runs, recorded_alphas, state_key
from tabpet.training.files import CellResult, Journal
from tests.workflow.conftest import ROOT

CONFIG = {
    "datasets": ["demo-wine", "demo-diabetes"],
    "graphs": ["spearman", "notears"],
    "models": ["ft_transformer"],
    "alphas": [1.0],
    "seeds": [1],
    "learners": ["xgboost"],
    "references": ["linear"],
}
SETTINGS = Settings.model_validate(CONFIG)
CATALOG = read_catalogs([ROOT / "datasets.csv"])
ROWS = [CATALOG[name] for name in CONFIG["datasets"]]


def write_cell_run(folder, cell: Cell, **more) -> list[Run]:
    made_with = run_settings(SETTINGS, CATALOG[cell.dataset], cell.model, cell.encoding)
    shared = {"task": CATALOG[cell.dataset].task, "provenance": make_provenance(made_with, {})}
    alphas = (0.0, 1.0) if cell.graph else (None,)
    ended = more or {"val_score": 0.5, "test_score": 0.5}
    runs = [Run(**cell.identity, **shared, alpha=alpha, **ended) for alpha in alphas]
    write_runs(runs, folder / cell.run)
    return runs


def write_graph(folder, cell: Cell, status="ok", reason="") -> None:
    place = f"results/graphs/{cell.dataset}/split{cell.split}/{cell.graph}"
    made_with = input_settings(SETTINGS, CATALOG[cell.dataset], cell)[cell.graph_info]
    write_json({"status": status, "reason": reason, **made_with}, folder / f"{place}.json")
    write_text("edges", folder / f"{place}.parquet")


@pytest.fixture
def folder(tmp_path):
    """One dataset finished in all the ways there are, the other one failed to be fetched."""
    for cell in planned_cells(SETTINGS, ["demo-wine"]):
        for stage in cell.stages[:-1]:
            write_text("there", tmp_path / stage.output)
        for path, made_with in input_settings(SETTINGS, CATALOG[cell.dataset], cell).items():
            write_json(made_with, tmp_path / path)
        if cell.graph == "notears":
            write_graph(tmp_path, cell, "timeout", "no time")
        elif cell.graph:
            write_graph(tmp_path, cell)
        ended = {
            "notears": {"status": "skipped", "reason": "no graph", "graph_state": "failed"},
            "tuned": {"status": "oom", "reason": "8 GB used"},
        }.get(cell.encoding, {})
        write_cell_run(tmp_path, cell, **ended)
    log = tmp_path / "results/logs/fetch_dataset/demo-diabetes.log"
    write_text("10:00:00 INFO begins\n10:00:01 ERROR There is no such file.\nSecond line.\n", log)
    return tmp_path


def test_the_last_error_of_a_log_in_one_line():
    assert last_error("10:00:00 INFO fine\n10:00:01 WARNING odd\n") is None
    assert last_error("10:00:00 ERROR first\n10:00:01 ERROR second\nmore\n") == "second"
    traceback = "10:00:00 ERROR failed\nTraceback (most recent call last):\n  x\nKeyError: 'a'\n"
    assert last_error(traceback + "10:00:02 INFO after\n") == "KeyError: 'a'"
    assert last_error("") is None


def test_the_end_of_a_run_says_what_failed_and_what_to_type(folder):
    text = describe_end(SETTINGS, ROWS, folder)
    assert "1 job failed:" in text
    assert "demo-diabetes, fetch_dataset (4 cells wait for it): There is no such file." in text
    assert "log: results/logs/fetch_dataset/demo-diabetes.log" in text
    assert "Of 8 cells, 1 ran out of memory, 1 was skipped without a graph." in text
    assert "1 graph was cut or failed:" in text
    assert "results/graphs/demo-wine/split42/notears.json: timeout, no time" in text
    assert "snakemake partial --cores all" in text
    assert "tabpet retry --status oom --status timeout, then" in text
    named = describe_end(SETTINGS, ROWS, folder, ["mine.yaml", "more.yaml"])
    assert "snakemake partial --cores all --configfile mine.yaml more.yaml" in named
    assert "--status timeout --config mine.yaml --config more.yaml, then" in named


def test_a_run_that_ended_well_says_nothing(tmp_path):
    settings = Settings.model_validate({**CONFIG, "graphs": ["spearman"]})
    for cell in planned_cells(settings, CONFIG["datasets"]):
        write_cell_run(tmp_path, cell)
    assert describe_end(settings, ROWS, tmp_path) == ""
    # What is odd about a table is told all the same, a line per dataset.
    table = tmp_path / "results/tables/datasets.csv"
    table.parent.mkdir(parents=True)
    table.write_text(
        "dataset,split,warnings\na,1,constant columns: x; few rows\n"
        'a,2,constant columns: x\nb,1,\n"c",1,dates\n'
    )
    assert describe_end(settings, ROWS, tmp_path).splitlines() == [
        "Worth knowing about the tables:",
        "  a: constant columns: x; few rows",
        "  c: dates",
    ]


def test_every_log_that_is_looked_for_is_one_that_a_rule_writes():
    rules = "".join(path.read_text() for path in (ROOT / "rules").glob("*.smk"))
    patterns = {"demo-wine": "{dataset}", "split7": "split{split}", "seed3": "seed{seed}"}
    for model, encoding, names in (
        ("ft_transformer", "notears-random", {"ft_transformer": "{model}"}),
        ("ft_transformer", "spearman", {"ft_transformer": "{model}", "/spearman/": "/{encoding}/"}),
        ("xgboost", "tuned", {"xgboost": "{learner}"}),
        ("linear", "default", {"linear": "{reference}"}),
    ):
        cell = Cell("demo-wine", 7, model, encoding, 3)
        for stage in cell.stages:
            encodings = {"notears-random": "{encoding}", "-spearman-": "-{encoding}-"}
            encodings |= {"notears": "{graph}", "/spearman.": "/{graph}."}
            for path in (stage.log, stage.output):
                pattern = str(path)
                for name, wildcard in {**patterns, **names, **encodings}.items():
                    pattern = pattern.replace(name, wildcard)
                # Files of several cells are named without their ending, or by `instant_files`.
                folder, _, name = pattern.partition("/{dataset}/split{split}/{graph}")
                known = f'"{pattern}"' in rules or f'"{pattern.removesuffix(".parquet")}"' in rules
                instant = f'instant_files("{folder.removeprefix("results/")}", "{name[1:]}")'
                assert known or instant in rules, pattern


def repeats(folder, *statuses, models=None):
    found = find_repeats(SETTINGS, ROWS, statuses, models, folder)
    return {str(one.what.run if isinstance(one.what, Cell) else one.what): one for one in found}


def test_cells_and_graphs_are_found_by_how_they_ended(folder):
    [path] = repeats(folder, "error", "oom")
    assert path == "results/runs/demo-wine/split42/xgboost/tuned/seed1.parquet"
    assert list(repeats(folder, "timeout")) == ["results/graphs/demo-wine/split42/notears.json"]
    assert repeats(folder, "timeout", models=["ft_transformer"]) == {}
    assert len(repeats(folder, "ok")) == 2


def test_taking_back_a_graph_removes_its_files_alone(folder):
    before = {path for path in folder.rglob("*") if path.is_file()}
    for repeat in repeats(folder, "timeout").values():
        take_back(repeat, folder)
    gone = before - {path for path in folder.rglob("*") if path.is_file()}
    place = folder / "results/graphs/demo-wine/split42"
    assert gone == {place / "notears.json", place / "notears.parquet"}


def test_taking_back_a_cell_keeps_what_ended_well_in_its_journal(folder):
    cell = Cell("demo-wine", 42, "ft_transformer", "spearman", 1)
    good, bad = write_cell_run(folder, cell)
    cut = Run(**{**vars(bad), "status": "timeout", "reason": "9 s were over"})
    write_runs([good, cut], folder / cell.run)
    journal = Journal(folder / cell.journal)
    journal.save(CellResult([good, cut]))
    found = repeats(folder, "timeout", models=["ft_transformer"])
    assert list(found) == [str(cell.run)]
    for repeat in found.values():
        take_back(repeat, folder)
    assert not (folder / cell.run).exists()
    assert [run.alpha for run in journal.load(good.provenance).runs] == [0.0]
    # What ended well is repeated only when that is asked for.
    write_cell_run(folder, cell)
    for repeat in repeats(folder, "ok", models=["ft_transformer"]).values():
        take_back(repeat, folder)
    assert journal.load(good.provenance).runs == []


def test_a_cell_without_an_alpha_that_is_wanted_is_outdated(folder):
    cell = Cell("demo-wine", 42, "ft_transformer", "spearman", 1)
    good, _ = write_cell_run(folder, cell)
    write_runs([good], folder / cell.run)
    backup = folder / ".snakemake/backups" / cell.run
    write_text("an older one", backup)
    found = repeats(folder, "outdated", models=["ft_transformer"])
    assert found[str(cell.run)].reason.endswith("has not been trained")
    take_back(found[str(cell.run)], folder)
    assert not (folder / cell.run).exists() and not backup.exists()


def test_what_was_taken_back_has_not_failed(folder):
    cell = Cell("demo-wine", 42, "xgboost", "tuned", 1)
    write_text("10:00:00 INFO begins\n10:00:01 INFO done\n", folder / cell.stages[-1].log)
    for repeat in repeats(folder, "oom").values():
        take_back(repeat, folder)
    text = describe_end(SETTINGS, ROWS, folder)
    assert "1 job failed:" in text and "xgboost" not in text


def test_failures_of_summaries_and_of_runs_without_training_are_told(folder):
    log = folder / "results/logs/collect_scores.log"
    write_text("10:00:00 ERROR the disk is full\n", log)
    text = describe_end(SETTINGS, ROWS, folder)
    assert "collect_scores, collect_scores: the disk is full" in text
    untrained = {"models": [], "learners": [], "references": []}
    alone = Settings.model_validate({**CONFIG, **untrained})
    text = describe_end(alone, ROWS, folder)
    assert "demo-diabetes, fetch_dataset: There is no such file." in text


def test_the_key_of_a_state_changes_with_results_and_with_the_logs_of_failures(folder):
    def key():
        return state_key(SETTINGS, CONFIG["datasets"], folder)

    keys = [key()]
    assert key() == keys[0]
    log = folder / "results/logs/fetch_dataset/demo-diabetes.log"
    os.utime(log, (1, 1))
    keys.append(key())
    (folder / "results/runs/demo-wine/split42/xgboost/tuned/seed1.parquet").unlink()
    keys.append(key())
    write_text("again", folder / "results/data/demo-wine/split42.json")
    keys.append(key())
    assert len(set(keys)) == 4


def test_the_command_is_a_dry_run_first(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "mine.yaml").write_text(yaml.safe_dump(CONFIG))
    run = folder / "results/runs/demo-wine/split42/xgboost/tuned/seed1.parquet"
    said = CliRunner().invoke(app, ["retry", "--config", "mine.yaml"])
    assert said.exit_code == 0 and "1 to repeat. Nothing has been changed" in said.output
    assert "8 GB used" in said.output and run.exists()
    said = CliRunner().invoke(app, ["retry", "--config", "mine.yaml", "--yes"])
    assert said.exit_code == 0 and "1 taken back" in said.output
    assert not run.exists()
    said = CliRunner().invoke(app, ["retry", "--config", "mine.yaml", "--yes"])
    assert "nothing to repeat" in said.output
    said = CliRunner().invoke(app, ["retry", "--config", "mine.yaml", "--status", "oops"])
    assert "There is no status 'oops'" in str(said.exception)


def test_alphas_count_as_trained_only_with_the_same_settings(folder):
    cell = Cell("demo-wine", 42, "ft_transformer", "spearman", 1)
    made_with = run_settings(SETTINGS, CATALOG["demo-wine"], cell.model, cell.encoding)
    assert recorded_alphas(folder / cell.run, made_with) == {0.0, 1.0}
    assert recorded_alphas(folder / cell.run, {**made_with, "batch_size": 1}) == set()
    assert recorded_alphas(folder / "nowhere.parquet", made_with) == set()


def test_newer_runs_are_counted(folder):
    assert newer_runs(folder / "results") == 4
    last = folder / "results/summary/headline.json"
    write_json({}, last)
    assert newer_runs(folder / "results", last) == 0
    assert read_runs(next((folder / "results/runs").rglob("seed1.parquet"))) is not None


def test_a_summary_without_tables_names_the_command_that_makes_one(folder, monkeypatch):
    monkeypatch.chdir(folder)
    said = CliRunner().invoke(app, ["summary"])
    assert "holds 4 run files and no summary" in str(said.exception)
    assert "snakemake partial" in str(said.exception)
