"""Plain references against the libraries' own estimators, and rows of what fails."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import balanced_accuracy_score, root_mean_squared_error
from xgboost import XGBClassifier

from tabpet.data.prepare import Split
from tabpet.interrupt import Interrupt, Interrupted
from tabpet.runs import read_runs, write_runs
from tabpet.settings import TreeSettings
from tabpet.trees import references
from tabpet.trees.fitting import build_fitter
from tabpet.trees.references import fit_reference
from tests.trees.splits import QUICK, classes, codes_only, drop_class, numbers, prepare


def one_hot(split: Split, part: str) -> np.ndarray:
    """Numbers, and an indicator per level that training rows have."""
    frame, columns = split.part(part), []
    for feature in split.info.features:
        values = frame[feature.name].to_numpy()[:, None]
        levels = np.arange(len(feature.levels))
        columns.append(values if feature.kind == "numeric" else (values == levels).astype(float))
    return np.hstack(columns)


@pytest.mark.parametrize("labels", ["no yes", "a b c"])
def test_linear_is_balanced_logistic_regression(labels):
    split = classes(labels=labels)
    run = fit_reference(split, "linear", 1, QUICK)
    model = LogisticRegression(max_iter=1000, class_weight="balanced")
    model.fit(one_hot(split, "train"), split.part("train")["y"])
    for part, score in (("val", run.val_score), ("test", run.test_score)):
        predicted = model.predict(one_hot(split, part))
        assert score == pytest.approx(balanced_accuracy_score(split.part(part)["y"], predicted))
    assert (run.status, run.encoding, run.alpha, run.parameters) == ("ok", "default", None, None)


def test_linear_is_ridge_regression():
    split = numbers(unit=1000)
    model = Ridge().fit(one_hot(split, "train"), split.part("train")["y"])
    predicted = model.predict(one_hot(split, "test"))
    run = fit_reference(split, "linear", 1, QUICK)
    expected = root_mean_squared_error(split.part("test")["y"], predicted)
    assert run.test_score == pytest.approx(expected, rel=1e-6)


def test_untuned_xgboost_has_the_librarys_parameters():
    split = classes()
    run = fit_reference(split, "xgboost", 1, TreeSettings(balanced=False, rounds=30, patience=30))
    names = [feature.name for feature in split.info.features]
    parts = {part: split.part(part) for part in ("train", "test")}
    model = XGBClassifier(
        n_estimators=run.best_epoch, feature_types=["q", "q", "c"], enable_categorical=True
    )
    model.fit(parts["train"][names].to_numpy(), parts["train"]["y"])
    predicted = model.predict(parts["test"][names].to_numpy())
    assert run.test_score == pytest.approx(balanced_accuracy_score(parts["test"]["y"], predicted))


@pytest.mark.parametrize("name", ["xgboost", "catboost", "linear"])
@pytest.mark.parametrize(
    "split",
    [
        classes(labels="a b c"),
        numbers(),
        codes_only(),
        drop_class(classes(labels="a b c"), "train", 1),
    ],
    ids=["classes", "numbers", "codes", "missing class"],
)
def test_rows_of_all_tables(name, split, tmp_path):
    run = fit_reference(split, name, 3, QUICK)
    assert run.status == "ok"
    write_runs([run], tmp_path / "run.parquet")
    [row] = read_runs(tmp_path / "run.parquet").to_dict("records")
    assert (row["model"], row["seed"], row["test_score"]) == (name, 3, run.test_score)
    assert pd.isna(row["best_epoch"]) == (name == "linear")


@pytest.mark.parametrize("name", ["xgboost", "linear"])
def test_what_a_library_refuses_is_a_row_with_its_reason(name):
    split = classes()
    frame = split.frame.copy()
    frame.loc[frame["part"] == "test", "a"] = np.inf
    run = fit_reference(replace(split, frame=frame), name, 1, QUICK)
    assert (run.status, run.test_score) == ("error", None)
    assert "inf" in run.reason
    assert "\n" not in run.reason


def test_a_table_of_constants():
    frame = pd.DataFrame({"k": [1.0] * 60, "y": pd.Categorical(["u", "v"] * 30)})
    runs = {name: fit_reference(prepare(frame), name, 1, QUICK) for name in ("xgboost", "catboost")}
    assert runs["xgboost"].test_score == 0.5
    assert runs["catboost"].status == "error"
    assert "constant" in runs["catboost"].reason


def test_what_another_try_may_mend_is_raised_while_there_are_tries(monkeypatch):
    def short(*arguments):
        raise MemoryError("full")

    monkeypatch.setattr("tabpet.trees.references.build_fitter", short)
    with pytest.raises(MemoryError):
        fit_reference(classes(), "linear", 1, QUICK, retries_left=1)
    assert fit_reference(classes(), "linear", 1, QUICK).status == "oom"


class AsksToEnd:
    """The fitter of a table, which is asked to end in its third round as by a signal."""

    def __init__(self, interrupt, *arguments):
        self.interrupt, self.fitter = interrupt, build_fitter(*arguments)

    def fit(self, parameters, watch):
        def asked(rounds, error):
            self.interrupt.signalled = rounds >= 3
            return watch(rounds, error)

        return self.fitter.fit(parameters, asked)


@pytest.mark.parametrize("name", ["xgboost", "catboost"])
def test_a_reference_that_is_asked_to_end_does_so_within_its_round(monkeypatch, name):
    for interrupt in (Interrupt(), Interrupt(minutes=1, last_try=True)):
        fitter = partial(AsksToEnd, interrupt)
        monkeypatch.setattr(references, "build_fitter", fitter)
        if not interrupt.last_try:
            with pytest.raises(Interrupted):
                fit_reference(classes(), name, 1, QUICK, interrupt=interrupt)
            continue
        run = fit_reference(classes(), name, 1, QUICK, interrupt=interrupt)
        assert (run.status, run.epochs) == ("timeout", 3)
        assert run.reason == "the 1 min that the job had asked for were over, at round 3"
        assert run.test_score is not None


def test_a_reference_that_was_finished_before_it_looked_is_whole():
    asked = Interrupt(signalled=True)
    run = fit_reference(classes(), "linear", 1, QUICK, interrupt=asked)
    assert run == replace(fit_reference(classes(), "linear", 1, QUICK), seconds=run.seconds)
