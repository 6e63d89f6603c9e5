"""Tables about improvements: how much an encoding helps the model that it is added to.

Every improvement chosen by validation has the test-chosen one ("oracle") beside it.
"""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from tabpet.analysis.names import MODELS, TABLES, TASKS, encoding_name
from tabpet.analysis.results import Results
from tabpet.analysis.table import (
    Part,
    Table,
    interval_text,
    make_part,
    number_text,
    p_text,
    percent_text,
    share_text,
)
from tabpet.config import CONTROL_KINDS
from tabpet.stats import compare, higher_wins, holm, summarize, wilcoxon

SCOPES = (*TASKS, "all")
HEADINGS = {**TASKS, "all": "All datasets"}
OVERALL = "overall"


def significance_table(results: Results) -> Table:
    """Tab-PET against its own baseline: size, tests, intervals and a second opinion."""
    name, main, settings = "significance", results.settings.main_encoding, results.settings
    models = [model for model in results.models if main in results.encodings_of(model)]
    if not models:
        return Table.empty(name, TABLES[name], no_main_encoding(results))
    rows = []
    for scope in SCOPES:
        for model in [*models, OVERALL] if len(models) > 1 else models:
            gains = _pooled(results, models if model == OVERALL else [model], main, scope)
            if gains["improvement"].notna().any():
                rows.append(
                    {"model": model, "encoding": main, "task": scope} | _tested(results, gains)
                )
    data = pd.DataFrame(rows)
    data.insert(list(data).index("p") + 1, "p_holm", holm(data["p"]))
    level = f"{100 * (1 - settings.level):g} %"
    caption = (
        f"Improvement in percent with {encoding_name(main)} encodings, alpha chosen by validation. "
        "n: datasets used. Overall: pairs of up to three models per dataset, pooled as the paper "
        f"does; they are not independent, so its tests and intervals are too sure. CI: {level} "
        "bootstrap (mean) and signed-rank (shift) intervals. Holm: corrected within this table. "
        "r: rank-biserial effect size. Bayes: probability of worse, within "
        f"{settings.rope:g} %, better. Oracle: alpha chosen by test."
    )
    parts = tuple(
        _significance_part(data, scope) for scope in SCOPES if (data["task"] == scope).any()
    )
    return Table(name, TABLES[name], caption, data, parts)


def _tested(results: Results, gains: pd.DataFrame) -> dict[str, Any]:
    """The numbers of one row: every decision of the comparison, and the oracle's."""
    settings = results.settings
    all_of = compare(gains["improvement"], settings.level, settings.rope, settings.bootstrap)
    test, oracle = all_of.wilcoxon, gains["oracle_improvement"]
    return {
        **_summary(gains["improvement"]),
        "mean_low": all_of.interval.low,
        "mean_high": all_of.interval.high,
        "interval": all_of.interval.method,
        "p": test.p,
        "p_paper_rule": all_of.paper_wilcoxon.p,
        "test": test.method,
        "zeros": test.zeros,
        "ties": test.ties,
        "rank_sum": test.statistic,
        "effect_size": test.effect_size,
        "shift": all_of.shift.shift,
        "shift_low": all_of.shift.low,
        "shift_high": all_of.shift.high,
        "rope": settings.rope,
        "bayes_worse": all_of.bayes.worse,
        "bayes_equal": all_of.bayes.equal,
        "bayes_better": all_of.bayes.better,
        **_oracle(oracle),
    }


def _significance_part(data: pd.DataFrame, scope: str) -> Part:
    rows = data[data["task"] == scope]
    return make_part(
        [MODELS.get(model, "Overall") for model in rows["model"]],
        "Model",
        {
            ("Improvement in %", "n"): _counts(rows),
            ("Improvement in %", "mean"): rows["mean"].map(percent_text),
            ("Improvement in %", "CI"): _intervals(rows, "mean"),
            ("Improvement in %", "median"): rows["median"].map(percent_text),
            ("Improvement in %", "min"): rows["minimum"].map(percent_text),
            ("Improvement in %", "> 0, %"): rows["positive_rate"].map(share_text),
            ("Wilcoxon", "p"): rows["p"].map(p_text),
            ("Wilcoxon", "Holm"): rows["p_holm"].map(p_text),
            ("Wilcoxon", "r"): rows["effect_size"].map(number_text),
            ("Hodges-Lehmann", "shift"): rows["shift"].map(percent_text),
            ("Hodges-Lehmann", "CI"): _intervals(rows, "shift"),
            ("Bayes", "worse"): rows["bayes_worse"].map(number_text),
            ("Bayes", "equal"): rows["bayes_equal"].map(number_text),
            ("Bayes", "better"): rows["bayes_better"].map(number_text),
            ("Oracle", "mean"): rows["oracle_mean"].map(percent_text),
            ("Oracle", "> 0, %"): rows["oracle_positive_rate"].map(share_text),
            ("Oracle", "p"): rows["oracle_p"].map(p_text),
        },
        HEADINGS[scope],
    )


def graph_methods_table(results: Results) -> Table:
    """Mean improvement and time of the graph estimators, per model."""
    name = "graph_methods"
    cells = [
        (model, encoding)
        for model in results.models
        for encoding in results.encodings_of(model)
        if "-" not in encoding
    ]
    if not cells:
        return Table.empty(name, TABLES[name], "no transformer was trained with a graph's encoding")
    seconds = _graph_seconds(results)
    rows = []
    for model, encoding in cells:
        for task in TASKS:
            gains = results.gains(model, encoding, task)
            timed = seconds.get(encoding, pd.Series(dtype=float))
            notes = [results.graph_note(str(name), encoding) for name in gains.index]
            rows.append(
                {"model": model, "encoding": encoding, "task": task}
                | {**_summary(gains["improvement"]), **_oracle(gains["oracle_improvement"])}
                | {"empty": notes.count("empty graph"), "cut": notes.count("cut graph")}
                | {"graph_minutes": timed.mean() / 60, "timed_datasets": len(timed)}
            )
    data = pd.DataFrame(rows)
    shown: dict[tuple[str, str], Iterable[str]] = {}
    by_task = {task: data[data["task"] == task] for task in TASKS}
    for task, rows_of in by_task.items():
        shown |= {
            (f"{TASKS[task]}, improvement in %", "n"): _counts(rows_of),
            (f"{TASKS[task]}, improvement in %", "mean"): rows_of["mean"].map(percent_text),
            (f"{TASKS[task]}, improvement in %", "median"): rows_of["median"].map(percent_text),
            (f"{TASKS[task]}, improvement in %", "oracle"): rows_of["oracle_mean"].map(
                percent_text
            ),
            (f"{TASKS[task]}, improvement in %", "empty"): rows_of["empty"].astype(str),
            (f"{TASKS[task]}, improvement in %", "cut"): rows_of["cut"].astype(str),
        }
    times = by_task["classification"]
    shown["Graph and encoding", "min"] = times["graph_minutes"].map(number_text)
    shown["Graph and encoding", "n"] = times["timed_datasets"].astype(str)
    labels = [f"{MODELS[model]}, {encoding_name(encoding)}" for model, encoding in cells]
    caption = (
        "Improvement over the same model without encodings, alpha chosen by validation; oracle: "
        "mean with alpha chosen by test. n: datasets used, among them those whose graph is empty "
        "(an encoding of zeros) or was cut by its time limit. Minutes per graph, mean over "
        "datasets."
    )
    return Table(name, TABLES[name], caption, data, (make_part(labels, "Model, graph", shown),))


def _graph_seconds(results: Results) -> dict[str, pd.Series]:
    """Seconds per dataset of every estimator, averaged over splits."""
    if results.graphs is None:
        return {}
    times = results.graphs.groupby(["method", "dataset"])["seconds"].mean().reset_index()
    return {str(method): group["seconds"] for method, group in times.groupby("method")}


def learnable_table(results: Results) -> Table:
    """Tab-PET and learnable encodings, each against its baseline and head to head."""
    name, main = "learnable", results.settings.main_encoding
    trained = f"{main}-learnable"
    models = [m for m in results.models if {main, trained} <= set(results.encodings_of(m))]
    if not models:
        reason = f"no model has both {main} and {trained}: add {trained} to `controls`"
        return Table.empty(name, TABLES[name], reason)
    rows = []
    for model in models:
        for task in TASKS:
            both = results.paired(model, main, trained, task)
            ours, theirs = "improvement", "improvement_other"
            for encoding, mine, other in ((main, ours, theirs), (trained, theirs, ours)):
                gains = results.gains(model, encoding, task)
                duel = higher_wins(both[mine], both[other])
                rows.append(
                    {"model": model, "encoding": encoding, "task": task}
                    | {**_summary(gains["improvement"]), **_oracle(gains["oracle_improvement"])}
                    | {"duels": duel.datasets, "win_rate": duel.percent, "ties": duel.ties}
                )
    data = pd.DataFrame(rows)
    shown: dict[tuple[str, str], Iterable[str]] = {}
    for task, heading in TASKS.items():
        rows_of = data[data["task"] == task]
        shown |= {
            (heading, "n"): _counts(rows_of),
            (heading, "mean"): rows_of["mean"].map(percent_text),
            (heading, "oracle mean"): rows_of["oracle_mean"].map(percent_text),
            (heading, "median"): rows_of["median"].map(percent_text),
            (heading, "min"): rows_of["minimum"].map(percent_text),
            (heading, "> 0, %"): rows_of["positive_rate"].map(share_text),
            (heading, "duels"): rows_of["duels"].astype(str),
            (heading, "wins, %"): rows_of["win_rate"].map(share_text),
        }
    one_task = data[data["task"] == "classification"]
    labels = _cell_labels(one_task)
    caption = (
        "Improvement in percent over the same model without encodings. Wins: head to head against "
        "the other encoding, on the datasets that have both (duels). Learnable encodings have no "
        "alpha to choose."
    )
    return Table(name, TABLES[name], caption, data, (make_part(labels, "Encoding", shown),))


def controls_table(results: Results) -> Table:
    """What encodings without structure gain through the same choice of alpha."""
    name, main = "controls", results.settings.main_encoding
    kinds = [f"{main}-{kind}" for kind in CONTROL_KINDS]
    cells = [
        (model, encoding)
        for model in results.models
        for encoding in (main, *kinds)
        if encoding in results.encodings_of(model) and set(kinds) & set(results.encodings_of(model))
    ]
    if not cells:
        reason = f"no control of {main} was run: list for example {main}-random in `controls`"
        return Table.empty(name, TABLES[name], reason)
    rows = []
    for scope in SCOPES:
        for model, encoding in cells:
            gains = results.gains(model, encoding, scope)
            if not gains["improvement"].notna().any():
                continue
            rows.append(
                {"model": model, "encoding": encoding, "task": scope}
                | {**_summary(gains["improvement"]), "p": wilcoxon(gains["improvement"]).p}
                | _oracle(gains["oracle_improvement"])
                | (_duel(results.paired(model, main, encoding, scope)) if encoding != main else {})
            )
    columns = ["duels", "pet_win_rate", "pet_advantage", "pet_p", "oracle_pet_advantage"]
    data = pd.DataFrame(rows)
    data = data.reindex(columns=[*data.columns.difference(columns, sort=False), *columns])
    data["pet_p_holm"] = holm(data["pet_p"])
    caption = (
        "Improvement in percent over the same model without encodings; every encoding goes through "
        "the same choice of alpha. Random and shuffled encodings hold no structure, so what they "
        "gain is what the choice and the extra inputs gain. Tab-PET against the control: datasets "
        "with both, head to head wins, mean advantage in points, Wilcoxon with Holm within this "
        "table."
    )
    parts = tuple(_controls_part(data, scope) for scope in SCOPES if (data["task"] == scope).any())
    return Table(name, TABLES[name], caption, data, parts)


def _duel(both: pd.DataFrame) -> dict[str, Any]:
    """Tab-PET against a control, from the improvements of both."""
    advantage = both["improvement"] - both["improvement_other"]
    oracle = both["oracle_improvement"] - both["oracle_improvement_other"]
    duel = higher_wins(both["improvement"], both["improvement_other"])
    return {
        "duels": duel.datasets,
        "pet_win_rate": duel.percent,
        "pet_advantage": summarize(advantage).mean,
        "pet_p": wilcoxon(advantage).p,
        "oracle_pet_advantage": summarize(oracle).mean,
    }


def _controls_part(data: pd.DataFrame, scope: str) -> Part:
    rows = data[data["task"] == scope]
    group = "Tab-PET against it"
    return make_part(
        _cell_labels(rows),
        "Model, encoding",
        {
            ("By validation", "n"): _counts(rows),
            ("By validation", "mean"): rows["mean"].map(percent_text),
            ("By validation", "median"): rows["median"].map(percent_text),
            ("By validation", "> 0, %"): rows["positive_rate"].map(share_text),
            ("By validation", "p"): rows["p"].map(p_text),
            ("Oracle", "mean"): rows["oracle_mean"].map(percent_text),
            ("Oracle", "> 0, %"): rows["oracle_positive_rate"].map(share_text),
            ("Oracle", "p"): rows["oracle_p"].map(p_text),
            (group, "n"): rows["duels"].map(lambda n: number_text(n, 0)),
            (group, "wins, %"): rows["pet_win_rate"].map(share_text),
            (group, "points"): rows["pet_advantage"].map(percent_text),
            (group, "p"): rows["pet_p"].map(p_text),
            (group, "Holm"): rows["pet_p_holm"].map(p_text),
            (group, "oracle points"): rows["oracle_pet_advantage"].map(percent_text),
        },
        HEADINGS[scope],
    )


def oracle_table(results: Results) -> Table:
    """How much better a choice on the test set looks, for every model and encoding."""
    name = "oracle"
    cells = [
        (model, encoding)
        for model in results.models
        for encoding in results.encodings_of(model)
        if not encoding.endswith("-learnable")  # which has one alpha, so nothing to choose
    ]
    if not cells:
        return Table.empty(name, TABLES[name], "no transformer has an alpha to choose")
    rows = []
    for scope in SCOPES:
        for model, encoding in cells:
            gains = results.gains(model, encoding, scope)
            if not gains["improvement"].notna().any():
                continue
            rows.append(
                {"model": model, "encoding": encoding, "task": scope}
                | {**_summary(gains["improvement"]), "p": wilcoxon(gains["improvement"]).p}
                | _oracle(gains["oracle_improvement"])
                | {
                    "inflation": (gains["oracle_improvement"] - gains["improvement"]).mean(),
                    "same_alpha": _same_alpha(results, model, encoding, scope),
                }
            )
    data = pd.DataFrame(rows)
    caption = (
        "The same runs, alpha chosen by the mean validation score and by the mean test score over "
        "seeds. Inflation: mean difference in points. Same alpha: percent of choices that agree."
    )
    parts = tuple(_oracle_part(data, scope) for scope in SCOPES if (data["task"] == scope).any())
    return Table(name, TABLES[name], caption, data, parts)


def _same_alpha(results: Results, model: str, encoding: str, scope: str) -> float:
    choices = results.choices
    mine = choices[(choices["model"] == model) & (choices["encoding"] == encoding)]
    mine = mine[mine["dataset"].isin(results.datasets_of(scope))]
    return float(100 * (mine["alpha"] == mine["oracle_alpha"]).mean())


def _oracle_part(data: pd.DataFrame, scope: str) -> Part:
    rows = data[data["task"] == scope]
    shown: dict[tuple[str, str], Iterable[str]] = {("", "n"): _counts(rows)}
    for group, prefix in (("By validation", ""), ("Oracle", "oracle_")):
        shown |= {
            (group, "mean"): rows[f"{prefix}mean"].map(percent_text),
            (group, "median"): rows[f"{prefix}median"].map(percent_text),
            (group, "> 0, %"): rows[f"{prefix}positive_rate"].map(share_text),
            (group, "p"): rows[f"{prefix}p"].map(p_text),
        }
    shown["Difference", "inflation"] = rows["inflation"].map(percent_text)
    shown["Difference", "same alpha, %"] = rows["same_alpha"].map(share_text)
    labels = _cell_labels(rows)
    return make_part(labels, "Model, encoding", shown, HEADINGS[scope])


def no_main_encoding(results: Results) -> str:
    """Why nothing can be said about Tab-PET, and what to change."""
    main = results.settings.main_encoding
    known = sorted(set(results.choices["encoding"]))
    if not known:
        return "no transformer has finished with an encoding and its baseline"
    return f"no run with {main} has finished; set `analysis.main_encoding` to {' or '.join(known)}"


def _pooled(results: Results, models: list[str], encoding: str, scope: str) -> pd.DataFrame:
    frames = [results.gains(model, encoding, scope) for model in models]
    return pd.concat(frames, keys=models)


def _summary(percent: pd.Series) -> dict[str, Any]:
    summary = summarize(percent)
    return {
        "datasets": summary.datasets,
        "missing": summary.missing,
        "mean": summary.mean,
        "median": summary.median,
        "minimum": summary.minimum,
        "positive_rate": summary.positive_rate,
    }


def _oracle(percent: pd.Series) -> dict[str, Any]:
    summary = summarize(percent)
    return {
        "oracle_mean": summary.mean,
        "oracle_median": summary.median,
        "oracle_positive_rate": summary.positive_rate,
        "oracle_p": wilcoxon(percent).p,
    }


def _cell_labels(rows: pd.DataFrame) -> list[str]:
    pairs = zip(rows["model"], rows["encoding"], strict=True)
    return [f"{MODELS[model]}, {encoding_name(encoding)}" for model, encoding in pairs]


def _counts(rows: pd.DataFrame) -> list[str]:
    """Datasets used, and of how many where some are missing."""
    pairs = zip(rows["datasets"], rows["missing"], strict=True)
    return [f"{used}/{used + missing}" if missing else f"{used}" for used, missing in pairs]


def _intervals(rows: pd.DataFrame, name: str) -> list[str]:
    pairs = zip(rows[f"{name}_low"], rows[f"{name}_high"], strict=True)
    return [interval_text(low, high) for low, high in pairs]
