"""A run on a real Slurm through `profiles/slurm`: disturbed, gone on with, and extended."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tabpet.runs import read_runs
from tests.slurm.cluster import Cluster
from tests.workflow.conftest import ROOT

pytestmark = pytest.mark.skipif(
    "TABPET_SLURM" not in os.environ, reason="run by `make test-slurm`, which installs Slurm"
)
CONFIG = {
    "datasets": ["demo-wine"],
    "seeds": [1, 2],
    "graphs": ["spearman"],
    "controls": ["spearman-random", "spearman-shuffled"],
    "models": ["ft_transformer"],
    "alphas": [1],
    # 17 MB of weights: more than a process has left over when it asks for no more.
    "model_settings": {"ft_transformer": {"n_layers": 2, "n_heads": 2, "width": 512}},
    "training": {"max_epochs": 3},
    "learners": ["xgboost"],
    "references": ["linear"],
    "trees": {"trials": 2, "rounds": 20},
}
# What a test can ask of a controller that has nothing else to do.
QUICK = (
    *("--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "2"),
    *("--seconds-between-status-checks", "2", "--latency-wait", "10"),
)
ON_SLURM = {"prepare_split", "estimate_instant_graphs", "train_transformer", "tune_trees"}
PATIENCE = 400


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    # The folders of pytest are closed to others, munge's socket must not be.
    folder = Path(tempfile.mkdtemp(prefix="tabpet-slurm-"))
    try:
        with Cluster(folder) as started:
            yield started
    finally:
        shutil.rmtree(folder)


class Run:
    """A working directory whose jobs go to the cluster, and how the queue looked meanwhile."""

    def __init__(self, folder: Path, cluster: Cluster) -> None:
        self.folder, self.cluster = folder, cluster
        self.jobs: dict[str, str] = {}  # id -> rule and cell
        self.most_gpu_jobs = 0

    def configure(self, **changes) -> None:
        (self.folder / "mine.yaml").write_text(yaml.safe_dump({**CONFIG, **changes}))

    def start(self, *arguments: str) -> subprocess.Popen:
        snakemake = Path(sys.executable).with_name("snakemake")
        command = [
            *(str(snakemake), "--snakefile", str(ROOT / "Snakefile")),
            *("--profile", str(ROOT / "profiles/slurm"), "--directory", str(self.folder)),
            *("--configfile", str(self.folder / "mine.yaml"), *QUICK, *arguments),
        ]
        with (self.folder / "out.txt").open("w") as out:
            return subprocess.Popen(
                command,
                env={**self.cluster.environment, "HOME": str(self.folder)},
                cwd=self.folder,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def finish(self, process: subprocess.Popen, code: int = 0) -> str:
        """Wait for the end, looking at the queue; the text that was printed."""
        try:
            deadline = time.monotonic() + PATIENCE
            while process.poll() is None:
                assert time.monotonic() < deadline, self.text
                self.look()
                time.sleep(0.5)
        finally:
            process.kill()
        assert process.returncode == code, self.text
        return self.text

    def look(self) -> None:
        running = self.cluster.jobs("RUNNING")
        self.jobs |= {job["id"]: job["comment"] for job in self.cluster.jobs()}
        gpu = sum(job["partition"] == "gpu" for job in running)
        self.most_gpu_jobs = max(self.most_gpu_jobs, gpu)

    def wait_for(self, condition, process: subprocess.Popen) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline and process.poll() is None, self.text
            self.look()
            time.sleep(0.1)

    @property
    def text(self) -> str:
        return (self.folder / "out.txt").read_text()

    def runs(self, pattern: str = "*/*/*/*/seed?.parquet") -> list[Path]:
        return sorted((self.folder / "results/runs").glob(pattern))

    def training_jobs(self, *states: str) -> list[dict[str, str]]:
        jobs = self.cluster.jobs(*states)
        return [job for job in jobs if "train_transformer" in job["comment"]]


def written(paths: list[Path]) -> dict[Path, int]:
    """Which file each path is: a file that is written again has another number."""
    return {path: path.stat().st_ino for path in paths}


def test_a_disturbed_run_is_complete_and_repeats_nothing(tmp_path_factory, cluster):
    run = Run(tmp_path_factory.mktemp("run"), cluster)
    run.configure()

    # One job is killed while it runs, and snakemake itself when the first cells are finished.
    process = run.start()
    try:
        run.wait_for(lambda: run.training_jobs("RUNNING"), process)
        [killed, *_] = run.training_jobs("RUNNING")
        cluster.ask("scancel", killed["id"])
        run.wait_for(lambda: "Trying to restart job" in run.text, process)
        run.wait_for(lambda: len(run.runs("*/*/ft_transformer/*/seed?.parquet")) >= 2, process)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    finished = written(run.runs())

    again = run.start("--unlock")
    assert again.wait() == 0, run.text
    text = run.finish(run.start())
    assert {path: number for path, number in written(run.runs()).items() if path in finished} == (
        finished
    ), "a finished cell was written again"

    # All stages but downloads and summaries were on Slurm, named by rule and cell.
    comments = set(run.jobs.values())
    rules = {comment.removeprefix("rule_").partition("_wildcards_")[0] for comment in comments}
    assert rules == {*ON_SLURM, "fit_references"}
    assert "rule_train_transformer_wildcards_demo-wine_42_ft_transformer_spearman" in comments
    # Three training jobs, two GPUs: each had one of them, and never more than two ran at once.
    assert run.most_gpu_jobs == 2
    scores = read_runs(run.folder / "results/scores.parquet")
    assert set(scores["status"]) == {"ok"} and len(scores) == 3 * 2 * 2 + 2 + 2
    devices = set(scores.loc[scores["model"] == "ft_transformer", "device"])
    assert devices <= {f"cpu (given GPU {number}, but torch sees none)" for number in (0, 1)}
    assert devices
    assert "steps (100%) done" in text
    # Logs of failed jobs stay, those of others go.
    [log] = (run.folder / "results/logs/slurm").rglob(f"*{killed['id']}*")
    assert log.stat().st_size > 0
    if os.environ["TABPET_SLURM"] == "all":
        check_extension(run, written(run.runs()))


def check_extension(run: Run, finished: dict[Path, int]) -> None:
    """Datasets more run alone; what is over its memory or time ends as rows after its tries.

    Takes minutes more: `TABPET_SLURM=all make test-slurm`.
    """
    # With a row in every batch, an epoch takes minutes.
    (run.folder / "slow.csv").write_text(
        "name,source,target,task,n_rows,n_features,batch_size,options\n"
        "slow,synthetic,y,regression,12000,12,1,d=12;k=4;n=12000;seed=1\n"
    )
    run.configure(
        catalogs=["datasets.csv", "slow.csv"],
        datasets=["demo-wine", "demo-diabetes", "slow"],
        seeds=[1],
        controls=[],
        bundle_minutes=1,
    )
    before = set(run.jobs)
    # On the command line they take the place of all in the profile.
    partitions = (
        f"{rule}:slurm_partition=gpu" for rule in ("train_transformer", "train_transformer_seed")
    )
    too_little = ("train_transformer:mem_mb=10", "train_transformer_seed:runtime=2", *partitions)
    # Slurm warns up to half a minute early: not before the job has begun to train.
    warned = "train_transformer_seed:slurm_extra='--signal=TERM@40'"
    # Slurm's warning reaches the snakemake inside the job too, which then calls it failed; its rows
    # are there, and the same call goes on from them.
    text = run.finish(run.start("--retries", "1", "--set-resources", *too_little, warned), code=1)
    assert text.count("Trying to restart job") == 2
    text = run.finish(run.start())
    assert not [job for job in re.findall(r"^Job \d+: (\w+)", text, re.M) if job == "train"]
    assert not [run.jobs[one] for one in run.jobs.keys() - before if "demo-wine" in run.jobs[one]]
    assert {path: one for path, one in written(run.runs()).items() if path in finished} == finished

    scores = read_runs(run.folder / "results/scores.parquet")
    trained = scores[scores["model"] == "ft_transformer"].set_index("dataset")
    assert set(trained.loc["demo-wine", "status"]) == {"ok"}
    assert set(trained.loc["demo-diabetes", "status"]) == {"oom"}
    assert set(trained.loc["slow", "status"]) == {"timeout"}
    assert trained.loc["slow", "reason"].str.contains("2 min that the job had asked for").all()
    log = (
        run.folder / "results/logs/train_transformer/slow-split42-ft_transformer-spearman-seed1.log"
    )
    assert "steps, from the last checkpoint" in log.read_text()
