"""Figures of the graphs themselves: entropy and Fiedler value, alone and against improvement.

The paper's figure 3 and those of appendix H.1. Its overlaid histograms become a line of bars per
estimator, which stays readable in grey.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tabpet.analysis import plot
from tabpet.analysis.plot import MAIN, SHADES, Drawing, NothingToDraw
from tabpet.analysis.results import GAINS, TASKS, Results, present
from tabpet.formats import count
from tabpet.names import encoding_label, model_label
from tabpet.registry import GRAPHS

METRICS = {"entropy": "graph entropy", "fiedler": "Fiedler value"}
_BINS = 24
_BAR_NOTE = "the tallest bar of each line says how many graphs it stands for"


def graph_facts(results: Results) -> pd.DataFrame:
    """A row per dataset and estimator: entropy and Fiedler value, averaged over splits."""
    graphs = results.graphs
    if graphs is None or graphs.empty:
        raise NothingToDraw("No graph was estimated in this run.")
    grouped = graphs.groupby(["dataset", "method"], sort=False)
    facts = grouped[list(METRICS)].mean().reset_index()
    tasks = dict(results.tasks)
    if (datasets := results.datasets) is not None:
        tasks |= zip(datasets["dataset"], datasets["task"], strict=True)
    facts.insert(1, "task", facts["dataset"].map(tasks))
    return facts


def draw_entropy(results: Results) -> Drawing:
    """Entropy of all graphs, a line of bars per estimator (paper, figure 3)."""
    facts = graph_facts(results)
    methods = present(GRAPHS.entries, facts["method"])
    figure = Figure(figsize=(7.2, 0.9 + 0.62 * len(methods)))
    axes = figure.subplots()
    _bar_lines(axes, facts, "entropy", methods)
    axes.set_title(f"{count(facts['dataset'].nunique(), 'dataset')}; {_BAR_NOTE}")
    return Drawing(figure, facts.drop(columns="fiedler"))


def draw_histograms(results: Results) -> Drawing:
    """Entropy and Fiedler value by task (paper, appendix H.1)."""
    drawing = _draw_by_task(graph_facts(results), _bar_lines, 0.45)
    drawing.figure.supxlabel(_BAR_NOTE, fontsize=8)
    return drawing


def draw_boxes(results: Results) -> Drawing:
    """Entropy and Fiedler value by task as boxes with their points (paper, appendix H.1)."""
    return _draw_by_task(graph_facts(results), _boxes, 0.4)


def draw_scatter(results: Results) -> Drawing:
    """Improvement against entropy and Fiedler value, with cumulative means (appendix H.1)."""
    first = results.averages[results.averages["model"].isin(results.models[:1])]
    numbers = graph_facts(results).merge(
        first[["dataset", "encoding", "model", *GAINS]].rename(columns={"encoding": "method"}),
        on=["dataset", "method"],
    )
    numbers = numbers.dropna(subset=["improvement"])
    if numbers.empty:
        raise NothingToDraw("No transformer was trained with an encoding from these graphs.")
    numbers = _with_cumulative_means(numbers)

    def panel(axes: Axes, rows: pd.DataFrame, metric: str, methods: list[str]) -> None:
        _scatter(axes, rows, metric, methods)
        plot.percent_axis(axes, "y", numbers[GAINS], "improvement, percent")

    drawing = _draw_by_task(numbers, panel, sharey=True)
    for place, axes in enumerate(drawing.figure.axes):
        axes.set_title(f"{axes.get_title(loc='left')}, {model_label(results.models[0])}")
        axes.tick_params(labelbottom=True)
        if place % numbers["task"].nunique():
            axes.set_ylabel("")
    title = (
        "filled points: one dataset, alpha chosen on validation; hollow: on test (oracle);\n"
        "lines: mean of the filled ones up to that value"
    )
    plot.legend_below(drawing.figure, columns=numbers["method"].nunique(), title=title)
    return drawing


def _draw_by_task(
    facts: pd.DataFrame, draw_panel: Callable[..., None], line_height: float = 0.0, **shared: Any
) -> Drawing:
    """A row of panels per metric and a column per task."""
    methods, tasks = present(GRAPHS.entries, facts["method"]), present(TASKS, facts["task"])
    height = 2 * (0.7 + line_height * len(methods)) if line_height else 6.4
    figure, panels = plot.panel_grid(
        4.6 * len(tasks) + 0.4, height, list(METRICS), tasks, sharex="row", **shared
    )
    for (metric, task), axes in panels.items():
        draw_panel(axes, facts[facts["task"] == task], metric, methods)
        axes.set_title(TASKS[task])
    return Drawing(figure, facts)


def _with_cumulative_means(numbers: pd.DataFrame) -> pd.DataFrame:
    """Per task and estimator: mean improvement of all datasets up to each value of a metric."""
    for metric in METRICS:
        ordered = numbers.sort_values(metric, kind="stable")
        keys = [ordered["task"], ordered["method"]]
        gains = ordered["improvement"].groupby(keys)
        running = gains.cumsum() / (gains.cumcount() + 1)
        # Datasets with the same value count together.
        means = running.groupby([*keys, ordered[metric]]).transform("last")
        numbers = numbers.assign(**{f"mean_up_to_{metric}": means})
    return numbers


def _bar_lines(axes: Axes, facts: pd.DataFrame, metric: str, methods: list[str]) -> None:
    """A small histogram per estimator, one above the other, all with the same bins."""
    top = max(1.0, np.nan_to_num(facts[metric].max()))
    edges = np.linspace(0, top, _BINS + 1)
    style: dict[str, Any] = {"color": SHADES[4], "edgecolor": MAIN, "linewidth": 0.5}
    floors = range(len(methods) - 1, -1, -1)
    for floor, method in zip(floors, methods, strict=True):
        bars, _ = np.histogram(facts.loc[facts["method"] == method, metric], edges)
        heights = 0.66 * bars / max(1, bars.max())
        axes.bar(edges[:-1], heights, np.diff(edges), bottom=floor, align="edge", **style)
        axes.axhline(floor, color=plot.RULE, linewidth=0.8)
        if bars.max():
            middle = edges[bars.argmax() :][:2].mean()
            label: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": 7}
            axes.annotate(
                str(bars.max()), (middle, floor + 0.66), (0, 1), textcoords="offset points", **label
            )
    axes.set_yticks([floor + 0.35 for floor in floors], list(map(encoding_label, methods)))
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-0.05, len(methods) + 0.1)
    axes.set_xlim(0, top)
    axes.set_xlabel(METRICS[metric])
    axes.spines["left"].set_visible(False)


def _boxes(axes: Axes, facts: pd.DataFrame, metric: str, methods: list[str]) -> None:
    for place, method in enumerate(methods):
        values = facts.loc[facts["method"] == method, metric].dropna().to_numpy()
        plot.box(axes, values, place, SHADES[1], MAIN, 0.5)
        plot.dots(axes, values, place, 7, 0.17)
    plot.named_lines(axes, list(map(encoding_label, methods)))
    axes.set_xlabel(METRICS[metric])
    axes.grid(axis="x")


def _scatter(axes: Axes, numbers: pd.DataFrame, metric: str, methods: list[str]) -> None:
    for place, method in enumerate(methods):
        rows = numbers[numbers["method"] == method].sort_values(metric, kind="stable")
        color, marker, linestyle = plot.series(place)
        for column, face in (("oracle_improvement", "none"), ("improvement", color)):
            points: dict[str, Any] = {"facecolor": face, "edgecolor": color, "linewidth": 0.7}
            axes.scatter(rows[metric], rows[column], 12, marker=marker, alpha=0.5, **points)
        axes.plot(
            rows[metric],
            rows[f"mean_up_to_{metric}"],
            color=color,
            linestyle=linestyle,
            linewidth=1.6,
            drawstyle="steps-post",
            marker=marker,
            markersize=4,
            markevery=[-1] if len(rows) else None,
            label=encoding_label(method),
        )
    axes.set_xlabel(METRICS[metric])
