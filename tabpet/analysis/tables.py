"""Every table of the results, and those about the scores of whole methods."""

from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import product
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tabpet.analysis import coverage, gains, matrix, mixed, paper
from tabpet.analysis.captions import TABLES
from tabpet.analysis.results import METRICS, SCORE_COLUMNS, TASKS, TRANSFORMERS, Results, present
from tabpet.analysis.table import Column, Panel, Table, declared, panels_by, spread, under
from tabpet.formats import narrow_interval, number, whole
from tabpet.names import EncodingName, Method, encoding_label, method_label, model_label
from tabpet.registry import GRAPHS
from tabpet.stats import exclude_outliers, holm, improvement, summarize, wilcoxon, win_rate

ORACLE = "oracle"
GRAPH_COLUMNS = [
    "dataset", "abbreviation", "task", "model", "encoding", "base_test", "base_sd", "test",
    "test_sd", "improvement", "oracle_test", "oracle_sd", "oracle_improvement", "seeds", "splits",
    "graph_note",
]  # fmt: skip


def make_tables(results: Results) -> dict[str, Table]:
    """All tables by name, in the order of `TABLES`."""
    return {name: MAKERS[name](results) for name in TABLES}


def write_tables(results: Results, folder: Path) -> dict[str, Table]:
    """Write all tables as CSV and LaTeX."""
    tables = make_tables(results)
    for table in tables.values():
        table.write(folder)
    return tables


def main_table(results: Results) -> Table:
    """Test scores of all methods per dataset, with ranks and the best two marked."""
    tasks = present(TASKS, results.methods["task"])
    if not tasks:
        return Table.empty("main", "no run has finished")
    frames = {task: _main_data(results, task) for task in tasks}
    panels = [_main_panel(results, task, frame) for task, frame in frames.items()]
    data = pd.concat(frames.values(), ignore_index=True)
    return Table.of("main", data, panels, **results.words)


def _main_data(results: Results, task: str) -> pd.DataFrame:
    """A row per dataset and method."""
    ranks = results.ranks[task]
    ranked = ranks.table.melt(ignore_index=False, value_name="rank").reset_index()
    methods = results.methods.loc[results.methods["task"] == task, SCORE_COLUMNS]
    data = methods.merge(ranked, on=["dataset", "method"], how="left")
    data.insert(1, "abbreviation", data["dataset"].map(results.short))
    data["best"] = data["rank"] == data.groupby("dataset")["rank"].transform("min")
    return data.join(ranks.means, on="method")


def _main_panel(results: Results, task: str, data: pd.DataFrame) -> Panel:
    columns = _method_columns("main", results.method_table(task), attrgetter("short_label"))
    texts = spread(results.by_dataset(data), "method", columns, "Dataset", results.short)
    # Marks are further texts of the same columns, made from ranks instead of scores.
    places = data.groupby("dataset")["rank"].rank(method="dense")
    marked = data.assign(test=places.map({1: "best", 2: "second"}), oracle="")
    as_they_are = {
        method: [replace(column, format=str) for column in its_columns]
        for method, its_columns in columns.items()
    }
    marks = spread(results.by_dataset(marked), "method", as_they_are, "Dataset", results.short)
    # References are not ranked.
    footer = {}
    for method, mean, low, high, datasets in results.ranks[task].means.itertuples():
        if datasets:
            first = columns[method][0]
            texts_below = [number(mean), narrow_interval(low, high), whole(datasets)]
            footer[first.group, first.heading] = texts_below
    panel = Panel(texts, f"{TASKS[task]}, {METRICS[task]}", marks)
    return panel.with_footer(pd.DataFrame(footer, index=["mean rank", "interval", "n"]))


def _method_columns(
    table: str, scores: pd.DataFrame, label: Callable[[Method], str]
) -> dict[str, list[Column]]:
    """Columns of the methods that have scores: a transformer's below its label, others alone."""
    columns = {}
    for method in map(Method.parse, map(str, scores)):
        shown = declared(table, "pet" if method.variant == "pet" else "base")
        if method.model in TRANSFORMERS:
            columns[str(method)] = under(label(Method(method.model)), shown)
        else:
            columns[str(method)] = [replace(c, group="", heading=label(method)) for c in shown]
    return columns


def detailed_models_table(results: Results) -> Table:
    """All methods per dataset with standard deviations, improvements and oracle."""
    if results.methods.empty:
        return Table.empty("detailed_models", "no run has finished")
    data = results.methods.copy()
    data.insert(1, "abbreviation", data["dataset"].map(results.short))
    panels = []
    for task in present(TASKS, data["task"]):
        rows = results.by_dataset(data[data["task"] == task])
        scores = results.method_table(task)
        columns = _method_columns("detailed_models", scores, attrgetter("label"))
        texts = spread(rows, "method", columns, "Dataset", results.short)
        panels.append(Panel(texts, f"{TASKS[task]} ({METRICS[task]})", beside=3))
    return Table.of("detailed_models", data, panels, **results.words)


def detailed_graphs_table(results: Results) -> Table:
    """Baseline, Tab-PET and improvement of every graph estimator, per dataset and model."""
    data = results.averages
    data = data[[EncodingName.parse(name).control is None for name in data["encoding"]]]
    if data.empty:
        return Table.empty("detailed_graphs", "no transformer was trained with a graph's encoding")
    data = data.assign(
        abbreviation=data["dataset"].map(results.short),
        graph_note=list(map(results.graph_note, data["dataset"], data["encoding"])),
    )
    panels = []
    for model, task in product(results.models, TASKS):
        rows = data[(data["model"] == model) & (data["task"] == task)]
        columns = {
            encoding: under(encoding_label(encoding), declared("detailed_graphs"))
            for encoding in present(results.encodings_of(model), rows["encoding"])
        }
        if columns:
            heading = f"{model_label(model)}, {TASKS[task].lower()} ({METRICS[task]})"
            texts = spread(results.by_dataset(rows), "encoding", columns, "Dataset", results.short)
            panels.append(Panel(texts, heading, beside=3))
    return Table.of("detailed_graphs", data[GRAPH_COLUMNS], panels)


def trees_table(results: Results) -> Table:
    """Transformers, without and with Tab-PET, against trees and plain references."""
    methods = list(results.methods["method"].unique())
    transformers = [name for name in methods if Method.parse(name).model in TRANSFORMERS]
    opponents = [name for name in methods if name not in transformers]
    if not transformers or not opponents:
        missing = "transformer" if not transformers else "tree learner or reference"
        return Table.empty("trees", f"no {missing} has finished")
    rows = [_against(results, *both) for both in product(opponents, transformers, TASKS)]
    data = pd.DataFrame([row for row in rows if row["datasets"]])
    if data.empty:
        reason = "no dataset has both a transformer and a tree learner or reference"
        return Table.empty("trees", reason)
    # Two families of questions: how plain references do must not make trees look harder to beat.
    family = data["opponent"].map(lambda name: Method.parse(name).is_reference)
    data.insert(list(data).index("p") + 1, "p_holm", data.groupby(family)["p"].transform(holm))
    panels = panels_by(
        ["opponent", "task"],
        data.set_axis(data["method"].map(method_label)),
        declared("trees"),
        "Method",
        lambda opponent, task: f"{TASKS[task]}, against {method_label(opponent)}",
    )
    return Table.of("trees", data, panels)


def _against(results: Results, opponent: str, method: str, task: str) -> dict[str, Any]:
    """Head to head with the alpha chosen by validation, and with the oracle's."""
    scores, oracle = results.method_table(task), results.method_table(task, ORACLE)
    nothing = pd.Series(np.nan, index=scores.index)
    ours, theirs = scores.get(method, nothing), scores.get(opponent, nothing)
    best = oracle.get(method, nothing).reindex(scores.index)
    return {
        "method": method,
        "opponent": opponent,
        "task": task,
        **asdict(win_rate(task, ours, theirs)),
        **_head_to_head(task, ours, theirs),
        "effect_size": wilcoxon(improvement(task, theirs, ours)).effect_size,
        # NOTE[PAPER]: its test against trees is on raw metric differences, ruled by a few scales.
        "p_paper_rule": wilcoxon(ours - theirs, rule="paper").p,
        **{f"oracle_{key}": x for key, x in _head_to_head(task, best, theirs).items()},
    }


def _head_to_head(task: str, ours: pd.Series, theirs: pd.Series) -> dict[str, float]:
    gains = improvement(task, theirs, ours)
    summary = summarize(gains)
    return {
        "win_rate": win_rate(task, ours, theirs).percent,
        "mean_difference_pct": summary.mean,
        "median_difference_pct": summary.median,
        "p": wilcoxon(gains).p,
    }


def outliers_table(results: Results) -> Table:
    """Mean scores over the datasets that are left when outliers are excluded."""
    tasks = present(TASKS, results.methods["task"])
    if not tasks:
        return Table.empty("outliers", "no run has finished")
    frames, notes, columns = [], [], {}
    for task in tasks:
        scores, oracle = results.method_table(task), results.method_table(task, ORACLE)
        exclusion = exclude_outliers(task, results.ranked_table(task))
        kept, excluded = scores.loc[list(exclusion.kept)], scores.loc[list(exclusion.excluded)]
        oracle = oracle.reindex(index=kept.index, columns=kept.columns)
        means = {
            "task": task,
            "datasets": kept.count(),
            "excluded": excluded.count(),
            "mean": kept.apply(pd.Series.mean),
            "oracle_mean": oracle.apply(pd.Series.mean),
            "mean_of_all": scores.apply(pd.Series.mean),
            "excluded_datasets": " ".join(exclusion.excluded),
            "iqr_bound": exclusion.iqr_bound,
            "median_bound": exclusion.median_bound,
        }
        # There is no bound by the median in classification.
        frames.append(pd.DataFrame(means).astype({"median_bound": float}))
        left_out = " ".join(map(results.short, exclusion.excluded)) or "none"
        notes.append(f"{TASKS[task].lower()}: {left_out}")
    for task, label in TASKS.items():
        columns[task] = under(f"{label}, {METRICS[task]}", declared("outliers"))
    data = pd.concat(frames).rename_axis("method")
    panel = Panel(spread(data, "task", columns, "Method", method_label))
    return Table.of("outliers", data.reset_index(), [panel], excluded="; ".join(notes))


def timing_table(results: Results) -> Table:
    """Minutes for every graph, with the paper's beside it in the CSV."""
    if results.graphs is None or results.graphs.empty:
        return Table.empty("timing", "no graph was estimated in this run")
    graphs = results.graphs.assign(not_ok=results.graphs["status"] != "ok")
    times = graphs.groupby(["dataset", "method"], sort=False).agg(
        seconds=("seconds", "mean"), splits=("split", "nunique"), not_ok=("not_ok", "sum")
    )
    data = times.reset_index()
    data.insert(1, "abbreviation", data["dataset"].map(results.short))
    data["minutes"] = data["seconds"] / 60
    data = data.merge(paper.graph_minutes(), on=["dataset", "method"], how="left")
    columns = {
        method: [Column(("minutes",), "", encoding_label(method), number)]
        for method in present(GRAPHS.entries, data["method"])
    }
    panel = Panel(spread(data.set_index("dataset"), "method", columns, "Dataset", results.short))
    minutes = data.groupby("method")["minutes"].agg(["mean", "median", "count"])
    footer = {
        ("", encoding_label(method)): [number(mean), number(median), whole(datasets)]
        for method, mean, median, datasets in minutes.loc[list(columns)].itertuples()
    }
    panel = panel.with_footer(pd.DataFrame(footer, index=["mean", "median", "n"]))
    return Table.of("timing", data, [panel])


MAKERS: dict[str, Callable[[Results], Table]] = {
    "main": main_table,
    "comparison_matrix": matrix.comparison_matrix_table,
    "significance": gains.significance_table,
    "controls": gains.controls_table,
    "oracle": gains.oracle_table,
    "mixed_model": mixed.mixed_model_table,
    "graph_methods": gains.graph_methods_table,
    "learnable": gains.learnable_table,
    "trees": trees_table,
    "outliers": outliers_table,
    "detailed_models": detailed_models_table,
    "detailed_graphs": detailed_graphs_table,
    "timing": timing_table,
    "cost": coverage.cost_table,
    "paper": paper.paper_table,
    "claims": paper.claims_table,
    "coverage": coverage.coverage_table,
}
