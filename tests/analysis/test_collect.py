"""Collecting: nothing that was planned is missing, and nothing of other settings is mixed in."""

from pathlib import Path

import pandas as pd
import pytest

from tabpet.analysis.collect import collect_runs, join_scores, read_run_file
from tabpet.analysis.coverage import job_outcomes
from tabpet.analysis.results import Results
from tabpet.catalog import CatalogRow
from tabpet.errors import TabpetError
from tabpet.files import write_json, write_parquet, write_text
from tabpet.models.ft_transformer import FTTransformerSettings
from tabpet.models.saint import SaintSettings
from tabpet.models.tab_transformer import TabTransformerSettings
from tabpet.plan import Cell, input_settings, planned_cells, run_settings
from tabpet.runs import Run, make_provenance, read_runs, runs_frame, write_runs
from tabpet.settings import AnalysisSettings, Settings, TrainingSettings

WINE = CatalogRow(name="wine", path="wine.csv", task="classification", target="y")
CONFIG = {
    "datasets": ["wine"],
    "graphs": ["spearman"],
    "models": ["saint"],
    "alphas": [1.0],
    "seeds": [1, 2],
    "learners": ["xgboost"],
    "references": [],
}


def settings_of(**changes) -> Settings:
    return Settings.model_validate({**CONFIG, **changes})


def write_run(cell: Cell, folder: Path, settings: Settings, alphas=(0.0, 1.0)) -> None:
    """A run file as a job would write it."""
    wanted = run_settings(settings, WINE, cell.model, cell.encoding)
    inputs = {name: folder / path for name, path in cell.inputs.items()}
    shared = {"task": "classification", "val_score": 0.5, "test_score": 0.5}
    shared["provenance"] = make_provenance(wanted, inputs)
    alphas = alphas if cell.graph else (None,)
    runs = [Run(**cell.identity, **shared, alpha=alpha) for alpha in alphas]
    write_runs(runs, folder / cell.run)


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder in which all cells have finished but one, whose job failed."""
    settings = settings_of()
    for cell in planned_cells(settings, ["wine"]):
        for path in cell.inputs.values():
            write_text(f"content of {path.name}", tmp_path / path)
        for path, made_with in input_settings(settings, WINE, cell).items():
            write_json(made_with, tmp_path / path)
        if (cell.model, cell.seed) != ("saint", 2):
            write_run(cell, tmp_path, settings)
    return tmp_path


def collect(folder, **changes) -> pd.DataFrame:
    return collect_runs(settings_of(**changes), [WINE], folder)


def only(scores, model, seed) -> pd.Series:
    [row] = scores[(scores["model"] == model) & (scores["seed"] == seed)].index
    return scores.loc[row]


def test_a_planned_run_without_a_file_is_a_row_that_says_why(folder):
    missing = only(collect(folder), "saint", 2)
    assert missing["status"] == "missing" and missing["metric"] == "balanced_accuracy"
    assert missing["reason"] == "fetch_dataset has not run"

    def log(rule, name, text):
        write_text(text, folder / f"results/logs/{rule}/{name}.log")

    # Everything before training is there; training has left a traceback.
    for stage in Cell("wine", 42, "saint", "spearman", 2).stages[:-1]:
        write_text("there", folder / stage.output)
    log(
        "train_transformer",
        "wine-split42-saint-spearman-seed2",
        "10:00:00 INFO begins\n10:00:01 ERROR unexpected error, please report it:\n"
        'Traceback (most recent call last):\n  File "x.py"\nZeroDivisionError: by zero\n',
    )
    assert only(collect(folder), "saint", 2)["reason"] == (
        "train_transformer: ZeroDivisionError: by zero "
        "(log: results/logs/train_transformer/wine-split42-saint-spearman-seed2.log)"
    )


def test_scores_survive_the_way_through_files(folder, tmp_path):
    scores = collect(folder)
    write_parquet(scores, tmp_path / "wine.parquet")
    joined = join_scores([tmp_path / "wine.parquet", tmp_path / "wine.parquet"])
    assert len(joined) == 2 * len(scores)
    pd.testing.assert_frame_equal(joined.iloc[: len(scores)], scores)
    pd.testing.assert_frame_equal(read_runs(tmp_path / "wine.parquet"), scores)


def test_results_load_from_files(folder, tmp_path):
    write_parquet(collect(folder), tmp_path / "scores.parquet")
    (tmp_path / "graphs.csv").write_text("\n")  # no graph yet
    scores = tmp_path / "scores.parquet"
    results = Results.load(scores, AnalysisSettings(), {}, graphs_path=tmp_path / "graphs.csv")
    assert results.graphs is None
    assert list(results.methods["method"]) == ["xgboost", "saint", "saint+pet"]


def test_a_file_in_the_wrong_place_is_refused(folder):
    right = folder / Cell("wine", 42, "saint", "spearman", 1).run
    wrong = right.with_name("seed3.parquet")
    wrong.write_bytes(right.read_bytes())
    with pytest.raises(TabpetError, match=r"seed3.*should hold seed 3, but holds 1\."):
        read_run_file(wrong)


def test_a_broken_file_is_a_row_that_names_it(folder):
    (folder / Cell("wine", 42, "saint", "spearman", 1).run).write_bytes(b"PAR1 and then nothing")
    status, reason = outcomes(folder)["saint", 1]
    assert status == "error" and "seed1.parquet can't be read" in reason and "Delete it" in reason
    assert outcomes(folder)["xgboost", 1][0] == "ok"


def test_an_alpha_twice_is_refused(folder):
    cell = Cell("wine", 42, "saint", "spearman", 1)
    write_run(cell, folder, settings_of(), alphas=(0.0, 0.0))
    with pytest.raises(TabpetError, match="alpha twice"):
        read_run_file(folder / cell.run)


def test_only_run_files_name_a_cell():
    cell = Cell.parse("results/runs/kr-vs-kp/split7/saint/spearman-random/seed3.parquet")
    assert cell == Cell("kr-vs-kp", 7, "saint", "spearman-random", 3)
    with pytest.raises(TabpetError, match="is not a run file"):
        Cell.parse("results/runs/wine/split7/saint/spearman/seed3.curves.parquet")


def outcomes(folder, **changes) -> dict[tuple[str, int], tuple[str, str]]:
    jobs = job_outcomes(collect(folder, **changes))
    keys = zip(jobs["model"], jobs["seed"], strict=True)
    return dict(zip(keys, zip(jobs["outcome"], jobs["reason"], strict=True), strict=True))


def test_runs_of_other_settings_are_left_out_and_listed(folder):
    by_cell = outcomes(folder, training={"max_epochs": 30})
    status, reason = by_cell["saint", 1]
    assert status == "outdated"
    assert "training.max_epochs: 500, now 30" in reason and "tabpet retry" in reason
    assert by_cell["xgboost", 1][0] == "ok"  # which does not train by epochs
    assert collect(folder, training={"max_epochs": 30})["test_score"].notna().sum() == 2


def test_runs_of_other_inputs_are_left_out_and_one_that_is_gone_is_not_compared(folder):
    encoding = Cell("wine", 42, "saint", "spearman", 1).inputs["encoding"]
    write_text("another encoding", folder / encoding)
    assert "made from another encoding" in outcomes(folder)["saint", 1][1]
    assert outcomes(folder)["xgboost", 1][0] == "ok"
    (folder / encoding).unlink()
    assert outcomes(folder)["saint", 1][0] == "ok"


@pytest.mark.parametrize(
    ("change", "models"),
    [
        ({"prepare": {"fractions": [0.5, 0.3, 0.2]}}, {"saint", "xgboost"}),
        ({"nodes": {"max_rows": 50}}, {"saint"}),
        ({"encoding": {"k_max": 3}}, {"saint"}),
    ],
    ids=["prepare", "nodes", "encoding"],
)
def test_runs_from_inputs_of_other_settings_are_left_out(folder, change, models):
    """Also before those inputs have been made again."""
    by_cell = outcomes(folder, **change)
    assert {
        model for (model, seed), (status, _) in by_cell.items() if status == "outdated"
    } == models
    assert "of other settings" in by_cell["saint", 1][1]


def test_a_run_without_a_record_of_its_settings_is_left_out(folder):
    cell = Cell("wine", 42, "xgboost", "tuned", 1)
    scores = {"task": "classification", "val_score": 0.5, "test_score": 0.5}
    write_runs([Run(**cell.identity, **scores)], folder / cell.run)
    assert "no record of the settings" in outcomes(folder)["xgboost", 1][1]


def test_removed_alphas_are_not_collected_and_added_ones_are_said_to_be_missing(folder):
    cell = Cell("wine", 42, "saint", "spearman", 1)
    write_run(cell, folder, settings_of(), alphas=(0.0, 0.5, 1.0))
    first = collect(folder)
    assert first[(first["model"] == "saint") & (first["seed"] == 1)]["alpha"].tolist() == [0.0, 1.0]
    more = collect(folder, alphas=[1.0, 2.0])
    mine = more[(more["model"] == "saint") & (more["seed"] == 1)]
    assert mine["alpha"].tolist() == [0.0, 1.0, 2.0]
    assert mine["status"].tolist() == ["ok", "ok", "missing"]
    assert mine["reason"].iloc[2] == "alpha 2 has not been trained"


# A time limit decides no result that was reached before it, and a row that it cut says so; saving
# the state of training changes nothing.
NO_RESULT = {"max_seconds", "checkpoint", "checkpoint_seconds", "device", "jobs_per_gpu"}


def other_value(section: type, name: str):
    """Another allowed value of a setting."""
    field = section.model_fields[name]
    choices = {
        "target_scaling": "none",
        "integration": "project",
        "n_heads": 2,
        "width": 64,
        "attention_dropout": 0.3,
        "ffn_dropout": 0.3,
        "residual_dropout": 0.3,
        "device": "cpu",
    }
    if name in choices:
        return choices[name]
    return (not field.default) if isinstance(field.default, bool) else (field.default or 0) + 1


EVERY_SETTING = [
    *(("training", TrainingSettings, "saint", name) for name in TrainingSettings.model_fields),
    *(
        ("model_settings", section, model, name)
        for model, section in (
            ("ft_transformer", FTTransformerSettings),
            ("saint", SaintSettings),
            ("tab_transformer", TabTransformerSettings),
        )
        for name in section.model_fields
    ),
]


@pytest.mark.parametrize(
    ("part", "section", "model", "name"), EVERY_SETTING, ids=lambda value: str(value)
)
def test_any_changed_setting_refuses_the_runs_made_before(tmp_path, part, section, model, name):
    before = {"models": [model], "seeds": [1], "learners": []}
    [cell] = planned_cells(settings_of(**before), ["wine"])
    write_run(cell, tmp_path, settings_of(**before))
    value = other_value(section, name)
    change = {part: {name: value}} if part == "training" else {part: {model: {name: value}}}
    statuses = set(collect_runs(settings_of(**before, **change), [WINE], tmp_path)["status"])
    assert statuses == ({"ok"} if name in NO_RESULT else {"outdated"})


def test_a_failed_graph_is_a_missing_result_and_an_empty_one_a_result_with_a_label():
    def rows(dataset, state, **more):
        shared = {"dataset": dataset, "split": 42, "model": "saint", "encoding": "notears"}
        shared |= {"seed": 1, "task": "classification", "graph_state": state}
        return [Run(**shared, alpha=alpha, **more) for alpha in (0.0, 1.0)]

    scores = {"val_score": 0.5, "test_score": 0.5}
    runs = [
        *rows("a", "failed", status="skipped", reason="no notears graph: no time"),
        *rows("b", "empty", **scores, reason="the notears graph has no edges"),
        *rows("c", "cut", **scores, reason="the notears graph was cut"),
        *rows("d", "ok", **scores),
    ]
    results = Results(runs_frame(runs))
    gains = results.gains("saint", "notears", "all")["improvement"]
    assert gains.isna().to_dict() == {"a": True, "b": False, "c": False, "d": False}
    assert [results.graph_note(name, "notears") for name in "abcd"] == [
        *("", "empty graph", "cut graph", "")
    ]
    assert list(job_outcomes(results.scores)["outcome"]) == ["no graph", "ok", "ok", "ok"]
