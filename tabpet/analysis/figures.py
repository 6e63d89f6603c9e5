"""The figures of a run, each with the numbers behind it.

Wherever an improvement is shown, that of the alpha chosen on validation rows is filled, and that
of the alpha chosen on test rows ("oracle") hollow beside it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tabpet.analysis import graph_figures
from tabpet.analysis.coverage import cost_table
from tabpet.analysis.formats import NOTHING, count, duration, narrow_interval, number, p_words
from tabpet.analysis.matrix import draw_comparison_matrix
from tabpet.analysis.names import (
    GRAPHS,
    MODELS,
    TASKS,
    TRANSFORMERS,
    encoding_name,
    method_name,
)
from tabpet.analysis.plot import (
    INK,
    LINES,
    MAIN,
    MARKERS,
    PALE,
    PAPER,
    SERIES,
    SHADES,
    SOFT,
    WARM,
    Drawing,
    Mark,
    NothingToDraw,
    box,
    centred,
    count_axis,
    dots,
    draw,
    legend_below,
    named_lines,
    new_figure,
    percent_axis,
    save_drawing,
    shorten,
)
from tabpet.analysis.results import GAINS, Results
from tabpet.stats import CriticalDifference, Ranks, critical_difference, rank_methods

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

CHOSEN, ORACLE = "alpha chosen on validation", "alpha chosen on test (oracle)"
_CELL_COLUMNS = ["dataset", "task", "model", "encoding", *GAINS]
# What the points of a column look like.
GAIN_MARKS = {
    "improvement": Mark(CHOSEN, MAIN, MAIN),
    "oracle_improvement": Mark(ORACLE, "none", WARM),
}
LEARNABLE_MARKS = {
    "tab_pet": Mark("Tab-PET", MAIN, MAIN),
    "learnable": Mark("learnable encoding", PAPER, SOFT, marker="s"),
    "tab_pet_oracle": Mark("Tab-PET, oracle alpha", "none", WARM, size=44),
}
_PANEL_COLUMNS = 5
_GAP = "\N{NO-BREAK SPACE}" * 2  # browsers drop plain spaces at the ends of a text


def main_model(results: Results) -> str:
    """The transformer in which encodings are compared: the first of the paper's that was run."""
    if not results.models:
        raise NothingToDraw("No transformer was trained with and without encodings.")
    return results.models[0]


def draw_improvement_by_graph(results: Results) -> Drawing:
    """Improvement over datasets for every graph estimator (paper, appendix H.1)."""
    model = main_model(results)
    cells = results.cells[results.cells["model"] == model]
    graphs = [name for name in GRAPHS if name in results.encodings_of(model)]
    if not graphs:
        raise NothingToDraw(f"No encoding from a graph was trained with {MODELS[model]}.")
    kept = cells[cells["encoding"].isin(graphs)]
    return _draw_boxes(kept, [model], graphs, 1.5 + 0.62 * len(graphs))


def draw_null_controls(results: Results) -> Drawing:
    """The main encoding beside random and shuffled ones of the same width, by the same choice."""
    main = results.settings.main_encoding
    wanted = [main, f"{main}-random", f"{main}-shuffled"]
    kept = results.cells[results.cells["encoding"].isin(wanted)]
    models = [model for model in TRANSFORMERS if model in set(kept["model"])]
    if not set(wanted[1:]) & set(kept["encoding"]) or main not in set(kept["encoding"]):
        raise NothingToDraw("Random and shuffled encodings were not run beside the main encoding.")
    return _draw_boxes(kept, models, wanted, 0.8 + 1.75 * len(models))


def _draw_boxes(
    kept: pd.DataFrame, models: Sequence[str], encodings: Sequence[str], height: float
) -> Drawing:
    """A panel per model, with a line for each of the encodings that it has."""
    figure = new_figure(7.2, height)
    panels = figure.subplots(len(models), 1, sharex=True, squeeze=False)[:, 0]
    values = kept[GAINS].to_numpy().ravel()
    for axes, model in zip(panels, models, strict=True):
        cells = kept[kept["model"] == model]
        _paired_boxes(axes, cells, [one for one in encodings if one in set(cells["encoding"])])
        percent_axis(axes, "x", values, "improvement over no encodings, percent")
        axes.set_title(f"{MODELS[model]}, {count(cells['dataset'].nunique(), 'dataset')}")
        axes.label_outer()
    _explain_boxes(figure)
    return Drawing(figure, kept[_CELL_COLUMNS])


def _paired_boxes(axes: "Axes", cells: pd.DataFrame, encodings: Sequence[str]) -> None:
    """A line per encoding: a filled box with its points, and the oracle's hollow box below."""
    for place, encoding in enumerate(encodings):
        these = cells[cells["encoding"] == encoding]
        chosen = these["improvement"].dropna().to_numpy()
        oracle = these["oracle_improvement"].dropna().to_numpy()
        box(axes, chosen, place - 0.17, SHADES[2], MAIN, 0.28)
        dots(axes, chosen, place - 0.17, 9, 0.1)
        box(axes, oracle, place + 0.2, "none", WARM, 0.28)
    used = cells.dropna(subset=["improvement"])["encoding"].value_counts()
    named_lines(axes, [f"{encoding_name(one)}\nn = {used.get(one, 0)}" for one in encodings])


def _explain_boxes(figure: "Figure") -> None:
    """What filled and hollow mean, below all panels."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=SHADES[2], edgecolor=MAIN, label=CHOSEN),
        Line2D([], [], color=MAIN, marker="o", markersize=3, linewidth=0, label="one dataset"),
        Patch(facecolor="none", edgecolor=WARM, label=ORACLE),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)


def draw_learnable(results: Results) -> Drawing:
    """Fixed encodings against learned ones, dataset by dataset (paper, appendix H.2)."""
    main = results.settings.main_encoding
    pair = [main, f"{main}-learnable"]
    by_model = {model: results.paired(model, *pair) for model in results.models}
    model = next((model for model, both in by_model.items() if len(both)), None)
    if model is None:
        raise NothingToDraw("Learnable encodings were not run beside the main encoding.")
    numbers = by_model[model].reset_index()
    numbers = pd.DataFrame(
        {
            "task": numbers["dataset"].map(results.tasks),
            "model": model,
            "dataset": numbers["dataset"],
            "tab_pet": numbers["improvement"],
            "learnable": numbers["improvement_other"],
            "tab_pet_oracle": numbers["oracle_improvement"],
        }
    )
    tasks = [task for task in TASKS if task in set(numbers["task"])]
    most = numbers["task"].value_counts().max()
    figure = new_figure(4.6 * len(tasks) + 0.6, 1.5 + 0.21 * most)
    for axes, task in zip(figure.subplots(1, len(tasks), squeeze=False)[0], tasks, strict=True):
        these = numbers[numbers["task"] == task]
        _dumbbells(axes, these)
        axes.set_title(f"{TASKS[task]}, {MODELS[model]}, {count(len(these), 'dataset')}")
    legend_below(figure)
    return Drawing(figure, numbers)


def _dumbbells(axes: "Axes", numbers: pd.DataFrame) -> None:
    """A line per dataset, the best for Tab-PET on top."""
    ordered = numbers.sort_values("tab_pet", kind="stable")
    places = np.arange(len(ordered))
    axes.hlines(places, ordered["learnable"], ordered["tab_pet"], color=PALE, linewidth=1.4)
    for column, mark in LEARNABLE_MARKS.items():
        mark.draw(axes, ordered[column], places)
    axes.set_yticks(places, [shorten(name) for name in ordered["dataset"]])
    axes.set_ylim(-0.8, len(ordered) - 0.2)
    axes.tick_params(axis="y", length=0)
    values = ordered[list(LEARNABLE_MARKS)].to_numpy().ravel()
    percent_axis(axes, "x", values, "improvement, percent")


def draw_size(results: Results) -> Drawing:
    """Improvement against the number of rows of a dataset (paper, appendix H.5)."""
    main = results.settings.main_encoding
    cells = results.cells[results.cells["encoding"] == main]
    numbers = cells[_CELL_COLUMNS].merge(results.sizes, on="dataset")
    if numbers.empty:
        raise NothingToDraw("No dataset has both a size and a run with the main encoding.")
    models = [model for model in TRANSFORMERS if model in set(numbers["model"])]
    figure = new_figure(max(5.8, 3.3 * len(models)), 3.6)
    panels = figure.subplots(1, len(models), sharex=True, sharey=True, squeeze=False)[0]
    for axes, model in zip(panels, models, strict=True):
        these = numbers[numbers["model"] == model]
        _size_panel(axes, these, numbers)
        axes.set_title(f"{MODELS[model]}, {count(len(these), 'dataset')}\n{_trend(these)}")
        axes.label_outer()
    legend_below(figure)
    return Drawing(figure, numbers)


def _size_panel(axes: "Axes", cells: pd.DataFrame, every: pd.DataFrame) -> None:
    for column, mark in GAIN_MARKS.items():
        mark.draw(axes, cells["rows"], cells[column])
    count_axis(axes)
    values = every[list(GAIN_MARKS)].to_numpy().ravel()
    percent_axis(axes, "y", values, "improvement, percent")
    axes.set_xlabel("rows of the dataset")
    for label, (low, high, median) in _thirds(cells).items():
        axes.plot([low, high], [median, median], color=INK, linewidth=2, label=label, zorder=4)


def _thirds(cells: pd.DataFrame) -> dict[str, tuple[float, float, float]]:
    """Smallest and largest size and the median improvement of three groups of equal count."""
    known = cells.dropna(subset=["improvement"]).sort_values("rows", kind="stable")
    if len(known) < 9:
        return {}
    names = ("median of a third of the datasets", "_middle", "_large")  # one in the legend
    groups = np.array_split(np.arange(len(known)), 3)
    return {
        name: (
            float(known["rows"].iloc[group[0]]),
            float(known["rows"].iloc[group[-1]]),
            float(known["improvement"].iloc[group].median()),
        )
        for name, group in zip(names, groups, strict=True)
    }


def _trend(cells: pd.DataFrame) -> str:
    """The rank correlation between size and improvement, in words."""
    from scipy.stats import spearmanr

    known = cells.dropna(subset=["improvement"])
    if len(known) < 5 or known["improvement"].nunique() < 2 or known["rows"].nunique() < 2:
        return "too few for a trend"
    found = spearmanr(known["rows"], known["improvement"])
    return f"rank correlation {found.statistic:+.2f}, {p_words(found.pvalue)}"


def draw_alpha_curves(results: Results) -> Drawing:
    """Improvement over alpha for every dataset, with the chosen alpha marked."""
    curves = alpha_curves(results)
    datasets = list(curves["dataset"].unique())
    n_columns = min(_PANEL_COLUMNS, len(datasets))
    n_rows = -(-len(datasets) // n_columns)
    width, height = max(6.5, 2.3 * n_columns), 1.1 + 1.65 * n_rows
    # Fixed margins in inches: a solver for so many panels takes longer than drawing them.
    figure = new_figure(width, height, layout=None)
    figure.subplots_adjust(
        left=0.85 / width,
        right=1 - 0.15 / width,
        bottom=0.6 / height,
        top=1 - 0.55 / height,
        wspace=0.32,
        hspace=0.55,
    )
    panels = figure.subplots(n_rows, n_columns, squeeze=False)
    for axes, dataset in zip(panels.flat, datasets, strict=False):
        draw_alpha_panel(axes, curves, dataset)
    for axes in list(panels.flat)[len(datasets) :]:
        axes.set_axis_off()
    figure.supxlabel("alpha", fontsize=9, y=0.15 / height)
    figure.supylabel("improvement, percent", fontsize=9, x=0.2 / width)
    figure.legend(handles=_curve_handles(curves), loc="upper center", ncols=5)
    return Drawing(figure, curves)


def alpha_curves(results: Results) -> pd.DataFrame:
    """A row per dataset, model and alpha of the main encoding, averaged over splits."""
    main = results.settings.main_encoding
    curves = results.curves[results.curves["encoding"] == main]
    if curves.empty:
        raise NothingToDraw(f"No transformer was trained with {encoding_name(main)} encodings.")
    grouped = curves.groupby(["dataset", "task", "model", "alpha"], sort=False)
    return pd.DataFrame(
        {
            "improvement": grouped["improvement"].mean(),
            "splits": grouped["split"].nunique(),
            # In how many splits an alpha was chosen, and by the test rows.
            "chosen": grouped["chosen"].sum().astype(int),
            "oracle": grouped["oracle"].sum().astype(int),
        }
    ).reset_index()


def draw_single_curves(results: Results) -> dict[str, "Figure"]:
    """The panels of `draw_alpha_curves` one by one, for a page that arranges them itself."""
    curves = alpha_curves(results)
    width, height = 2.3, 1.75
    figures = {}
    for dataset in curves["dataset"].unique():
        figure = new_figure(width, height, layout=None)
        figure.subplots_adjust(
            left=0.42 / width, right=1 - 0.1 / width, bottom=0.26 / height, top=1 - 0.3 / height
        )
        draw_alpha_panel(figure.subplots(), curves, dataset)
        figures[dataset] = figure
    return figures


def draw_alpha_panel(axes: "Axes", curves: pd.DataFrame, dataset: str) -> None:
    """One dataset: a line per model over the alphas, evenly spaced as they were listed."""
    alphas = sorted(curves["alpha"].unique())
    these = curves[curves["dataset"] == dataset]
    for place, model in _present_models(curves):
        line = these[these["model"] == model].sort_values("alpha")
        at = np.searchsorted(alphas, line["alpha"])
        axes.plot(
            at,
            line["improvement"],
            color=SERIES[place],
            linestyle=LINES[place],
            linewidth=1.3,
            zorder=3 - 0.1 * place,
        )
        for column, size, face in (
            ("oracle", 7.5, "none"),
            ("chosen", 4.5, SERIES[place]),
        ):
            marked = (line[column] > 0).to_numpy()
            axes.plot(
                at[marked],
                line["improvement"][marked],
                linestyle="",
                marker=MARKERS[place],
                markersize=size,
                markerfacecolor=face,
                markeredgecolor=SERIES[place],
                zorder=4,
            )
    percent_axis(axes, "y", [], "")
    axes.margins(y=0.15)
    axes.locator_params(axis="y", nbins=4)
    shown = range(0, len(alphas), 3) if len(alphas) > 5 else range(len(alphas))
    axes.set_xticks(list(shown), [f"{alphas[i]:g}" for i in shown])
    axes.set_xlim(-0.4, len(alphas) - 0.6)
    axes.tick_params(labelsize=7)
    axes.set_title(shorten(dataset), fontsize=8)


def _present_models(curves: pd.DataFrame) -> list[tuple[int, str]]:
    """Models with their place in the palette, which is the same in every run."""
    have = set(curves["model"])
    places = {model: place % len(SERIES) for place, model in enumerate(TRANSFORMERS)}
    return [(place, model) for model, place in places.items() if model in have]


def _curve_handles(curves: pd.DataFrame) -> list["Line2D"]:
    from matplotlib.lines import Line2D

    models = [
        Line2D([], [], color=SERIES[place], linestyle=LINES[place], label=MODELS[model])
        for place, model in _present_models(curves)
    ]
    marks = [
        Line2D([], [], color=INK, marker="o", markersize=4.5, linewidth=0, label=CHOSEN),
        Line2D(
            [],
            [],
            marker="o",
            markersize=7.5,
            markerfacecolor="none",
            markeredgecolor=INK,
            linewidth=0,
            label=ORACLE,
        ),
    ]
    return [*models, *marks]


def draw_rank_heatmap(results: Results) -> Drawing:
    """The rank of every method on every dataset, the best darkest."""
    by_task = method_ranks(results)
    figure_height = sum(1.5 + 0.27 * ranks.table.shape[1] for ranks in by_task.values())
    most = max(len(ranks.table) for ranks in by_task.values())
    figure = new_figure(3.6 + 0.29 * max(most, 8), figure_height)
    panels = figure.subplots(len(by_task), 1, squeeze=False)[:, 0]
    numbers = []
    for axes, (task, ranks) in zip(panels, by_task.items(), strict=True):
        _heatmap(axes, ranks, results, most)
        axes.set_title(f"{TASKS[task]}: rank, 1 is best")
        long = ranks.table.rename_axis("dataset").reset_index().melt("dataset", var_name="method")
        long = long.rename(columns={"value": "rank"}).assign(task=task)
        long["mean_rank"] = long["method"].map(ranks.mean)
        long["mean_rank_low"] = long["method"].map(ranks.intervals["low"])
        long["mean_rank_high"] = long["method"].map(ranks.intervals["high"])
        numbers.append(long)
    return Drawing(figure, pd.concat(numbers, ignore_index=True))


def method_ranks(results: Results) -> dict[str, Ranks]:
    """Ranks by task, datasets x methods: transformers and tuned trees, best mean rank first."""
    found, settings = {}, results.settings
    for task in TASKS:
        scores = results.ranked_table(task)
        ranks = rank_methods(task, scores, settings.level, settings.bootstrap)
        if not ranks.table.empty:
            order = ranks.mean.sort_values(kind="stable").index
            found[task] = replace(ranks, table=ranks.table[order])
    if not found:
        raise NothingToDraw("No dataset has results of two methods to rank.")
    return found


def _heatmap(axes: "Axes", ranks: Ranks, results: Results, width: int) -> None:
    """Methods as lines with mean rank, its interval and count at the end, datasets as columns."""
    table = ranks.table
    n_datasets, n_methods = table.shape
    ends = {"mean": 0.6, "interval": 2.6, "n": 4.5}
    for place, method in enumerate(map(str, table)):
        for column, rank in enumerate(table[method]):
            _rank_cell(axes, column, place, rank, n_methods)
        low, high = ranks.intervals["low"][method], ranks.intervals["high"][method]
        texts = (
            number(ranks.mean[method]),
            narrow_interval(low, high, 2),
            str(ranks.datasets[method]),
        )
        for (name, right), text in zip(ends.items(), texts, strict=True):
            weight = "bold" if name == "mean" else "normal"
            centred(axes, n_datasets + right, place, text, weight=weight, fontsize=8)
    axes.set_yticks(range(n_methods), [method_name(str(method)) for method in table])
    names = [shorten(results.short(dataset)) for dataset in table.index]
    places = [n_datasets + place for place in ends.values()]
    axes.set_xticks([*range(n_datasets), *places], [*names, *ends], rotation=90)
    axes.set_xlim(-0.5, width + 5.2)
    axes.set_ylim(n_methods - 0.5, -0.5)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _rank_cell(axes: "Axes", column: int, place: int, rank: float, n_methods: int) -> None:
    """A square, darker for a better rank; a dash where the method was not run."""
    from matplotlib.patches import Rectangle

    if np.isnan(rank):
        centred(axes, column, place, NOTHING, color=SOFT, fontsize=7)
        return
    share = (n_methods - rank) / max(1, n_methods - 1)
    shade = round(share * (len(SHADES) - 1))
    corner = (column - 0.5, place - 0.5)
    square = Rectangle(corner, 1, 1, facecolor=SHADES[shade], edgecolor=PAPER, linewidth=0.8)
    axes.add_patch(square)
    ink = PAPER if shade >= len(SHADES) - 2 else INK
    centred(axes, column, place, f"{rank:g}", color=ink, fontsize=7)


def draw_critical_difference(results: Results) -> Drawing:
    """Mean ranks of all methods; a bar joins those that Nemenyi's test cannot tell apart."""
    from scikit_posthocs import critical_difference_diagram

    ranks = pd.concat([ranks.table for ranks in method_ranks(results).values()])
    found = critical_difference(ranks, results.settings.level, results.settings.bootstrap)
    if found is None:
        raise NothingToDraw("Fewer than two datasets have results of the same methods.")
    labels = {
        method: f"{method_name(method)} ({narrow_interval(*interval, 2)})"
        for method, interval in zip(found.methods, found.intervals, strict=True)
    }
    means = pd.Series(found.mean_ranks, index=list(labels.values()))
    p_values = found.p_values.rename(index=labels, columns=labels)
    figure = new_figure(9.0, 1.7 + 0.24 * len(means))
    axes = figure.subplots()
    critical_difference_diagram(
        means,
        p_values,
        alpha=found.level,
        ax=axes,
        label_fmt_left=f"{{label}}{_GAP}{{rank:.2f}}{_GAP}",
        label_fmt_right=f"{_GAP}{{rank:.2f}}{_GAP}{{label}}",
        label_props={"fontsize": 9},
        marker_props={"color": MAIN, "s": 22},
        elbow_props={"color": INK, "linewidth": 0.8},
        crossbar_props={"color": MAIN, "linewidth": 3.5, "solid_capstyle": "butt"},
        text_h_margin=0.04 * (means.max() - means.min() + 1),
    )
    axes.spines["top"].set_visible(True)
    _distance_ruler(axes, means.iloc[0], found.distance)
    figure.suptitle(_difference_title(found), x=0.02, ha="left", fontsize=10)
    return Drawing(figure, _difference_numbers(found))


def _distance_ruler(axes: "Axes", start: float, distance: float) -> None:
    """How far apart two mean ranks must be, above the scale."""
    axes.plot([start, start + distance], [1.5, 1.5], color=INK, linewidth=1.2, marker="|")
    axes.text(
        start + distance, 1.5, f"{_GAP}differ when {distance:.2f} apart", va="center", fontsize=8
    )


def _difference_title(found: CriticalDifference) -> str:
    left_out = ""
    if found.sparse:
        left_out = f"; without {', '.join(method_name(one) for one in found.sparse)}"
    tested = "" if np.isnan(found.p) else f", Friedman {p_words(found.p)}"
    return (
        f"Mean rank on {found.datasets} datasets, best on the left{tested}{left_out}.\n"
        f"In brackets: {100 * (1 - found.level):g} % bootstrap interval over datasets. "
        "Bars join methods that cannot be told apart."
    )


def _difference_numbers(found: CriticalDifference) -> pd.DataFrame:
    """Mean ranks and, in further columns, the p-value against each method."""
    frame = pd.DataFrame({"method": found.methods, "mean_rank": found.mean_ranks})
    frame["mean_rank_low"], frame["mean_rank_high"] = zip(*found.intervals, strict=True)
    frame["datasets"], frame["critical_difference"] = found.datasets, found.distance
    against = found.p_values.loc[list(found.methods), list(found.methods)]
    return frame.join(against.add_prefix("p_").reset_index(drop=True))


def draw_time(results: Results) -> Drawing:
    """Hours by stage: graphs, transformers, trees."""
    cost = cost_table(results)
    if cost.reason is not None or not cost.data["hours"].any():
        raise NothingToDraw("No graph and no run has a time.")
    hours = cost.data
    figure = new_figure(7.2, 1.1 + 0.3 * len(hours))
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
        save_drawing(draw(drawer, results), folder, name)
