"""What was planned and what came of it, and how long it took."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pandas as pd

from tabpet.analysis.results import Results
from tabpet.analysis.selection import CHOICE
from tabpet.analysis.table import Column, Panel, Table, declared, show
from tabpet.names import encoding_label, model_label, treatment_label
from tabpet.registry import DEFAULT, TUNED
from tabpet.runs import STATUSES

JOB = [*CHOICE, "seed"]
NO_GRAPH = "no graph"  # skipped, because there is no graph to encode
OUTCOMES = (*STATUSES[:2], NO_GRAPH, *STATUSES[2:])


COUNTS = [Column((outcome,), "", outcome) for outcome in OUTCOMES]
JOBS = Column(("planned",), "", "jobs")


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
    jobs = job_outcomes(results.scores)
    if jobs.empty:
        return Table.empty("coverage", "no run was planned")
    data = _count(jobs, [*CHOICE, "task"])
    reasons = jobs[jobs["outcome"] != "ok"].groupby(CHOICE, sort=False)["reason"].first()
    data = data.merge(reasons.reset_index(), on=CHOICE, how="left")
    done = data[data["planned"] == data["ok"]].groupby(["model", "encoding"])["dataset"].nunique()
    summary = _count(jobs, ["model", "encoding"]).set_index(["model", "encoding"])
    summary["datasets"] = data.groupby(["model", "encoding"])["dataset"].nunique()
    summary["complete"] = done.reindex(summary.index, fill_value=0)
    labelled = summary.set_axis([treatment_label(*treatment) for treatment in summary.index])
    total = show(summary.sum().to_frame("all").T, [JOBS, *COUNTS], "Model, encoding")
    columns = [*declared("coverage"), JOBS, *(replace(c, format=_unless_zero) for c in COUNTS)]
    panel = Panel(show(labelled, columns, "Model, encoding")).with_footer(total)
    return Table.of("coverage", data, [panel])


def _unless_zero(jobs: int) -> str:
    return str(jobs) if jobs else ""


def _count(jobs: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Jobs planned and their outcomes per group, in the order of the runs."""
    ended = pd.get_dummies(jobs["outcome"], dtype=int).reindex(columns=list(OUTCOMES), fill_value=0)
    ended.insert(0, "planned", 1)
    return ended.groupby([jobs[key] for key in keys], sort=False).sum().reset_index()


def cost_table(results: Results) -> Table:
    """Hours of every stage: a job's seconds count once, however many rows it wrote."""
    rows = list(_stage_rows(results))
    if not rows:
        return Table.empty("cost", "no job has written its time")
    data = pd.DataFrame(rows)
    total = data[["jobs", "timed", "hours"]].agg(["sum"]).set_axis(["all"])
    total = total.astype({"jobs": int, "timed": int})
    longest = Column(("longest",), "", "longest")
    panel = Panel(show(data.set_index("stage"), [*declared("cost"), longest], "Stage"))
    panel = panel.with_footer(show(total, declared("cost", ""), "Stage"))
    return Table.of("cost", data, [panel])


def _stage_rows(results: Results) -> Iterator[dict[str, Any]]:
    if results.graphs is not None and len(results.graphs):
        for method, graphs in results.graphs.groupby("method", sort=False):
            yield _stage_row(results, f"Graphs: {encoding_label(str(method))}", graphs)
    jobs = job_outcomes(results.scores)
    jobs = jobs[~jobs["outcome"].isin(["skipped", NO_GRAPH, "missing", "outdated"])]
    kinds = jobs["encoding"].map({TUNED: "Tuning", DEFAULT: "References"}).fillna("Training")
    stage = kinds + ": " + jobs["model"].map(model_label)
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
