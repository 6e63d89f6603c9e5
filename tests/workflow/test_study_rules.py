"""Both studies through snakemake, as small as they can be."""

import pandas as pd

from tabpet.analysis.captions import STUDY_FIGURES, STUDY_TABLES
from tabpet.runs import read_runs

QUICK = {
    "alphas": [1],
    "model": {"n_layers": 1, "n_heads": 1, "width": 12},
    "training": {"max_epochs": 2, "min_epochs": 1, "patience": 1},
}
TINY = {
    "datasets": ["demo-wine"],
    "graphs": [],
    "encoding": {"k_max": 2},
    "studies": {
        "groups": {
            **QUICK,
            **{"d": 6, "groups": [2], "n": 60, "tables": [1], "recovery": ["spearman"]},
            **{"graphs": ["spearman", "true"], "controls": []},
        },
        "dags": {
            **QUICK,
            **{"d": 5, "densities": [0.5], "n": 60, "tables": [1], "recovery": ["pearson"]},
            **{"graphs": ["true"], "controls": []},
        },
        "effective_rank": {**QUICK, "datasets": ["demo-wine"], "controls": []},
    },
}
TARGETS = ("synthetic_study", "effective_rank_study")


def test_studies_run_when_they_are_asked_for_and_once(workflow):
    workflow.configure(**TINY)
    plan = workflow.run("--dry-run")
    assert plan.code == 0 and "study" not in "".join(plan.jobs), plan.text
    done = workflow.run(*TARGETS)
    assert done.code == 0, done.text
    again = workflow.run("--dry-run", *TARGETS)
    assert "Nothing to be done" in again.text, again.text

    studies = workflow.folder / "results/studies"
    for report in STUDY_TABLES:
        for name in STUDY_TABLES[report]:
            assert len(pd.read_csv(studies / report / f"tables/{name}.csv"))
        for name in STUDY_FIGURES[report]:
            assert (studies / report / f"figures/{name}.svg").is_file()
    groups = read_runs(studies / "groups/scores.parquet")
    assert set(groups["encoding"]) == {"spearman", "true"} and (groups["status"] == "ok").all()
    # Two groups of three features are two triangles.
    edges = workflow.folder / "results/graphs/groups-d6-k02-n60-table1/split42/true.parquet"
    assert len(pd.read_parquet(edges)) == 6
    found = pd.read_parquet(studies / "groups/recovery.parquet")
    assert found["true_edges"].tolist() == [6] and found["pairs"].tolist() == [15]
    ranks = pd.read_parquet(studies / "effective_rank/ranks.parquet")
    assert set(ranks["part"]) == {"train", "test"} and set(ranks["alpha"]) == {0.0, 1.0}
    assert ranks["effective_rank"].between(1, 12).all()


def test_a_study_that_can_not_be_is_refused_where_it_is_asked_for(workflow):
    (workflow.folder / "mine.csv").write_text("name,path,target,task\nt,t.csv,y,regression\n")
    (workflow.folder / "t.csv").write_text("a,y\n1,2\n3,4\n")
    # A catalog of one's own has no `@effective_rank`, and need not have one.
    workflow.configure(
        datasets=["t"], catalogs=["mine.csv"], studies={"groups": {"training": {"epochs": 3}}}
    )
    assert workflow.run("--dry-run").code == 0
    done = workflow.run("--dry-run", "synthetic_study")
    assert done.code != 0 and "`studies.groups` has 1 problem" in done.text
    assert "`training.epochs` is not a setting" in done.text
    done = workflow.run("--dry-run", "effective_rank_study")
    assert done.code != 0 and "no dataset or group '@effective_rank'" in done.text
