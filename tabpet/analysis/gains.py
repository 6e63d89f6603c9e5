"""Tables about improvements: how much an encoding helps the model that it is added to.

Every improvement chosen by validation has the test-chosen one ("oracle") beside it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from tabpet.analysis.formats import interval, number, p_value, percent, share, used, whole
from tabpet.analysis.names import MODELS, TASKS, encoding_name
from tabpet.analysis.results import Results
from tabpet.analysis.table import Column, Part, Table, show, spread, under
from tabpet.names import EncodingName
from tabpet.registry import CONTROLS as CONTROL_KINDS
from tabpet.stats import compare, higher_wins, holm, summarize, wilcoxon

SCOPES = (*TASKS, "all")
HEADINGS = {**TASKS, "all": "All datasets"}
OVERALL = "overall"
USED = ("datasets", "missing")
VALIDATION = (
    Column("mean", "By validation", "mean", percent),
    Column("median", "By validation", "median", percent),
    Column("positive_rate", "By validation", "> 0, %", share),
    Column("p", "By validation", "p", p_value),
)
TEST = (
    Column("oracle_mean", "Oracle", "mean", percent),
    Column("oracle_positive_rate", "Oracle", "> 0, %", share),
    Column("oracle_p", "Oracle", "p", p_value),
)
SIGNIFICANCE = (
    Column(USED, "Improvement in %", "n", used),
    Column("mean", "Improvement in %", "mean", percent),
    Column(("mean_low", "mean_high"), "Improvement in %", "CI", interval),
    Column("median", "Improvement in %", "median", percent),
    Column("minimum", "Improvement in %", "min", percent),
    Column("positive_rate", "Improvement in %", "> 0, %", share),
    Column("p", "Wilcoxon", "p", p_value),
    Column("p_holm", "Wilcoxon", "Holm", p_value),
    Column("effect_size", "Wilcoxon", "r", number),
    Column("shift", "Hodges-Lehmann", "shift", percent),
    Column(("shift_low", "shift_high"), "Hodges-Lehmann", "CI", interval),
    Column("bayes_worse", "Bayes", "worse", number),
    Column("bayes_equal", "Bayes", "equal", number),
    Column("bayes_better", "Bayes", "better", number),
    *TEST,
)
GRAPH_METHODS = (
    Column(USED, "", "n", used),
    Column("mean", "", "mean", percent),
    Column("median", "", "median", percent),
    Column("oracle_mean", "", "oracle", percent),
    Column("empty", "", "empty", whole),
    Column("cut", "", "cut", whole),
)
GRAPH_TIMES = (
    Column("graph_minutes", "Graph and encoding", "min", number),
    Column("timed_datasets", "Graph and encoding", "n", whole),
)
LEARNABLE = (
    Column(USED, "", "n", used),
    Column("mean", "", "mean", percent),
    Column("oracle_mean", "", "oracle mean", percent),
    Column("median", "", "median", percent),
    Column("minimum", "", "min", percent),
    Column("positive_rate", "", "> 0, %", share),
    Column("duels", "", "duels", whole),
    Column("win_rate", "", "wins, %", share),
)
CONTROLS = (
    Column(USED, "By validation", "n", used),
    *VALIDATION,
    *TEST,
    Column("duels", "Tab-PET against it", "n", whole),
    Column("pet_win_rate", "Tab-PET against it", "wins, %", share),
    Column("pet_advantage", "Tab-PET against it", "points", percent),
    Column("pet_p", "Tab-PET against it", "p", p_value),
    Column("pet_p_holm", "Tab-PET against it", "Holm", p_value),
    Column("oracle_pet_advantage", "Tab-PET against it", "oracle points", percent),
)
ORACLE = (
    Column(USED, "", "n", used),
    *VALIDATION,
    Column("oracle_mean", "Oracle", "mean", percent),
    Column("oracle_median", "Oracle", "median", percent),
    Column("oracle_positive_rate", "Oracle", "> 0, %", share),
    Column("oracle_p", "Oracle", "p", p_value),
    Column("inflation", "Difference", "inflation", percent),
    Column("same_alpha", "Difference", "same alpha, %", share),
)

Cell = tuple[str, str]  # model and encoding


def significance_table(results: Results) -> Table:
    """Tab-PET against its own baseline: size, tests, intervals and a second opinion."""
    main, settings = results.settings.main_encoding, results.settings
    models = [model for model in results.models if main in results.encodings_of(model)]
    if not models:
        return Table.empty("significance", no_main_encoding(results))
    rows = []
    for scope in SCOPES:
        for model in [*models, OVERALL] if len(models) > 1 else models:
            pooled = models if model == OVERALL else [model]
            gains = pd.concat([results.gains(one, main, scope) for one in pooled], keys=pooled)
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
    labels = [MODELS.get(model, "Overall") for model in data["model"]]
    parts = parts_by_scope(data.set_axis(labels), SIGNIFICANCE, "Model")
    return Table("significance", caption, data, parts)


def parts_by_scope(frame: pd.DataFrame, columns: Iterable[Column], corner: str) -> tuple[Part, ...]:
    """A part per task and for both together; the index holds the labels of rows."""
    return tuple(
        Part(show(frame[frame["task"] == scope], columns, corner), HEADINGS[scope])
        for scope in SCOPES
        if (frame["task"] == scope).any()
    )


def _tested(results: Results, gains: pd.DataFrame) -> dict[str, Any]:
    """The numbers of one row: every decision of the comparison, and the oracle's."""
    settings = results.settings
    all_of = compare(gains["improvement"], settings.level, settings.rope, settings.bootstrap)
    test = all_of.wilcoxon
    return {
        **asdict(all_of.summary),
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
        **_oracle(gains),
    }


def graph_methods_table(results: Results) -> Table:
    """Mean improvement and time of the graph estimators, per model."""
    cells = [cell for cell in _cells(results) if "-" not in cell[1]]
    if not cells:
        return Table.empty("graph_methods", "no transformer was trained with a graph's encoding")
    seconds = _graph_seconds(results)

    def states_and_time(cell: Cell, task: str, gains: pd.DataFrame) -> dict[str, Any]:
        notes = [results.graph_note(str(name), cell[1]) for name in gains.index]
        timed = seconds.get(cell[1], pd.Series(dtype=float))
        return {
            **_oracle(gains),
            "empty": notes.count("empty graph"),
            "cut": notes.count("cut graph"),
            "graph_minutes": timed.mean() / 60,
            "timed_datasets": len(timed),
        }

    data = _rows(results, [(cell, task) for cell in cells for task in TASKS], states_and_time)
    tasks = {
        task: under(f"{heading}, improvement in %", GRAPH_METHODS)
        for task, heading in TASKS.items()
    }
    tasks["regression"] += GRAPH_TIMES
    caption = (
        "Improvement over the same model without encodings, alpha chosen by validation; oracle: "
        "mean with alpha chosen by test. n: datasets used, among them those whose graph is empty "
        "(an encoding of zeros) or was cut by its time limit. Minutes per graph, mean over "
        "datasets."
    )
    shown = spread(_labelled(data), _labels(cells), "task", tasks, "Model, graph")
    return Table("graph_methods", caption, data, (Part(shown),))


def _graph_seconds(results: Results) -> dict[str, pd.Series]:
    """Seconds per dataset of every estimator, averaged over splits."""
    if results.graphs is None:
        return {}
    times = results.graphs.groupby(["method", "dataset"])["seconds"].mean().reset_index()
    return {str(method): group["seconds"] for method, group in times.groupby("method")}


def learnable_table(results: Results) -> Table:
    """Tab-PET and learnable encodings, each against its baseline and head to head."""
    main = results.settings.main_encoding
    trained = f"{main}-learnable"
    models = [m for m in results.models if {main, trained} <= set(results.encodings_of(m))]
    if not models:
        reason = f"no model has both {main} and {trained}: add {trained} to `controls`"
        return Table.empty("learnable", reason)

    def duel(cell: Cell, task: str, gains: pd.DataFrame) -> dict[str, Any]:
        model, encoding = cell
        both = results.paired(model, encoding, trained if encoding == main else main, task)
        found = higher_wins(both["improvement"], both["improvement_other"])
        wins = {"duels": found.datasets, "win_rate": found.percent, "ties": found.ties}
        return {**_oracle(gains), **wins}

    cells = [(model, encoding) for model in models for encoding in (main, trained)]
    order = [
        ((model, encoding), task) for model in models for task in TASKS
        for encoding in (main, trained)
    ]  # fmt: skip
    data = _rows(results, order, duel)
    caption = (
        "Improvement in percent over the same model without encodings. Wins: head to head against "
        "the other encoding, on the datasets that have both (duels). Learnable encodings have no "
        "alpha to choose."
    )
    tasks = {task: under(heading, LEARNABLE) for task, heading in TASKS.items()}
    shown = spread(_labelled(data), _labels(cells), "task", tasks, "Encoding")
    return Table("learnable", caption, data, (Part(shown),))


def controls_table(results: Results) -> Table:
    """What encodings without structure gain through the same choice of alpha."""
    main = results.settings.main_encoding
    kinds = [str(EncodingName(main, kind)) for kind in CONTROL_KINDS]
    cells = [
        (model, encoding)
        for model in results.models
        for encoding in (main, *kinds)
        if encoding in results.encodings_of(model) and set(kinds) & set(results.encodings_of(model))
    ]
    if not cells:
        reason = f"no control of {main} was run: list for example {main}-random in `controls`"
        return Table.empty("controls", reason)

    def duel(cell: Cell, scope: str, gains: pd.DataFrame) -> dict[str, Any]:
        model, encoding = cell
        against = {} if encoding == main else _duel(results.paired(model, main, encoding, scope))
        return {"p": wilcoxon(gains["improvement"]).p, **_oracle(gains), **against}

    columns = ["duels", "pet_win_rate", "pet_advantage", "pet_p", "oracle_pet_advantage"]
    data = _known_rows(results, cells, duel)
    data = data.reindex(columns=[*data.columns.difference(columns, sort=False), *columns])
    data["pet_p_holm"] = holm(data["pet_p"])
    caption = (
        "Improvement in percent over the same model without encodings; every encoding goes through "
        "the same choice of alpha. Random and shuffled encodings hold no structure, so what they "
        "gain is what the choice and the extra inputs gain. Tab-PET against the control: datasets "
        "with both, head to head wins, mean advantage in points, Wilcoxon with Holm within this "
        "table."
    )
    parts = parts_by_scope(_labelled(data), CONTROLS, "Model, encoding")
    return Table("controls", caption, data, parts)


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


def oracle_table(results: Results) -> Table:
    """How much better a choice on the test set looks, for every model and encoding."""
    # A learnable encoding has one alpha, so nothing to choose.
    cells = [cell for cell in _cells(results) if not EncodingName.parse(cell[1]).is_trained]
    if not cells:
        return Table.empty("oracle", "no transformer has an alpha to choose")

    def inflation(cell: Cell, scope: str, gains: pd.DataFrame) -> dict[str, Any]:
        return {
            "p": wilcoxon(gains["improvement"]).p,
            **_oracle(gains),
            "inflation": (gains["oracle_improvement"] - gains["improvement"]).mean(),
            "same_alpha": _same_alpha(results, cell, scope),
        }

    data = _known_rows(results, cells, inflation)
    caption = (
        "The same runs, alpha chosen by the mean validation score and by the mean test score over "
        "seeds. Inflation: mean difference in points. Same alpha: percent of choices that agree."
    )
    parts = parts_by_scope(_labelled(data), ORACLE, "Model, encoding")
    return Table("oracle", caption, data, parts)


def _same_alpha(results: Results, cell: Cell, scope: str) -> float:
    choices = results.choices
    mine = choices[(choices["model"] == cell[0]) & (choices["encoding"] == cell[1])]
    mine = mine[mine["dataset"].isin(results.datasets_of(scope))]
    return float(100 * (mine["alpha"] == mine["oracle_alpha"]).mean())


def no_main_encoding(results: Results) -> str:
    """Why nothing can be said about Tab-PET, and what to change."""
    main = results.settings.main_encoding
    known = sorted(set(results.choices["encoding"]))
    if not known:
        return "no transformer has finished with an encoding and its baseline"
    return f"no run with {main} has finished; set `analysis.main_encoding` to {' or '.join(known)}"


def _cells(results: Results) -> list[Cell]:
    return [(model, name) for model in results.models for name in results.encodings_of(model)]


def _rows(
    results: Results,
    asked: Iterable[tuple[Cell, str]],
    more: Callable[[Cell, str, pd.DataFrame], dict[str, Any]],
) -> pd.DataFrame:
    """A line per cell and scope: its improvements over datasets, and what a table adds to them."""
    rows = []
    for cell, scope in asked:
        gains = results.gains(*cell, scope)
        named = {"model": cell[0], "encoding": cell[1], "task": scope}
        summary = asdict(summarize(gains["improvement"]))
        rows.append({**named, **summary, **more(cell, scope, gains)})
    return pd.DataFrame(rows)


def _known_rows(
    results: Results,
    cells: Sequence[Cell],
    more: Callable[[Cell, str, pd.DataFrame], dict[str, Any]],
) -> pd.DataFrame:
    """The same for all scopes, of cells that have an improvement there."""
    asked = [
        (cell, scope)
        for scope in SCOPES
        for cell in cells
        if results.gains(*cell, scope)["improvement"].notna().any()
    ]
    return _rows(results, asked, more)


def _oracle(gains: pd.DataFrame) -> dict[str, Any]:
    summary = summarize(gains["oracle_improvement"])
    return {
        "oracle_mean": summary.mean,
        "oracle_median": summary.median,
        "oracle_positive_rate": summary.positive_rate,
        "oracle_p": wilcoxon(gains["oracle_improvement"]).p,
    }


def _labels(cells: Iterable[Cell]) -> list[str]:
    return [f"{MODELS[model]}, {encoding_name(encoding)}" for model, encoding in cells]


def _labelled(data: pd.DataFrame) -> pd.DataFrame:
    """The same rows under the names of model and encoding."""
    return data.set_axis(_labels(zip(data["model"], data["encoding"], strict=True)))
