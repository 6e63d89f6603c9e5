"""Every table of the results, and those about the scores of whole methods."""

from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tabpet.analysis import coverage, detail, gains, matrix, mixed, names, paper
from tabpet.analysis.captions import TABLES
from tabpet.analysis.formats import narrow_interval, number, score, whole
from tabpet.analysis.names import METRICS, TASKS
from tabpet.analysis.results import Results
from tabpet.analysis.table import Column, Panel, Table, declared, show, spread, under
from tabpet.names import Method, method_label
from tabpet.stats import (
    exclude_outliers,
    holm,
    improvement,
    summarize,
    wilcoxon,
    win_rate,
)

ORACLE = "oracle"


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
    frames = {
        task: _main_data(results, task) for task in TASKS if (results.methods["task"] == task).any()
    }
    if not frames:
        return Table.empty("main", "no run has finished")
    panels = [_main_panel(results, task, frame) for task, frame in frames.items()]
    data = pd.concat(frames.values(), ignore_index=True)
    return Table.of("main", data, panels, **results.words)


def _main_data(results: Results, task: str) -> pd.DataFrame:
    """A row per dataset and method."""
    ranks = results.ranks[task]
    ranked = ranks.table.melt(ignore_index=False, value_name="rank").reset_index()
    methods = results.methods[results.methods["task"] == task]
    data = methods.merge(ranked, on=["dataset", "method"], how="left")
    data.insert(1, "abbreviation", data["dataset"].map(results.short))
    data["best"] = data["rank"] == data.groupby("dataset")["rank"].transform("min")
    data = data.join(ranks.means, on="method")
    data["ranked_datasets"] = data["method"].map(ranks.datasets)
    return data


def _main_panel(results: Results, task: str, data: pd.DataFrame) -> Panel:
    columns = {str(method): _main_columns(str(method)) for method in results.method_table(task)}
    texts = detail.spread_datasets(results, data, "method", columns)
    # Marks are further texts of the same columns, made from ranks instead of scores.
    placed = data.assign(test=data.groupby("dataset")["rank"].rank(method="dense"), oracle=0)
    of_places = {
        method: [replace(column, format=_mark) for column in its_columns]
        for method, its_columns in columns.items()
    }
    marks = detail.spread_datasets(results, placed, "method", of_places)
    rows = {row["method"]: row for _, row in data.drop_duplicates("method").iterrows()}
    footer = {
        (column.group, column.heading): _rank_texts(rows[method])
        for method, (column, *_) in columns.items()
    }
    panel = Panel(texts, f"{TASKS[task]}, {METRICS[task]}", marks)
    return panel.with_footer(pd.DataFrame(footer, index=["mean rank", "interval", "n"]))


def _main_columns(method: str) -> list[Column]:
    parsed = Method.parse(method)
    if parsed.model not in names.TRANSFORMERS:
        return [Column(("test",), "", parsed.short_label, score)]
    short = Method(parsed.model).short_label
    if not parsed.variant:
        return [Column(("test",), short, "base", score)]
    return [Column(("test",), short, "+PET", score), Column((ORACLE,), short, ORACLE, score)]


def _mark(place: float) -> str:
    return {1.0: "best", 2.0: "second"}.get(place, "")


def _rank_texts(row: pd.Series) -> list[str]:
    """Mean rank, its interval, and on how many datasets they stand; nothing for a reference."""
    if np.isnan(row["mean_rank"]):
        return ["", "", ""]
    interval = narrow_interval(row["mean_rank_low"], row["mean_rank_high"])
    return [number(row["mean_rank"]), interval, whole(row["ranked_datasets"])]


def trees_table(results: Results) -> Table:
    """Transformers, without and with Tab-PET, against trees and plain references."""
    present = list(results.methods["method"].unique())
    transformers = [m for m in present if Method.parse(m).model in names.TRANSFORMERS]
    opponents = [m for m in present if m not in transformers]
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
    labelled = data.set_axis(data["method"].map(method_label).tolist())
    columns = declared("trees")
    panels = [
        Panel(
            show(rows, columns, "Method"), f"{TASKS[str(task)]}, against {method_label(str(other))}"
        )
        for (other, task), rows in labelled.groupby(["opponent", "task"], sort=False)
    ]
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
    if results.methods.empty:
        return Table.empty("outliers", "no run has finished")
    frames, notes = [], []
    for task in TASKS:
        scores, oracle = results.method_table(task), results.method_table(task, ORACLE)
        if scores.empty:
            continue
        exclusion = exclude_outliers(task, results.ranked_table(task))
        kept, excluded = scores.loc[list(exclusion.kept)], scores.loc[list(exclusion.excluded)]
        named = " ".join(map(results.short, exclusion.excluded)) or "none"
        notes.append(f"{TASKS[task].lower()}: {named}")
        means = {
            "datasets": kept.count(),
            "excluded": excluded.count(),
            "mean": kept.apply(pd.Series.mean),
            "oracle_mean": oracle.reindex(index=kept.index, columns=kept.columns).apply(
                pd.Series.mean
            ),
            "mean_of_all": scores.apply(pd.Series.mean),
        }
        frame = pd.DataFrame(means).rename_axis("method").reset_index()
        frame.insert(1, "task", task)
        frame["excluded_datasets"] = " ".join(exclusion.excluded)
        frame["iqr_bound"], frame["median_bound"] = exclusion.iqr_bound, exclusion.median_bound
        frame = frame.astype({"median_bound": float})  # there is none in classification
        frames.append(frame)
    data = pd.concat(frames, ignore_index=True)
    methods = list(data["method"].unique())
    columns = {
        task: under(f"{label}, {METRICS[task]}", declared("outliers"))
        for task, label in TASKS.items()
    }
    shown = spread(data.set_index("method"), methods, "task", columns, "Method")
    panel = Panel(shown.set_axis([method_label(method) for method in methods]))
    return Table.of("outliers", data, [panel], excluded="; ".join(notes))


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
    minutes = {method: rows["minutes"] for method, rows in data.groupby("method")}
    columns = {
        method: [Column(("minutes",), "", name, number)]
        for method, name in names.GRAPHS.items()
        if method in minutes
    }
    datasets = list(data["dataset"].unique())
    texts = spread(data.set_index("dataset"), datasets, "method", columns, "Dataset")
    panel = Panel(texts.set_axis([results.short(name) for name in datasets]))
    footer = {
        ("", names.GRAPHS[method]): [
            number(minutes[method].mean()),
            number(minutes[method].median()),
            whole(minutes[method].count()),
        ]
        for method in columns
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
    "detailed_models": detail.detailed_models_table,
    "detailed_graphs": detail.detailed_graphs_table,
    "timing": timing_table,
    "cost": coverage.cost_table,
    "paper": paper.paper_table,
    "claims": paper.claims_table,
    "coverage": coverage.coverage_table,
}
