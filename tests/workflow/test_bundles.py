"""Several cells in one job through snakemake: each is done once, and none takes another along."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tabpet.runs import read_runs
from tests.workflow.conftest import ROOT
from tests.workflow.test_training_rules import CONFIG
from tests.workflow.test_tree_rules import start, wait_until

FOLDER = "results/runs/demo-wine/split42"
SPEARMAN = [f"{FOLDER}/ft_transformer/spearman/seed{seed}.parquet" for seed in (1, 2, 3)]
LINEAR = [f"{FOLDER}/linear/default/seed{seed}.parquet" for seed in (1, 2)]


def inodes(workflow, paths) -> list[int]:
    """A file that is written again has another one."""
    return [(workflow.folder / path).stat().st_ino for path in paths]


def test_a_cell_that_is_added_or_taken_back_is_done_alone(workflow):
    bundled = {**CONFIG, "controls": [], "references": ["linear"]}
    workflow.configure(**{**bundled, "seeds": [1, 2], "alphas": [1, 5]})
    first = workflow.run(*SPEARMAN[:2], *LINEAR)
    assert first.code == 0, first.text
    assert first.jobs["train_transformer"] == first.jobs["fit_references"] == 1
    before = inodes(workflow, [*SPEARMAN[:2], *LINEAR])

    workflow.configure(**{**bundled, "seeds": [1, 2, 3]})
    added = workflow.run(*SPEARMAN)
    assert added.code == 0 and added.jobs == {"train_transformer": 1}, added.text
    assert inodes(workflow, [*SPEARMAN[:2], *LINEAR]) == before
    # Nor is an alpha trained in the new cell that only the old ones have, until it is wanted again.
    new = read_runs(workflow.folder / SPEARMAN[2])
    assert set(new["status"]) == {"ok"} and new["alpha"].tolist() == [0, 1]
    assert "Nothing to be done" in workflow.run("--dry-run", *SPEARMAN).text
    workflow.configure(**{**bundled, "seeds": [1, 2, 3], "alphas": [1, 5]})
    wanted = workflow.run(*SPEARMAN)
    assert wanted.code == 0 and wanted.jobs == {"train_transformer": 1}, wanted.text
    assert inodes(workflow, [*SPEARMAN[:2], *LINEAR]) == before
    assert read_runs(workflow.folder / SPEARMAN[2])["alpha"].tolist() == [0, 1, 5]
    assert "Nothing to be done" in workflow.run("--dry-run", *SPEARMAN).text

    # One reference more leaves the others; one seed less, or other bundles, are no reason to run.
    workflow.configure(**{**bundled, "seeds": [1, 2], "references": ["linear", "xgboost"]})
    xgboost = f"{FOLDER}/xgboost/default/seed1.parquet"
    assert workflow.run(xgboost).jobs == {"fit_references": 1}
    assert inodes(workflow, [*SPEARMAN[:2], *LINEAR]) == before
    workflow.configure(**{**bundled, "seeds": [1], "bundle_minutes": 0})
    assert "Nothing to be done" in workflow.run("--dry-run", SPEARMAN[0], LINEAR[0]).text

    # What is taken back is repeated, beside others that stay.
    workflow.configure(**{**bundled, "seeds": [1, 2]})
    for path in (workflow.folder / SPEARMAN[0]).parent.glob("seed1*"):
        path.unlink()
    again = workflow.run(*SPEARMAN[:2])
    assert again.code == 0 and again.jobs == {"train_transformer": 1}
    now = inodes(workflow, [*SPEARMAN[:2], *LINEAR])
    assert now[0] != before[0] and now[1:] == before[1:]


LONG = {
    **CONFIG,
    "controls": [],
    "seeds": [1, 2],
    "training": {"max_epochs": 150, "patience": 150},
}


def log_of(workflow, seed: int) -> Path:
    name = f"demo-wine-split42-ft_transformer-spearman-seed{seed}.log"
    return workflow.folder / "results/logs/train_transformer" / name


def has_begun(log: Path) -> bool:
    return log.is_file() and "epoch 1/150" in log.read_text()


def training_process(workflow) -> int:
    """The process that trains: the last child of the job's script in this folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (place / "cmdline").read_bytes().decode()
            here = (place / "cwd").readlink() == workflow.folder
            if here and "train_transformer.py" in command and "python" in command:
                found.append(int(place.name))
    return max(found)


DIES_AT_ITS_START = """
import os, signal, sys
if any("train_transformer.py" in part or "tune_trees.py" in part for part in sys.orig_argv):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_after_a_failure_results_of_earlier_settings_do_not_pass_for_new_ones(
    workflow, monkeypatch
):
    trees = {"learners": ["xgboost"], "trees": {"trials": 1, "rounds": 5}}
    before = {**CONFIG, **trees, "controls": [], "seeds": [1, 2], "training": {"max_epochs": 2}}
    tuned = f"{FOLDER}/xgboost/tuned/seed1.parquet"
    workflow.configure(**before)
    first = workflow.run(*SPEARMAN[:2], tuned)
    assert first.code == 0, first.text
    (workflow.folder / "sitecustomize.py").write_text(DIES_AT_ITS_START)
    # The second with a job per seed.
    other = {"training": {"max_epochs": 3}, "trees": {"trials": 2, "rounds": 5}}
    more = {"alphas": [1, 5]}, {**other, "bundle_minutes": 0}
    for changed, targets in zip(more, (SPEARMAN[:2], [*SPEARMAN[:2], tuned]), strict=True):
        workflow.configure(**{**before, **changed})
        with monkeypatch.context() as patch:
            patch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{workflow.folder}")
            failed = workflow.run(*targets, "--retries", "0")
        assert failed.code != 0, failed.text
        assert not any((workflow.folder / path).exists() for path in targets)
        again = workflow.run(*targets)
        assert again.code == 0, again.text
        rows = read_runs(workflow.folder / SPEARMAN[1])
        if "alphas" in changed:
            assert rows["alpha"].tolist() == [0, 1, 5] and set(rows["epochs"]) == {2}
        else:
            assert rows["alpha"].tolist() == [0, 1] and set(rows["epochs"]) == {3}


NOTES_ITS_TRIES = """
import os, pathlib
if tries := os.environ.get("TABPET_RETRIES"):
    pathlib.Path("tries.txt").write_text(tries)
"""


@pytest.mark.parametrize(("profile", "tries"), [("slurm", "2"), ("local", "1")])
def test_the_tries_are_those_of_the_chosen_profile(workflow, monkeypatch, profile, tries):
    workflow.configure(datasets=["demo-wine"])
    (workflow.folder / "sitecustomize.py").write_text(NOTES_ITS_TRIES)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{workflow.folder}")
    # The profile of every call is loaded too, and wins where both say something.
    chosen = ("--profile", str(ROOT / "profiles" / profile), "--executor", "local")
    outcome = workflow.run("results/data/demo-wine/card.json", *chosen)
    assert outcome.code == 0, outcome.text
    assert (workflow.folder / "tries.txt").read_text() == tries


def test_a_killed_cell_is_tried_again_and_the_files_of_its_siblings_stay(workflow):
    workflow.configure(**LONG)
    with start(workflow, *SPEARMAN[:2], "--retries", "1") as process:
        wait_until(lambda: has_begun(log_of(workflow, 2)))
        kept = inodes(workflow, SPEARMAN[:1])
        os.kill(training_process(workflow), signal.SIGKILL)
        process.wait(timeout=240)
    text = (workflow.folder / "out.txt").read_text()
    assert process.returncode == 0, text
    assert "its process was ended by SIGKILL" in text, text
    assert inodes(workflow, SPEARMAN[:1]) == kept
    assert set(read_runs(workflow.folder / SPEARMAN[1])["epochs"]) == {150}


def test_a_job_that_is_asked_to_end_saves_its_state_and_the_next_try_goes_on(workflow):
    workflow.configure(**{**LONG, "seeds": [1]})
    expected = workflow.run(SPEARMAN[0])
    assert expected.code == 0, expected.text
    undisturbed = read_runs(workflow.folder / SPEARMAN[0])
    tabpet = [sys.executable, "-m", "tabpet", "retry", "--status", "ok", "--yes"]
    subprocess.run(
        [*tabpet, "--config", "mine.yaml"], cwd=workflow.folder, env=workflow.environment()
    )
    assert not (workflow.folder / SPEARMAN[0]).exists()
    log_of(workflow, 1).unlink()

    with start(workflow, SPEARMAN[0], "--retries", "1") as process:
        wait_until(lambda: has_begun(log_of(workflow, 1)))
        os.kill(training_process(workflow), signal.SIGTERM)
        saved = workflow.folder / "results/journals/demo-wine/split42/ft_transformer/spearman"
        wait_until(lambda: list(saved.glob("*.pt")) or process.poll() is not None)
        # The next try goes on from there.
        process.wait(timeout=240)
    text = (workflow.folder / "out.txt").read_text()
    assert process.returncode == 0, text
    assert "Trying to restart job" in text
    assert "steps, from the last checkpoint" in log_of(workflow, 1).read_text()
    again = read_runs(workflow.folder / SPEARMAN[0])
    assert again.drop(columns="seconds").equals(undisturbed.drop(columns="seconds"))
    assert not list(saved.glob("*.pt"))
