"""Kill anything, at random, and compare the result with that of an undisturbed run.

    python bench/soak.py [--kills 60] [--seed 1] [--folder ...] [--pause ...]

A small config with checkpoints runs once undisturbed. Then it runs again, round after round in a
folder of its own, while its jobs and snakemake itself are killed (SIGKILL, some jobs SIGTERM) at
random moments, and it is unlocked and started again each time, as a person would do. At the end of
every round `scores.parquet` must equal that of the undisturbed run in all but seconds, and no half
file may be left.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import yaml

from tabpet.runs import read_runs

ROOT = Path(__file__).resolve().parents[1]
CONFIG = {
    "datasets": ["demo-wine", "demo-diabetes"],
    "seeds": [1, 2],
    "graphs": ["spearman", "lingam"],
    "controls": ["spearman-shuffled"],
    "models": ["ft_transformer"],
    "alphas": [1, 5],
    "model_settings": {"ft_transformer": {"n_layers": 1, "n_heads": 2, "width": 24}},
    "training": {
        "max_epochs": 60,
        "min_epochs": 60,
        "learning_rate": 1e-3,
        "checkpoint": True,
        "checkpoint_seconds": 1,
    },
    "learners": ["xgboost"],
    "references": ["linear", "xgboost"],
    "trees": {"trials": 6, "rounds": 60},
}
PAUSES = 12  # the longest between two kills is the time of the undisturbed run by this
STARTING = 0.05  # the chance that a snakemake without a job is hit: it must come to one


def main() -> None:
    """Soak until there have been enough kills, and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--pause", type=float, default=None, help="longest, between two kills")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="tabpet-soak-"))
    dice, kills, rounds = random.Random(options.seed), Counter[str](), 0
    began = time.monotonic()
    expected = scores(undisturbed(folder / "undisturbed"))
    seconds = time.monotonic() - began
    pause = options.pause or seconds / PAUSES
    print(f"undisturbed: {len(expected)} rows in {seconds:.0f} s", flush=True)
    while kills.total() < options.kills:
        rounds += 1
        place = folder / f"round{rounds}"
        starts = disturbed(place, dice, kills, options.kills, pause)
        compare(scores(place), expected)
        if half := half_files(place / "results"):
            sys.exit(f"half files after round {rounds}: {', '.join(half)}")
        print(
            f"round {rounds}: {starts} starts, {kills.total()} kills so far {dict(kills)}, "
            "same scores, no half file",
            flush=True,
        )
        shutil.rmtree(place)
    shutil.rmtree(folder / "undisturbed")
    if options.folder is None:
        folder.rmdir()
    print(
        f"{kills.total()} kills in {rounds} rounds and {time.monotonic() - began:.0f} s: "
        f"{len(expected)} rows, equal in all but seconds"
    )


def undisturbed(place: Path) -> Path:
    """Run the config once, in peace."""
    process = start(place)
    if process.wait():
        sys.exit((place / "out.txt").read_text())
    return place


def disturbed(
    place: Path, dice: random.Random, kills: "Counter[str]", wanted: int, longest: float
) -> int:
    """Run the config to its end while something is killed every few seconds; how many starts."""
    starts, process = 1, start(place)
    while True:
        pause = dice.uniform(0.1, 1) * longest
        with contextlib.suppress(subprocess.TimeoutExpired):
            if process.wait(timeout=pause) == 0:
                return starts
        if process.poll() is None and kills.total() < wanted:
            kill_something(process, dice, kills)
        if process.poll() is not None and process.returncode != 0:
            subprocess.run([*command(place), "--unlock"], cwd=place, capture_output=True)
            starts, process = starts + 1, start(place)
        if starts > 20 * wanted:
            sys.exit(f"{place} does not come to its end:\n{(place / 'out.txt').read_text()}")


def kill_something(process: subprocess.Popen, dice: random.Random, kills: "Counter[str]") -> None:
    """Kill a process of a job, or snakemake itself; its jobs then go on without it."""
    jobs = descendants(process.pid)
    if not jobs and dice.random() >= STARTING:
        return
    with contextlib.suppress(ProcessLookupError):
        if not jobs or dice.random() < 0.25:
            process.kill()
            process.wait()
            kills["snakemake"] += 1
        elif dice.random() < 0.25:
            os.kill(dice.choice(jobs), signal.SIGTERM)
            kills["job, SIGTERM"] += 1
        else:
            os.kill(dice.choice(jobs), signal.SIGKILL)
            kills["job"] += 1


def descendants(pid: int) -> list[int]:
    """All processes below one, by /proc."""
    below: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            below.setdefault(parent, []).append(int(place.name))
    found, waiting = [], [pid]
    while waiting:
        children = below.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def command(place: Path) -> list[str]:
    """The call of snakemake, as a user would make it."""
    return [
        *(str(Path(sys.executable).with_name("snakemake")), "--snakefile", str(ROOT / "Snakefile")),
        *("--directory", str(place), "--configfile", str(place / "mine.yaml"), "--cores", "2"),
        # More than there are kills of one job: one in a last try would be a row.
        *("--retries", "100"),
    ]


def start(place: Path) -> subprocess.Popen:
    """Start snakemake; what it prints goes to a file."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "mine.yaml").write_text(yaml.safe_dump(CONFIG))
    with (place / "out.txt").open("a") as out:
        return subprocess.Popen(
            command(place), cwd=place, stdout=out, stderr=out, stdin=subprocess.DEVNULL
        )


def scores(place: Path) -> pd.DataFrame:
    """All rows of a run without what a clock decides."""
    return read_runs(place / "results/scores.parquet").drop(columns="seconds")


def half_files(results: Path) -> list[str]:
    """Results that can't be read; what a killed job left under a temporary name is none."""
    half = []
    for path in results.rglob("*.[pj]*"):
        try:
            if path.suffix == ".parquet":
                pq.read_table(path)
            elif path.suffix == ".json":
                json.loads(path.read_text())
        except (OSError, ValueError) as error:  # pyarrow's errors of a file are among them
            half.append(f"{path}: {error}")
    return half


def compare(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    """End the soak where a result differs."""
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


if __name__ == "__main__":
    main()
