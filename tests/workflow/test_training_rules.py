"""The training stage through snakemake: one tiny run, and what is trained again when."""

import pandas as pd

from tabpet.runs import read_runs

CONFIG = {
    "datasets": ["demo-wine"],
    "seeds": [1],
    "graphs": ["spearman"],
    "controls": ["spearman-shuffled"],
    "models": ["ft_transformer"],
    "alphas": [1],
    "model_settings": {"ft_transformer": {"n_layers": 1, "n_heads": 2, "width": 24}},
    "training": {"max_epochs": 3},
    "learners": [],
    "references": [],
}
FOLDER = "results/runs/demo-wine/split42/ft_transformer"
RUNS = [f"{FOLDER}/{name}/seed1.parquet" for name in ("spearman", "spearman-shuffled")]


def test_tiny_run_and_incremental_changes(workflow):
    workflow.configure(**CONFIG)
    first = workflow.run(*RUNS)
    assert first.code == 0, first.text
    assert first.jobs["train_transformer"] == 2
    results = workflow.folder / "results"
    for path in RUNS:
        runs = read_runs(workflow.folder / path)
        assert runs["alpha"].tolist() == [0.0, 1.0]
        assert runs["status"].tolist() == ["ok", "ok"]
        assert set(runs["epochs"]) == {3} and set(runs["metric"]) == {"balanced_accuracy"}
        curves = pd.read_parquet(workflow.folder / path.replace(".parquet", ".curves.parquet"))
        assert len(curves) == 6
    plain, shuffled = (read_runs(workflow.folder / path) for path in RUNS)
    # Without encodings, both are the same model.
    assert plain["test_score"][0] == shuffled["test_score"][0]
    assert not list(results.rglob("*.predictions.parquet"))
    log = results / "logs/train_transformer/demo-wine-split42-ft_transformer-spearman-seed1.log"
    assert "epoch 1/3, best balanced_accuracy" in log.read_text()

    assert "Nothing to be done" in workflow.run("--dry-run", *RUNS).text

    # Another alpha, number of epochs or width trains again and keeps the graphs.
    retrained = {"train_transformer": 2}
    for change in (
        {"alphas": [1, 2]},
        {"training": {"max_epochs": 4}},
        {"model_settings": {"ft_transformer": {"n_layers": 1, "n_heads": 2, "width": 26}}},
    ):
        workflow.configure(**{**CONFIG, **change})
        assert workflow.run("--dry-run", *RUNS).jobs == retrained

    # What belongs to another model does not.
    workflow.configure(**CONFIG | {"model_settings": {**CONFIG["model_settings"], "saint": {}}})
    assert "Nothing to be done" in workflow.run("--dry-run", *RUNS).text

    # Saving the state of training is no part of the experiment.
    workflow.configure(**{**CONFIG, "training": {"max_epochs": 3, "checkpoint": True}})
    assert "Nothing to be done" in workflow.run("--dry-run", *RUNS).text

    # A new seed runs that seed; predictions are another file.
    kept = {"training": {"max_epochs": 2, "keep_predictions": True, "checkpoint": True}}
    workflow.configure(**{**CONFIG, **kept, "seeds": [2]})
    second = workflow.run(RUNS[0].replace("seed1", "seed2"))
    assert second.code == 0, second.text
    assert second.jobs == {"train_transformer": 1}
    predictions = pd.read_parquet(workflow.folder / FOLDER / "spearman/seed2.predictions.parquet")
    assert set(predictions["part"]) == {"val", "test"}
    assert len(predictions) == 2 * (36 + 36)  # rows of both parts, for both alphas
    assert not list(results.rglob("*.pt"))
