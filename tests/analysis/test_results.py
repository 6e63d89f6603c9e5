"""Scores of whole methods, made from runs."""

import pytest

from tabpet.analysis.results import Results
from tabpet.runs import Run, runs_frame
from tabpet.settings import AnalysisSettings
from tests.analysis.grid import abbreviations, broken_runs, full_results


def learner(model, encoding, test, seed=1, split=1) -> Run:
    return Run("d", split, model, encoding, seed, "regression", None, test, test)


def pet(alpha, val, test, encoding="spearman", split=1) -> Run:
    return Run("d", split, "saint", encoding, 1, "regression", alpha, val, test)


def test_methods_and_their_names():
    runs = [
        learner("xgboost", "tuned", 3.0),
        learner("xgboost", "default", 4.0),
        learner("linear", "default", 5.0),
        *(pet(0.0, 2.0, 2.0), pet(1.0, 1.0, 1.8), pet(2.0, 1.5, 1.5)),
        *(pet(0.0, 2.0, 9.0, "chow_liu"), pet(1.0, 1.0, 9.0, "chow_liu")),
    ]
    results = Results(runs_frame(runs))
    table = results.methods.set_index("method")
    assert table["test"].to_dict() == {
        "xgboost": 3.0,
        "saint": 2.0,
        "saint+pet": 1.8,
        "linear": 5.0,
        "xgboost-default": 4.0,
    }
    assert table["oracle"].dropna().to_dict() == {"saint+pet": 1.5}
    other = Results(runs_frame(runs), AnalysisSettings(main_encoding="chow_liu"))
    assert other.methods.set_index("method")["test"]["saint+pet"] == 9.0


def test_learners_are_averaged_over_seeds_then_splits():
    tests = {(1, 1): 1.0, (1, 2): 3.0, (2, 1): 6.0}
    runs = [
        learner("catboost", "tuned", test, seed, split) for (split, seed), test in tests.items()
    ]
    [(_, row)] = Results(runs_frame(runs)).methods.iterrows()
    assert row["test"] == 4.0  # mean of 2 and 6, not of three runs
    assert row["splits"] == 2
    assert row["sd"] == pytest.approx(2**0.5)  # of the one split that has a spread


def test_datasets_that_a_model_skips_are_not_missing():
    results = full_results()
    assert len(results.gains("tab_transformer", "spearman", "classification")) == 9
    assert len(results.gains("saint", "spearman", "all")) == 50
    assert results.gains("saint", "notears", "all").empty


def test_a_file_that_is_missing_where_a_model_skips_is_not_planned():
    def run(dataset, encoding, seed, **more):
        return Run(dataset, 1, "tab_transformer", encoding, seed, "regression", **more)

    skipped = {"status": "skipped", "reason": "too few categories"}
    lost = {"status": "missing", "reason": "no run file"}
    encodings = ("spearman", "spearman-random")
    runs = [run("a", encoding, 1, **skipped) for encoding in encodings]
    runs += [run("a", "spearman", 2, **skipped), run("a", "spearman-random", 2, **lost)]
    runs += [
        run("b", encoding, 1, alpha=alpha, val_score=1.0, test_score=1.0)
        for encoding in encodings
        for alpha in (0.0, 1.0)
    ]
    results = Results(runs_frame(runs))
    for encoding in encodings:
        assert list(results.gains("tab_transformer", encoding, "all").index) == ["b"]


def test_pairs_are_made_on_the_splits_that_both_encodings_have():
    runs = [
        run
        for split in (1, 2)
        for run in (pet(0.0, 2.0, 10.0, split=split), pet(1.0, 1.0, 10.0 - split, split=split))
    ]
    runs += [pet(0.0, 2.0, 10.0, "chow_liu", 2), pet(1.0, 1.0, 8.0, "chow_liu", 2)]
    both = Results(runs_frame(runs)).paired("saint", "spearman", "chow_liu")
    # Spearman gains 10 % in the first split and 20 % in the second, the only one of Chow-Liu.
    assert both.loc["d", ["improvement", "improvement_other"]].tolist() == pytest.approx([20, 20])


def test_a_failed_cell_is_an_empty_line():
    runs = [run for run in broken_runs() if run.dataset in ("madeline", "jasmine")]
    lost = [
        Run(**{**vars(run), "val_score": None, "test_score": None, "status": "error",
               "reason": "lost"})
        if run.dataset == "madeline" and run.encoding == "pearson"
        else run
        for run in runs
    ]  # fmt: skip
    gains = Results(runs_frame(lost)).gains("ft_transformer", "pearson", "all")
    assert list(gains.index) == ["jasmine", "madeline"]
    assert gains["improvement"].isna().tolist() == [False, True]


def test_a_seed_out_of_memory_leaves_the_others():
    results = Results(runs_frame(broken_runs()), abbreviations=abbreviations())
    choices = results.choices.set_index(["dataset", "model", "encoding"])["seeds"]
    assert choices["madeline", "ft_transformer", "notears"] == 4
    assert choices["diamonds", "saint", "spearman"] == 5  # the one that was cut is scored
    assert results.short("madeline") == "MA"
    assert results.short("unheard-of") == "unheard-of"
