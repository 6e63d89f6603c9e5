"""Tuned trees and references through snakemake: a killed search, and what a change re-runs."""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import time

import pandas as pd

from tabpet.data.prepare import Split
from tabpet.runs import read_runs
from tabpet.settings import TreeSettings
from tabpet.trees.tuning import tune_trees

CELL = "demo-wine/split42/xgboost"
RUN = f"results/runs/{CELL}/tuned/seed1.parquet"
TRIALS = f"results/runs/{CELL}/tuned/seed1.trials.parquet"
JOURNAL = f"results/journals/{CELL}/seed1.log"
BASE = {"datasets": ["demo-wine"], "graphs": [], "models": [], "learners": ["xgboost"]}
PATIENCE = 240  # seconds that a test waits at most for something that takes one or two


def configure(workflow, **trees) -> None:
    references = ["linear", "xgboost"]
    workflow.configure(**BASE, references=references, trees={"rounds": 40, **trees})


def test_a_killed_search_goes_on(workflow):
    # More trials than any machine runs before it is killed.
    configure(workflow, trials=100_000)
    journal = workflow.folder / JOURNAL
    with start(workflow, RUN) as process:
        wait_until(lambda: finished_trials(journal) >= 3 or process.poll() is not None)
        assert process.poll() is None, (workflow.folder / "out.txt").read_text()
    wait_until(lambda: not is_locked(journal))
    before = recorded_seconds(journal)
    assert len(before) >= 3
    assert not (workflow.folder / RUN).exists()

    trials = len(before) + 5
    configure(workflow, trials=trials)
    unlocked = workflow.run(RUN, "--unlock")
    assert unlocked.code == 0, unlocked.text
    second = workflow.run(RUN)
    assert second.code == 0, second.text
    table = pd.read_parquet(workflow.folder / TRIALS)
    assert list(table["number"]) == list(range(trials))
    assert list(table["seconds"][: len(before)]) == before
    [run] = read_runs(workflow.folder / RUN).to_dict("records")
    assert (run["status"], run["test_score"]) == ("ok", best_of(table)["test_score"])
    assert json.loads(run["parameters"]) == json.loads(best_of(table)["parameters"])
    log = workflow.folder / "results/logs/tune_trees/demo-wine-split42-xgboost-seed1.log"
    assert f"{len(before)} finished trials in the journal" in log.read_text()
    assert f"trial {trials} of {trials}: ok, loss" in log.read_text()

    folder = workflow.folder / "results/data/demo-wine"
    split = Split.load(folder / "split42.parquet", folder / "split42.json")
    settings = TreeSettings(trials=trials, rounds=40)
    _, whole = tune_trees(split, "xgboost", 1, settings, workflow.folder / "whole.log")
    pd.testing.assert_frame_equal(
        table.drop(columns="seconds"), whole.drop(columns="seconds"), check_dtype=False
    )


@contextlib.contextmanager
def start(workflow, *targets):
    """Run snakemake in a process group of its own, and kill all of it in the end."""
    configfile = ("--configfile", str(workflow.folder / "mine.yaml"))
    with (workflow.folder / "out.txt").open("w") as out:
        process = subprocess.Popen(
            workflow.command(*targets, *configfile),
            env=workflow.environment(),
            cwd=workflow.folder,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_until(condition) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def is_locked(journal) -> bool:
    """Whether a process of the killed group is still writing."""
    with journal.with_name(f".{journal.name}.lock").open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def whole_records(journal) -> list[dict]:
    if not journal.exists():
        return []
    lines = journal.read_text().splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def finished_trials(journal) -> int:
    return len(recorded_seconds(journal))


def recorded_seconds(journal) -> list[float]:
    """Seconds of finished trials: those with a value after the seconds."""
    records = whole_records(journal)
    ended = {record["trial_id"] for record in records if record.get("state") == 1}
    return [
        record["user_attr"]["seconds"]
        for record in records
        if record.get("trial_id") in ended and "seconds" in record.get("user_attr", {})
    ]


def best_of(table: pd.DataFrame) -> pd.Series:
    return table.loc[table["val_loss"].idxmin()]


def test_changes_run_again_what_they_touch(workflow):
    linear = "results/runs/demo-wine/split42/linear/default/seed1.parquet"
    untuned = "results/runs/demo-wine/split42/xgboost/default/seed1.parquet"
    targets = (RUN, linear, untuned)
    configure(workflow, trials=2)
    first = workflow.run(*targets)
    assert first.code == 0, first.text
    rows = pd.concat([read_runs(workflow.folder / path) for path in targets])
    assert list(rows["model"]) == ["xgboost", "linear", "xgboost"]
    assert list(rows["encoding"]) == ["tuned", "default", "default"]
    assert set(rows["status"]) == {"ok"}
    assert (rows["test_score"] > 0.8).all()
    assert "Nothing to be done" in workflow.run(*targets, "--dry-run").text

    configure(workflow, trials=3)
    assert workflow.run(*targets, "--dry-run").jobs == {"tune_trees": 1}
    configure(workflow, trials=2, patience=7)
    assert workflow.run(*targets, "--dry-run").jobs == {"tune_trees": 1, "fit_references": 1}

    kept = list(pd.read_parquet(workflow.folder / TRIALS)["seconds"])
    configure(workflow, trials=3)
    assert workflow.run(RUN).code == 0
    seconds = list(pd.read_parquet(workflow.folder / TRIALS)["seconds"])
    assert (seconds[:2], len(seconds)) == (kept, 3)


def test_a_missing_gpu_fails_the_job_with_a_message(workflow):
    configure(workflow, trials=2, device="cuda")
    environment = workflow.environment
    workflow.environment = lambda: {**environment(), "CUDA_VISIBLE_DEVICES": ""}
    outcome = workflow.run(RUN)
    assert outcome.code != 0
    assert "trees.device is cuda, but XGBoost finds no GPU here" in outcome.text
    assert not (workflow.folder / RUN).exists()
