"""Figures of the graphs themselves: entropy and Fiedler value, alone and against improvement.

The paper's figure 3 and those of appendix H.1. Its overlaid histograms become a line of bars per
estimator, which stays readable in grey.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tabpet.analysis.formats import count
from tabpet.analysis.names import GRAPHS, MODELS, TASKS, TRANSFORMERS
from tabpet.analysis.plot import (
    LINES,
    MAIN,
    MARKERS,
    RULE,
    SERIES,
    SHADES,
    Drawing,
    NothingToDraw,
    box,
    dots,
    named_lines,
    new_figure,
    percent_axis,
)
from tabpet.analysis.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    facts.insert(1, "task", facts["dataset"].map(_tasks(results)))
    return facts


def _tasks(results: Results) -> dict[str, str]:
    """Task of every dataset, from the table of datasets or from the runs."""
    known = results.scores[["dataset", "task"]]
    if results.datasets is not None:
        known = pd.concat([results.datasets[["dataset", "task"]], known])
    known = known.drop_duplicates("dataset")
    return dict(zip(known["dataset"], known["task"], strict=True))


def draw_entropy(results: Results) -> Drawing:
    """Entropy of all graphs, a line of bars per estimator (paper, figure 3)."""
    facts = graph_facts(results)
    methods = _methods(facts)
    figure = new_figure(7.2, 0.9 + 0.62 * len(methods))
    axes = figure.subplots()
    _bar_lines(axes, facts, "entropy", methods)
    axes.set_title(f"{count(facts['dataset'].nunique(), 'dataset')}; {_BAR_NOTE}")
    return Drawing(figure, facts.drop(columns="fiedler"))


def draw_histograms(results: Results) -> Drawing:
    """Entropy and Fiedler value by task (paper, appendix H.1)."""
    drawing = _draw_by_task(results, _bar_lines, 0.45)
    drawing.figure.supxlabel(_BAR_NOTE, fontsize=8)
    return drawing


def draw_boxes(results: Results) -> Drawing:
    """Entropy and Fiedler value by task as boxes with their points (paper, appendix H.1)."""
    return _draw_by_task(results, _boxes, 0.4)


def _draw_by_task(results: Results, draw: Callable[..., None], line_height: float) -> Drawing:
    """A row of panels per metric and a column per task, with a line per graph in each."""
    facts = graph_facts(results)
    methods, tasks = _methods(facts), _present_tasks(facts)
    figure = new_figure(4.6 * len(tasks) + 0.4, 2 * (0.7 + line_height * len(methods)))
    panels = figure.subplots(len(METRICS), len(tasks), sharex="row", squeeze=False)
    for row, metric in zip(panels, METRICS, strict=True):
        for axes, task in zip(row, tasks, strict=True):
            draw(axes, facts[facts["task"] == task], metric, methods)
            axes.set_title(TASKS[task])
    return Drawing(figure, facts)


def draw_scatter(results: Results) -> Drawing:
    """Improvement against entropy and Fiedler value, with cumulative means (appendix H.1)."""
    facts = graph_facts(results)
    cells = results.cells
    models = [model for model in TRANSFORMERS if model in set(cells["model"])]
    first = cells[cells["model"].isin(models[:1])]
    numbers = facts.merge(
        first[["dataset", "encoding", "model", "improvement", "oracle_improvement"]],
        left_on=["dataset", "method"],
        right_on=["dataset", "encoding"],
    ).drop(columns="encoding")
    numbers = numbers.dropna(subset=["improvement"])
    if numbers.empty:
        raise NothingToDraw("No transformer was trained with an encoding from these graphs.")
    numbers = _with_cumulative_means(numbers)
    methods, tasks = _methods(numbers), _present_tasks(numbers)
    figure = new_figure(4.6 * len(tasks) + 0.4, 6.4)
    panels = figure.subplots(len(METRICS), len(tasks), sharex="row", sharey=True, squeeze=False)
    for row, metric in zip(panels, METRICS, strict=True):
        for axes, task in zip(row, tasks, strict=True):
            _scatter(axes, numbers[numbers["task"] == task], metric, methods)
            gains = numbers[["improvement", "oracle_improvement"]].to_numpy().ravel()
            percent_axis(axes, "y", gains, "improvement, percent")
            axes.set_title(f"{TASKS[task]}, {MODELS[models[0]]}")
            axes.tick_params(labelbottom=True)
        for axes in row[1:]:
            axes.set_ylabel("")
    handles, labels = panels[0][0].get_legend_handles_labels()
    title = (
        "filled points: one dataset, alpha chosen on validation; hollow: on test (oracle);\n"
        "lines: mean of the filled ones up to that value"
    )
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), title=title)
    return Drawing(figure, numbers)


def _with_cumulative_means(numbers: pd.DataFrame) -> pd.DataFrame:
    """Per task and estimator: mean improvement of all datasets up to each value of a metric."""
    added = {f"mean_up_to_{metric}": _cumulative_mean(numbers, metric) for metric in METRICS}
    return numbers.assign(**added)


def _cumulative_mean(numbers: pd.DataFrame, metric: str) -> pd.Series:
    ordered = numbers.sort_values(metric, kind="stable")
    keys = [ordered["task"], ordered["method"]]
    gains = ordered["improvement"].groupby(keys)
    running = gains.cumsum() / (gains.cumcount() + 1)
    # Datasets with the same value count together.
    return running.groupby([*keys, ordered[metric]]).transform("last")


def _bar_lines(axes: "Axes", facts: pd.DataFrame, metric: str, methods: list[str]) -> None:
    """A small histogram per estimator, one above the other, all with the same bins."""
    values = facts[metric].dropna().to_numpy()
    top = max(1.0, float(values.max())) if len(values) else 1.0
    edges = np.linspace(0, top, _BINS + 1)
    counts = [np.histogram(facts.loc[facts["method"] == one, metric], edges)[0] for one in methods]
    for place, bars in enumerate(counts):
        floor = len(methods) - 1 - place
        axes.bar(
            edges[:-1],
            0.66 * bars / max(1, bars.max()),
            width=np.diff(edges),
            bottom=floor,
            align="edge",
            color=SHADES[4],
            edgecolor=MAIN,
            linewidth=0.5,
        )
        axes.axhline(floor, color=RULE, linewidth=0.8)
        if bars.max():
            most = int(bars.argmax())
            axes.annotate(
                str(bars[most]),
                (float(edges[most : most + 2].mean()), floor + 0.66),
                xytext=(0, 1),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=7,
            )
    axes.set_yticks(
        [len(methods) - 1 - place + 0.35 for place in range(len(methods))],
        [GRAPHS[method] for method in methods],
    )
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-0.05, len(methods) + 0.1)
    axes.set_xlim(0, top)
    axes.set_xlabel(METRICS[metric])
    axes.spines["left"].set_visible(False)


def _boxes(axes: "Axes", facts: pd.DataFrame, metric: str, methods: list[str]) -> None:
    for place, method in enumerate(methods):
        values = facts.loc[facts["method"] == method, metric].dropna().to_numpy()
        box(axes, values, place, SHADES[1], MAIN, 0.5)
        dots(axes, values, place, 7, 0.17)
    named_lines(axes, [GRAPHS[method] for method in methods])
    axes.set_xlabel(METRICS[metric])
    axes.grid(axis="x")


def _scatter(axes: "Axes", numbers: pd.DataFrame, metric: str, methods: list[str]) -> None:
    for place, method in enumerate(methods):
        these = numbers[numbers["method"] == method].sort_values(metric, kind="stable")
        color = SERIES[place]
        for column, face in (("oracle_improvement", "none"), ("improvement", color)):
            axes.scatter(
                these[metric],
                these[column],
                s=12,
                marker=MARKERS[place],
                facecolor=face,
                edgecolor=color,
                linewidth=0.7,
                alpha=0.5,
            )
        axes.plot(
            these[metric],
            these[f"mean_up_to_{metric}"],
            color=color,
            linestyle=LINES[place],
            linewidth=1.6,
            drawstyle="steps-post",
            marker=MARKERS[place],
            markersize=4,
            markevery=[-1] if len(these) else None,
            label=GRAPHS[method],
        )
    axes.set_xlabel(METRICS[metric])


def _methods(facts: pd.DataFrame) -> list[str]:
    return [name for name in GRAPHS if name in set(facts["method"])]


def _present_tasks(facts: pd.DataFrame) -> list[str]:
    return [task for task in TASKS if task in set(facts["task"])]
