"""The paper's published tables as reference data, and this run beside them, score by score.

Files call the place of a score its `cell`: a method, or `ft_transformer/spearman+pet`.
"""

from dataclasses import asdict
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from tabpet.analysis.results import (
    GAINS,
    METHODS,
    METRICS,
    NULL_CONTROLS,
    TASKS,
    TREES,
    Results,
    by_variant,
    present,
)
from tabpet.analysis.table import Column, Panel, Table, declared, show, spread, under
from tabpet.formats import percent, whole
from tabpet.names import EncodingName, Method, Variant, method_label, model_label, treatment_label
from tabpet.stats import summarize
from tabpet.stats.values import direction

REFERENCE = Path(__file__).parent / "reference"
PAPER_ENCODING, GRAPH_MODEL = "spearman", "ft_transformer"
ROUNDING = 5e-5  # half of the last digit that the paper prints
NUMBERS = ["seeds", "splits", "test", "sd", "improvement"]
NUMBERS += ["oracle_test", "oracle_sd", "oracle_improvement"]
VERDICTS = ("within", "better", "worse", "not run")


@cache
def read_reference(name: str, dtype: str | None = None) -> pd.DataFrame:
    """One table of the paper: `main_results`, `graph_methods`, ...; `str` keeps printed digits."""
    # Only empty fields are missing: `NA` could be an abbreviation.
    path = REFERENCE / f"{name}.csv"
    return pd.read_csv(path, dtype=dtype, keep_default_na=False, na_values=[""])


def _dataset_names() -> pd.Series:
    """The names of the paper's datasets by abbreviation."""
    return read_reference("datasets").set_index("abbr")["name"]


def graph_minutes() -> pd.DataFrame:
    """The paper's minutes per dataset and estimator."""
    minutes = read_reference("graph_timing").rename(columns={"minutes": "paper_minutes"})
    minutes["dataset"] = minutes["abbr"].map(_dataset_names())
    return minutes[["dataset", "method", "paper_minutes"]]


def paper_table(results: Results) -> Table:
    """Every published score beside the one of this run, with a verdict."""
    published = _published_scores()
    if not published["dataset"].isin(results.methods["dataset"]).any():
        reason = "no dataset of the paper was run: for all 50, --configfile configs/paper.yaml"
        return Table.empty("paper", reason)
    data = published.merge(_our_scores(results), on=["dataset", "cell"], how="left")
    for name, sd in (("spread", "sd"), ("oracle_spread", "oracle_sd")):
        data[name] = np.sqrt(data["paper_sd"] ** 2 + data[sd].fillna(0) ** 2)
    sign = direction(data["task"])
    data["advantage"] = (data["test"] - data["paper"]) * sign
    data["verdict"] = _verdicts(data["advantage"], data["spread"])
    oracle = (data["oracle_test"] - data["paper"]) * sign
    data["oracle_verdict"] = np.where(oracle.notna(), _verdicts(oracle, data["oracle_spread"]), "")
    panels = (_verdict_panel(data), *(_main_panel(results, data, task) for task in TASKS))
    return Table.of("paper", data.drop(columns=["label", "oracle_spread"]), filter(None, panels))


def _verdicts(advantage: pd.Series, spread: pd.Series) -> np.ndarray:
    conditions = [advantage.isna(), advantage.abs() <= spread + ROUNDING, advantage > 0]
    return np.select(conditions, ["not run", "within", "better"], default="worse")


def _published_scores() -> pd.DataFrame:
    """The paper's main table, its graph estimators, and of the learnable ones what is new there."""
    main = read_reference("main_results").assign(table="main")
    graphs = read_reference("graph_methods").assign(table="graph methods")
    graphs = graphs.rename(columns={"method": "encoding"})
    # Its other two columns are Spearman's of the graph estimators.
    learnable = read_reference("learnable").query("variant == 'learnable'")
    learned = str(EncodingName(PAPER_ENCODING, "learnable"))
    base = {"baseline_mean": "mean", "baseline_std": "std"}
    pet = {"pet_mean": "mean", "pet_std": "std"}
    treated = pd.concat(
        [
            graphs.drop(columns="improvement_pct").rename(columns=base).assign(column=", base"),
            graphs.rename(columns=pet).assign(variant="pet", column=", +PET"),
            learnable.assign(table="learnable", encoding=learned, variant="pet", column=""),
        ]
    ).fillna({"variant": ""})
    keys = [_score_key(GRAPH_MODEL, *row) for row in treated[["encoding", "variant"]].to_numpy()]
    labels = [treatment_label(GRAPH_MODEL, encoding) for encoding in treated["encoding"]]
    blocks = [
        main.assign(cell=main["model"], label=main["model"].map(method_label)),
        treated.assign(cell=keys, label=labels + treated["column"]),
    ]
    names = {"mean": "paper", "std": "paper_sd", "improvement_pct": "paper_improvement"}
    columns = ["abbr", "task", "table", "cell", *names, "label"]
    scores = pd.concat(blocks, ignore_index=True)[columns]
    scores.insert(0, "dataset", scores["abbr"].map(_dataset_names()))
    return scores.rename(columns=names)


def _score_key(model: str, encoding: str, variant: Variant) -> str:
    """Where a score stands that is not in the main table."""
    return f"{model}/{encoding}{Method(model, variant).suffix}"


def _our_scores(results: Results) -> pd.DataFrame:
    """Scores of this run under the paper's names; its main encoding is Spearman."""
    models = by_variant(results.averages).rename(columns={"oracle": "oracle_test"})
    main = models[models["encoding"] == PAPER_ENCODING]
    trees = results.methods[results.methods["method"].isin(TREES)]
    frames = [
        models.assign(
            cell=list(map(_score_key, models["model"], models["encoding"], models["variant"]))
        ),
        main.assign(cell=list(map(str, map(Method, main["model"], main["variant"])))),
        trees[["dataset", "seeds", "splits", "test", "sd"]].assign(cell=trees["method"]),
    ]
    filled = [frame for frame in frames if len(frame)] or [pd.DataFrame()]
    scores = pd.concat(filled).reindex(columns=["dataset", "cell", *NUMBERS])
    return scores.astype(dict.fromkeys(NUMBERS, float))


def _verdict_panel(data: pd.DataFrame) -> Panel:
    """How many scores of each kind came out how."""
    counts = pd.crosstab([data["label"], data["task"]], data["verdict"])
    counts = counts.reindex(columns=list(VERDICTS), fill_value=0).reset_index("task")
    counts = counts.loc[data["label"].unique()]
    columns = {
        task: [Column((verdict,), heading, verdict, whole) for verdict in VERDICTS]
        for task, heading in TASKS.items()
    }
    return Panel(spread(counts, "task", columns, "Cell"), "Cells by verdict")


def _main_panel(results: Results, data: pd.DataFrame, task: str) -> Panel | None:
    """The main table score by score: this run, the paper, and a sign for the verdict."""
    main = data[(data["table"] == "main") & (data["task"] == task)]
    run = main[main["dataset"].isin(results.datasets_of(task))]
    if run.empty:
        return None
    columns = {}
    for method in map(Method.parse, present(METHODS, main["cell"])):
        shown = declared("paper")
        if method.variant != "pet":
            shown = [column for column in shown if column.heading != "oracle"]
        columns[str(method)] = under(method.short_label, shown)
    heading = f"{TASKS[task]} ({METRICS[task]}); = within, + better, − worse than the paper"
    texts = spread(results.by_dataset(run), "cell", columns, "Dataset", results.short)
    return Panel(texts, heading, beside=4)


def claims_table(results: Results) -> Table:
    """Published gains beside those of this run: by validation, by test, and without structure.

    A line per dataset of the paper that was run with Spearman encodings.
    """
    published = read_reference("graph_methods")
    published = published[published["method"] == PAPER_ENCODING]
    claims = published.set_index(published["abbr"].map(_dataset_names()))["improvement_pct"]
    data = _graph_gains(results, PAPER_ENCODING, "validation", "oracle")
    data = data.join(claims.astype(float).rename("published"), how="inner")
    if data.empty:
        reason = (
            f"{model_label(GRAPH_MODEL)} with {PAPER_ENCODING} encodings ran on none of its tables"
        )
        return Table.empty("claims", reason)
    columns = declared("claims")
    for kind in NULL_CONTROLS:
        both = {kind: "by validation", f"{kind}_oracle": "by test"}
        data = data.join(_graph_gains(results, str(EncodingName(PAPER_ENCODING, kind)), *both))
        group = f"This run, {kind}"
        columns += [Column((key,), group, heading, percent) for key, heading in both.items()]
    numbers = [key for column in columns for key in column.keys]
    data = data[numbers].rename_axis("dataset")
    # Not by pandas: it warns of a control that was not run.
    summaries = {name: asdict(summarize(data[name])) for name in numbers}
    summary = pd.DataFrame(summaries).loc[["mean", "median"]]
    labelled = data.set_axis([results.short(str(name)) for name in data.index])
    panel = Panel(show(labelled, columns, "Dataset"))
    panel = panel.with_footer(show(summary, columns, "Dataset"))
    return Table.of("claims", data.reset_index(), [panel])


def _graph_gains(results: Results, encoding: str, validation: str, oracle: str) -> pd.DataFrame:
    averages = results.averages
    gains = averages[(averages["model"] == GRAPH_MODEL) & (averages["encoding"] == encoding)]
    return gains.set_index("dataset")[GAINS].set_axis([validation, oracle], axis=1)
