"""The smallest run through every stage: from catalog rows to the page, and what it adds later."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from tabpet.analysis.captions import figure_files, table_files
from tabpet.runs import SCHEMA, read_runs
from tests.workflow.conftest import ROOT, Workflow

SMOKE = yaml.safe_load((ROOT / "configs/smoke.yaml").read_text())
ENCODINGS = 4  # two graphs and two controls


@pytest.fixture
def workflow(tmp_path) -> Workflow:
    """With sources that nobody may write to, as one installation for a group has them."""
    sources, folder = tmp_path / "sources", tmp_path / "run"
    others = shutil.ignore_patterns(".*", "results", "tests")
    shutil.copytree(ROOT, sources, ignore=others)
    for path in (sources, *sources.rglob("*")):
        path.chmod(path.stat().st_mode & ~0o222)
    folder.mkdir()
    # Root may write anywhere, unless it gives that up.
    modest = ["setpriv", "--inh-caps=-all", "--bounding-set=-dac_override"]
    return Workflow(folder, sources, modest if os.geteuid() == 0 else [])


def test_from_the_catalog_to_the_page(workflow):
    tried = subprocess.run(
        [*workflow.before, "touch", str(workflow.sources / "new")], capture_output=True
    )
    assert tried.returncode != 0, "the sources can be written to"
    workflow.configure(**SMOKE)
    first = workflow.run()
    assert first.code == 0, first.text
    results = workflow.folder / "results"

    # FT-Transformer: a row per encoding and alpha (0 included); TabTransformer has one encoding;
    # two tuned and three plain learners have one row each.
    scores = read_runs(results / "scores.parquet")
    assert list(scores.columns) == SCHEMA.names
    per_dataset = ENCODINGS * 3 + 3 + 2 + 3
    assert scores.groupby("dataset").size().tolist() == [per_dataset, per_dataset]
    skipped = scores[scores["status"] != "ok"]
    assert set(skipped["dataset"]) == {"demo-wine"} and set(skipped["model"]) == {"tab_transformer"}
    assert skipped["reason"].str.contains("at least 2 categorical features").all()

    for path in (*table_files("results/tables"), *figure_files("results/figures")):
        assert (workflow.folder / path).stat().st_size > 0, path
    tabpet = [sys.executable, "-m", "tabpet", "summary"]
    said = subprocess.run(
        tabpet, cwd=workflow.folder, capture_output=True, text=True, env=workflow.environment()
    ).stdout
    assert "Spearman encodings" in said and "results/summary/index.html" in said

    archive = workflow.run("--report", "report.zip")
    assert archive.code == 0, archive.text
    with zipfile.ZipFile(workflow.folder / "report.zip") as report:
        held = {Path(name).name for name in report.namelist()}
    assert {"report.html", "null_controls.svg", "significance.csv", "index.html"} <= held

    assert "Nothing to be done" in workflow.run("--dry-run").text

    # A seed, a dataset or an alpha runs what it is part of, and the summaries.
    summaries = {"collect_scores", "tabulate_results", "plot_results", "write_page", "all"}
    workflow.configure(**{**SMOKE, "seeds": [1, 2]})
    more_seeds = workflow.run("--dry-run").jobs
    assert set(more_seeds) == {
        "train_transformer", "tune_trees", "fit_references", "collect_dataset", *summaries
    }  # fmt: skip
    assert more_seeds["train_transformer"] == 2 * (ENCODINGS + 1)
    workflow.configure(**{**SMOKE, "datasets": [*SMOKE["datasets"], "demo-diabetes"]})
    more_datasets = workflow.run("--dry-run").jobs
    assert more_datasets["collect_dataset"] == more_datasets["fetch_dataset"] == 1
    assert more_datasets["train_transformer"] == ENCODINGS + 1
    workflow.configure(**{**SMOKE, "alphas": [0.5]})
    assert set(workflow.run("--dry-run").jobs) == {"collect_dataset", *summaries}
    workflow.configure(**{**SMOKE, "alphas": [0.5, 1, 2]})
    other_alphas = workflow.run("--dry-run").jobs
    assert set(other_alphas) == {"train_transformer", "collect_dataset", *summaries}
