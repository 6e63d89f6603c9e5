"""The paper's published tables as reference data, and this run beside them, cell by cell."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from tabpet.analysis.detail import spread_datasets
from tabpet.analysis.formats import score, whole
from tabpet.analysis.names import (
    METHODS,
    METRICS,
    MODELS,
    TASKS,
    TREES,
    encoding_name,
    method_name,
    method_short,
)
from tabpet.analysis.results import Results
from tabpet.analysis.table import Column, Part, Table, spread, under
from tabpet.names import EncodingName, Method

REFERENCE = Path(__file__).parent / "reference"
OUR_NAMES = {
    "chowliu": "chow_liu",
    "ft": "ft_transformer",
    "ft+pet": "ft_transformer+pet",
    "tabtransformer": "tab_transformer",
    "tabtransformer+pet": "tab_transformer+pet",
}
PAPER_ENCODING, GRAPH_MODEL = "spearman", "ft_transformer"
ROUNDING = 5e-5  # half of the last digit that the paper prints
VERDICTS = ("within", "better", "worse", "not run")
SIGNS = {"within": "=", "better": "+", "worse": "−"}


def _sign(verdict: str) -> str:
    return SIGNS.get(verdict, "")


HERE = Column("test", "", "here", score)
PAPER = Column("paper", "", "paper", score)
ORACLE = Column("oracle_test", "", "oracle", score)
SIGN = Column("verdict", "", "", _sign)


@cache
def read_reference(name: str, dtype: str | None = None) -> pd.DataFrame:
    """One table of the paper: `main_results`, `graph_methods`, ...; `str` keeps printed digits."""
    # Only empty cells are missing: `NA` could be an abbreviation.
    frame = pd.read_csv(
        REFERENCE / f"{name}.csv", dtype=dtype, keep_default_na=False, na_values=[""]
    )
    for column in {"model", "method", "model_or_method"} & set(frame):
        frame[column] = frame[column].replace(OUR_NAMES)
    return frame


def paper_table(results: Results) -> Table:
    """Every published cell beside the one of this run, with a verdict."""
    published = pd.concat([_main_cells(), _graph_cells(), _learnable_cells()], ignore_index=True)
    published.insert(0, "dataset", published["abbr"].map(_dataset_names()))
    run = set(results.methods["dataset"])
    if not run & set(published["dataset"]):
        reason = "no dataset of the paper was run: for all 50, --configfile configs/paper.yaml"
        return Table.empty("paper", reason)
    data = published.merge(_our_cells(results), on=["dataset", "cell"], how="left")
    data["spread"] = np.sqrt(data["paper_sd"] ** 2 + data["sd"].fillna(0) ** 2)
    sign = np.where(data["task"] == "classification", 1, -1)
    data["advantage"] = (data["test"] - data["paper"]) * sign
    data["verdict"] = _verdicts(data["advantage"], data["spread"])
    oracle = (data["oracle_test"] - data["paper"]) * sign
    data["oracle_verdict"] = np.where(oracle.notna(), _verdicts(oracle, data["spread"]), "")
    caption = (
        "Within: the two means differ by no more than the combined spread, the root of the summed "
        "squares of both standard deviations over seeds (the paper's alone where this run has one "
        "seed); otherwise better or worse. +PET cells: alpha chosen by validation here."
    )
    parts = (_verdict_part(data), *(_cell_part(results, data, task) for task in TASKS))
    return Table("paper", caption, data, tuple(part for part in parts if part))


def _verdicts(advantage: pd.Series, spread: pd.Series) -> np.ndarray:
    conditions = [advantage.isna(), advantage.abs() <= spread + ROUNDING, advantage > 0]
    return np.select(conditions, ["not run", "within", "better"], default="worse")


def _dataset_names() -> dict[str, str]:
    sheet = read_reference("datasets")
    return dict(zip(sheet["abbr"], sheet["name"], strict=True))


def _main_cells() -> pd.DataFrame:
    frame = read_reference("main_results").rename(columns={"model": "cell"})
    return _published(frame, "main")


def _graph_cells() -> pd.DataFrame:
    """Baseline and Tab-PET of every graph estimator, FT-Transformer."""
    frame = read_reference("graph_methods")
    shared = frame[["abbr", "task"]]
    base = shared.assign(
        cell=f"{GRAPH_MODEL}/" + frame["method"],
        mean=frame["baseline_mean"],
        std=frame["baseline_std"],
    )
    pet = shared.assign(
        cell=[str(Method(cell, "pet")) for cell in base["cell"]],
        mean=frame["pet_mean"],
        std=frame["pet_std"],
        improvement_pct=frame["improvement_pct"],
    )
    return _published(pd.concat([base, pet], ignore_index=True), "graph methods")


def _learnable_cells() -> pd.DataFrame:
    """The learnable column alone: the other two are Spearman's of the graph methods."""
    frame = read_reference("learnable")
    frame = frame[frame["variant"] == "learnable"]
    cell = str(Method(f"{GRAPH_MODEL}/spearman-learnable", "pet"))
    return _published(frame.assign(cell=cell), "learnable")


def _published(frame: pd.DataFrame, table: str) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "abbr": frame["abbr"],
            "task": frame["task"],
            "table": table,
            "cell": frame["cell"],
            "paper": frame["mean"],
            "paper_sd": frame["std"],
            "paper_improvement": frame["improvement_pct"],
        }
    )


def _our_cells(results: Results) -> pd.DataFrame:
    """Scores of this run under the names of the paper's cells; its main encoding is Spearman."""
    cells = results.cells
    spearman = cells[cells["encoding"] == PAPER_ENCODING]
    named = pd.concat(
        [
            cells.assign(cell=cells["model"] + "/" + cells["encoding"]),
            spearman.assign(cell=spearman["model"]),
        ]
    )
    shared = ["dataset", "cell", "seeds", "splits"]
    base = named[shared].assign(test=named["base_test"], sd=named["base_sd"])
    chosen = ["test", "improvement", "oracle_test", "oracle_improvement"]
    with_encodings = [str(Method(cell, "pet")) for cell in named["cell"]]
    pet = named[[*shared, *chosen]].assign(cell=with_encodings, sd=named["test_sd"])
    trees = results.methods[results.methods["method"].isin(TREES)].rename(
        columns={"method": "cell"}
    )
    parts = [base, pet, trees[[*shared, "test", "sd"]]]
    numbers = ["seeds", "splits", "test", "sd", *chosen[1:]]
    filled = [part for part in parts if len(part)] or [pd.DataFrame()]
    found = pd.concat(filled).reindex(columns=["dataset", "cell", *numbers])
    return found.astype(dict.fromkeys(numbers, float))


def _verdict_part(data: pd.DataFrame) -> Part:
    """How many cells of each kind came out how."""
    labels = [_cell_label(*cell) for cell in zip(data["table"], data["cell"], strict=True)]
    counts = pd.crosstab([labels, data["task"]], data["verdict"])
    counts = counts.reindex(columns=list(VERDICTS), fill_value=0).reset_index("task")
    columns = {
        task: [Column(verdict, heading, verdict, whole) for verdict in VERDICTS]
        for task, heading in TASKS.items()
    }
    shown = spread(counts, list(dict.fromkeys(labels)), "task", columns, "Cell")
    return Part(shown, "Cells by verdict")


def _cell_part(results: Results, data: pd.DataFrame, task: str) -> Part | None:
    """The main table cell by cell: this run, the paper, and a sign for the verdict."""
    mine = data[(data["table"] == "main") & (data["task"] == task)]
    run = mine[mine["dataset"].isin(results.datasets_of(task))]
    if run.empty:
        return None
    columns = {
        cell: under(
            method_short(cell),
            [HERE, PAPER, *([ORACLE] if Method.parse(cell).variant == "pet" else []), SIGN],
        )
        for cell in METHODS
        if cell in set(mine["cell"])
    }
    heading = f"{TASKS[task]} ({METRICS[task]}); = within, + better, − worse than the paper"
    return Part(spread_datasets(results, run, task, "cell", columns), heading, beside=4)


def _cell_label(table: str, cell: str) -> str:
    if table == "main":
        return method_name(cell)
    method = Method.parse(cell)
    model, _, encoding = method.model.partition("/")
    kind = "+PET" if method.variant == "pet" else "base"
    if table == "learnable":
        kind = "learnable"
        encoding = EncodingName.parse(encoding).graph
    return f"{MODELS[model]}, {encoding_name(encoding)}, {kind}"
