"""Tables about improvements: how much an encoding helps the model that it is added to.

Every improvement chosen by validation has the test-chosen one ("oracle") beside it.
"""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from itertools import product
from typing import Any

import pandas as pd

from tabpet.analysis.results import TASKS, Results
from tabpet.analysis.table import Panel, Table, declared, panels_by, spread, under
from tabpet.names import EncodingName, model_label, treatment_label
from tabpet.registry import CONTROLS as CONTROL_KINDS
from tabpet.stats import compare, higher_wins, holm, summarize, wilcoxon

SCOPES = {**TASKS, "all": "All datasets"}
OVERALL = "overall"
POOLED = (
    "Overall: pairs of several models per dataset, pooled as the paper does; they are not "
    "independent, so its tests and intervals are too sure. "
)
NO_GAIN = "no dataset has an improvement: every baseline is 0"

Treatment = tuple[str, str]  # model and encoding
# What a table adds to the improvements of a treatment in a scope.
More = Callable[[Treatment, str, pd.DataFrame], dict[str, Any]]


def significance_table(results: Results) -> Table:
    """Tab-PET against its own baseline: size, tests, intervals and a second opinion."""
    main = results.settings.main_encoding
    models = [model for model in results.models if main in results.encodings_of(model)]
    if not models:
        return Table.empty("significance", no_main_encoding(results))
    pooled = {model: [model] for model in models} | ({OVERALL: models} if models[1:] else {})
    rows = []
    for scope, (model, together) in product(SCOPES, pooled.items()):
        gains = pd.concat([results.gains(name, main, scope) for name in together])
        keys = {"model": model, "encoding": main, "task": scope}
        if gains["improvement"].notna().any():
            rows.append({**keys, **_tested(results, gains)})
    if not rows:
        return Table.empty("significance", NO_GAIN)
    data = pd.DataFrame(rows)
    data.insert(list(data).index("p") + 1, "p_holm", holm(data["p"]))
    labels = ["Overall" if model == OVERALL else model_label(model) for model in data["model"]]
    panels = panels_by_scope("significance", data.set_axis(labels), "Model")
    words = {**results.words, "pooled": POOLED if OVERALL in pooled else ""}
    return Table.of("significance", data, panels, **words)


def _tested(results: Results, gains: pd.DataFrame) -> dict[str, Any]:
    """The numbers of one row: every decision of the comparison, and the oracle's."""
    settings = results.settings
    comparison = compare(gains["improvement"], settings.level, settings.rope, settings.bootstrap)
    test, shift, interval = comparison.wilcoxon, comparison.shift, comparison.interval
    return {
        **asdict(comparison.summary),
        "mean_low": interval.low,
        "mean_high": interval.high,
        "interval": interval.method,
        "p": test.p,
        "p_paper_rule": comparison.paper_wilcoxon.p,
        "test": test.method,
        "zeros": test.zeros,
        "ties": test.ties,
        "rank_sum": test.statistic,
        "effect_size": test.effect_size,
        "shift": shift.shift,
        "shift_low": shift.low,
        "shift_high": shift.high,
        "rope": settings.rope,
        "bayes_worse": comparison.bayes.worse,
        "bayes_equal": comparison.bayes.equal,
        "bayes_better": comparison.bayes.better,
        **_oracle(gains),
    }


def graph_methods_table(results: Results) -> Table:
    """Mean improvement and time of the graph estimators, per model."""
    treatments = _treatments(results, lambda name: name.control is None)
    if not treatments:
        return Table.empty("graph_methods", "no transformer was trained with a graph's encoding")

    def states_and_time(treatment: Treatment, scope: str, gains: pd.DataFrame) -> dict[str, Any]:
        notes = [results.graph_note(str(name), treatment[1]) for name in gains.index]
        seconds = _graph_seconds(results, treatment[1])
        return {
            "empty": notes.count("empty graph"),
            "cut": notes.count("cut graph"),
            "graph_minutes": seconds.mean() / 60,
            "timed_datasets": len(seconds),
        }

    data = _rows(results, product(treatments, TASKS), states_and_time).drop(columns="p")
    gains = declared("graph_methods", "")
    tasks = {task: under(f"{label}, improvement in %", gains) for task, label in TASKS.items()}
    tasks["regression"] += declared("graph_methods", "Graph and encoding")
    return Table.of("graph_methods", data, [Panel(spread(data, "task", tasks, "Model, graph"))])


def _graph_seconds(results: Results, method: str) -> pd.Series:
    """Seconds per dataset of an estimator, averaged over splits."""
    if results.graphs is None:
        return pd.Series(dtype=float)
    graphs = results.graphs[results.graphs["method"] == method]
    return graphs.groupby("dataset")["seconds"].mean()


def learnable_table(results: Results) -> Table:
    """Tab-PET and learnable encodings, each against its baseline and head to head."""
    main = results.settings.main_encoding
    trained = results.control_of_main("learnable")
    models = [m for m in results.models if {main, trained} <= set(results.encodings_of(m))]
    if not models:
        reason = f"no model has both {main} and {trained}: add {trained} to `controls`"
        return Table.empty("learnable", reason)

    def duel(treatment: Treatment, scope: str, gains: pd.DataFrame) -> dict[str, Any]:
        model, encoding = treatment
        both = results.paired(model, encoding, trained if encoding == main else main, scope)
        wins = higher_wins(both["improvement"], both["improvement_other"])
        return {"duels": wins.datasets, "win_rate": wins.percent, "ties": wins.ties}

    order = product(models, TASKS, (main, trained))
    data = _rows(results, [((model, encoding), task) for model, task, encoding in order], duel)
    data = data.drop(columns="p")
    tasks = {task: under(heading, declared("learnable")) for task, heading in TASKS.items()}
    return Table.of("learnable", data, [Panel(spread(data, "task", tasks, "Encoding"))])


def controls_table(results: Results) -> Table:
    """What encodings without structure gain through the same choice of alpha."""
    main = results.settings.main_encoding
    controls = list(map(results.control_of_main, CONTROL_KINDS))
    treatments = [
        (model, encoding)
        for model, encoding in product(results.models, (main, *controls))
        if encoding in (ran := results.encodings_of(model)) and set(controls) & set(ran)
    ]
    if not treatments:
        reason = f"no control of {main} was run: list for example {main}-random in `controls`"
        return Table.empty("controls", reason)

    def duel(treatment: Treatment, scope: str, gains: pd.DataFrame) -> dict[str, Any]:
        model, encoding = treatment
        return {} if encoding == main else _duel(results.paired(model, main, encoding, scope))

    data = _known_rows(results, treatments, duel)
    if data.empty:
        return Table.empty("controls", NO_GAIN)
    columns = ["duels", "pet_win_rate", "pet_advantage", "pet_p", "oracle_pet_advantage"]
    data = data.reindex(columns=[*data.columns.difference(columns, sort=False), *columns])
    data["pet_p_holm"] = holm(data["pet_p"])
    return Table.of("controls", data, panels_by_scope("controls", data, "Model, encoding"))


def _duel(both: pd.DataFrame) -> dict[str, Any]:
    """Tab-PET against a control, from the improvements of both."""
    advantage = both["improvement"] - both["improvement_other"]
    oracle = both["oracle_improvement"] - both["oracle_improvement_other"]
    wins = higher_wins(both["improvement"], both["improvement_other"])
    return {
        "duels": wins.datasets,
        "pet_win_rate": wins.percent,
        "pet_advantage": summarize(advantage).mean,
        "pet_p": wilcoxon(advantage).p,
        "oracle_pet_advantage": summarize(oracle).mean,
    }


def oracle_table(results: Results) -> Table:
    """How much better a choice on the test set looks, for every model and encoding."""
    # A learnable encoding has one alpha, so nothing to choose.
    treatments = _treatments(results, lambda name: not name.is_trained)
    if not treatments:
        return Table.empty("oracle", "no transformer has an alpha to choose")

    def inflation(treatment: Treatment, scope: str, gains: pd.DataFrame) -> dict[str, Any]:
        choices = results.choices.set_index(["model", "encoding"]).loc[[treatment]]
        choices = choices[choices["dataset"].isin(results.datasets_of(scope))]
        return {
            "inflation": (gains["oracle_improvement"] - gains["improvement"]).mean(),
            "same_alpha": 100 * (choices["alpha"] == choices["oracle_alpha"]).mean(),
        }

    data = _known_rows(results, treatments, inflation)
    if data.empty:
        return Table.empty("oracle", NO_GAIN)
    return Table.of("oracle", data, panels_by_scope("oracle", data, "Model, encoding"))


def no_main_encoding(results: Results) -> str:
    """Why nothing can be said about Tab-PET, and what to change."""
    main = results.settings.main_encoding
    trained = sorted(set(results.choices["encoding"]))
    if not trained:
        return "no transformer has finished with an encoding and its baseline"
    return (
        f"no run with {main} has finished; set `analysis.main_encoding` to {' or '.join(trained)}"
    )


def panels_by_scope(name: str, labelled: pd.DataFrame, corner: str) -> list[Panel]:
    """A panel per task, and one for both together."""
    return panels_by(["task"], labelled, declared(name), corner, SCOPES.__getitem__)


def _treatments(results: Results, wanted: Callable[[EncodingName], bool]) -> list[Treatment]:
    return [
        (model, name)
        for model in results.models
        for name in results.encodings_of(model)
        if wanted(EncodingName.parse(name))
    ]


def _rows(results: Results, order: Iterable[tuple[Treatment, str]], more: More) -> pd.DataFrame:
    """A row per treatment and scope: its improvements, and what a table adds to them."""
    rows, labels = [], []
    for (model, encoding), scope in order:
        gains = results.gains(model, encoding, scope)
        keys = {"model": model, "encoding": encoding, "task": scope}
        summary = asdict(summarize(gains["improvement"])) | {"p": wilcoxon(gains["improvement"]).p}
        added = more((model, encoding), scope, gains)
        rows.append({**keys, **summary, **_oracle(gains), **added})
        labels.append(treatment_label(model, encoding))
    return pd.DataFrame(rows, index=labels)


def _known_rows(results: Results, treatments: list[Treatment], more: More) -> pd.DataFrame:
    """The same for all scopes, of treatments that have an improvement there."""
    order = [
        (treatment, scope)
        for scope, treatment in product(SCOPES, treatments)
        if results.gains(*treatment, scope)["improvement"].notna().any()
    ]
    return _rows(results, order, more)


def _oracle(gains: pd.DataFrame) -> dict[str, Any]:
    summary = summarize(gains["oracle_improvement"])
    return {
        "oracle_mean": summary.mean,
        "oracle_median": summary.median,
        "oracle_positive_rate": summary.positive_rate,
        "oracle_p": wilcoxon(gains["oracle_improvement"]).p,
    }
