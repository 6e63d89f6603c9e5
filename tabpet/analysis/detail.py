"""The detailed tables: every dataset with spreads, and the test-chosen figure beside the result."""

from collections.abc import Iterable, Mapping
from itertools import product

import pandas as pd

from tabpet.analysis.formats import with_deviation
from tabpet.analysis.names import METRICS, MODELS, TASKS, TRANSFORMERS
from tabpet.analysis.results import Results, present
from tabpet.analysis.table import Column, Panel, Table, declared, spread, under
from tabpet.names import EncodingName, Method, encoding_label

COLUMNS = [
    "dataset", "abbreviation", "task", "model", "encoding", "base_test", "base_sd", "test",
    "test_sd", "improvement", "oracle_test", "oracle_sd", "oracle_improvement", "seeds", "splits",
    "graph_note",
]  # fmt: skip


def detailed_graphs_table(results: Results) -> Table:
    """Baseline, Tab-PET and improvement of every graph estimator, per dataset and model."""
    averages = results.averages
    data = averages[
        [EncodingName.parse(name).control is None for name in averages["encoding"]]
    ].copy()
    if data.empty:
        return Table.empty("detailed_graphs", "no transformer was trained with a graph's encoding")
    data["abbreviation"] = data["dataset"].map(results.short)
    data["graph_note"] = list(map(results.graph_note, data["dataset"], data["encoding"]))
    panels = [
        _graphs_panel(results, rows, model, task)
        for model, task in product(results.models, TASKS)
        if len(rows := data[(data["model"] == model) & (data["task"] == task)])
    ]
    return Table.of("detailed_graphs", data[COLUMNS], panels)


def _graphs_panel(results: Results, averages: pd.DataFrame, model: str, task: str) -> Panel:
    columns = {
        encoding: under(encoding_label(encoding), declared("detailed_graphs"))
        for encoding in present(results.encodings_of(model), averages["encoding"])
    }
    heading = f"{MODELS[model]}, {TASKS[task].lower()} ({METRICS[task]})"
    return Panel(spread_datasets(results, averages, "encoding", columns), heading, beside=3)


def spread_datasets(
    results: Results, data: pd.DataFrame, across: str, columns: Mapping[str, Iterable[Column]]
) -> pd.DataFrame:
    """A row per dataset under its abbreviation, in the order of the run."""
    datasets = present(results.tasks, data["dataset"])
    texts = spread(data.set_index("dataset"), datasets, across, columns, "Dataset")
    return texts.set_axis([results.short(name) for name in datasets])


def detailed_models_table(results: Results) -> Table:
    """All methods per dataset with standard deviations, improvements and oracle."""
    if results.methods.empty:
        return Table.empty("detailed_models", "no run has finished")
    averages = results.averages[results.averages["encoding"] == results.settings.main_encoding]
    gains = averages.assign(method=[str(Method(model, "pet")) for model in averages["model"]])[
        ["dataset", "method", "improvement", "oracle_improvement", "oracle_sd"]
    ]
    data = results.methods.merge(gains, on=["dataset", "method"], how="left")
    data.insert(1, "abbreviation", data["dataset"].map(results.short))
    panels = [
        _models_panel(results, rows, task)
        for task in TASKS
        if len(rows := data[data["task"] == task])
    ]
    return Table.of("detailed_models", data, panels, **results.words)


def _models_panel(results: Results, data: pd.DataFrame, task: str) -> Panel:
    columns = {}
    for method in map(str, results.method_table(task)):
        parsed = Method.parse(method)
        group, base = "", parsed.label
        if parsed.model in TRANSFORMERS:
            group, base = MODELS[parsed.model], "base"
        plain = [Column(("test", "sd"), group, base, with_deviation)]
        pet = under(group, declared("detailed_models"))
        columns[method] = pet if parsed.variant == "pet" else plain
    heading = f"{TASKS[task]} ({METRICS[task]})"
    return Panel(spread_datasets(results, data, "method", columns), heading, beside=3)
