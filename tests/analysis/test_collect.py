"""From run files to scores: what is missing, broken or in the wrong place is said."""

from pathlib import Path

import pandas as pd
import pytest

from tabpet.analysis.collect import NO_FILE, gather_runs, join_scores, run_identity
from tabpet.analysis.results import Results
from tabpet.errors import TabpetError
from tabpet.files import write_parquet
from tabpet.runs import Run, read_runs, write_runs


def run(**more) -> Run:
    cell = {"dataset": "wine", "split": 42, "model": "saint", "encoding": "spearman", "seed": 1}
    scores = {"alpha": 0.0, "val_score": 0.5, "test_score": 0.5}
    return Run(**{**cell, "task": "classification", **scores, **more})


def run_path(folder: Path, one: Run) -> Path:
    cell = f"{one.dataset}/split{one.split}/{one.model}/{one.encoding}/seed{one.seed}.parquet"
    return folder / "runs" / cell


@pytest.fixture
def planned(tmp_path) -> list[Path]:
    """Two files that exist, and one whose job failed."""
    first, second = run(), run(model="xgboost", encoding="tuned", alpha=None)
    write_runs([first, run(alpha=1.0)], run_path(tmp_path, first))
    write_runs([second], run_path(tmp_path, second))
    return [run_path(tmp_path, one) for one in (first, run(seed=2), second)]


def test_a_planned_run_without_a_file_is_a_row(planned):
    scores = gather_runs(planned, {"wine": "classification"})
    assert list(scores["status"]) == ["ok", "ok", "error", "ok"]
    missing = scores[scores["status"] == "error"].iloc[0]
    assert (missing["seed"], missing["reason"], missing["metric"]) == (
        2,
        NO_FILE,
        "balanced_accuracy",
    )


def test_scores_survive_the_way_through_files(planned, tmp_path):
    scores = gather_runs(planned, {"wine": "classification"})
    write_parquet(scores, tmp_path / "wine.parquet")
    joined = join_scores([tmp_path / "wine.parquet", tmp_path / "wine.parquet"])
    assert len(joined) == 2 * len(scores)
    pd.testing.assert_frame_equal(joined.iloc[: len(scores)], scores)
    pd.testing.assert_frame_equal(read_runs(tmp_path / "wine.parquet"), scores)


def test_results_load_from_files(planned, tmp_path):
    write_parquet(gather_runs(planned, {"wine": "classification"}), tmp_path / "scores.parquet")
    (tmp_path / "graphs.csv").write_text("\n")  # no graph yet
    results = Results.load(tmp_path / "scores.parquet", graphs_path=tmp_path / "graphs.csv")
    assert results.graphs is None
    assert list(results.methods["method"]) == ["xgboost", "saint", "saint+pet"]
    assert list(results.scores["reason"].dropna()) == [NO_FILE]


def test_a_file_in_the_wrong_place_is_refused(planned):
    wrong = planned[0].with_name("seed3.parquet")
    wrong.write_bytes(planned[0].read_bytes())
    with pytest.raises(TabpetError, match=r"seed3.*should hold seed 3, but holds 1\."):
        gather_runs([wrong], {"wine": "classification"})


def test_a_broken_file_is_named(planned):
    planned[0].write_bytes(b"PAR1 and then the disk was full")
    with pytest.raises(TabpetError, match=r"seed1\.parquet can't be read.*Delete it"):
        gather_runs(planned, {"wine": "classification"})


def test_an_alpha_twice_is_refused(tmp_path):
    path = run_path(tmp_path, run())
    write_runs([run(), run()], path)
    with pytest.raises(TabpetError, match="alpha twice"):
        gather_runs([path], {"wine": "classification"})


def test_only_run_files_have_an_identity(tmp_path):
    identity = run_identity(
        Path("results/runs/kr-vs-kp/split7/saint/spearman-random/seed3.parquet")
    )
    assert identity == {
        "dataset": "kr-vs-kp",
        "split": 7,
        "model": "saint",
        "encoding": "spearman-random",
        "seed": 3,
    }
    with pytest.raises(TabpetError, match="is not a run file"):
        run_identity(Path("results/runs/wine/split7/saint/spearman/seed3.curves.parquet"))
