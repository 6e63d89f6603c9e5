"""The detailed tables: every dataset with spreads, and the test-chosen figure beside the result."""

from collections.abc import Iterable, Mapping

import pandas as pd

from tabpet.analysis.formats import percent, score, with_deviation
from tabpet.analysis.names import (
    METRICS,
    MODELS,
    TASKS,
    TRANSFORMERS,
    encoding_name,
)
from tabpet.analysis.results import Results
from tabpet.analysis.table import Column, Part, Table, spread, under
from tabpet.names import Method

COLUMNS = [
    "dataset", "abbreviation", "task", "model", "encoding", "base_test", "base_sd", "test",
    "test_sd", "improvement", "oracle_test", "oracle_sd", "oracle_improvement", "seeds", "splits",
    "graph_note",
]  # fmt: skip
SIGNS = {"empty graph": "*", "cut graph": "†"}


def _noted(value: float, note: str) -> str:
    return percent(value) + SIGNS.get(note, "")


GRAPH_COLUMNS = (
    Column(("base_test", "base_sd"), "", "base", with_deviation),
    Column(("test", "test_sd"), "", "PET", with_deviation),
    Column(("improvement", "graph_note"), "", "%", _noted),
    Column("oracle_improvement", "", "oracle %", percent),
)
PET_COLUMNS = (
    Column(("test", "sd"), "", "+PET", with_deviation),
    Column("improvement", "", "%", percent),
    Column("oracle", "", "oracle", score),
    Column("oracle_improvement", "", "oracle %", percent),
)


def detailed_graphs_table(results: Results) -> Table:
    """Baseline, Tab-PET and improvement of every graph estimator, per dataset and model."""
    cells = results.cells
    data = cells[~cells["encoding"].str.contains("-")].copy()
    if data.empty:
        return Table.empty("detailed_graphs", "no transformer was trained with a graph's encoding")
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
    return Table("detailed_graphs", caption, data[COLUMNS], parts)


def _graphs_part(results: Results, cells: pd.DataFrame, model: str, task: str) -> Part:
    present = set(cells["encoding"])
    columns = {
        encoding: under(encoding_name(encoding), GRAPH_COLUMNS)
        for encoding in results.encodings_of(model)
        if encoding in present
    }
    heading = f"{MODELS[model]}, {TASKS[task].lower()} ({METRICS[task]})"
    return Part(spread_datasets(results, cells, task, "encoding", columns), heading, beside=3)


def spread_datasets(
    results: Results,
    data: pd.DataFrame,
    task: str,
    across: str,
    columns: Mapping[str, Iterable[Column]],
) -> pd.DataFrame:
    """A row per dataset of a task that has data, under its abbreviation."""
    datasets = [name for name in results.datasets_of(task) if name in set(data["dataset"])]
    cells = spread(data.set_index("dataset"), datasets, across, columns, "Dataset")
    return cells.set_axis([results.short(name) for name in datasets])


def detailed_models_table(results: Results) -> Table:
    """All methods per dataset with standard deviations, improvements and oracle."""
    if results.methods.empty:
        return Table.empty("detailed_models", "no run has finished")
    main = results.settings.main_encoding
    cells = results.cells[results.cells["encoding"] == main]
    gains = cells.assign(method=[str(Method(model, "pet")) for model in cells["model"]])[
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
    return Table("detailed_models", caption, data, parts)


def _models_part(results: Results, data: pd.DataFrame, task: str) -> Part:
    columns = {}
    for method in map(str, results.method_table(task)):
        parsed = Method.parse(method)
        group, base = "", parsed.label
        if parsed.model in TRANSFORMERS:
            group, base = MODELS[parsed.model], "base"
        plain = [Column(("test", "sd"), group, base, with_deviation)]
        columns[method] = under(group, PET_COLUMNS) if parsed.variant == "pet" else plain
    heading = f"{TASKS[task]} ({METRICS[task]})"
    return Part(spread_datasets(results, data, task, "method", columns), heading, beside=3)
