"""Every table of the results, and those about the scores of whole methods."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tabpet.analysis.coverage import cost_table, coverage_table
from tabpet.analysis.detail import (
    detailed_graphs_table,
    detailed_models_table,
    spread_datasets,
)
from tabpet.analysis.formats import narrow_interval, number, p_value, percent, score, share, whole
from tabpet.analysis.gains import (
    controls_table,
    graph_methods_table,
    learnable_table,
    oracle_table,
    significance_table,
)
from tabpet.analysis.matrix import comparison_matrix_table
from tabpet.analysis.mixed import mixed_model_table
from tabpet.analysis.names import (
    GRAPHS,
    METRICS,
    TABLES,
    TASKS,
    TRANSFORMERS,
    is_reference,
    method_name,
)
from tabpet.analysis.paper import paper_table, read_reference
from tabpet.analysis.results import Results
from tabpet.analysis.table import Column, Part, Table, show, spread, under
from tabpet.names import Method
from tabpet.stats import (
    exclude_outliers,
    holm,
    improvement,
    rank_methods,
    summarize,
    wilcoxon,
    win_rate,
)

ORACLE = "oracle"
TREES = (
    Column("datasets", "", "n"),
    Column("win_rate", "By validation", "wins, %", share),
    Column("mean_difference_pct", "By validation", "mean, %", percent),
    Column("median_difference_pct", "By validation", "median, %", percent),
    Column("p", "By validation", "p", p_value),
    Column("p_holm", "By validation", "Holm", p_value),
    Column("effect_size", "By validation", "r", number),
    Column("p_paper_rule", "By validation", "paper's p", p_value),
    Column("oracle_win_rate", "Oracle", "wins, %", share),
    Column("oracle_mean_difference_pct", "Oracle", "mean, %", percent),
    Column("oracle_median_difference_pct", "Oracle", "median, %", percent),
    Column("oracle_p", "Oracle", "p", p_value),
)
OUTLIERS = (
    Column("mean", "", "mean", score),
    Column("oracle_mean", "", "oracle", score),
    Column("datasets", "", "n", whole),
    Column("excluded", "", "excluded", whole),
)


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
    tasks = [task for task in TASKS if (results.methods["task"] == task).any()]
    if not tasks:
        return Table.empty("main", "no run has finished")
    frames = {task: _main_data(results, task) for task in tasks}
    parts = tuple(_main_part(results, task, frame) for task, frame in frames.items())
    caption = (
        "Mean test score over seeds; best in bold, second underlined, ranks among the methods that "
        "a dataset has. Oracle (alpha chosen by test) and plain references are not ranked. "
        f"n: datasets behind a mean rank; below it, its {100 * (1 - results.settings.level):g} % "
        "bootstrap interval over datasets."
    )
    return Table("main", caption, pd.concat(frames.values(), ignore_index=True), parts)


def _main_data(results: Results, task: str) -> pd.DataFrame:
    """A line per dataset and method."""
    level, bootstrap = results.settings.level, results.settings.bootstrap
    ranks = rank_methods(task, results.ranked_table(task), level, bootstrap)
    mine = results.methods[results.methods["task"] == task]
    ranked = ranks.table.melt(ignore_index=False, value_name="rank").reset_index()
    mine = mine.merge(ranked, on=["dataset", "method"], how="left")
    mine.insert(1, "abbreviation", mine["dataset"].map(results.short))
    mine["best"] = mine["rank"] == mine.groupby("dataset")["rank"].transform("min")
    mine["mean_rank"] = mine["method"].map(ranks.mean)
    mine["mean_rank_low"] = mine["method"].map(ranks.intervals["low"])
    mine["mean_rank_high"] = mine["method"].map(ranks.intervals["high"])
    mine["ranked_datasets"] = mine["method"].map(ranks.datasets)
    return mine


def _main_part(results: Results, task: str, data: pd.DataFrame) -> Part:
    columns = {str(method): _main_columns(str(method)) for method in results.method_table(task)}
    cells = spread_datasets(results, data, task, "method", columns)
    # Marks are further cells of the same columns, made from ranks instead of scores.
    placed = data.assign(test=data.groupby("dataset")["rank"].rank(method="dense"), oracle=0)
    of_places = {
        method: [replace(column, format=_mark) for column in its_columns]
        for method, its_columns in columns.items()
    }
    marks = spread_datasets(results, placed, task, "method", of_places)
    rows = {row["method"]: row for _, row in data.drop_duplicates("method").iterrows()}
    footer = {
        (column.group, column.heading): _rank_texts(rows[method])
        for method, (column, *_) in columns.items()
    }
    part = Part(cells, f"{TASKS[task]}, {METRICS[task]}", marks)
    return part.with_footer(pd.DataFrame(footer, index=["mean rank", "interval", "n"]))


def _main_columns(method: str) -> list[Column]:
    parsed = Method.parse(method)
    if parsed.model not in TRANSFORMERS:
        return [Column("test", "", parsed.short_label, score)]
    short = Method(parsed.model).short_label
    if not parsed.variant:
        return [Column("test", short, "base", score)]
    return [Column("test", short, "+PET", score), Column(ORACLE, short, ORACLE, score)]


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
    transformers = [m for m in present if Method.parse(m).model in TRANSFORMERS]
    opponents = [m for m in present if m not in transformers]
    if not transformers or not opponents:
        missing = "transformer" if not transformers else "tree learner or reference"
        return Table.empty("trees", f"no {missing} has finished")
    rows = []
    for opponent in opponents:
        for method in transformers:
            for task in TASKS:
                row = _against(results, method, opponent, task)
                rows += [row] if row["datasets"] else []
    if not rows:
        reason = "no dataset has both a transformer and a tree learner or reference"
        return Table.empty("trees", reason)
    data = pd.DataFrame(rows)
    # Two families of questions: how plain references do must not make trees look harder to beat.
    family = data["opponent"].map(is_reference)
    data.insert(list(data).index("p") + 1, "p_holm", data.groupby(family)["p"].transform(holm))
    caption = (
        "Head-to-head wins of the transformer in percent of datasets with both (n), mean and "
        "median relative difference in percent, Wilcoxon on relative differences, Holm's "
        "correction within tuned trees and within references. Paper's p: by its rule, on raw "
        "differences. Oracle: the same with alpha chosen by test."
    )
    labelled = data.set_axis([method_name(method) for method in data["method"]])
    parts = tuple(
        Part(show(these, TREES, "Method"), f"{TASKS[str(task)]}, against {method_name(str(other))}")
        for (other, task), these in labelled.groupby(["opponent", "task"], sort=False)
    )
    return Table("trees", caption, data, parts)


def _against(results: Results, method: str, opponent: str, task: str) -> dict[str, Any]:
    scores, oracle = results.method_table(task), results.method_table(task, ORACLE)
    empty = pd.Series(float("nan"), index=scores.index)
    ours, theirs = (scores.get(one, empty) for one in (method, opponent))
    best = oracle.get(method, empty).reindex(scores.index)
    wins, best_wins = win_rate(task, ours, theirs), win_rate(task, best, theirs)
    gains, best_gains = improvement(task, theirs, ours), improvement(task, theirs, best)
    test, size, best_size = wilcoxon(gains), summarize(gains), summarize(best_gains)
    return {
        "method": method,
        "opponent": opponent,
        "task": task,
        "datasets": wins.datasets,
        "wins": wins.wins,
        "ties": wins.ties,
        "losses": wins.losses,
        "win_rate": wins.percent,
        "mean_difference_pct": size.mean,
        "median_difference_pct": size.median,
        "p": test.p,
        "effect_size": test.effect_size,
        # NOTE[PAPER]: its test against trees is on raw metric differences, ruled by a few scales.
        "p_paper_rule": wilcoxon(ours - theirs, rule="paper").p,
        "oracle_win_rate": best_wins.percent,
        "oracle_mean_difference_pct": best_size.mean,
        "oracle_median_difference_pct": best_size.median,
        "oracle_p": wilcoxon(best_gains).p,
    }


def outliers_table(results: Results) -> Table:
    """Mean scores over the datasets that are left when outliers are excluded."""
    if results.methods.empty:
        return Table.empty("outliers", "no run has finished")
    rows, notes = [], []
    for task in TASKS:
        scores, oracle = results.method_table(task), results.method_table(task, ORACLE)
        if scores.empty:
            continue
        exclusion = exclude_outliers(task, results.ranked_table(task))
        named = " ".join(map(results.short, exclusion.excluded)) or "none"
        notes.append(f"{TASKS[task].lower()}: {named}")
        kept, lost = list(exclusion.kept), list(exclusion.excluded)
        for method in scores:
            best = oracle[method].reindex(kept) if method in oracle else pd.Series(dtype=float)
            rows.append(
                {
                    "method": method,
                    "task": task,
                    "datasets": int(scores[method][kept].notna().sum()),
                    "excluded": int(scores[method][lost].notna().sum()),
                    "mean": scores[method][kept].mean(),
                    "oracle_mean": best.mean(),
                    "mean_of_all": scores[method].mean(),
                    "excluded_datasets": " ".join(lost),
                    "iqr_bound": exclusion.iqr_bound,
                    "median_bound": exclusion.median_bound,
                }
            )
    data = pd.DataFrame(rows)
    methods = list(data["method"].unique())
    columns = {
        task: under(f"{heading}, {METRICS[task]}", OUTLIERS) for task, heading in TASKS.items()
    }
    shown = spread(data.set_index("method"), methods, "task", columns, "Method")
    caption = (
        "Datasets whose mean over methods lies beyond 1.5 interquartile ranges (regression: or "
        f"10 times the median) are left out. Excluded, {'; '.join(notes)}."
    )
    part = Part(shown.set_axis([method_name(method) for method in methods]))
    return Table("outliers", caption, data, (part,))


def timing_table(results: Results) -> Table:
    """Minutes for every graph, with the paper's beside it in the CSV."""
    if results.graphs is None or results.graphs.empty:
        return Table.empty("timing", "no graph was estimated in this run")
    times = results.graphs.groupby(["dataset", "method"], sort=False).agg(
        seconds=("seconds", "mean"), splits=("split", "nunique"), not_ok=("status", _not_ok)
    )
    data = times.reset_index()
    data.insert(1, "abbreviation", data["dataset"].map(results.short))
    data["minutes"] = data["seconds"] / 60
    data = data.merge(_paper_minutes(), on=["dataset", "method"], how="left")
    columns = {
        method: [Column("minutes", "", name, number)]
        for method, name in GRAPHS.items()
        if (data["method"] == method).any()
    }
    cells = spread(
        data.set_index("dataset"), list(data["dataset"].unique()), "method", columns, "Dataset"
    )
    part = Part(cells.set_axis([results.short(name) for name in cells.index]))
    minutes = data.groupby("method")["minutes"]
    footer = {
        ("", GRAPHS[method]): [
            number(minutes.mean()[method]),
            number(minutes.median()[method]),
            whole(minutes.count()[method]),
        ]
        for method in columns
    }
    part = part.with_footer(pd.DataFrame(footer, index=["mean", "median", "n"]))
    caption = "Minutes to estimate a graph, mean over splits. n: datasets."
    return Table("timing", caption, data, (part,))


def _not_ok(status: pd.Series) -> int:
    return int((status != "ok").sum())


def _paper_minutes() -> pd.DataFrame:
    names = read_reference("datasets")[["abbr", "name"]].rename(columns={"name": "dataset"})
    minutes = read_reference("graph_timing").merge(names, on="abbr")
    return minutes[["dataset", "method", "minutes"]].rename(columns={"minutes": "paper_minutes"})


MAKERS: dict[str, Callable[[Results], Table]] = {
    "main": main_table,
    "comparison_matrix": comparison_matrix_table,
    "significance": significance_table,
    "controls": controls_table,
    "oracle": oracle_table,
    "mixed_model": mixed_model_table,
    "graph_methods": graph_methods_table,
    "learnable": learnable_table,
    "trees": trees_table,
    "outliers": outliers_table,
    "detailed_models": detailed_models_table,
    "detailed_graphs": detailed_graphs_table,
    "timing": timing_table,
    "cost": cost_table,
    "paper": paper_table,
    "coverage": coverage_table,
}
