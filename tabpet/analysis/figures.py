"""The figures of a run, each with the numbers behind it.

Wherever an improvement is shown, that of the alpha chosen on validation rows is filled, and that
of the alpha chosen on test rows ("oracle") hollow beside it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from scipy.stats import spearmanr

from tabpet.analysis import graph_figures, plot
from tabpet.analysis.coverage import cost_table
from tabpet.analysis.matrix import draw_comparison_matrix
from tabpet.analysis.plot import INK, MAIN, SHADES, WARM, Drawing, Mark, NothingToDraw
from tabpet.analysis.results import GAINS, NULL_CONTROLS, TASKS, TRANSFORMERS, Results, present
from tabpet.formats import (
    NOTHING,
    count,
    duration,
    narrow_interval,
    number,
    p_words,
    percent,
    whole,
)
from tabpet.names import encoding_label, method_label, model_label
from tabpet.registry import GRAPHS
from tabpet.stats import CriticalDifference, Ranks, critical_difference

CHOSEN, ORACLE = "alpha chosen on validation", "alpha chosen on test (oracle)"
_GAIN_COLUMNS = ["dataset", "task", "model", "encoding", *GAINS]
# What the points of a column look like.
GAIN_MARKS = {
    "improvement": Mark(CHOSEN, MAIN, MAIN),
    "oracle_improvement": Mark(ORACLE, "none", WARM),
}
LEARNABLE_MARKS = {
    "tab_pet": Mark("Tab-PET", MAIN, MAIN),
    "learnable": Mark("learnable encoding", plot.PAPER, plot.SOFT, marker="s"),
    "tab_pet_oracle": Mark("Tab-PET, oracle alpha", "none", WARM, size=44),
}
CURVE_MARKS: dict[str, dict[str, Any]] = {
    "oracle": {"label": ORACLE, "markersize": 7.5, "markerfacecolor": "none"},
    "chosen": {"label": CHOSEN, "markersize": 4.5},
}
_PANEL_COLUMNS = 5
_GAP = "\N{NO-BREAK SPACE}" * 2  # browsers drop plain spaces at the ends of a text


def draw_improvement_by_graph(results: Results) -> Drawing:
    """Improvement over datasets for every graph estimator (paper, appendix H.1)."""
    if not results.models:
        raise NothingToDraw("No transformer was trained with and without encodings.")
    model = results.models[0]
    graphs = present(GRAPHS.entries, results.encodings_of(model))
    if not graphs:
        raise NothingToDraw(f"No encoding from a graph was trained with {model_label(model)}.")
    return _draw_boxes(results, [model], graphs, 1.5 + 0.62 * len(graphs))


def draw_null_controls(results: Results) -> Drawing:
    """The main encoding beside random and shuffled ones of the same width, by the same choice."""
    main = results.settings.main_encoding
    encodings = [main, *map(results.control_of_main, NULL_CONTROLS)]
    averages = results.averages[results.averages["encoding"].isin(encodings)]
    if main not in (ran := present(encodings, averages["encoding"])) or len(ran) == 1:
        raise NothingToDraw("Random and shuffled encodings were not run beside the main encoding.")
    models = present(TRANSFORMERS, averages["model"])
    return _draw_boxes(results, models, encodings, 0.8 + 1.75 * len(models))


def _draw_boxes(
    results: Results, models: Sequence[str], encodings: Sequence[str], height: float
) -> Drawing:
    """A panel per model, with a line for each of the encodings that it has."""
    averages = results.averages
    averages = averages[averages["model"].isin(models) & averages["encoding"].isin(encodings)]
    figure, panels = plot.panel_grid(7.2, height, models, [""], sharex=True)
    for (model, _), axes in panels.items():
        rows = averages[averages["model"] == model]
        _paired_boxes(axes, rows, present(encodings, rows["encoding"]))
        plot.percent_axis(axes, "x", averages[GAINS], "improvement over no encodings, percent")
        axes.set_title(f"{model_label(model)}, {count(rows['dataset'].nunique(), 'dataset')}")
        axes.label_outer()
    handles = [
        Patch(facecolor=SHADES[2], edgecolor=MAIN, label=CHOSEN),
        Line2D([], [], color=MAIN, marker="o", markersize=3, linewidth=0, label="one dataset"),
        Patch(facecolor="none", edgecolor=WARM, label=ORACLE),
    ]
    plot.legend_below(figure, handles)
    return Drawing(figure, averages[_GAIN_COLUMNS])


def _paired_boxes(axes: Axes, averages: pd.DataFrame, encodings: Sequence[str]) -> None:
    """A line per encoding: a filled box with its points, and the oracle's hollow box below."""
    labels = []
    for place, encoding in enumerate(encodings):
        gains = averages[averages["encoding"] == encoding]
        chosen = gains["improvement"].dropna().to_numpy()
        oracle = gains["oracle_improvement"].dropna().to_numpy()
        plot.box(axes, chosen, place - 0.17, SHADES[2], MAIN, 0.28)
        plot.dots(axes, chosen, place - 0.17, 9, 0.1)
        plot.box(axes, oracle, place + 0.2, "none", WARM, 0.28)
        labels.append(f"{encoding_label(encoding)}\nn = {len(chosen)}")
    plot.named_lines(axes, labels)


def draw_learnable(results: Results) -> Drawing:
    """Fixed encodings against learned ones, dataset by dataset (paper, appendix H.2)."""
    if (duel := results.first_duel("learnable")) is None:
        raise NothingToDraw("Learnable encodings were not run beside the main encoding.")
    model, both = duel[0], duel[1].reset_index()
    numbers = pd.DataFrame(
        {
            "task": both["dataset"].map(results.tasks),
            "model": model,
            "dataset": both["dataset"],
            "tab_pet": both["improvement"],
            "learnable": both["improvement_other"],
            "tab_pet_oracle": both["oracle_improvement"],
        }
    )
    tasks = present(TASKS, numbers["task"])
    height = 1.5 + 0.21 * numbers["task"].value_counts().max()
    figure, panels = plot.panel_grid(4.6 * len(tasks) + 0.6, height, [""], tasks)
    for (_, task), axes in panels.items():
        rows = numbers[numbers["task"] == task]
        _dumbbells(axes, rows)
        axes.set_title(f"{TASKS[task]}, {model_label(model)}, {count(len(rows), 'dataset')}")
    plot.legend_below(figure)
    return Drawing(figure, numbers)


def _dumbbells(axes: Axes, numbers: pd.DataFrame) -> None:
    """A line per dataset, the best for Tab-PET on top."""
    ordered = numbers.sort_values("tab_pet", kind="stable")
    places = np.arange(len(ordered))
    axes.hlines(places, ordered["learnable"], ordered["tab_pet"], color=plot.PALE, linewidth=1.4)
    for column, mark in LEARNABLE_MARKS.items():
        mark.draw(axes, ordered[column], places)
    axes.set_yticks(places, [plot.shorten(name) for name in ordered["dataset"]])
    axes.set_ylim(-0.8, len(ordered) - 0.2)
    axes.tick_params(axis="y", length=0)
    plot.percent_axis(axes, "x", ordered[list(LEARNABLE_MARKS)], "improvement, percent")


def draw_size(results: Results) -> Drawing:
    """Improvement against the number of rows of a dataset (paper, appendix H.5)."""
    averages = results.averages[results.averages["encoding"] == results.settings.main_encoding]
    numbers = averages[_GAIN_COLUMNS].merge(results.sizes, on="dataset")
    if numbers.empty:
        raise NothingToDraw("No dataset has both a size and a run with the main encoding.")
    models = present(TRANSFORMERS, numbers["model"])
    width = max(5.8, 3.3 * len(models))
    figure, panels = plot.panel_grid(width, 3.6, [""], models, sharex=True, sharey=True)
    for (_, model), axes in panels.items():
        gains = numbers[numbers["model"] == model]
        for column, mark in GAIN_MARKS.items():
            mark.draw(axes, gains["rows"], gains[column])
        plot.count_axis(axes)
        plot.percent_axis(axes, "y", numbers[GAINS], "improvement, percent")
        axes.set_xlabel("rows of the dataset")
        _draw_thirds(axes, gains)
        axes.set_title(f"{model_label(model)}, {count(len(gains), 'dataset')}\n{_trend(gains)}")
        axes.label_outer()
    plot.legend_below(figure)
    return Drawing(figure, numbers)


def _draw_thirds(axes: Axes, averages: pd.DataFrame) -> None:
    """The median improvement of the small, middle and large datasets, each a third of them."""
    measured = averages.dropna(subset=["improvement"]).sort_values("rows", kind="stable")
    if len(measured) < 9:
        return
    labels = ("median of a third of the datasets", "_middle", "_large")  # one in the legend
    for label, places in zip(labels, np.array_split(np.arange(len(measured)), 3), strict=True):
        third = measured.iloc[places]
        ends = [third["rows"].iloc[0], third["rows"].iloc[-1]]
        median = third["improvement"].median()
        axes.plot(ends, [median, median], color=INK, linewidth=2, label=label, zorder=4)


def _trend(averages: pd.DataFrame) -> str:
    """The rank correlation between size and improvement, in words."""
    measured = averages.dropna(subset=["improvement"])
    if len(measured) < 5 or measured["improvement"].nunique() < 2 or measured["rows"].nunique() < 2:
        return "too few for a trend"
    correlation = spearmanr(measured["rows"], measured["improvement"])
    return f"rank correlation {percent(correlation.statistic)}, {p_words(correlation.pvalue)}"


def draw_alpha_curves(results: Results) -> Drawing:
    """Improvement over alpha for every dataset, with the chosen alpha marked."""
    curves = alpha_curves(results)
    datasets = list(curves["dataset"].unique())
    n_columns = min(_PANEL_COLUMNS, len(datasets))
    n_rows = -(-len(datasets) // n_columns)
    width, height = max(6.5, 2.3 * n_columns), 1.1 + 1.65 * n_rows
    figure = _curve_figure(width, height, left=0.85, right=0.15, bottom=0.6, top=0.55)
    figure.subplots_adjust(wspace=0.32, hspace=0.55)
    panels = figure.subplots(n_rows, n_columns, squeeze=False)
    for axes, dataset in zip(panels.flat, datasets, strict=False):
        draw_alpha_panel(axes, curves, dataset)
    for axes in list(panels.flat)[len(datasets) :]:
        axes.set_axis_off()
    figure.supxlabel("alpha", fontsize=9, y=0.15 / height)
    figure.supylabel("improvement, percent", fontsize=9, x=0.2 / width)
    figure.legend(handles=_curve_handles(curves), loc="upper center", ncols=5)
    return Drawing(figure, curves)


def draw_single_curves(results: Results) -> dict[str, Figure]:
    """The panels of `draw_alpha_curves` one by one, for a page that arranges them itself."""
    curves = alpha_curves(results)
    figures = {}
    for dataset in curves["dataset"].unique():
        figure = _curve_figure(2.3, 1.75, left=0.42, right=0.1, bottom=0.26, top=0.3)
        draw_alpha_panel(figure.subplots(), curves, dataset)
        figures[dataset] = figure
    return figures


def _curve_figure(
    width: float, height: float, *, left: float, right: float, bottom: float, top: float
) -> Figure:
    """With fixed margins, in inches: a solver for so many panels takes longer than drawing them."""
    figure = Figure(figsize=(width, height), layout="none")  # type: ignore[arg-type]  # stubs lack it
    figure.subplots_adjust(left / width, bottom / height, 1 - right / width, 1 - top / height)
    return figure


def alpha_curves(results: Results) -> pd.DataFrame:
    """A row per dataset, model and alpha of the main encoding, averaged over splits."""
    main = results.settings.main_encoding
    curves = results.curves[results.curves["encoding"] == main]
    if curves.empty:
        raise NothingToDraw(f"No transformer was trained with {encoding_label(main)} encodings.")
    grouped = curves.groupby(["dataset", "task", "model", "alpha"], sort=False)
    return grouped.agg(
        improvement=("improvement", "mean"),
        splits=("split", "nunique"),
        # In how many splits an alpha was chosen, and by the test rows.
        chosen=("chosen", "sum"),
        oracle=("oracle", "sum"),
    ).reset_index()


def draw_alpha_panel(axes: Axes, curves: pd.DataFrame, dataset: str) -> None:
    """One dataset: a line per model over the alphas, evenly spaced as they were listed."""
    alphas = sorted(curves["alpha"].unique())
    rows = curves[curves["dataset"] == dataset]
    for place, model in _present_models(curves):
        line = rows[rows["model"] == model].sort_values("alpha")
        line = line.assign(place=np.searchsorted(alphas, line["alpha"]))
        colour, marker, linestyle = plot.series(place)
        style = {"color": colour, "linestyle": linestyle, "zorder": 3 - 0.1 * place}
        axes.plot(line["place"], line["improvement"], linewidth=1.3, **style)
        for column, mark in CURVE_MARKS.items():
            marked = line[line[column] > 0]
            style = {"color": colour, "linestyle": "", "marker": marker, "zorder": 4, **mark}
            axes.plot(marked["place"], marked["improvement"], **style)
    plot.percent_axis(axes, "y", [], "")
    axes.margins(y=0.15)
    axes.locator_params(axis="y", nbins=4)
    shown = range(0, len(alphas), 3) if len(alphas) > 5 else range(len(alphas))
    axes.set_xticks(list(shown), [f"{alphas[i]:g}" for i in shown])
    axes.set_xlim(-0.4, len(alphas) - 0.6)
    axes.tick_params(labelsize=7)
    axes.set_title(plot.shorten(dataset), fontsize=8)


def _present_models(curves: pd.DataFrame) -> list[tuple[int, str]]:
    """Models with their place in the palette, which is the same in every run."""
    return [(TRANSFORMERS.index(model), model) for model in present(TRANSFORMERS, curves["model"])]


def _curve_handles(curves: pd.DataFrame) -> list[Line2D]:
    """What lines and marks mean."""
    models = []
    for place, model in _present_models(curves):
        colour, _, linestyle = plot.series(place)
        models.append(Line2D([], [], color=colour, linestyle=linestyle, label=model_label(model)))
    marks = [
        Line2D([], [], color=INK, linestyle="", marker="o", **CURVE_MARKS[column])
        for column in ("chosen", "oracle")
    ]
    return [*models, *marks]


def draw_rank_heatmap(results: Results) -> Drawing:
    """The rank of every method on every dataset, the best darkest."""
    by_task = method_ranks(results)
    height = sum(1.5 + 0.27 * ranks.table.shape[1] for ranks in by_task.values())
    most = max(len(ranks.table) for ranks in by_task.values())
    figure, panels = plot.panel_grid(3.6 + 0.29 * max(most, 8), height, list(by_task), [""])
    numbers = []
    for (task, _), axes in panels.items():
        ranks = by_task[task]
        _heatmap(axes, ranks, results, most)
        axes.set_title(f"{TASKS[task]}: rank, 1 is best")
        long = ranks.table.rename_axis("dataset").reset_index()
        long = long.melt("dataset", var_name="method", value_name="rank").assign(task=task)
        numbers.append(long.join(ranks.means.drop(columns="ranked_datasets"), on="method"))
    return Drawing(figure, pd.concat(numbers, ignore_index=True))


def method_ranks(results: Results) -> dict[str, Ranks]:
    """Ranks by task, datasets x methods: transformers and tuned trees, best mean rank first."""
    by_task = {
        task: replace(
            ranks, table=ranks.table[ranks.means["mean_rank"].sort_values(kind="stable").index]
        )
        for task, ranks in results.ranks.items()
        if not ranks.table.empty
    }
    if not by_task:
        raise NothingToDraw("No dataset has results of two methods to rank.")
    return by_task


def _heatmap(axes: Axes, ranks: Ranks, results: Results, width: int) -> None:
    """Methods as lines with mean rank, its interval and count at the end, datasets as columns."""
    table = ranks.table
    n_datasets, n_methods = table.shape
    ends = {"mean": 0.6, "interval": 2.6, "n": 4.5}
    for place, method in enumerate(map(str, table)):
        for column, rank in enumerate(table[method]):
            _rank_cell(axes, column, place, rank, n_methods)
        mean, low, high, datasets = map(float, ranks.means.loc[method])
        texts = (number(mean), narrow_interval(low, high, 2), whole(datasets))
        for (name, right), text in zip(ends.items(), texts, strict=True):
            weight = "bold" if name == "mean" else "normal"
            plot.centred(axes, n_datasets + right, place, text, weight=weight, fontsize=8)
    axes.set_yticks(range(n_methods), [method_label(str(method)) for method in table])
    names = [plot.shorten(results.short(dataset)) for dataset in table.index]
    axes.set_xticks(range(n_datasets), names, rotation=90)
    for name, right in ends.items():
        plot.centred(axes, n_datasets + right, -0.8, name, fontsize=8)
    axes.set_xlim(-0.5, width + 5.2)
    axes.set_ylim(n_methods - 0.5, -0.5)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _rank_cell(axes: Axes, column: int, place: int, rank: float, n_methods: int) -> None:
    """A square, darker for a better rank; a dash where the method was not run."""
    if np.isnan(rank):
        plot.centred(axes, column, place, NOTHING, color=plot.SOFT, fontsize=7)
        return
    share = (n_methods - rank) / max(1, n_methods - 1)
    shade = round(share * (len(SHADES) - 1))
    plot.square(axes, column, place, SHADES[shade])
    ink = plot.PAPER if shade >= len(SHADES) - 2 else INK
    plot.centred(axes, column, place, f"{rank:g}", color=ink, fontsize=7)


def draw_critical_difference(results: Results) -> Drawing:
    """Mean ranks of all methods; a bar joins those that Nemenyi's test cannot tell apart."""
    from scikit_posthocs import critical_difference_diagram  # brings seaborn, and takes a second

    ranks = pd.concat([ranks.table for ranks in method_ranks(results).values()])
    difference = critical_difference(ranks, results.settings.level, results.settings.bootstrap)
    if difference is None:
        raise NothingToDraw("Fewer than two datasets have results of the same methods.")
    labels = {
        method: f"{method_label(method)} ({narrow_interval(low, high, 2)})"
        for method, _, low, high, _ in difference.means.itertuples()
    }
    means = difference.means["mean_rank"].rename(labels)
    p_values = difference.p_values.rename(index=labels, columns=labels)
    figure = Figure(figsize=(9.0, 1.7 + 0.24 * len(means)))
    axes = figure.subplots()
    diagram = critical_difference_diagram(
        means,
        p_values,
        alpha=difference.significance,
        ax=axes,
        label_fmt_left=f"{{label}}{_GAP}{{rank:.2f}}{_GAP}",
        label_fmt_right=f"{_GAP}{{rank:.2f}}{_GAP}{{label}}",
        label_props={"fontsize": 9},
        marker_props={"color": MAIN, "s": 22},
        elbow_props={"color": INK, "linewidth": 0.8},
        crossbar_props={"color": MAIN, "linewidth": 3.5, "solid_capstyle": "butt"},
        text_h_margin=0.04 * (means.max() - means.min() + 1),
    )
    for (bar,) in diagram["crossbars"]:
        bar.set_xdata(sorted(bar.get_xdata()))  # their points come in the order of a set
    axes.spines["top"].set_visible(True)
    _distance_ruler(axes, means.iloc[0], difference.distance)
    figure.suptitle(_difference_title(difference), x=0.02, ha="left", fontsize=10)
    return Drawing(figure, _difference_numbers(difference))


def _distance_ruler(axes: Axes, start: float, distance: float) -> None:
    """How far apart two mean ranks must be, above the scale."""
    axes.plot([start, start + distance], [1.5, 1.5], color=INK, linewidth=1.2, marker="|")
    axes.text(
        start + distance, 1.5, f"{_GAP}differ when {distance:.2f} apart", va="center", fontsize=8
    )


def _difference_title(difference: CriticalDifference) -> str:
    left_out = ""
    if difference.sparse:
        left_out = f"; without {', '.join(method_label(method) for method in difference.sparse)}"
    tested = "" if np.isnan(difference.p) else f", Friedman {p_words(difference.p)}"
    return (
        f"Mean rank on {difference.datasets} datasets, best on the left{tested}{left_out}.\n"
        f"In brackets: {100 * (1 - difference.significance):g} % bootstrap interval over datasets. "
        "Bars join methods that cannot be told apart."
    )


def _difference_numbers(difference: CriticalDifference) -> pd.DataFrame:
    """Mean ranks and, in further columns, the p-value against each method."""
    frame = difference.means.drop(columns="ranked_datasets").rename_axis("method")
    frame = frame.assign(datasets=difference.datasets, critical_difference=difference.distance)
    return frame.join(difference.p_values[frame.index].add_prefix("p_")).reset_index()


def draw_time(results: Results) -> Drawing:
    """Hours by stage: graphs, transformers, trees."""
    cost = cost_table(results)
    if cost.reason is not None or not cost.data["hours"].any():
        raise NothingToDraw("No graph and no run has a time.")
    hours = cost.data
    figure = Figure(figsize=(7.2, 1.1 + 0.3 * len(hours)))
    axes = figure.subplots()
    places = np.arange(len(hours))
    training = hours["stage"].str.startswith("Training")
    colors = np.where(training, MAIN, SHADES[2]).tolist()
    axes.barh(places, hours["hours"], color=colors, edgecolor=MAIN, linewidth=0.6, height=0.68)
    for place, (time, jobs) in enumerate(zip(hours["hours"], hours["timed"], strict=True)):
        text = f"{_GAP}{duration(time)} in {count(jobs, 'job')}"
        axes.text(time, place, text, va="center", fontsize=8)
    axes.set_yticks(places, hours["stage"])
    axes.set_ylim(len(hours) - 0.4, -0.6)
    axes.set_xlim(0, hours["hours"].max() * 1.35)
    axes.set_xlabel("hours")
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    axes.set_title(f"{duration(hours['hours'].sum())} of computing, added up over jobs")
    return Drawing(figure, hours)


# By the names in `captions`, which says what they show.
DRAWERS: dict[str, Callable[[Results], Drawing]] = {
    "improvement_by_graph": draw_improvement_by_graph,
    "null_controls": draw_null_controls,
    "learnable": draw_learnable,
    "size": draw_size,
    "comparison_matrix": draw_comparison_matrix,
    "critical_difference": draw_critical_difference,
    "rank_heatmap": draw_rank_heatmap,
    "alpha_curves": draw_alpha_curves,
    "graph_entropy": graph_figures.draw_entropy,
    "graph_histograms": graph_figures.draw_histograms,
    "graph_boxes": graph_figures.draw_boxes,
    "graph_scatter": graph_figures.draw_scatter,
    "time": draw_time,
}


def draw_all(results: Results, folder: Path) -> None:
    """Write every figure and the numbers behind it."""
    for name, drawer in DRAWERS.items():
        plot.save_drawing(plot.draw(drawer, results), folder, name)
