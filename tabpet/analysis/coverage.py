"""What was planned and what came of it, and how long it took."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from tabpet.analysis.names import MODELS, TABLES, TRANSFORMERS, encoding_name
from tabpet.analysis.results import Results
from tabpet.analysis.table import Part, Table, make_part, number_text
from tabpet.plan import DEFAULT, TUNED
from tabpet.runs import STATUSES

JOB = ["dataset", "split", "model", "encoding", "seed"]
CELL = JOB[:-1]
NO_GRAPH = "no graph"  # skipped, because there is no graph to encode
OUTCOMES = (*STATUSES[:2], NO_GRAPH, *STATUSES[2:])


def row_outcomes(scores: pd.DataFrame) -> pd.Series:
    """The status of every row, with those apart that were skipped for want of a graph."""
    no_graph = (scores["status"] == "skipped") & (scores["graph_state"] == "failed").fillna(False)
    return scores["status"].mask(no_graph, NO_GRAPH)


def job_outcomes(scores: pd.DataFrame) -> pd.DataFrame:
    """A line per job (run file): its first outcome that is not ok, the reason, and its seconds."""
    outcome = row_outcomes(scores)
    trouble = scores.assign(outcome=outcome, calm=outcome == "ok").sort_values(
        "calm", kind="stable"
    )
    jobs = trouble.groupby(JOB, sort=False).agg(
        task=("task", "first"),
        outcome=("outcome", "first"),
        reason=("reason", "first"),
        # All rows of a job have its seconds; a file may hold alphas of several jobs.
        seconds=("seconds", lambda seconds: seconds.drop_duplicates().sum(min_count=1)),
    )
    order = scores[JOB].drop_duplicates()
    return order.merge(jobs.reset_index(), on=JOB, how="left")


def coverage_table(results: Results) -> Table:
    """Jobs planned and finished, per model and encoding; per dataset in the CSV."""
    name = "coverage"
    jobs = job_outcomes(results.scores)
    if jobs.empty:
        return Table.empty(name, TABLES[name], "no run was planned")
    data = _count(jobs, [*CELL, "task"])
    reasons = jobs[jobs["outcome"] != "ok"].groupby(CELL, sort=False)["reason"].first()
    data = data.merge(reasons.reset_index(), on=CELL, how="left")
    summary = _count(jobs, ["model", "encoding"])
    done = data[data["planned"] == data["ok"]].groupby(["model", "encoding"])["dataset"].nunique()
    datasets = data.groupby(["model", "encoding"])["dataset"].nunique()
    keys = list(zip(summary["model"], summary["encoding"], strict=True))
    columns: dict[str, list[str]] = {
        "datasets": [str(datasets[key]) for key in keys],
        "complete": [str(done.get(key, 0)) for key in keys],
        "jobs": [str(n) for n in summary["planned"]],
    }
    for outcome in OUTCOMES:
        columns[outcome] = [str(n) if n else "" for n in summary[outcome]]
    labels = [_cell_name(model, encoding) for model, encoding in keys]
    total = [str(sum(int(text or 0) for text in texts)) for texts in columns.values()]
    cells = pd.DataFrame(columns, index=pd.Index(labels, name="Model, encoding"))
    cells.loc["all"] = ["", "", *total[2:]]
    caption = (
        "A job is one dataset, split, model, encoding and seed. Complete: datasets whose jobs all "
        "ended well. Timeout: cut short, the best state so far is scored and used. Skipped: the "
        "model can't be used on the dataset. No graph: its estimator failed or had no time. "
        "Outdated: made with other settings or inputs, left out. Missing: there is no run file."
    )
    return Table(name, TABLES[name], caption, data, (Part(cells, footer=1),))


def _count(jobs: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Jobs planned and their outcomes per group, in the order of the runs."""
    counts = jobs.groupby(keys, sort=False)["outcome"].value_counts().unstack(fill_value=0)  # noqa: PD010
    counts = counts.reindex(columns=list(OUTCOMES), fill_value=0).astype(int)
    counts.insert(0, "planned", counts.sum(axis=1))
    order = jobs[keys].drop_duplicates()
    return order.merge(counts.reset_index(), on=keys)


def cost_table(results: Results) -> Table:
    """Hours of every stage: a job's seconds count once, however many rows it wrote."""
    name = "cost"
    rows = list(_stage_rows(results))
    if not rows:
        return Table.empty(name, TABLES[name], "no job has written its time")
    data = pd.DataFrame(rows)
    labels = [*data["stage"], "all"]
    total = data[["jobs", "timed", "hours"]].sum()
    columns: dict[tuple[str, str], list[str]] = {
        ("", "jobs"): [str(n) for n in [*data["jobs"], total["jobs"].astype(int)]],
        ("", "with a time"): [str(n) for n in [*data["timed"], total["timed"].astype(int)]],
        ("", "hours"): [number_text(h) for h in [*data["hours"], total["hours"]]],
        ("Seconds per job", "mean"): [*(number_text(s, 1) for s in data["mean_seconds"]), ""],
        ("Seconds per job", "median"): [*(number_text(s, 1) for s in data["median_seconds"]), ""],
        ("Seconds per job", "max"): [*(number_text(s, 1) for s in data["max_seconds"]), ""],
        ("", "longest"): [*data["longest"], ""],
    }
    part = make_part(labels, "Stage", columns, footer=1)
    caption = (
        "Wall-clock hours added up over jobs, whatever ran at the same time. All alphas of a seed "
        "train in one job."
    )
    return Table(name, TABLES[name], caption, data, (part,))


def _stage_rows(results: Results) -> Iterator[dict[str, Any]]:
    if results.graphs is not None and len(results.graphs):
        for method, graphs in results.graphs.groupby("method", sort=False):
            yield _stage_row(results, f"Graphs: {encoding_name(str(method))}", graphs)
    jobs = job_outcomes(results.scores)
    jobs = jobs[~jobs["outcome"].isin(["skipped", NO_GRAPH, "missing", "outdated"])]
    stage = jobs["encoding"].map(_kind) + ": " + jobs["model"].map(lambda one: MODELS.get(one, one))
    for name, group in jobs.groupby(stage, sort=False):
        yield _stage_row(results, str(name), group)


def _stage_row(results: Results, stage: str, jobs: pd.DataFrame) -> dict[str, Any]:
    seconds = jobs["seconds"].astype(float).dropna()
    longest = str(jobs.loc[seconds.idxmax(), "dataset"]) if len(seconds) else ""
    return {
        "stage": stage,
        "jobs": len(jobs),
        "timed": len(seconds),
        "hours": seconds.sum() / 3600,
        "mean_seconds": seconds.mean(),
        "median_seconds": seconds.median(),
        "max_seconds": seconds.max(),
        "longest": results.short(longest) if longest else "",
    }


def _kind(encoding: str) -> str:
    return {TUNED: "Tuning", DEFAULT: "References"}.get(encoding, "Training")


def _cell_name(model: str, encoding: str) -> str:
    if model in TRANSFORMERS:
        return f"{MODELS[model]}, {encoding_name(encoding)}"
    return f"{MODELS.get(model, model)}, {encoding}"
