"""The training stage through snakemake: one tiny run, and what is trained again when."""

import contextlib
import os
import signal
import subprocess
import sys
import time

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
    [empty] = {len(pd.read_parquet(path)) for path in results.glob("runs/**/*.predictions.parquet")}
    assert empty == 0
    log = results / "logs/train_transformer/demo-wine-split42-ft_transformer-spearman-seed1.log"
    assert "epoch 1/3, best balanced_accuracy" in log.read_text()

    assert "Nothing to be done" in workflow.run("--dry-run", *RUNS).text

    # Another number of epochs or width trains again and keeps the graphs, and so does keeping the
    # predictions, which nothing else could make.
    retrained = {"train_transformer": 2}
    for change in (
        {"training": {"max_epochs": 4}},
        {"training": {"max_epochs": 3, "keep_predictions": True}},
        {"model_settings": {"ft_transformer": {"n_layers": 1, "n_heads": 2, "width": 26}}},
    ):
        workflow.configure(**{**CONFIG, **change})
        assert workflow.run("--dry-run", *RUNS).jobs == retrained

    # What belongs to another model does not.
    workflow.configure(**CONFIG | {"model_settings": {**CONFIG["model_settings"], "saint": {}}})
    assert "Nothing to be done" in workflow.run("--dry-run", *RUNS).text

    # Saving the state of training is no part of the experiment, nor is a time limit.
    aside = {"max_epochs": 3, "checkpoint": True, "max_seconds": 1000}
    workflow.configure(**{**CONFIG, "training": aside, "graph_seconds": 7})
    assert "Nothing to be done" in workflow.run("--dry-run", *RUNS).text

    # Another alpha is trained alone, and one that is taken out is no reason to train.
    before = read_runs(workflow.folder / RUNS[0])
    workflow.configure(**{**CONFIG, "alphas": [1, 2]})
    added = workflow.run(RUNS[0])
    assert added.code == 0, added.text
    assert added.jobs == {"train_transformer": 1}
    assert "2 of 3 alphas were trained before" in log.read_text()
    after = read_runs(workflow.folder / RUNS[0])
    assert after["alpha"].tolist() == [0.0, 1.0, 2.0]
    pd.testing.assert_frame_equal(after[:2], before)
    assert "Nothing to be done" in workflow.run("--dry-run", RUNS[0]).text
    for alphas in ([1], [2]):
        workflow.configure(**{**CONFIG, "alphas": alphas})
        assert "Nothing to be done" in workflow.run("--dry-run", RUNS[0]).text

    # A new seed runs that seed.
    kept = {"training": {"max_epochs": 2, "keep_predictions": True, "checkpoint": True}}
    workflow.configure(**{**CONFIG, **kept, "seeds": [2]})
    second = workflow.run(RUNS[0].replace("seed1", "seed2"))
    assert second.code == 0, second.text
    assert second.jobs == {"train_transformer": 1}
    predictions = pd.read_parquet(workflow.folder / FOLDER / "spearman/seed2.predictions.parquet")
    assert set(predictions["part"]) == {"val", "test"}
    assert len(predictions) == 2 * (36 + 36)  # rows of both parts, for both alphas
    assert not list(results.rglob("*.pt"))


def test_a_running_job_that_outlives_snakemake_is_not_trained_again(workflow):
    """SIGINT to snakemake alone: the job finishes and writes, and the next call takes that."""
    workflow.configure(**{**CONFIG, "training": {"max_epochs": 40, "patience": 40}})
    log = workflow.folder / (
        "results/logs/train_transformer/demo-wine-split42-ft_transformer-spearman-seed1.log"
    )
    started = subprocess.Popen(
        [*workflow.command(RUNS[0]), "--configfile", str(workflow.folder / "mine.yaml")],
        env=workflow.environment(),
        cwd=workflow.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 300
        while not (log.is_file() and "epoch 1/40" in log.read_text()):
            assert time.monotonic() < deadline and started.poll() is None
            time.sleep(0.02)
        started.send_signal(signal.SIGINT)
        started.wait(timeout=300)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
    second = workflow.run(RUNS[0])
    assert second.code == 0, second.text
    runs = read_runs(workflow.folder / RUNS[0])
    assert set(runs["epochs"]) == {40} and set(runs["status"]) == {"ok"}
    # A job that starts again finds the cell as it should be.
    assert "epoch 1/40" not in log.read_text() or "train_transformer" not in second.jobs


def test_memory_is_tried_again_before_it_becomes_a_row_and_retry_repeats_it(workflow):
    wide = {"ft_transformer": {"n_layers": 2, "n_heads": 2, "width": 512}}  # 17 MB of weights
    workflow.configure(**{**CONFIG, "model_settings": wide, "training": {"max_epochs": 1}})
    too_little = ("--set-resources", "train_transformer:mem_mb=10", "--retries", "1")
    first = workflow.run(*RUNS, *too_little)
    assert first.code == 0, first.text
    assert first.text.count("Trying to restart job") == 2
    assert "ran out of memory" in first.text and "tabpet retry --status oom" in first.text
    for path in RUNS:
        assert set(read_runs(workflow.folder / path)["status"]) == {"oom"}
    # A failure that has become a row is final until somebody takes it back.
    assert "Nothing to be done" in workflow.run("--dry-run", *RUNS).text
    tabpet = [sys.executable, "-m", "tabpet", "retry", "--config", "mine.yaml", "--yes"]
    said = subprocess.run(
        tabpet, cwd=workflow.folder, capture_output=True, text=True, env=workflow.environment()
    )
    assert "2 taken back" in said.stdout, said.stderr
    second = workflow.run(*RUNS)
    assert second.code == 0, second.text
    assert second.jobs == {"train_transformer": 2}
    for path in RUNS:
        assert set(read_runs(workflow.folder / path)["status"]) == {"ok"}
