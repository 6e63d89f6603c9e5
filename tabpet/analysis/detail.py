"""The detailed tables: every dataset with spreads, and the test-chosen figure beside the result."""

import pandas as pd

from tabpet.analysis.names import (
    METRICS,
    MODELS,
    PET,
    TABLES,
    TASKS,
    TRANSFORMERS,
    encoding_name,
    method_name,
)
from tabpet.analysis.results import Results
from tabpet.analysis.table import Part, Table, make_part, percent_text, score_text, spread_text

COLUMNS = [
    "dataset", "abbreviation", "task", "model", "encoding", "base_test", "base_sd", "test",
    "test_sd", "improvement", "oracle_test", "oracle_sd", "oracle_improvement", "seeds", "splits",
    "graph_note",
]  # fmt: skip
SIGNS = {"empty graph": "*", "cut graph": "†"}


def detailed_graphs_table(results: Results) -> Table:
    """Baseline, Tab-PET and improvement of every graph estimator, per dataset and model."""
    name = "detailed_graphs"
    cells = results.cells
    data = cells[~cells["encoding"].str.contains("-")].copy()
    if data.empty:
        return Table.empty(name, TABLES[name], "no transformer was trained with a graph's encoding")
    data["abbreviation"] = data["dataset"].map(results.short)
    data["graph_note"] = list(map(results.graph_note, data["dataset"], data["encoding"]))
    parts = tuple(
        _graphs_part(results, data[(data["model"] == model) & (data["task"] == task)], model, task)
        for model in results.models
        for task in TASKS
        if ((data["model"] == model) & (data["task"] == task)).any()
    )
    caption = (
        "Test score, mean and standard deviation over seeds (over splits where each has one seed): "
        "base (alpha 0 at the width of that encoding) and Tab-PET (alpha chosen by validation), "
        "improvement in percent, and the "
        "improvement with alpha chosen by test (oracle). *: the graph has no edges, so that the "
        "encoding is zero. †: the graph was cut by its time limit."
    )
    return Table(name, TABLES[name], caption, data[COLUMNS], parts)


def _graphs_part(results: Results, cells: pd.DataFrame, model: str, task: str) -> Part:
    datasets = [name for name in results.datasets_of(task) if name in set(cells["dataset"])]
    columns: dict[tuple[str, str], list[str]] = {}
    for encoding in results.encodings_of(model):
        mine = cells[cells["encoding"] == encoding]
        if mine.empty:
            continue
        columns |= _pair_columns(encoding_name(encoding), mine.set_index("dataset"), datasets)
    labels = [results.short(name) for name in datasets]
    heading = f"{MODELS[model]}, {TASKS[task].lower()} ({METRICS[task]})"
    return make_part(labels, "Dataset", columns, heading)


def _pair_columns(
    group: str, mine: pd.DataFrame, datasets: list[str]
) -> dict[tuple[str, str], list[str]]:
    """Base, Tab-PET, percent and oracle percent of one encoding; a missing cell is a dash."""
    rows = mine.reindex(datasets)
    signs = rows["graph_note"].map(SIGNS).fillna("")
    return {
        (group, "base"): list(map(spread_text, rows["base_test"], rows["base_sd"])),
        (group, "PET"): list(map(spread_text, rows["test"], rows["test_sd"])),
        (group, "%"): [
            percent_text(value) + sign
            for value, sign in zip(rows["improvement"], signs, strict=True)
        ],
        (group, "oracle %"): list(map(percent_text, rows["oracle_improvement"])),
    }


def detailed_models_table(results: Results) -> Table:
    """All methods per dataset with standard deviations, improvements and oracle."""
    name = "detailed_models"
    if results.methods.empty:
        return Table.empty(name, TABLES[name], "no run has finished")
    main = results.settings.main_encoding
    cells = results.cells[results.cells["encoding"] == main]
    gains = cells.assign(method=cells["model"] + PET)[
        ["dataset", "method", "improvement", "oracle_improvement", "oracle_sd"]
    ]
    data = results.methods.merge(gains, on=["dataset", "method"], how="left")
    data.insert(1, "abbreviation", data["dataset"].map(results.short))
    parts = tuple(
        _models_part(results, data[data["task"] == task], task)
        for task in TASKS
        if (data["task"] == task).any()
    )
    caption = (
        f"Test score, mean and standard deviation over seeds. +PET: {encoding_name(main)} "
        "encodings, alpha chosen by validation, improvement over the same model in percent; "
        "oracle: alpha chosen by test."
    )
    return Table(name, TABLES[name], caption, data, parts)


def _models_part(results: Results, data: pd.DataFrame, task: str) -> Part:
    datasets = [name for name in results.datasets_of(task) if name in set(data["dataset"])]
    columns: dict[tuple[str, str], list[str]] = {}
    for method in map(str, results.method_table(task)):
        rows = data[data["method"] == method].set_index("dataset").reindex(datasets)
        texts = list(map(spread_text, rows["test"], rows["sd"]))
        model, plus, _ = method.partition(PET)
        if not plus:
            name = method_name(model)
            columns[(name, "base") if model in TRANSFORMERS else ("", name)] = texts
            continue
        columns |= {
            (method_name(model), "+PET"): texts,
            (method_name(model), "%"): list(map(percent_text, rows["improvement"])),
            (method_name(model), "oracle"): list(map(score_text, rows["oracle"])),
            (method_name(model), "oracle %"): list(map(percent_text, rows["oracle_improvement"])),
        }
    labels = [results.short(name) for name in datasets]
    return make_part(labels, "Dataset", columns, f"{TASKS[task]} ({METRICS[task]})")
