"""PC graph, an extra beyond the paper: the algorithm of Spirtes and Glymour from causal-learn."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from pydantic import Field

import tabpet
from tabpet.clock import Clock
from tabpet.entries import Estimate, Estimator
from tabpet.extras import need
from tabpet.graphs.methods._correlation import absolute_correlations
from tabpet.section import Section


class PcSettings(Section):
    """Settings of PC, which is not in the paper."""

    alpha: float = Field(0.05, gt=0, lt=1, description="Level of the independence tests.")
    max_conditions: int = Field(2, ge=0, description="Most nodes that a test conditions on.")
    shrinkage: float = Field(
        1e-3,
        gt=0,
        lt=1,
        description="Share by which correlations are shrunk, so that collinear nodes can be "
        "tested.",
    )


def estimate_pc(values: np.ndarray, settings: PcSettings, clock: Clock) -> Estimate:
    """Run PC in a process of its own; weights are absolute correlations.

    An edge of unknown direction is kept in both directions.
    """
    need("causallearn", "PC")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.savez(folder / "task.npz", values=values, **settings.model_dump())
        failure = _run_worker(folder, clock)
        edges, stage = _best_so_far(folder, settings, values.shape[1])
        tests = folder / "tests.npy"
        n_tests = int(np.load(tests)) if tests.exists() else None
    status, reason = "ok", ""
    if stage != "oriented":
        status = "error" if failure else "timeout"
        reason = failure or f"the budget ended before the edges were oriented; kept: {stage}"
    return Estimate(
        np.where(edges, absolute_correlations(values), 0.0),
        status=status,
        reason=reason,
        facts={"stage": stage, "tests": n_tests},
    )


def _run_worker(folder: Path, clock: Clock) -> str:
    """Run PC until it or the budget ends; return what went wrong, if it did."""
    package_folder = str(Path(tabpet.__file__).parents[1])
    search_path = os.pathsep.join([package_folder, os.environ.get("PYTHONPATH", "")])
    try:
        subprocess.run(
            [sys.executable, "-m", "tabpet.graphs.methods._pc_worker", str(folder)],
            env={**os.environ, "PYTHONPATH": search_path, "OPENBLAS_NUM_THREADS": "1"},
            timeout=None if clock.limit is None else clock.left,
            check=True,
            capture_output=True,
            text=True,
        )
    except subprocess.TimeoutExpired:
        return ""
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines()
        return f"causal-learn failed: {lines[-1] if lines else 'no message'}"
    return ""


def _best_so_far(folder: Path, settings: PcSettings, d: int) -> tuple[np.ndarray, str]:
    """The furthest graph that was saved, (d, d), and its name."""
    if (folder / "oriented.npy").exists():
        return np.load(folder / "oriented.npy"), "oriented"
    for size in range(settings.max_conditions, -1, -1):
        path = folder / f"skeleton_{size}.npy"
        if path.exists():
            return np.load(path), f"skeleton after tests given {size} nodes"
    return np.zeros((d, d), dtype=bool), "no edges"


ESTIMATOR = Estimator(
    key="pc",
    label="PC",
    function=estimate_pc,
    settings=PcSettings,
    directed=True,
    growth="number of tests, which grows with d^2 and with the degrees",
    citation="Spirtes and Glymour (1991), An algorithm for fast recovery of sparse causal graphs; "
    "causal-learn, Zheng et al. (2024), Journal of Machine Learning Research 25",
    needs=("causal-learn",),
    order=6,
)
