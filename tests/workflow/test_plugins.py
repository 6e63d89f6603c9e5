"""A graph, a model and a learner of another package, from the config to tables and figures."""

import os
from pathlib import Path

import pandas as pd

from tabpet.runs import read_runs
from tests.plugins import install, install_guide
from tests.workflow.conftest import Workflow

CONFIG = {
    "datasets": ["demo-wine", "demo-groups-mixed"],
    "seeds": [1],
    "graphs": ["kendall"],
    "graph_methods": {"kendall": {"variant": "c"}},
    "models": ["mean_tokens"],
    "model_settings": {"mean_tokens": {"width": 24}},
    "controls": ["kendall-random"],
    "alphas": [0.5],
    "training": {"max_epochs": 2, "min_epochs": 1, "patience": 1},
    "learners": ["nearest"],
    "references": ["nearest", "linear"],
    "trees": {"trials": 2},
}


class WithPackages(Workflow):
    """A working directory beside a folder of installed packages."""

    @property
    def packages(self) -> Path:
        return self.folder / "packages"

    def environment(self) -> dict[str, str]:
        known = os.environ.get("PYTHONPATH", "")
        path = os.pathsep.join([str(self.packages), *filter(None, [known])])
        return {**super().environment(), "PYTHONPATH": path}


def test_what_another_package_offers_reaches_tables_and_figures(tmp_path):
    workflow = WithPackages(tmp_path)
    install_guide(workflow.packages)
    workflow.configure(**CONFIG)
    done = workflow.run()
    assert done.code == 0, done.text
    results = workflow.folder / "results"

    scores = read_runs(results / "scores.parquet")
    assert set(scores["status"]) == {"ok"}
    methods = scores[["model", "encoding"]].drop_duplicates().apply("/".join, axis=1)
    assert set(methods) == {
        *("mean_tokens/kendall", "mean_tokens/kendall-random"),
        *("nearest/tuned", "nearest/default", "linear/default"),
    }
    # Settings of the config and defaults of the package are those that the files were made with.
    provenance = scores.loc[scores["model"] == "mean_tokens", "provenance"]
    assert provenance.str.contains('"model": {"width": 24}').all()

    main = (results / "tables/main.tex").read_text()
    assert "Mean" in main and "kNN" in main
    significance = (results / "tables/significance.tex").read_text()
    assert "Kendall" in significance and "Mean of tokens" in significance
    graphs = pd.read_csv(results / "tables/graph_methods.csv")
    assert "kendall" in graphs.to_string()
    for name in ("improvement_by_graph", "graph_entropy", "graph_boxes", "graph_scatter"):
        assert "kendall" in (results / f"figures/{name}.csv").read_text(), name
    page = (results / "summary/index.html").read_text()
    assert "Mean of tokens" in page and "Kendall, random" in page and "Nearest neighbours" in page

    assert "Nothing to be done" in workflow.run("--dry-run").text


def test_a_graph_of_another_package_is_no_reason_to_make_others_again(tmp_path):
    workflow = WithPackages(tmp_path)
    install_guide(workflow.packages)
    workflow.configure(datasets=["demo-wine"], graphs=["spearman"])
    done = workflow.run("results/encodings/demo-wine/split42/spearman.parquet")
    assert done.code == 0 and done.jobs["estimate_instant_graphs"] == 1, done.text
    workflow.configure(datasets=["demo-wine"], graphs=["spearman", "kendall"])
    added = workflow.run("--dry-run")
    assert added.code == 0 and "estimate_instant_graphs" not in added.jobs, added.text
    assert added.jobs["estimate_graph"] == added.jobs["encode_positions"] == 1


def test_a_package_that_cannot_be_loaded_is_named(tmp_path):
    workflow = WithPackages(tmp_path)
    points = {"tabpet.graphs": {"kendall": "broken_extras:ESTIMATOR"}}
    install(workflow.packages, "broken-extras", {"broken_extras.py": "import nowhere"}, points)
    workflow.configure(datasets=["demo-wine"], graphs=["spearman"])
    assert workflow.run("--dry-run").code == 0
    workflow.configure(datasets=["demo-wine"], graphs=["kendall"])
    done = workflow.run("--dry-run")
    assert done.code != 0
    assert "broken-extras 1.0" in done.text and "No module named 'nowhere'" in done.text
    assert "Traceback" not in done.text
