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
from tabpet.analysis.table import Column, Panel, Table, spread, under
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


def graph_minutes() -> pd.DataFrame:
    """The paper's minutes per dataset and estimator."""
    names = read_reference("datasets")[["abbr", "name"]].rename(columns={"name": "dataset"})
    minutes = read_reference("graph_timing").merge(names, on="abbr")
    return minutes[["dataset", "method", "minutes"]].rename(columns={"minutes": "paper_minutes"})


def paper_table(results: Results) -> Table:
    """Every published cell beside the one of this run, with a verdict."""
    published = _published_cells()
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
    panels = (_verdict_panel(data), *(_cell_panel(results, data, task) for task in TASKS))
    return Table.of("paper", results.settings, data, filter(None, panels))


def _verdicts(advantage: pd.Series, spread: pd.Series) -> np.ndarray:
    conditions = [advantage.isna(), advantage.abs() <= spread + ROUNDING, advantage > 0]
    return np.select(conditions, ["not run", "within", "better"], default="worse")


def _published_cells() -> pd.DataFrame:
    """The paper's main table, its graph estimators, and of the learnable ones what is new there."""
    main = read_reference("main_results").rename(columns={"model": "cell"}).assign(table="main")
    graphs = read_reference("graph_methods").assign(table="graph methods")
    graphs["cell"] = f"{GRAPH_MODEL}/" + graphs["method"]
    base = graphs.assign(mean=graphs["baseline_mean"], std=graphs["baseline_std"])
    pet = graphs.assign(
        mean=graphs["pet_mean"], std=graphs["pet_std"], cell=_with_encodings(graphs["cell"])
    )
    # Its other two columns are Spearman's of the graph estimators.
    learnable = read_reference("learnable").query("variant == 'learnable'")
    learned = f"{GRAPH_MODEL}/{EncodingName(PAPER_ENCODING, 'learnable')}"
    learnable = learnable.assign(table="learnable", cell=str(Method(learned, "pet")))
    blocks = [main, base.drop(columns="improvement_pct"), pet, learnable]
    names = {"mean": "paper", "std": "paper_sd", "improvement_pct": "paper_improvement"}
    cells = pd.concat(blocks, ignore_index=True)[["abbr", "task", "table", "cell", *names]]
    sheet = read_reference("datasets").set_index("abbr")["name"]
    cells.insert(0, "dataset", cells["abbr"].map(sheet))
    return cells.rename(columns=names)


def _with_encodings(cells: pd.Series) -> list[str]:
    return [str(Method(cell, "pet")) for cell in cells]


def _our_cells(results: Results) -> pd.DataFrame:
    """Scores of this run under the names of the paper's cells; its main encoding is Spearman."""
    averages = results.averages
    spearman = averages[averages["encoding"] == PAPER_ENCODING]
    named = pd.concat(
        [
            averages.assign(cell=averages["model"] + "/" + averages["encoding"]),
            spearman.assign(cell=spearman["model"]),
        ]
    )
    shared = ["dataset", "cell", "seeds", "splits"]
    base = named[shared].assign(test=named["base_test"], sd=named["base_sd"])
    chosen = ["test", "improvement", "oracle_test", "oracle_improvement"]
    pet = named[[*shared, *chosen]].assign(cell=_with_encodings(named["cell"]), sd=named["test_sd"])
    trees = results.methods[results.methods["method"].isin(TREES)].rename(
        columns={"method": "cell"}
    )
    numbers = ["seeds", "splits", "test", "sd", *chosen[1:]]
    filled = [frame for frame in (base, pet, trees[[*shared, "test", "sd"]]) if len(frame)]
    cells = pd.concat(filled or [pd.DataFrame()]).reindex(columns=["dataset", "cell", *numbers])
    return cells.astype(dict.fromkeys(numbers, float))


def _verdict_panel(data: pd.DataFrame) -> Panel:
    """How many cells of each kind came out how."""
    labels = [_cell_label(*cell) for cell in zip(data["table"], data["cell"], strict=True)]
    counts = pd.crosstab([labels, data["task"]], data["verdict"])
    counts = counts.reindex(columns=list(VERDICTS), fill_value=0).reset_index("task")
    columns = {
        task: [Column(verdict, heading, verdict, whole) for verdict in VERDICTS]
        for task, heading in TASKS.items()
    }
    shown = spread(counts, list(dict.fromkeys(labels)), "task", columns, "Cell")
    return Panel(shown, "Cells by verdict")


def _cell_panel(results: Results, data: pd.DataFrame, task: str) -> Panel | None:
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
    return Panel(spread_datasets(results, run, task, "cell", columns), heading, beside=4)


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
