"""Every method against every other: a table, and the multi-comparison matrix as a figure."""

from itertools import chain, permutations
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tabpet.analysis import plot
from tabpet.analysis.gains import SCOPES, panels_by_scope
from tabpet.analysis.plot import INK, MAIN, SOFT, WARM, Drawing, NothingToDraw, centred
from tabpet.analysis.results import TASKS, Results
from tabpet.analysis.table import Panel, Table
from tabpet.formats import NOTHING, count, p_value, percent
from tabpet.names import Method, method_label
from tabpet.stats import PairwiseComparison, compare_pairs

_SQUARE_WIDTH, _SQUARE_HEIGHT = 0.86, 0.5  # inches
_STRONGEST = 0.45  # opacity of the largest difference, so that text on it stays readable
_FULL = 20.0  # percent from which on a difference has the strongest colour


def compare_methods(results: Results, scope: str) -> PairwiseComparison:
    """All ranked methods of one task, or of both for `all`."""
    tasks = TASKS if scope == "all" else (scope,)
    return compare_pairs({task: results.ranked_table(task) for task in tasks})


def comparison_matrix_table(results: Results) -> Table:
    """Every pair of methods: mean difference, wins, ties and losses, test with and without Holm."""
    comparisons = {scope: compare_methods(results, scope) for scope in SCOPES}
    rows = {scope: pair_rows(comparison, scope) for scope, comparison in comparisons.items()}
    rows = {scope: pairs for scope, pairs in rows.items() if len(pairs)}
    if not rows:
        return Table.empty("comparison_matrix", "no dataset has results of two methods")
    data = pd.concat(rows.values(), ignore_index=True)
    methods, others = data["method"].map(method_label), data["other"].map(method_label)
    listings = panels_by_scope(
        "comparison_matrix", data.set_axis(methods + " against " + others), "Methods"
    )
    matrices = [_matrix_panel(comparisons[scope], scope, results.settings.level) for scope in rows]
    panels = chain.from_iterable(zip(matrices, listings, strict=True))
    return Table.of("comparison_matrix", data, panels, **results.words)


def pair_rows(comparison: PairwiseComparison, scope: str) -> pd.DataFrame:
    """A row per pair that shares a dataset."""
    pairs = comparison.pairs[comparison.pairs["datasets"] > 0].reset_index(drop=True)
    pairs.insert(2, "task", scope)
    return pairs


def _matrix_panel(comparison: PairwiseComparison, scope: str, significance: float) -> Panel:
    """Mean differences of row against column; bold where significant."""
    methods = list(comparison.methods)
    header = pd.MultiIndex.from_tuples(
        [("", Method.parse(method).short_label) for method in methods], names=["", "Method"]
    )
    pairs = comparison.both_ways.reset_index()
    pairs["text"] = pairs["mean_difference_pct"].map(percent)
    pairs["mark"] = np.where(pairs["p_holm"] < significance, "best", "")
    texts, marks = (
        pairs.pivot_table(index="method", columns="other", values=column, aggfunc="first")
        .reindex(index=methods, columns=methods, fill_value="")
        .fillna("")  # a method against itself
        .set_axis(list(map(method_label, methods)))
        .set_axis(header, axis=1)
        for column in ("text", "mark")
    )
    return Panel(texts, f"{SCOPES[scope]}, mean difference in %", marks)


def draw_comparison_matrix(results: Results) -> Drawing:
    """Methods by methods, over all datasets: difference, wins, ties and losses, tests."""
    comparison = compare_methods(results, "all")
    rows = pair_rows(comparison, "all")
    if rows.empty:
        raise NothingToDraw("No dataset has results of two methods to compare.")
    methods, significance = comparison.methods, results.settings.level
    n = len(methods)
    figure = Figure(figsize=(max(6.5, 1.7 + _SQUARE_WIDTH * n), 1.95 + _SQUARE_HEIGHT * n))
    axes = figure.subplots()
    places = permutations(range(n), 2)
    for (row, column), pair in zip(places, comparison.both_ways.itertuples(), strict=True):
        _draw_pair(axes, row, column, pair, significance)
    axes.set_xlim(-0.5, n - 0.5)
    axes.set_ylim(n - 0.5, -0.5)
    names = [method_label(method) for method in methods]
    axes.set_yticks(range(n), names)
    axes.set_xticks(range(n), [name.replace("+PET", "\n+PET") for name in names])
    axes.tick_params(length=0, labelsize=8)
    axes.tick_params(axis="x", labeltop=True, labelbottom=False, labelsize=7)
    axes.spines[:].set_visible(False)
    _explain(figure, len(rows), significance)
    axes.set_title(f"Row against column, {count(comparison.datasets, 'dataset')}", pad=10)
    return Drawing(figure, rows)


def _draw_pair(axes: Axes, row: int, column: int, pair: Any, significance: float) -> None:
    """Mean difference, wins/ties/losses and both p-values; bold where the corrected is small."""
    if not pair.datasets:
        centred(axes, column, row, NOTHING, color=SOFT, fontsize=7)
        return
    # By logarithm, or a few large differences would leave all others white.
    mean = pair.mean_difference_pct
    strength = _STRONGEST * min(1.0, float(np.log1p(abs(mean)) / np.log1p(_FULL)))
    plot.square(axes, column, row, MAIN if mean > 0 else WARM, strength)
    weight = "bold" if pair.p_holm < significance else "normal"
    lines = (
        (-0.31, f"{percent(mean)} %", 8.0),
        (-0.07, f"{pair.wins} / {pair.ties} / {pair.losses}", 6.5),
        (0.14, f"p {p_value(pair.p)}", 6.5),
        (0.34, f"Holm {p_value(pair.p_holm)}", 6.5),
    )
    for down, text, size in lines:
        centred(axes, column, row + down, text, color=INK, fontsize=size, weight=weight)


def _explain(figure: Figure, n_pairs: int, significance: float) -> None:
    """What colours and the lines of a square mean, below the matrix."""
    handles = [
        Patch(facecolor=MAIN, alpha=_STRONGEST, label="row better (stronger: by more)"),
        Patch(facecolor=WARM, alpha=_STRONGEST, label="row worse"),
        Line2D([], [], linewidth=0, label="mean difference, wins / ties / losses, p, Holm's p"),
        Line2D(
            [], [], linewidth=0, label=f"bold: Holm over {n_pairs} pairs below {significance:g}"
        ),
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=2, handlelength=1.2)
