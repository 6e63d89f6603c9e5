"""What `tabpet status` says of a run, from its files and logs alone."""

import os
import re
import time
from dataclasses import replace

import pytest
import yaml
from typer.testing import CliRunner

from tabpet import status
from tabpet.catalog import read_catalogs
from tabpet.cli import app
from tabpet.files import write_text
from tabpet.plan import Cell, planned_cells, run_settings
from tabpet.runs import Run, make_provenance, stored_runs, write_runs
from tabpet.settings import Settings
from tabpet.status import read_status
from tests.workflow.conftest import ROOT

CONFIG = {
    "datasets": ["demo-wine", "demo-diabetes"],
    "graphs": ["spearman", "notears"],
    "models": ["ft_transformer"],
    "alphas": [1.0],
    "seeds": [1, 2],
    "learners": ["xgboost"],
    "references": ["linear"],
}
SETTINGS = Settings.model_validate(CONFIG)
CATALOG = read_catalogs([ROOT / "datasets.csv"])
ROWS = [CATALOG[name] for name in CONFIG["datasets"]]


def write_run(folder, cell, **more):
    ended = more or {"val_score": 0.5, "test_score": 0.5, "seconds": 5.0, "device": "cpu"}
    made_with = run_settings(SETTINGS, CATALOG[cell.dataset], cell.model, cell.encoding)
    shared = {"task": "classification", "provenance": make_provenance(made_with, {})}
    alphas = (0.0, 1.0) if cell.graph else (None,)
    runs = [Run(**cell.identity, **shared, **ended, alpha=alpha) for alpha in alphas]
    write_runs(runs, folder / cell.run)


@pytest.fixture
def folder(tmp_path):
    """One dataset half way, the other not begun."""
    for cell in planned_cells(SETTINGS, ["demo-wine"]):
        for stage in cell.stages[:-1]:
            write_text("there", tmp_path / stage.output)
        log = tmp_path / cell.stages[-1].log
        if cell.encoding == "spearman":
            write_run(tmp_path, cell)
        elif cell.encoding == "notears" and cell.seed == 1:
            write_text("10:00:00 INFO epoch 3/500\n", log)
        elif cell.encoding == "notears":
            write_text("10:00:00 INFO begins\n10:00:01 ERROR no memory\n", log)
        elif cell.encoding == "tuned" and cell.seed == 1:
            write_run(tmp_path, cell, status="oom", reason="8 GB used")
        elif cell.encoding == "tuned":
            write_text("10:00:00 INFO done\n", log)  # taken back by `tabpet retry`
    return tmp_path


def test_results_are_counted_by_dataset_and_stage(folder):
    found = read_status(SETTINGS, ROWS, folder)
    kinds = ("data", "graphs", "transformers", "trees", "references")
    done = {name: [found.done[name][kind] for kind in kinds] for name in CONFIG["datasets"]}
    total = {name: [found.total[name][kind] for kind in kinds] for name in CONFIG["datasets"]}
    # Slow graphs are estimated and encoded by jobs of their own.
    assert total == {name: [2, 3, 4, 2, 2] for name in CONFIG["datasets"]}
    assert done == {"demo-wine": [2, 3, 2, 1, 0], "demo-diabetes": [0, 0, 0, 0, 0]}
    [running] = found.running
    assert running == Cell("demo-wine", 42, "ft_transformer", "notears", 1).stages[-1]
    [(failed, reason)] = found.failed
    assert reason == "no memory" and failed.log.name.endswith("notears-seed2.log")
    [(cell, ended, reason)] = found.ended_badly
    assert (cell.model, ended, reason) == ("xgboost", "oom", "8 GB used")
    assert len(found.unfinished) == 16 - 3


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"alphas": [1, 5]}, "alpha 5.0 has not been trained"),
        ({"training": {"max_epochs": 9}}, "other settings: training.max_epochs: 500, now 9"),
    ],
)
def test_what_lacks_an_alpha_or_has_other_settings_is_to_do(folder, changes, reason):
    found = read_status(Settings.model_validate({**CONFIG, **changes}), ROWS, folder)
    assert (found.done["demo-wine"]["transformers"], found.done["demo-wine"]["trees"]) == (0, 1)
    outdated = [(cell, why) for cell, ended, why in found.ended_badly if ended == "outdated"]
    assert [cell.encoding for cell, _ in outdated] == ["spearman", "spearman"]
    assert all(reason in why for _, why in outdated)
    assert len(found.unfinished) == 16 - 1


def test_an_alpha_that_is_no_longer_wanted_is_no_matter(folder):
    cell = Cell("demo-wine", 42, "ft_transformer", "spearman", 1)
    write_run(folder, cell, status="error", reason="diverged")
    [run, other] = stored_runs(folder / cell.run)
    write_runs([replace(run, alpha=9.0)], folder / cell.run)
    assert len(read_status(SETTINGS, ROWS, folder).ended_badly) == 2  # alphas 0 and 1 are missing
    good = {"status": "ok", "reason": None, "val_score": 0.5, "test_score": 0.5}
    wanted = [replace(one, **good) for one in (run, other)]
    write_runs([*wanted, replace(run, alpha=9.0)], folder / cell.run)
    assert len(read_status(SETTINGS, ROWS, folder).ended_badly) == 1


def test_a_job_without_a_word_for_long_is_not_called_running(folder):
    cell = Cell("demo-wine", 42, "ft_transformer", "notears", 1)
    long_ago = time.time() - 3600
    os.utime(folder / cell.stages[-1].log, (long_ago, long_ago))
    found = read_status(SETTINGS, ROWS, folder)
    assert (found.running, found.silent) == ([], [cell.stages[-1]])


def test_the_page_names_what_failed_its_log_and_the_time_left(folder, monkeypatch):
    (folder / "mine.yaml").write_text(yaml.safe_dump(CONFIG))
    command = ["status", "--configfile", str(folder / "mine.yaml"), "--directory", str(folder)]
    monkeypatch.setattr(status.console, "width", 400)  # a long path is not broken
    said = CliRunner().invoke(app, command)
    assert said.exit_code == 0, said.output
    assert "8 of 26 results are there, 1 running, 1 failed, 16 to do." in said.output
    assert "no memory" in said.output and "notears-seed2.log" in said.output
    assert "of work are left for the cells" in said.output
    assert "by what finished cells took" in said.output
    assert re.search(r"oom +1 +8 GB used +\S+/tune_trees/demo-wine-.*-seed1.log", said.output)
    # By stage and dataset, and for all datasets together.
    assert said.output.count("2/4 (1 failed, 1 running)") == 1
    assert said.output.count("2/8 (1 failed, 1 running)") == 1
    said = CliRunner().invoke(app, [*command[:-1], str(folder / "nowhere")])
    assert "There is no folder" in str(said.exception)


def test_a_damaged_run_file_is_told(folder):
    cell = Cell("demo-wine", 42, "ft_transformer", "spearman", 1)
    (folder / cell.run).write_text("half")
    found = read_status(SETTINGS, ROWS, folder)
    assert any("can't be read" in reason for _, _, reason in found.ended_badly)


def test_what_is_watched_begins_with_what_matters(folder, monkeypatch):
    class Closed(Exception):
        pass

    def close(seconds: float) -> None:
        raise Closed

    (folder / "mine.yaml").write_text(yaml.safe_dump(CONFIG))
    monkeypatch.setattr(status.console, "width", 400)
    monkeypatch.setattr(status.time, "sleep", close)
    command = ["status", "--config", str(folder / "mine.yaml"), "--directory", str(folder)]
    said = CliRunner().invoke(app, [*command, "--watch"])
    assert isinstance(said.exception, Closed)
    # A window shows the beginning of what is too long for it.
    assert said.output.index("8 of 26 results") < said.output.index("2/4 (1 failed, 1 running)")
