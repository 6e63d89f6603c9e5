"""Every figure at full size, with nothing to show, and the numbers behind it."""

import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tabpet.analysis import plot
from tabpet.analysis.captions import FIGURES, TABLES
from tabpet.analysis.figures import DRAWERS, alpha_curves, draw_all, method_ranks
from tabpet.analysis.graph_figures import draw_scatter
from tabpet.analysis.results import Results
from tabpet.runs import Run, runs_frame
from tests.analysis import grid

REPORT = Path(__file__).parents[2] / "report"
PALETTE = {plot.INK, plot.SOFT, plot.RULE, plot.PAPER, plot.WARM, plot.PALE, *plot.SHADES}


@pytest.fixture(scope="module")
def nothing() -> Results:
    return Results(runs_frame([]))


def test_every_figure_has_a_caption_and_the_report_has_the_same():
    assert set(DRAWERS) == set(FIGURES)
    for name, caption in FIGURES.items():
        written = (REPORT / f"figures/{name}.rst").read_text("utf-8")
        assert " ".join(written.split()) == caption.text
    assert {path.stem for path in (REPORT / "figures").glob("*.rst")} == set(FIGURES)
    assert {path.stem for path in (REPORT / "tables").glob("*.rst")} == set(TABLES)


@pytest.mark.parametrize(
    ("sizes", "labels"),
    [((150, 980), ["200", "500", "1,000"]), ((150, 60_000), ["1,000", "10,000"])],
)
def test_a_short_axis_of_counts_has_more_than_one_label(sizes, labels):
    axes = Figure().subplots()
    plot.count_axis(axes)
    axes.plot(sizes, [0, 1])
    FigureCanvasAgg(axes.figure).draw()
    texts = [*axes.xaxis.get_majorticklabels(), *axes.xaxis.get_minorticklabels()]
    low, high = axes.get_xlim()
    shown = [t.get_text() for t in texts if t.get_text() and low <= t.get_position()[0] <= high]
    assert sorted(shown) == sorted(labels)


def crowded(axis, renderer) -> list[str]:
    """Tick labels of an axis that run into the next one."""
    low, high = sorted(axis.get_view_interval())
    boxes = [
        (tick.label1.get_window_extent(renderer), tick.label1.get_text())
        for tick in axis.get_major_ticks()
        if low <= tick.get_loc() <= high and tick.label1.get_visible() and tick.label1.get_text()
    ]
    boxes.sort(key=lambda pair: (pair[0].x0, pair[0].y0))
    return [f"{a[1]} | {b[1]}" for a, b in pairwise(boxes) if a[0].overlaps(b[0])]


def assert_nothing_is_cut_off(figure) -> None:
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    used = figure.get_tightbbox(canvas.get_renderer())  # inches
    width, height = figure.get_size_inches()
    assert used.x0 > -0.02 and used.y0 > -0.02
    assert used.x1 < width + 0.02 and used.y1 < height + 0.02


@pytest.mark.parametrize("name", DRAWERS)
def test_fifty_datasets_stay_readable_and_keep_to_the_palette(name, tmp_path):
    drawing = plot.draw(DRAWERS[name], grid.full_results())
    assert "reason" not in drawing.numbers
    assert len(drawing.numbers) > 5
    plot.save_drawing(drawing, tmp_path, name)
    text = (tmp_path / f"{name}.svg").read_text("utf-8")
    ET.fromstring(text)
    # The page gives each colour of the palette another value in the dark.
    assert set(re.findall(r"#[0-9a-f]{6}\b", text)) <= PALETTE | {"#000000"}
    assert pd.read_csv(tmp_path / f"{name}.csv").shape == drawing.numbers.shape

    canvas = FigureCanvasAgg(drawing.figure)
    canvas.draw()
    shown = [axes for axes in drawing.figure.axes if axes.axison]
    for axis in (axis for axes in shown for axis in (axes.xaxis, axes.yaxis)):
        assert not crowded(axis, canvas.get_renderer())
    assert_nothing_is_cut_off(drawing.figure)


@pytest.fixture(scope="module")
def one_model() -> Results:
    runs = [run for run in grid.full_runs() if run.model in ("ft_transformer", "xgboost")]
    return Results(runs_frame(runs), graphs=grid.graphs_frame(), datasets=grid.datasets_frame())


@pytest.mark.parametrize("name", DRAWERS)
def test_figures_of_a_single_model_are_whole(name, one_model):
    assert_nothing_is_cut_off(plot.draw(DRAWERS[name], one_model).figure)


@pytest.mark.parametrize("name", DRAWERS)
def test_results_that_were_not_run_give_one_sentence(name, nothing, tmp_path):
    drawing = plot.draw(DRAWERS[name], nothing)
    [reason] = drawing.numbers["reason"]
    assert reason.endswith(".") and reason.count(".") == 1
    plot.save_drawing(drawing, tmp_path, name)
    root = ET.parse(tmp_path / f"{name}.svg").getroot()
    texts = [" ".join("".join(node.itertext()).split()) for node in root.iter(f"{SVG}text")]
    assert reason in " ".join(texts)


SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("datasets", [1, 3])
def test_a_small_run_draws_the_same_files_twice(datasets, tmp_path):
    results = Results(runs_frame(grid.small_runs(datasets)), datasets=grid.datasets_frame())
    for folder in ("first", "second"):
        draw_all(results, tmp_path / folder)
    files = sorted(path.name for path in (tmp_path / "first").iterdir())
    assert files == sorted(f"{name}.{kind}" for name in FIGURES for kind in ("svg", "csv"))
    for name in files:
        first, second = (tmp_path / folder / name for folder in ("first", "second"))
        assert first.read_bytes() == second.read_bytes(), name


@pytest.fixture(scope="module")
def two_datasets() -> Results:
    kept = ("cloud", "credit-g")
    runs = [
        run
        for run in grid.full_runs()
        if run.dataset in kept and run.model in ("ft_transformer", "xgboost")
    ]
    graphs = grid.graphs_frame()
    graphs = graphs[graphs["dataset"].isin(kept)]
    return Results(runs_frame(runs), graphs=graphs, datasets=grid.datasets_frame())


@pytest.mark.parametrize("name", DRAWERS)
def test_few_datasets_leave_room_for_titles_and_legends(name, two_datasets):
    drawing = plot.draw(DRAWERS[name], two_datasets)
    assert "reason" not in drawing.numbers
    assert_nothing_is_cut_off(drawing.figure)


def test_improvements_of_chosen_and_oracle_alpha_are_in_the_numbers():
    results = grid.full_results()
    numbers = plot.draw(DRAWERS["improvement_by_graph"], results).numbers
    assert set(numbers["encoding"]) == set(grid.GRAPHS)
    assert set(numbers["model"]) == {"ft_transformer"}
    # The paper's mean over 50 datasets: half of 1.72 for classification and 4.37 for regression.
    spearman = numbers[numbers["encoding"] == "spearman"]
    assert spearman["improvement"].mean() == pytest.approx((1.72 + 4.37) / 2, abs=0.01)
    assert (spearman["oracle_improvement"] >= spearman["improvement"]).all()


def labels_of(figure) -> list[str]:
    return [tick.get_text() for axes in figure.axes for tick in axes.get_yticklabels()]


@pytest.mark.parametrize("name", ["improvement_by_graph", "null_controls"])
def test_every_box_says_how_many_datasets_it_holds(name):
    few = ("notears", "spearman-random")
    kept = [
        run
        for run in grid.full_runs()
        if run.model == "ft_transformer" and (run.encoding not in few or run.dataset == "cloud")
    ]
    labels = labels_of(plot.draw(DRAWERS[name], Results(runs_frame(kept))).figure)
    assert "Spearman\nn = 50" in labels
    assert {"NOTEARS\nn = 1", "Spearman, random\nn = 1"} & set(labels)


def test_mean_ranks_say_how_many_datasets_they_stand_on():
    runs = [
        Run(dataset, 1, model, "tuned", 1, "classification", None, 0.5, 0.5)
        for dataset in ("a", "b", "c")
        for model in ("xgboost", "catboost", "saint")
        if (dataset, model) != ("c", "saint")
    ]
    runs += [
        Run(dataset, 1, "saint", "spearman", 1, "classification", alpha, 0.5, 0.5)
        for dataset in ("a", "b")
        for alpha in (0.0, 1.0)
    ]
    [axes] = plot.draw(DRAWERS["rank_heatmap"], Results(runs_frame(runs))).figure.axes
    columns: dict[float, list[str]] = {}
    for text in sorted(axes.texts, key=lambda text: text.get_position()[1]):
        columns.setdefault(text.get_position()[0], []).append(text.get_text())
    # Behind the three datasets, each under its heading.
    means, intervals, counts = (columns[x] for x in sorted(columns)[3:])
    assert (means[0], intervals[0], counts[0]) == ("mean", "interval", "n")
    assert sorted(counts[1:]) == ["2", "2", "3", "3"]
    # All are equal: rank 2.5 of four on two datasets, 1.5 of two on the third.
    assert sorted(intervals[1:]) == ["1.50–2.50", "1.50–2.50", "2.50–2.50", "2.50–2.50"]


def test_a_matrix_has_a_cell_for_either_side_of_a_pair():
    scores = {"xgboost": (0.9, 0.8), "catboost": (0.6, 0.8)}
    runs = [
        Run(dataset, 1, model, "tuned", 1, "classification", None, score, score)
        for model, both in scores.items()
        for dataset, score in zip("ab", both, strict=True)
    ]
    drawing = plot.draw(DRAWERS["comparison_matrix"], Results(runs_frame(runs)))
    [row] = drawing.numbers.to_dict("records")
    assert (row["method"], row["other"], row["wins"], row["ties"]) == ("xgboost", "catboost", 1, 1)
    assert row["mean_difference_pct"] == pytest.approx(20)  # 0.3 of 0.75, and 0
    texts = [text.get_text() for text in drawing.figure.axes[0].texts]
    for cell in ("+20.00 %", "−20.00 %", "1 / 1 / 0", "0 / 1 / 1"):
        assert texts.count(cell) == 1
    assert texts.count("p 1.000") == texts.count("Holm 1.000") == 2


def test_ranks_in_the_diagram_have_intervals_and_the_caption_says_what_is_wrong():
    numbers = plot.draw(DRAWERS["critical_difference"], grid.full_results()).numbers
    assert (numbers["mean_rank_low"] < numbers["mean_rank"]).all()
    assert (numbers["mean_rank_high"] > numbers["mean_rank"]).all()
    assert "depends on which others are there" in FIGURES["critical_difference"].text
    order = list(FIGURES)
    assert order.index("comparison_matrix") < order.index("critical_difference")


def test_bars_of_the_diagram_are_the_same_in_every_process():
    # The library joins their points in the order of a set of names.
    [axes] = plot.draw(DRAWERS["critical_difference"], grid.full_results()).figure.axes
    bars = [line for line in axes.lines if line.get_linewidth() == 3.5]
    assert len(bars) > 1
    for bar in bars:
        assert list(bar.get_xdata()) == sorted(bar.get_xdata())


def test_sizes_of_other_datasets_are_no_sizes():
    results = Results(runs_frame(runs_of({(1, 0.0): 1, (1, 1.0): 1})))
    others = Results(results.scores, datasets=grid.datasets_frame())
    for without in (results, others):
        [reason] = plot.draw(DRAWERS["size"], without).numbers["reason"]
        assert reason.startswith("No dataset has both a size and")


def test_graph_scatter_is_filled_where_validation_chose_and_hollow_for_the_oracle(two_datasets):
    axes = plot.draw(DRAWERS["graph_scatter"], two_datasets).figure.axes[0]
    faces = [len(points.get_facecolor()) for points in axes.collections]
    assert faces == [0, 1] * len(grid.GRAPHS)
    hollow, filled = (points.get_offsets()[:, 1] for points in axes.collections[:2])
    assert (hollow >= filled).all()


def runs_of(test: dict[tuple[int, float], float]) -> list[Run]:
    """One dataset: test error by split and alpha; validation likes alpha 1 in split 1, 2 in 2."""
    return [
        Run("d", split, "saint", "spearman", 1, "regression", alpha, alpha != split, score)
        for (split, alpha), score in test.items()
    ]


def test_curves_are_means_over_splits_with_the_choice_of_each():
    test = {(1, 0.0): 10, (1, 1.0): 9, (1, 2.0): 12, (2, 0.0): 20, (2, 1.0): 20, (2, 2.0): 16}
    curves = alpha_curves(Results(runs_frame(runs_of(test)))).set_index("alpha")
    # Improvements 0, 10, -20 in the first split and 0, 0, 20 in the second.
    assert curves["improvement"].tolist() == pytest.approx([0, 5, 0])
    assert curves["chosen"].tolist() == [0, 1, 1]
    # Mean test scores over the splits, 14.5 and 14: one oracle for both.
    assert curves["oracle"].tolist() == [0, 0, 2]


def test_ranks_leave_out_plain_references_and_put_the_best_first():
    scores = {"xgboost": ("tuned", 0.9), "catboost": ("tuned", 0.8), "linear": ("default", 0.95)}
    runs = [
        Run("d", 42, model, encoding, 1, "classification", None, 0.5, score)
        for model, (encoding, score) in scores.items()
    ]
    [(task, ranks)] = method_ranks(Results(runs_frame(runs))).items()
    assert task == "classification"
    assert ranks.table.loc["d"].to_dict() == {"xgboost": 1, "catboost": 2}


def test_cumulative_means_count_equal_values_together():
    gains = {"a": (0.1, 4.0), "b": (0.2, 2.0), "c": (0.2, 0.0), "d": (0.4, 6.0)}
    runs = [
        Run(name, 1, "saint", "pearson", 1, "classification", alpha, 0.5, 0.5 * (1 + alpha * gain))
        for name, (_, gain) in gains.items()
        for alpha in (0.0, 0.01)
    ]
    graphs = pd.DataFrame(
        [
            {"dataset": name, "split": 1, "method": "pearson", "entropy": value, "fiedler": value}
            for name, (value, _) in gains.items()
        ]
    )
    numbers = draw_scatter(Results(runs_frame(runs), graphs=graphs)).numbers
    by_dataset = numbers.set_index("dataset")["mean_up_to_entropy"].to_dict()
    assert by_dataset == pytest.approx({"a": 4, "b": 2, "c": 2, "d": 3})


@pytest.mark.parametrize(
    ("values", "linear"),
    [
        ([], None),
        ([np.nan], None),
        ([0, 1, 2, 3], None),
        ([1] * 8 + [-30], 1),
        ([2.5] * 8 + [np.nan, 90], 3),
    ],
)
def test_an_axis_is_compressed_only_for_values_far_out(values, linear):
    figure = Figure(figsize=(2, 2))
    axes = figure.subplots()
    plot.percent_axis(axes, "x", values, "improvement")
    assert axes.get_xscale() == ("linear" if linear is None else "symlog")
    assert axes.get_xlabel().endswith("improvement" if linear is None else f"±{linear})")


def test_points_are_spread_within_their_width_and_the_same_each_time():
    values = np.array([3.0, 1.0, 2.0, 1.0])
    spread = plot.spread_points(values, 0.1)
    assert len(set(spread)) == 4 and np.abs(spread).max() <= 0.1
    assert (spread == plot.spread_points(values, 0.1)).all()
