"""Scores and tables through snakemake, from run files that are already there."""

import pandas as pd
import pytest

from tabpet.analysis.captions import table_files
from tabpet.catalog import read_catalogs
from tabpet.files import write_text
from tabpet.plan import Cell, run_settings
from tabpet.runs import Run, make_provenance, read_runs, write_runs
from tabpet.settings import Settings
from tests.workflow.conftest import ROOT, Workflow

ALPHAS = (0.0, 0.5, 2.0)
SETTINGS = {
    "datasets": ["demo-wine", "demo-diabetes"],
    "graphs": ["spearman"],
    "models": ["ft_transformer"],
    "controls": ["spearman-random"],
    "seeds": [1, 2],
    "alphas": [0.5, 2],
    "learners": ["xgboost"],
    "references": ["linear"],
    "analysis": {"bootstrap": 100},
}
TASKS = {"demo-wine": "classification", "demo-diabetes": "regression"}


def write_run(
    workflow: Workflow, dataset: str, model: str, encoding: str, seed: int, luck: float = 0.0
) -> None:
    """A run file as a job would write it."""
    alphas = ALPHAS if model == "ft_transformer" else (None,)
    cell = Cell(dataset, 42, model, encoding, seed)
    row = read_catalogs([ROOT / "datasets.csv"])[dataset]
    made_with = run_settings(Settings.model_validate(SETTINGS), row, model, encoding)
    runs = [
        Run(
            **cell.identity,
            task=TASKS[dataset],
            alpha=alpha,
            val_score=0.5 + (alpha or 0) / 10,
            test_score=0.6 + luck + (alpha or 0) / 20 + seed / 100,
            seconds=9.0,
            provenance=make_provenance(made_with, {}),
        )
        for alpha in alphas
    ]
    write_runs(runs, workflow.folder / cell.run)


def write_all_runs(workflow: Workflow) -> None:
    cells = [("ft_transformer", "spearman"), ("ft_transformer", "spearman-random")]
    cells += [("xgboost", "tuned"), ("linear", "default")]
    for dataset in TASKS:
        for model, encoding in cells:
            for seed in (1, 2):
                write_run(workflow, dataset, model, encoding, seed)


@pytest.fixture
def prepared(workflow) -> Workflow:
    """Every run file, and the tables of the stages before."""
    workflow.configure(**SETTINGS)
    write_all_runs(workflow)
    tables = workflow.folder / "results/tables"
    write_text("dataset,method,split,status,seconds\n", tables / "graphs.csv")
    write_text("dataset,split,rows\n", tables / "datasets.csv")
    return workflow


ONLY = ("--allowed-rules", "collect_dataset", "collect_scores", "tabulate_results")
TABLES = ("results/tables/main.csv", "--rerun-triggers", "mtime", "input", "params")


def test_from_run_files_to_tables_and_what_a_change_runs_again(prepared):
    first = prepared.run(*TABLES, *ONLY)
    assert first.code == 0, first.text
    assert first.jobs == {"collect_dataset": 2, "collect_scores": 1, "tabulate_results": 1}
    scores = read_runs(prepared.folder / "results/scores.parquet")
    assert len(scores) == 2 * 2 * (2 * len(ALPHAS) + 2)
    for path in table_files("results/tables"):
        assert (prepared.folder / path).stat().st_size > 0
    coverage = pd.read_csv(prepared.folder / "results/tables/coverage.csv")
    assert (coverage["planned"] == coverage["ok"]).all()
    main = pd.read_csv(prepared.folder / "results/tables/main.csv")
    assert set(main["abbreviation"]) == {"dWI", "dDI"}
    assert "Nothing to be done" in prepared.run(*TABLES, *ONLY, "--dry-run").text

    # One dataset's run changes: the other one is not collected again.
    write_run(prepared, "demo-wine", "xgboost", "tuned", 2, luck=0.1)
    again = prepared.run(*TABLES, *ONLY, "--dry-run").jobs
    assert again == {"collect_dataset": 1, "collect_scores": 1, "tabulate_results": 1}
    assert prepared.run(*TABLES, *ONLY).code == 0

    # Another level of tests touches the tables alone.
    prepared.configure(**{**SETTINGS, "analysis": {"bootstrap": 100, "level": 0.1}})
    assert prepared.run(*TABLES, *ONLY, "--dry-run").jobs == {"tabulate_results": 1}


FIGURES = ("results/figures/size.svg", "--rerun-triggers", "mtime", "input", "params")


def test_figures_are_drawn_again_for_the_settings_they_show_alone(prepared):
    only = (*ONLY, "plot_results")
    assert prepared.run(*FIGURES, *only).code == 0
    prepared.configure(**{**SETTINGS, "analysis": {"bootstrap": 100, "rope": 1}})
    assert "Nothing to be done" in prepared.run(*FIGURES, *only, "--dry-run").text
    # Both make the intervals of mean ranks.
    for changed in ({"bootstrap": 200}, {"bootstrap": 100, "level": 0.1}):
        prepared.configure(**{**SETTINGS, "analysis": changed})
        assert prepared.run(*FIGURES, *only, "--dry-run").jobs == {"plot_results": 1}


PARTIAL = ("results/partial/tables/main.csv",)


def test_partial_shows_what_exists_and_starts_no_other_job(workflow):
    workflow.configure(**SETTINGS)
    write_all_runs(workflow)
    lost = "results/runs/demo-wine/split42/ft_transformer/spearman/seed2.parquet"
    (workflow.folder / lost).unlink()
    first = workflow.run(*PARTIAL)
    assert first.code == 0, first.text
    assert first.jobs == {"collect_partial": 1, "tabulate_partial": 1}
    folder = workflow.folder / "results/partial/tables"
    coverage = pd.read_csv(folder / "coverage.csv").set_index(["dataset", "encoding"])
    cell = coverage.loc["demo-wine", "spearman"]
    assert (cell["planned"], cell["ok"], cell["missing"]) == (2, 1, 1)
    assert coverage.loc["demo-diabetes"]["missing"].sum() == 0
    assert cell["reason"] == "fetch_dataset has not run"
    assert "no graph was estimated" in (folder / "timing.csv").read_text()
    assert not (workflow.folder / "results/scores.parquet").exists()
    assert "Nothing to be done" in workflow.run(*PARTIAL, "--dry-run").text

    # The job is done at last: what exists has changed.
    write_run(workflow, "demo-wine", "ft_transformer", "spearman", 2)
    assert workflow.run(*PARTIAL, "--dry-run").jobs["collect_partial"] == 1


def test_partial_without_any_run_says_so(workflow):
    workflow.configure(**SETTINGS)
    done = workflow.run(*PARTIAL)
    assert done.code == 1
    log = (workflow.folder / "results/logs/collect_partial.log").read_text()
    assert "No run has finished yet" in log


def test_partial_works_in_a_half_finished_state_and_gives_the_reason_of_a_failure(workflow):
    """A dataset that can't be fetched, and one whose card is gone beside its split."""
    (workflow.folder / "mine.csv").write_text("name,path,target,task\nsales,no.csv,y,regression\n")
    sheets = [str(ROOT / "datasets.csv"), "mine.csv"]
    alone = {"models": [], "learners": [], "references": ["linear"], "graphs": [], "seeds": [1]}
    workflow.configure(datasets=["demo-wine", "sales"], catalogs=sheets, **alone)
    first = workflow.run()
    assert first.code == 1
    assert "1 job failed:" in first.text and "sales, fetch_dataset" in first.text
    assert "no.csv" in first.text.split("1 job failed:")[1]
    assert "log: results/logs/fetch_dataset/sales.log" in first.text
    assert "snakemake partial" in first.text
    (workflow.folder / "results/data/demo-wine/card.json").unlink()
    done = workflow.run(*PARTIAL)
    assert done.code == 0, done.text
    scores = read_runs(workflow.folder / "results/partial/scores.parquet").set_index("dataset")
    assert scores["status"].to_dict() == {"demo-wine": "ok", "sales": "missing"}
    assert "no.csv" in scores.loc["sales", "reason"]


def test_partial_after_a_changed_setting_mixes_nothing_in(workflow):
    workflow.configure(**SETTINGS)
    write_all_runs(workflow)
    workflow.configure(**{**SETTINGS, "training": {"max_epochs": 30}, "models": ["ft_transformer"]})
    done = workflow.run(*PARTIAL)
    assert done.code == 0, done.text
    scores = read_runs(workflow.folder / "results/partial/scores.parquet")
    transformer = scores[scores["model"] == "ft_transformer"]
    assert set(transformer["status"]) == {"outdated"} and transformer["test_score"].isna().all()
    assert transformer["reason"].str.contains("training.max_epochs: 500, now 30").all()
    coverage = pd.read_csv(workflow.folder / "results/partial/tables/coverage.csv")
    assert coverage["outdated"].sum() == 8 and coverage["ok"].sum() == 8
