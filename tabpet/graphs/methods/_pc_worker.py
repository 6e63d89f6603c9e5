"""PC of causal-learn as a program of its own: its orientation rules can run for hours on dense
graphs without a place to stop them, so the caller ends the process when the budget is over.

Usage: python -m tabpet.graphs.methods._pc_worker FOLDER, with `task.npz` in it. Writes
`skeleton_K.npy` after the tests given K nodes, then `oriented.npy`, and `tests.npy`.
"""

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from causallearn.utils.cit import CIT_Base
from causallearn.utils.PCUtils import Meek, SkeletonDiscovery, UCSepset


class ShrunkenFisherZ(CIT_Base):
    """causal-learn's fisherz on correlations shrunk towards 0, which are never singular."""

    def __init__(self, data: np.ndarray, shrinkage: float) -> None:
        super().__init__(data)
        self.check_cache_method_consistent("shrunken_fisher_z", f"shrinkage {shrinkage}")
        self.p_values: dict[tuple[int, int, tuple[int, ...]], float] = {}
        self._correlations = np.corrcoef(data.T) * (1 - shrinkage)
        np.fill_diagonal(self._correlations, 1.0)

    def __call__(self, X: int, Y: int, condition_set: Any = None) -> float:
        """p-value of the independence of X and Y given a set of nodes."""
        given = tuple(sorted(int(node) for node in condition_set or ()))
        key = (min(int(X), int(Y)), max(int(X), int(Y)), given)
        if key not in self.p_values:
            self.p_values[key] = self._p_value(key)
        return self.p_values[key]

    def _p_value(self, key: tuple[int, int, tuple[int, ...]]) -> float:
        """Two-sided p-value of the partial correlation."""
        first, second, given = key
        nodes = [first, second, *given]
        precision = np.linalg.inv(self._correlations[np.ix_(nodes, nodes)])
        partial = -precision[0, 1] / math.sqrt(precision[0, 0] * precision[1, 1])
        freedom = self.sample_size - len(given) - 3
        if freedom <= 0:
            return 1.0
        # Rounding may leave copies a partial correlation of 1.
        bounded = min(abs(partial), 1 - 1e-15)
        return math.erfc(math.sqrt(freedom) * math.atanh(bounded) / math.sqrt(2))


def run(folder: Path) -> None:
    """Work through the task in `folder`, saving what is ready."""
    task = np.load(folder / "task.npz")
    values = task["values"]
    test = ShrunkenFisherZ(values, float(task["shrinkage"]))
    for size in range(int(task["max_conditions"]) + 1):
        # Each round starts afresh, but the tests of the rounds before are remembered.
        skeleton = SkeletonDiscovery.skeleton_discovery(
            values, float(task["alpha"]), test, stable=True, show_progress=False, max_k=size
        )
        _save(folder / f"skeleton_{size}.npy", skeleton.G.graph != 0)
    _save(folder / "tests.npy", np.array(len(test.p_values)))
    oriented = Meek.meek(UCSepset.uc_sepset(skeleton, 2))
    # graph[j, i] = 1 and graph[i, j] = -1 for i -> j, -1 in both for i - j, 1 in both for i <-> j.
    marks = oriented.G.graph
    _save(folder / "oriented.npy", (marks == -1) | ((marks == 1) & (marks.T == 1)))


def _save(path: Path, array: np.ndarray) -> None:
    """Write an array under its name only when it is complete."""
    temporary = path.with_suffix(".tmp.npy")
    np.save(temporary, array)
    temporary.replace(path)


if __name__ == "__main__":
    run(Path(sys.argv[1]))
