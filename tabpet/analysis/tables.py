"""Every table of the results, and those about the scores of whole methods."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from tabpet.analysis.coverage import cost_table, coverage_table
from tabpet.analysis.detail import detailed_graphs_table, detailed_models_table
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
    PET,
    TABLES,
    TASKS,
    TRANSFORMERS,
    is_reference,
    method_name,
    method_short,
)
from tabpet.analysis.paper import paper_table, read_reference
from tabpet.analysis.results import Results
from tabpet.analysis.table import (
    Part,
    Table,
    make_part,
    number_text,
    p_text,
    percent_text,
    range_text,
    score_text,
    share_text,
)
from tabpet.stats import (
    Ranks,
    exclude_outliers,
    holm,
    improvement,
    rank_methods,
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
    name = "main"
    if results.methods.empty:
        return Table.empty(name, TABLES[name], "no run has finished")
    frames, parts = [], []
    for task in TASKS:
        scores = results.method_table(task)
        if scores.empty:
            continue
        settings = results.settings
        ranks = rank_methods(task, results.ranked_table(task), settings.level, settings.bootstrap)
        frames.append(_main_data(results, task, ranks))
        parts.append(_main_part(results, task, scores, ranks))
    caption = (
        "Mean test score over seeds; best in bold, second underlined, ranks among the methods that "
        "a dataset has. Oracle (alpha chosen by test) and plain references are not ranked. "
        f"n: datasets behind a mean rank; below it, its {100 * (1 - results.settings.level):g} % "
        "bootstrap interval over datasets."
    )
    data = pd.concat(frames, ignore_index=True)
    return Table(name, TABLES[name], caption, data, tuple(parts))


def _main_data(results: Results, task: str, ranks: Ranks) -> pd.DataFrame:
    """A line per dataset and method."""
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


def _main_part(results: Results, task: str, scores: pd.DataFrame, ranks: Ranks) -> Part:
    oracle = results.method_table(task, ORACLE)
    columns: dict[tuple[str, str], list[str]] = {}
    marks: list[list[str]] = []
    places = ranks.table.rank(axis=1, method="dense").reindex(scores.index)
    footer = ["mean rank", "interval", "n"]
    nothing = [""] * len(footer)
    for method in map(str, scores):
        model, plus, _ = method.partition(PET)
        group, texts = method_short(model), [score_text(value) for value in scores[method]]
        ranked = method in ranks.mean
        texts += _rank_texts(ranks, method) if ranked else nothing
        column = (group, "+PET" if plus else "base") if model in TRANSFORMERS else ("", group)
        columns[column] = texts
        signs = places[method].map({1.0: "best", 2.0: "second"}) if ranked else None
        marks.append([*(signs.fillna("") if signs is not None else [""] * len(scores)), *nothing])
        if plus and method in oracle:
            values = oracle[method].reindex(scores.index)
            columns[group, ORACLE] = [*map(score_text, values), *nothing]
            marks.append([""] * len(scores) + nothing)
    labels = [*map(results.short, scores.index), *footer]
    heading = f"{TASKS[task]}, {METRICS[task]}"
    part = make_part(labels, "Dataset", columns, heading, footer=len(footer))
    marked = pd.DataFrame(dict(enumerate(marks)), index=part.cells.index)
    return replace(part, marks=marked.set_axis(part.cells.columns, axis=1))


def _rank_texts(ranks: Ranks, method: str) -> list[str]:
    """Mean rank, its interval, and on how many datasets they stand."""
    interval = range_text(ranks.intervals["low"][method], ranks.intervals["high"][method])
    return [number_text(ranks.mean[method]), interval, str(ranks.datasets[method])]


def trees_table(results: Results) -> Table:
    """Transformers, without and with Tab-PET, against trees and plain references."""
    name = "trees"
    present = list(results.methods["method"].unique())
    transformers = [m for m in present if m.removesuffix(PET) in TRANSFORMERS]
    opponents = [m for m in present if m not in transformers]
    if not transformers or not opponents:
        missing = "transformer" if not transformers else "tree learner or reference"
        return Table.empty(name, TABLES[name], f"no {missing} has finished")
    rows = []
    for opponent in opponents:
        for method in transformers:
            for task in TASKS:
                row = _against(results, method, opponent, task)
                rows += [row] if row["datasets"] else []
    if not rows:
        reason = "no dataset has both a transformer and a tree learner or reference"
        return Table.empty(name, TABLES[name], reason)
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
    parts = tuple(
        _trees_part(rows, opponent, task)
        for opponent in data["opponent"].unique()
        for task in TASKS
        if len(rows := data[(data["opponent"] == opponent) & (data["task"] == task)])
    )
    return Table(name, TABLES[name], caption, data, parts)


def _against(results: Results, method: str, opponent: str, task: str) -> dict[str, Any]:
    scores, oracle = results.method_table(task), results.method_table(task, ORACLE)
    empty = pd.Series(float("nan"), index=scores.index)
    ours, theirs = (scores.get(one, empty) for one in (method, opponent))
    best = oracle.get(method, empty).reindex(scores.index)
    wins, best_wins = win_rate(task, ours, theirs), win_rate(task, best, theirs)
    percent, best_percent = improvement(task, theirs, ours), improvement(task, theirs, best)
    test, size, best_size = wilcoxon(percent), summarize(percent), summarize(best_percent)
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
        "oracle_p": wilcoxon(best_percent).p,
    }


def _trees_part(rows: pd.DataFrame, opponent: str, task: str) -> Part:
    columns: dict[tuple[str, str], Iterable[str]] = {
        ("", "n"): rows["datasets"].astype(str),
        ("By validation", "wins, %"): rows["win_rate"].map(share_text),
        ("By validation", "mean, %"): rows["mean_difference_pct"].map(percent_text),
        ("By validation", "median, %"): rows["median_difference_pct"].map(percent_text),
        ("By validation", "p"): rows["p"].map(p_text),
        ("By validation", "Holm"): rows["p_holm"].map(p_text),
        ("By validation", "r"): rows["effect_size"].map(number_text),
        ("By validation", "paper's p"): rows["p_paper_rule"].map(p_text),
        ("Oracle", "wins, %"): rows["oracle_win_rate"].map(share_text),
        ("Oracle", "mean, %"): rows["oracle_mean_difference_pct"].map(percent_text),
        ("Oracle", "median, %"): rows["oracle_median_difference_pct"].map(percent_text),
        ("Oracle", "p"): rows["oracle_p"].map(p_text),
    }
    labels = [method_name(method) for method in rows["method"]]
    heading = f"{TASKS[task]}, against {method_name(opponent)}"
    return make_part(labels, "Method", columns, heading)


def outliers_table(results: Results) -> Table:
    """Mean scores over the datasets that are left when outliers are excluded."""
    name = "outliers"
    if results.methods.empty:
        return Table.empty(name, TABLES[name], "no run has finished")
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
    columns: dict[tuple[str, str], list[str]] = {}
    for task, heading in TASKS.items():
        mine = data[data["task"] == task].set_index("method").reindex(methods)
        group = f"{heading}, {METRICS[task]}"
        columns |= {
            (group, "mean"): list(map(score_text, mine["mean"])),
            (group, "oracle"): list(map(score_text, mine["oracle_mean"])),
            (group, "n"): [number_text(n, 0) for n in mine["datasets"]],
            (group, "excluded"): [number_text(n, 0) for n in mine["excluded"]],
        }
    caption = (
        "Datasets whose mean over methods lies beyond 1.5 interquartile ranges (regression: or "
        f"10 times the median) are left out. Excluded, {'; '.join(notes)}."
    )
    part = make_part([method_name(method) for method in methods], "Method", columns)
    return Table(name, TABLES[name], caption, data, (part,))


def timing_table(results: Results) -> Table:
    """Minutes for every graph, with the paper's beside it in the CSV."""
    name = "timing"
    if results.graphs is None or results.graphs.empty:
        return Table.empty(name, TABLES[name], "no graph was estimated in this run")
    times = results.graphs.groupby(["dataset", "method"], sort=False).agg(
        seconds=("seconds", "mean"), splits=("split", "nunique"), not_ok=("status", _not_ok)
    )
    data = times.reset_index()
    data.insert(1, "abbreviation", data["dataset"].map(results.short))
    data["minutes"] = data["seconds"] / 60
    data = data.merge(_paper_minutes(), on=["dataset", "method"], how="left")
    table = data.pivot_table(index="dataset", columns="method", values="minutes")
    table = table.reindex(index=data["dataset"].unique(), columns=[g for g in GRAPHS if g in table])
    labels = [*map(results.short, table.index), "mean", "median", "n"]
    columns = {
        GRAPHS[str(method)]: [
            *(number_text(value) for value in table[method]),
            number_text(table[method].mean()),
            number_text(table[method].median()),
            str(table[method].notna().sum()),
        ]
        for method in table
    }
    part = Part(pd.DataFrame(columns, index=pd.Index(labels, name="Dataset")), footer=3)
    caption = "Minutes to estimate a graph, mean over splits. n: datasets."
    return Table(name, TABLES[name], caption, data, (part,))


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
