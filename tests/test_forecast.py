"""What `tabpet plan` says: counts that are Snakemake's, and times that follow the settings."""

import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tabpet.catalog import CatalogRow
from tabpet.cli import app
from tabpet.costs import cell_seconds, graph_seconds, small_tables
from tabpet.forecast import disk_bytes, load_run, measured_speeds, plan_stages, show_hours
from tabpet.plan import Cell
from tabpet.registry import GRAPHS
from tabpet.runs import Run, write_runs
from tabpet.settings import Settings
from tests.workflow.conftest import ROOT

VEHICLE = CatalogRow(
    name="v", path="v.csv", target="y", task="classification", n_rows=846, n_features=18
)


def settings(**changes) -> Settings:
    return Settings.model_validate({"datasets": ["v"], **changes})


def jobs_by_snakemake(config: Path, folder: Path) -> dict[str, int]:
    command = [
        *(str(Path(sys.executable).with_name("snakemake")), "--snakefile", str(ROOT / "Snakefile")),
        *("--directory", str(folder), "--configfile", str(config), "--cores", "1", "--dry-run"),
    ]
    text = subprocess.run(command, capture_output=True, text=True, cwd=folder).stdout
    table = re.search(r"Job stats:\n(?:.*\n){2}((?:\w+ +\d+\n)+)", text)
    assert table, text
    return {rule: int(count) for rule, count in (line.split() for line in table[1].splitlines())}


@pytest.mark.parametrize("name", ["smoke.yaml", "reference.yaml"])
def test_jobs_are_counted_as_snakemake_counts_them(tmp_path, name):
    config = ROOT / "configs" / name
    planned = jobs_by_snakemake(config, tmp_path)
    stages = {stage.name: stage.jobs for stage in plan_stages(*load_run([config]))}
    assert sum(stages.values()) == planned["total"] - planned["all"]
    by_rule = {
        "fetch": ["fetch_dataset"],
        "prepare": ["prepare_split"],
        "instant graphs": ["estimate_instant_graphs"],
        "slow graphs": ["estimate_graph"],
        "encodings of slow graphs": ["encode_positions"],
        "train": ["train_transformer", "train_transformer_seed"],
        "tune trees": ["tune_trees", "tune_trees_seed"],
        "references": ["fit_references"],
    }
    for stage, rules in by_rule.items():
        assert stages[stage] == sum(planned.get(rule, 0) for rule in rules), stage


def test_a_graph_from_the_card_has_a_job_of_its_own():
    stages = {
        stage.name: stage for stage in plan_stages(settings(graphs=["spearman", "true"]), [VEHICLE])
    }
    assert stages["slow graphs"].jobs == stages["instant graphs"].jobs == 1
    assert stages["slow graphs"].seconds == 2


def test_the_papers_grid_is_planned_in_at_most_2000_jobs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    said = CliRunner().invoke(app, ["plan", "--configfile", str(ROOT / "configs/paper.yaml")])
    assert said.exit_code == 0
    cells = re.search(r"^train +([\d,]+) +([\d,]+)", said.output, re.M)
    jobs = re.search(r"50 datasets, ([\d,]+) jobs", said.output)
    assert cells[1] == "3,500" and int(jobs[1].replace(",", "")) <= 2000
    assert "madeline" in said.output and "Memory: up to" in said.output and "Disk:" in said.output
    assert "studies" not in said.output


def test_studies_are_not_counted_and_it_says_so():
    said = CliRunner().invoke(app, ["plan", "--configfile", str(ROOT / "configs/studies.yaml")])
    assert said.exit_code == 0 and "The studies of this config are not counted" in said.output


def test_estimates_are_near_what_was_measured():
    # docs/performance.md: 0.61 s per epoch and alpha on a core; 150 epochs, ten alphas.
    nine = [0.05, 0.1, 0.2, 0.5, 0.7, 1, 2, 5, 10]
    seconds = cell_seconds(settings(alphas=nine), VEHICLE, "ft_transformer", "spearman")
    assert seconds == pytest.approx(0.61 * 150 * 10, rel=0.35)


def test_estimates_follow_the_settings_and_never_exceed_a_limit():
    def seconds(model="ft_transformer", encoding="spearman", device="cpu", **changes):
        return cell_seconds(settings(**changes), VEHICLE, model, encoding, device)

    assert seconds(device="gpu") < seconds()
    assert seconds(encoding="spearman-learnable") < seconds()
    assert seconds(training={"max_epochs": 75}) == pytest.approx(seconds() / 2)
    assert seconds(training={"max_seconds": 7}) == 7
    assert seconds("xgboost", "tuned", trees={"trials": 10}) < seconds("xgboost", "tuned")
    assert seconds("xgboost", "tuned", trees={"max_seconds": 3}) == 3
    assert seconds("linear", "default") < seconds("xgboost", "default") < 60
    wide = VEHICLE.model_copy(update={"n_features": 200})
    for model in ("ft_transformer", "saint", "tab_transformer"):
        assert cell_seconds(settings(), wide, model, "spearman") > seconds(model)
    limited = settings(graph_seconds=5)
    assert graph_seconds(limited, wide, "notears") == 5
    assert graph_seconds(settings(), VEHICLE, "lingam") < graph_seconds(settings(), wide, "notears")


def test_an_estimator_says_itself_how_long_it_takes(monkeypatch):
    estimator = dataclasses.replace(GRAPHS.own["pc"], key="mine", seconds=lambda d, n: d + n / 1000)
    monkeypatch.setitem(GRAPHS.entries, "mine", estimator)
    large = VEHICLE.model_copy(update={"n_rows": 5000, "n_categorical": 2})
    # A node per feature, and three more per categorical one; 60 % of the rows.
    assert graph_seconds(settings(), large, "mine") == pytest.approx(18 + 3 * 2 + 3.0)


def test_seeds_of_small_tables_share_a_job_and_those_of_large_ones_do_not():
    large = VEHICLE.model_copy(update={"name": "large", "n_rows": 50_000})
    pairs = [("ft_transformer", "spearman")]

    def together(**changes):
        return small_tables(settings(**changes), [VEHICLE, large], pairs)

    assert together(bundle_minutes=200) == ["v"]
    assert together(bundle_minutes=1e6) == ["v", "large"]
    assert together(bundle_minutes=0) == []
    paired = {"splits": [1, 2], "seeds": [1, 2], "seeds_of_splits": "paired"}
    assert together(bundle_minutes=1e6, **paired) == []


def test_finished_cells_of_the_same_device_correct_the_estimate(tmp_path):
    config = settings(graphs=["spearman"], models=["ft_transformer"], learners=[], references=[])
    cell = Cell("v", 42, "ft_transformer", "spearman", 1)
    expected = cell_seconds(config, VEHICLE, cell.model, cell.encoding)
    ended = {"task": "classification", "val_score": 1, "test_score": 1, "device": "cpu"}
    write_runs([Run(**cell.identity, **ended, seconds=3 * expected)], tmp_path / cell.run)
    assert measured_speeds(config, [VEHICLE], "cpu", tmp_path) == {
        "ft_transformer": pytest.approx(3)
    }
    assert measured_speeds(config, [VEHICLE], "gpu", tmp_path) == {}
    stages = {
        speed: sum(stage.seconds for stage in plan_stages(config, [VEHICLE], "cpu", speed_of))
        for speed, speed_of in (("estimated", {}), ("measured", {"ft_transformer": 3.0}))
    }
    assert stages["measured"] > 2 * stages["estimated"]


def test_the_speed_of_a_gpu_is_an_assumption_until_a_transformer_was_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(
        "{datasets: [demo-wine], graphs: [spearman], models: [saint], learners: [xgboost]}"
    )
    ended = {"task": "classification", "val_score": 1, "test_score": 1, "seconds": 9.0}
    assumed = "assumption until one of yours has finished a cell of saint."

    def said() -> str:
        command = ["plan", "--config", "mine.yaml", "--device", "gpu"]
        return " ".join(CliRunner().invoke(app, command).output.split())

    assert assumed in said() and "Corrected" not in said()
    tree = Cell("demo-wine", 42, "xgboost", "tuned", 1)
    write_runs([Run(**tree.identity, **ended, device="cpu")], tree.run)
    assert assumed in said() and "finished cells of xgboost tuned." in said()
    cell = Cell("demo-wine", 42, "saint", "spearman", 1)
    write_runs([Run(**cell.identity, **ended, device="NVIDIA A100")], cell.run)
    assert "assumption" not in said() and "finished cells of saint, xgboost tuned." in said()


def test_predictions_take_disk():
    kept = settings(training={"keep_predictions": True})
    assert disk_bytes(kept, [VEHICLE]) > disk_bytes(settings(), [VEHICLE])


def test_hours_are_shown_in_a_unit_that_fits():
    assert [show_hours(hours) for hours in (0.01, 0.5, 30, 100)] == [
        *("36 s", "30 min", "30.0 h", "4 days"),
    ]
