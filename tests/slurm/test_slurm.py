"""A run on a real Slurm through `profiles/slurm`: disturbed, gone on with, and extended."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
import yaml

from tabpet.runs import read_runs
from tests.slurm.cluster import Cluster
from tests.workflow.conftest import ROOT

pytestmark = pytest.mark.slurm
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
    *("--max-jobs-per-timespan", "100/1s", "--latency-wait", "10"),
)
# The executor waits ten seconds longer after every look that finds no job ended; no option says
# otherwise.
LOOKS_OFTEN = """
import sys
if any(part.endswith("bin/snakemake") for part in sys.orig_argv):
    from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
    often = property(lambda executor: 1, lambda executor, seconds: None)
    RemoteExecutor.next_seconds_between_status_checks = often
"""
ON_SLURM = {
    *("prepare_split", "estimate_instant_graphs"),
    *("train_transformer", "tune_trees", "fit_references"),
}
SCORES = "results/scores.parquet"
PATIENCE = 1800  # seconds, for what hangs: a busy machine is no failure


# Over its time: with a row in every batch, an epoch takes minutes.
SLOW_TABLE = """name,source,target,task,n_rows,n_features,batch_size,options
slow,synthetic,y,regression,12000,12,1,d=12;k=4;n=12000;seed=1
"""
SLOW = {
    "catalogs": ["slow.csv"],
    "datasets": ["slow"],
    "seeds": [1],
    "controls": [],
    "learners": [],
    "references": [],
    "bundle_minutes": 0,
}
# Warned as the profile says, two minutes before the end and, as Slurm looks twice a minute, up to a
# minute earlier: a minute after the start at the soonest, when the job has begun to train. What is
# given here takes the place of all in the profile's `set-resources`: to a CPU node.
TOO_SHORT = ("train_transformer_seed:runtime=4", "train_transformer_seed:gpu=0")
TOO_SMALL = ("train_transformer:mem_mb=10", "train_transformer:slurm_partition=gpu")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    # The folders of pytest are closed to others, munge's socket must not be.
    folder = Path(tempfile.mkdtemp(prefix="tabpet-slurm-"))
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does
    try:
        with Cluster(folder) as started:
            yield started
    finally:
        signal.signal(signal.SIGTERM, before)
        shutil.rmtree(folder)


class Run:
    """A working directory whose jobs go to the cluster."""

    def __init__(self, folder: Path, cluster: Cluster, **settings) -> None:
        self.folder, self.cluster = folder, cluster
        (folder / "sitecustomize.py").write_text(LOOKS_OFTEN)
        self.configure(**settings)

    def configure(self, **settings) -> None:
        (self.folder / "mine.yaml").write_text(yaml.safe_dump({**CONFIG, **settings}))

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
                env={
                    **self.cluster.environment,
                    "HOME": str(self.folder),
                    "PYTHONPATH": f"{ROOT}{os.pathsep}{self.folder}",
                },
                cwd=self.folder,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    @property
    def text(self) -> str:
        return (self.folder / "out.txt").read_text()

    @property
    def scores(self) -> pd.DataFrame:
        return read_runs(self.folder / "results/scores.parquet")

    def written(self, pattern: str = "*/*/*/*/seed?.parquet") -> dict[Path, int]:
        """Which file each run is: one that is written again has another number."""
        found = (self.folder / "results/runs").glob(pattern)
        return {path: path.stat().st_ino for path in found}


class Watch:
    """Waits, and remembers how the queue looked meanwhile."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.jobs: dict[str, str] = {}  # id -> rule and cell
        self.most_gpu_jobs = 0

    def until(self, run: Run, process: subprocess.Popen, condition: Callable[[], object]) -> None:
        """Wait for something that happens while snakemake runs."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline and process.poll() is None, run.text
            self.look()
            time.sleep(0.2)

    def to_the_end(self, run: Run, process: subprocess.Popen) -> str:
        """Wait for a good end; the text that was printed."""
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None:
            assert time.monotonic() < deadline, run.text
            self.look()
            time.sleep(0.5)
        assert process.returncode == 0, run.text
        return run.text

    def look(self) -> None:
        jobs = self.cluster.jobs()
        self.jobs |= {job["id"]: job["comment"] for job in jobs}
        gpu = sum(job["partition"] == "gpu" and job["state"] == "RUNNING" for job in jobs)
        self.most_gpu_jobs = max(self.most_gpu_jobs, gpu)

    def training(self, dataset: str) -> list[str]:
        """The ids of running jobs that train on a dataset."""
        name = f"train_transformer_wildcards_{dataset}_"
        return [job["id"] for job in self.cluster.jobs("RUNNING") if name in job["comment"]]


def test_a_run_on_slurm(tmp_path_factory, cluster):
    """One test, because all share a cluster and much of the time is spent waiting."""
    watch = Watch(cluster)
    slow = Run(tmp_path_factory.mktemp("slow"), cluster, **SLOW)
    (slow.folder / "slow.csv").write_text(SLOW_TABLE)
    beside = slow.start(SCORES, "--retries", "1", "--set-resources", *TOO_SHORT)
    run = Run(tmp_path_factory.mktemp("run"), cluster)
    finished, killed = disturb(run, watch)
    text = watch.to_the_end(run, run.start())
    check_that_it_is_whole(run, watch, finished, killed, text)
    check_a_dataset_more_that_is_over_its_memory(run, watch)
    watch.to_the_end(slow, beside)
    check_rows_of_what_is_over_its_time(slow)


def disturb(run: Run, watch: Watch) -> tuple[dict[Path, int], str]:
    """Kill a job while it runs, and snakemake itself when the first cells are finished."""
    process = run.start()
    watch.until(run, process, lambda: watch.training("demo-wine"))
    [killed, *_] = watch.training("demo-wine")
    run.cluster.ask("scancel", killed)
    watch.until(run, process, lambda: "Trying to restart job" in run.text)
    watch.until(run, process, lambda: len(run.written("*/*/ft_transformer/*/seed?.parquet")) >= 2)
    process.kill()
    process.wait()
    finished = run.written()
    assert run.start("--unlock").wait() == 0, run.text
    return finished, killed


def check_that_it_is_whole(
    run: Run, watch: Watch, finished: dict[Path, int], killed: str, text: str
) -> None:
    """Nothing was repeated or left out, and all went where it should."""
    assert "steps (100%) done" in text
    assert finished.items() <= run.written().items(), "a finished cell was written again"
    # All stages but downloads and summaries were on Slurm, named by rule and cell.
    comments = {comment for comment in watch.jobs.values() if "demo-wine" in comment}
    rules = {comment.removeprefix("rule_").partition("_wildcards_")[0] for comment in comments}
    assert rules == ON_SLURM
    assert "rule_train_transformer_wildcards_demo-wine_42_ft_transformer_spearman" in comments
    # Three training jobs, two GPUs: each had one of them, and never more than two ran at once.
    assert watch.most_gpu_jobs == 2
    scores = run.scores
    assert set(scores["status"]) == {"ok"} and len(scores) == 3 * 2 * 2 + 2 + 2
    devices = set(scores.loc[scores["model"] == "ft_transformer", "device"])
    assert devices <= {f"cpu (given GPU {number}, but torch sees none)" for number in (0, 1)}
    assert devices
    # Logs of failed jobs stay, those of others go.
    [log] = (run.folder / "results/logs/slurm").rglob(f"*{killed}*")
    assert log.stat().st_size > 0


def check_a_dataset_more_that_is_over_its_memory(run: Run, watch: Watch) -> None:
    """It runs alone and ends, after its tries, as rows that say so; what was there stays."""
    before, jobs = run.written(), set(watch.jobs)
    added = {"datasets": ["demo-wine", "demo-diabetes"], "learners": [], "references": []}
    run.configure(**added, controls=[])
    text = watch.to_the_end(run, run.start(SCORES, "--retries", "1", "--set-resources", *TOO_SMALL))
    assert text.count("Trying to restart job") == 1
    new = [comment for job, comment in watch.jobs.items() if job not in jobs]
    new = [comment for comment in new if "_slow_" not in comment]  # of the run beside this one
    assert new and all("demo-diabetes" in comment for comment in new)
    assert before.items() <= run.written().items()
    statuses = run.scores.groupby("dataset")["status"].agg(list)
    assert statuses["demo-wine"] == ["ok"] * 4 and statuses["demo-diabetes"] == ["oom"] * 4


def check_rows_of_what_is_over_its_time(run: Run) -> None:
    """After its tries it is rows that say so; the second went on where the first ended."""
    assert run.text.count("Trying to restart job") == 1
    assert set(run.scores["status"]) == {"timeout"} and len(run.scores) == 2
    assert run.scores["reason"].str.contains("4 min that the job had asked for").all()
    name = "train_transformer/slow-split42-ft_transformer-spearman-seed1.log"
    log = (run.folder / "results/logs" / name).read_text()
    assert "steps, from the last checkpoint" in log


STARTS_A_CLUSTER = """
import signal, sys, time
from pathlib import Path
from tests.slurm.cluster import Cluster
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background jobs
folder = Path(sys.argv[1])
with Cluster(folder) as cluster:
    cluster.ask("sbatch", "--output=/dev/null", f"--wrap=echo $$ > {folder}/job; exec sleep 3600")
    while not (folder / "job").is_file() or not (folder / "job").read_text():
        time.sleep(0.1)
    daemons = [daemon.pid for daemon in cluster.daemons.values()]
    print(*daemons, (folder / "job").read_text(), flush=True)
    time.sleep(3600)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_daemons_and_jobs_end_with_the_process_that_started_them(number):
    folder = Path(tempfile.mkdtemp(prefix="tabpet-slurm-"))
    command = [sys.executable, "-c", STARTS_A_CLUSTER, str(folder)]
    try:
        with subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            started = [Path("/proc", pid) for pid in process.stdout.readline().split()]
            assert len(started) == 6 and all(place.exists() for place in started)
            process.send_signal(number)
        deadline = time.monotonic() + PATIENCE
        while left := [place for place in started if place.exists()]:
            assert time.monotonic() < deadline, left
            time.sleep(0.1)
    finally:
        shutil.rmtree(folder)
