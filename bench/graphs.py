"""Time graph estimators against plain references in the same run, and how their cost grows.

    python bench/graphs.py            everything
    python bench/graphs.py --quick    smaller sizes, in about a minute
    python bench/graphs.py --growth   time against the number of nodes and of rows
    python bench/graphs.py --mirror   all methods on every table of the folder TABPET_MIRROR

References are the methods in their usual form: lingam.DirectLiNGAM, NOTEARS on the rows for every
lambda, and mutual information pair by pair.
"""

import argparse
import itertools
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tabpet.data.nodes import NodeMatrix
from tabpet.graphs.acyclicity import is_acyclic
from tabpet.graphs.estimate import estimate_graph
from tabpet.graphs.methods._direct_lingam import FastDirectLiNGAM
from tabpet.graphs.methods.chow_liu import bin_columns, mutual_information
from tests.graphs.plain_notears import plain_notears
from tests.graphs.tables import linear_sem, matrix_of

METHODS = ("pearson", "spearman", "chow_liu", "lingam", "notears")
LAMBDAS = (0.01, 0.05, 0.1, 0.2)
# The paper's reduced grid for its three widest tables.
REDUCED = {"dna", "jasmine", "madeline"}


def timed(function: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Best wall-clock seconds of some repeats, and the result."""
    best, result = np.inf, None
    for _ in range(repeats):
        started = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - started)
    return best, result


def report(name: str, ours: float, reference: float, same: str) -> None:
    """Print one comparison."""
    ratio = reference / ours
    print(f"{name:40s} {reference:9.3f} s {ours:9.4f} s {ratio:8.1f} x   {same}", flush=True)


def compare_lingam(n: int, d: int) -> None:
    """Order search and weights against lingam.DirectLiNGAM."""
    import lingam

    values = matrix_of(linear_sem(n, d, seed=0, degree=3.0)).values
    ours, fast = timed(lambda: FastDirectLiNGAM().fit(values), 3)
    reference, plain = timed(lambda: lingam.DirectLiNGAM().fit(values))
    same = fast.causal_order_ == [int(node) for node in plain.causal_order_]
    gap = np.abs(fast.adjacency_matrix_ - plain.adjacency_matrix_).max()
    report(
        f"lingam, n = {n}, d = {d}", ours, reference, f"same order: {same}, weights to {gap:.0e}"
    )


def compare_notears(n: int, d: int) -> None:
    """The lambda grid against the published form on the rows, every lambda to its end."""
    matrix = matrix_of(linear_sem(n, d, seed=0))
    ours, graph = timed(lambda: estimate_graph(matrix, "notears"), 3)
    reference, graphs = timed(lambda: [plain_notears(matrix.values, lam) for lam in LAMBDAS])
    plain = next((weights for weights in graphs if is_acyclic(weights)), graphs[-1])
    same = bool(((graph.adjacency != 0) == (plain != 0)).all())
    gap = np.abs(graph.adjacency - plain).max()
    report(
        f"notears, n = {n}, d = {d}", ours, reference, f"same edges: {same}, weights to {gap:.0e}"
    )


def compare_chow_liu(n: int, d: int) -> None:
    """Mutual information of all pairs at once against pair by pair."""
    from sklearn.metrics import mutual_info_score

    values = matrix_of(linear_sem(n, d, seed=0)).values

    def pair_by_pair() -> np.ndarray:
        information = np.zeros((d, d))
        for i, j in itertools.combinations(range(d), 2):
            counts = np.histogram2d(values[:, i], values[:, j], bins=10)[0]
            information[i, j] = information[j, i] = mutual_info_score(
                None, None, contingency=counts
            )
        return information

    ours, fast = timed(lambda: mutual_information(bin_columns(values, 10), 10), 5)
    reference, plain = timed(pair_by_pair)
    report(
        f"chow_liu, n = {n}, d = {d}",
        ours,
        reference,
        f"values to {np.abs(fast - plain).max():.0e}",
    )


def compare_correlations(n: int, d: int) -> None:
    """Correlations of all pairs at once against scipy pair by pair."""
    from scipy.stats import pearsonr, spearmanr

    matrix = matrix_of(linear_sem(n, d, seed=0))
    for name, function in (("pearson", pearsonr), ("spearman", spearmanr)):

        def pair_by_pair(function: Callable[..., Any] = function) -> np.ndarray:
            weights = np.zeros((d, d))
            for i, j in itertools.combinations(range(d), 2):
                value = abs(function(matrix.values[:, i], matrix.values[:, j]).statistic)
                weights[i, j] = weights[j, i] = value
            return weights

        ours, graph = timed(lambda name=name: estimate_graph(matrix, name), 3)
        reference, plain = timed(pair_by_pair)
        gap = np.abs(graph.adjacency - plain).max()
        report(f"{name}, n = {n}, d = {d}", ours, reference, f"values to {gap:.0e}")


def show_growth(nodes: tuple[int, ...], rows: tuple[int, ...], seconds: float) -> None:
    """Seconds of every method against d at n = 2,000, and against n at d = 20."""
    for label, sizes in (
        ("d at n = 2,000", [(2000, d) for d in nodes]),
        ("n at d = 20", [(n, 20) for n in rows]),
    ):
        print(f"\n{label:16s}" + "".join(f"{name:>12s}" for name in METHODS))
        for n, d in sizes:
            matrix = matrix_of(linear_sem(n, d, seed=1))
            cells = []
            for name in METHODS:
                graph = estimate_graph(matrix, name, seconds=seconds)
                mark = "" if graph.status == "ok" else " *"
                cells.append(f"{graph.seconds:10.3f}{mark:2s}")
            print(f"{d if n == 2000 and len(sizes) == len(nodes) else n:<16d}" + "".join(cells))
    print(f"* ended by the budget of {seconds:g} s")


def mirror_matrix(path: Path) -> NodeMatrix:
    """Node matrix of a Parquet table without its last column: 60 % of rows, at most 5,000."""
    table = pd.read_parquet(path).iloc[:, :-1]
    chosen = np.random.default_rng(42).permutation(len(table))[: int(0.6 * len(table))][:5000]
    table = table.iloc[chosen]
    columns, nodes, owners = [], [], []
    for owner, name in enumerate(table.columns):
        column = table[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            column = column.astype(str)
            counts = column.value_counts()
            if len(counts) > 10:
                column = column.where(column.isin(counts.index[:9]), "Other")
            for level in sorted(column.unique()):
                columns.append((column == level).to_numpy(dtype=float))
                nodes.append(f"{name}={level}")
                owners.append(owner)
        else:
            columns.append(column.to_numpy(dtype=float))
            nodes.append(str(name))
            owners.append(owner)
    values = np.column_stack(columns)
    kept = values.std(axis=0) > 0
    values = values[:, kept]
    return NodeMatrix(
        (values - values.mean(axis=0)) / values.std(axis=0),
        tuple(np.array(nodes)[kept].tolist()),
        tuple(map(str, table.columns)),
        np.array(owners)[kept],
    )


def show_mirror(folder: Path, seconds: float, methods: list[str]) -> None:
    """Seconds of every method on every table of a mirror."""
    print(f"\n{'table':44s}{'n':>6s}{'d':>5s}" + "".join(f"{name:>11s}" for name in methods))
    totals = dict.fromkeys(methods, 0.0)
    for path in sorted(folder.glob("*.parquet")):
        name = path.stem.rsplit("_v", 1)[0]
        matrix = mirror_matrix(path)
        cells = ""
        for method in methods:
            reduced = {"lambdas": (0.1, 0.2)} if method == "notears" and name in REDUCED else None
            graph = estimate_graph(matrix, method, reduced, seconds)
            totals[method] += graph.seconds
            mark = {"ok": " ", "timeout": "*"}.get(graph.status, "!")
            cells += f"{graph.seconds:10.2f}{mark}"
        n, d = matrix.values.shape
        print(f"{name:44s}{n:6d}{d:5d}{cells}", flush=True)
    print(f"{'sum':55s}" + "".join(f"{totals[name]:10.1f} " for name in methods))
    print(f"* ended by the budget of {seconds:g} s")


def main() -> None:
    """Run the parts that the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--growth", action="store_true", help="only how the cost grows")
    parser.add_argument("--mirror", action="store_true", help="only the tables of TABPET_MIRROR")
    parser.add_argument("--seconds", type=float, default=300.0, help="budget of one graph")
    parser.add_argument("--methods", default=",".join(METHODS), help="methods for --mirror")
    parser.add_argument("--threads", type=int, default=1, help="BLAS threads of both sides")
    options = parser.parse_args()
    every = not (options.growth or options.mirror)
    # Collinear tables make the reference warn; the comparison itself shows what it found.
    warnings.simplefilter("once")
    with threadpool_limits(limits=options.threads):
        if every:
            print(f"{'method':40s} {'reference':>11s} {'tabpet':>11s} {'ratio':>10s}")
            small = options.quick
            compare_correlations(1000 if small else 3000, 30 if small else 100)
            compare_chow_liu(1000 if small else 3000, 40 if small else 100)
            compare_lingam(1000 if small else 3000, 20 if small else 60)
            compare_notears(1000 if small else 5000, 10 if small else 20)
        if options.growth or (every and not options.quick):
            show_growth((20, 60, 120, 240, 360), (500, 5000, 50000), options.seconds)
        mirror = os.environ.get("TABPET_MIRROR")
        if mirror and not options.growth and not options.quick:
            show_mirror(Path(mirror), options.seconds, options.methods.split(","))
        elif options.mirror:
            parser.error("set TABPET_MIRROR to a folder of Parquet tables")


if __name__ == "__main__":
    main()
