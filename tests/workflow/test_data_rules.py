"""The data stage through snakemake: plans, incremental re-runs, failures that stay local."""

import json
import re
import signal
import subprocess
from pathlib import Path

import pandas as pd
import psutil
import pytest

from tests.data.test_openml_source import ARFF
from tests.openml_server import OpenMLServer
from tests.workflow.conftest import ROOT
from tests.workflow.test_tree_rules import PATIENCE, wait_until

# What a preset is laid over, its tables, splits and graphs that take their time.
PRESETS = {
    "smoke": ([], 2, 1, 0),
    "paper": ([], 50, 1, 2),
    "authors": (["paper"], 50, 1, 2),
    "studies": ([], 15, 1, 0),
    "studies-small": ([], 3, 1, 0),
    "reference": ([], 22, 3, 0),
    "reference-graphs": (["reference"], 10, 3, 2),
    "reference-authors": (["paper", "authors"], 5, 1, 0),
    "reference-cloud": (["paper", "authors", "reference-authors"], 1, 4, 0),
}


def test_every_preset_is_planned_below():
    assert {path.stem for path in (ROOT / "configs").glob("*.yaml")} == set(PRESETS)


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_plan_without_data_or_network(workflow, preset):
    below, tables, splits, slow_graphs = PRESETS[preset]
    files = [str(ROOT / f"configs/{name}.yaml") for name in [*below, preset]]
    plan = workflow.run("--dry-run", "--configfile", *files, configfile=None)
    assert plan.code == 0, plan.text
    assert plan.jobs["fetch_dataset"] == tables
    assert plan.jobs["prepare_split"] == tables * splits
    assert plan.jobs["estimate_instant_graphs"] == tables * splits
    for rule in ("estimate_graph", "encode_positions"):
        assert plan.jobs.get(rule, 0) == slow_graphs * tables * splits


def test_default_config_is_the_demo_and_the_picture_shows_its_rules(workflow):
    plan = workflow.run("--dry-run", configfile=None)
    assert plan.code == 0, plan.text
    assert plan.jobs["fetch_dataset"] == 6
    picture = (ROOT / "docs/rulegraph.svg").read_text("utf-8")
    shown = set(re.findall(r"<text[^>]*>(\w+)</text>", picture))
    assert shown == set(plan.jobs), "run `make docs`"


def test_incremental_runs(workflow):
    workflow.configure(datasets=["demo-wine"], graphs=[])
    first = workflow.run()
    assert first.code == 0, first.text
    results = workflow.folder / "results"
    split = pd.read_parquet(results / "data/demo-wine/split42.parquet")
    assert set(split["part"]) == {"train", "val", "test"}
    assert json.loads((results / "data/demo-wine/card.json").read_text())["rows"] == 178
    assert (results / "logs/fetch_dataset/demo-wine.log").read_text().endswith("done\n")

    assert "Nothing to be done" in workflow.run().text

    # How to fetch is no part of the experiment.
    workflow.configure(datasets=["demo-wine"], graphs=[], fetch={"attempts": 7})
    assert "Nothing to be done" in workflow.run("--dry-run").text

    workflow.configure(datasets=["demo-wine", "demo-groups"], graphs=[])
    added = workflow.run()
    assert added.code == 0, added.text
    assert added.jobs == {
        "fetch_dataset": 1,
        "prepare_split": 1,
        "tabulate_datasets": 1,
        "all": 1,
    }
    assert "fetch demo-wine" not in added.text

    both = {"datasets": ["demo-wine", "demo-groups"], "graphs": []}
    workflow.configure(**both, splits=[42, 7])
    assert workflow.run("--dry-run").jobs == {"prepare_split": 2, "tabulate_datasets": 1, "all": 1}

    workflow.configure(**both, prepare={"max_missing": 0.5})
    assert workflow.run("--dry-run").jobs == {"prepare_split": 2, "tabulate_datasets": 1, "all": 1}


def test_a_bad_table_fails_alone_and_clearly(workflow):
    (workflow.folder / "good.csv").write_text(
        "x,y\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(40))
    )
    (workflow.folder / "mine.csv").write_text(
        "name,path,target,task\n"
        "gone,gone.csv,y,classification\n"
        "good,good.csv,y,classification\n"
        "odd,good.csv,z,classification\n"
    )
    sheets = ["datasets.csv", "mine.csv"]
    workflow.configure(catalogs=sheets, datasets=["gone", "good", "odd"], graphs=[])
    outcome = workflow.run()
    assert outcome.code != 0
    assert "There is no file" in outcome.text
    assert "the target 'z' is not a column of the table" in outcome.text
    assert "Traceback" not in outcome.text
    data = workflow.folder / "results/data"
    assert sorted(path.name for path in data.glob("good/*")) == [
        "card.json",
        "raw.parquet",
        "split42.json",
        "split42.parquet",
    ]
    assert not list(data.glob("gone/*")) + list(data.glob("odd/*"))

    # A changed file is fetched again, and only that one.
    (workflow.folder / "good.csv").write_text("x,y\n" + "1,a\n2,b\n" * 20)
    workflow.configure(catalogs=sheets, datasets=["good"], graphs=[])
    assert workflow.run("--dry-run").jobs["fetch_dataset"] == 1


def test_a_killed_job_leaves_nothing_half_written_and_the_next_run_repairs_it(workflow):
    server = OpenMLServer(ARFF)
    server.faults = {"arff": ["hang"]}
    (workflow.folder / "mine.csv").write_text(
        "name,source,openml_id,version,target,task\ntoy,openml,7,3,label,classification\n"
    )
    workflow.configure(
        catalogs=["mine.csv"], datasets=["toy"], fetch={"server": server.api, "timeout": 600}
    )
    target = "results/data/toy/card.json"
    # Without retries, or Snakemake would repair it at once.
    arguments = [target, "--retries", "0", "--configfile", str(workflow.folder / "mine.yaml")]
    run = subprocess.Popen(
        workflow.command(*arguments),
        env=workflow.environment(),
        cwd=workflow.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: server.hits["arff"] or run.poll() is not None)
    jobs = psutil.Process(run.pid).children(recursive=True)
    jobs[-1].send_signal(signal.SIGKILL)
    assert run.wait(PATIENCE) != 0
    assert not list((workflow.folder / "results/data").rglob("*.*"))

    repaired = workflow.run(target)
    server.close()
    assert repaired.code == 0, repaired.text
    assert json.loads((workflow.folder / target).read_text())["rows"] == 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"datasets": ["vehicel"]}, "Did you mean vehicle"),
        ({"dataset": ["vehicle"]}, "did you mean `datasets`?"),
        ({"datasets": ["vehicle"], "catalogs": ["nowhere.csv"]}, "There is no catalog"),
    ],
)
def test_wrong_settings_stop_before_anything_runs(workflow, settings, message):
    workflow.configure(**settings)
    outcome = workflow.run()
    assert outcome.code != 0
    assert message in outcome.text
    assert "Traceback" not in outcome.text
    assert not Path(workflow.folder, "results").exists()
