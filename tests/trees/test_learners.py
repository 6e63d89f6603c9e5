"""The tree learners on all kinds of tables, and what stops them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostClassifier
from catboost.utils import get_gpu_device_count
from sklearn.metrics import log_loss
from xgboost import XGBClassifier

from tabpet.errors import TabpetError
from tabpet.settings import TreeSettings
from tabpet.trees.fitting import build_fitter
from tabpet.trees.table import Table
from tests.trees.splits import QUICK, classes, codes_only, drop_class, numbers, prepare

pytestmark = pytest.mark.parametrize("name", ["xgboost", "catboost"])


class Recorder:
    """A watch that writes down what it is told, and may end the fit."""

    def __init__(self, end: int | None = None):
        self.errors, self.end = [], end

    def __call__(self, rounds: int, error: float) -> bool:
        self.errors.append(error)
        assert rounds == len(self.errors)
        return rounds == self.end


def fit(name, split, settings=QUICK, watch=None, **parameters):
    learner = build_fitter(name, Table.from_split(split), settings, seed=1, threads=1)
    return learner.fit({"learning_rate": 0.3, **parameters}, watch or Recorder())


@pytest.mark.parametrize(("labels", "chance"), [("no yes", 1 / 2), ("a b c d", 1 / 4)])
def test_classes_are_learned(name, labels, chance):
    fitted = fit(name, classes(800, labels=labels, noise=0.0))
    assert fitted.val_score > 1.5 * chance
    assert fitted.test_score > 1.5 * chance
    assert 1 <= fitted.rounds <= fitted.trained <= QUICK.rounds


def test_numbers_are_learned_in_any_unit(name):
    ordinary, tiny = fit(name, numbers()), fit(name, numbers(unit=1e-9))
    assert ordinary.test_score < 0.5 * numbers().part("test")["y"].std()
    assert tiny.test_score == pytest.approx(1e-9 * ordinary.test_score, rel=1e-3)


def test_levels_are_no_numbers(name):
    # One split on the codes as numbers can't set four scattered levels of nine apart.
    fitted = fit(name, codes_only(), TreeSettings(rounds=10), max_depth=1)
    assert (fitted.val_score, fitted.test_score) == (1.0, 1.0)


def test_unseen_levels_are_predicted(name):
    split = classes()
    frame = split.frame.copy()
    levels = len(split.info.features[2].levels)
    frame.loc[frame["part"] != "train", "c"] = np.int32(levels)
    fitted = fit(name, replace(split, frame=frame))
    assert 0.5 < fitted.test_score < fit(name, split).test_score


def test_constant_features_change_nothing(name):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    y = pd.Categorical(np.where(frame["a"] + frame["b"] > 0, "u", "v"))
    constant = {"k": 1.0, "l": pd.Categorical(["same"] * 200)}
    plain, padded = frame.assign(y=y), frame.assign(**constant, y=y)
    # Without CatBoost's chance, which a further column would stir.
    still = {"catboost": {"random_strength": 0, "bootstrap_type": "No"}, "xgboost": {}}[name]
    assert fit(name, prepare(plain), **still) == fit(name, prepare(padded), **still)


def test_a_class_missing_from_validation_or_training(name):
    split = classes(labels="a b c", noise=0.0)
    assert fit(name, drop_class(split, "val", 1)).val_score > 0.6
    # Two of three classes can be right at best.
    for label in range(3):
        fitted = fit(name, drop_class(split, "train", label))
        assert 0.4 < fitted.val_score <= 2 / 3 + 1e-12


def test_names_that_libraries_refuse(name):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 4)))
    frame.columns = ["a[0]", "b<1", "c]\t,{}", "y\n"]
    assert fit(name, prepare(frame)).rounds >= 1


def test_the_score_stops_and_its_best_round_is_kept(name):
    split, watch = classes(labels="a b c", noise=2.0), Recorder()
    settings = TreeSettings(rounds=300, patience=7, stopping="score")
    fitted = fit(name, split, settings, watch)
    assert fitted.val_score == pytest.approx(1 - min(watch.errors), abs=1e-6)
    # Libraries hold weights in single precision, so that equal scores differ in the ninth digit.
    assert watch.errors[fitted.rounds - 1] == pytest.approx(min(watch.errors), abs=1e-7)
    assert fitted.trained == len(watch.errors) + (name == "xgboost") < 300
    assert fitted.trained == fitted.rounds + 7


def test_regression_is_stopped_by_its_score_either_way(name):
    runs = [
        fit(name, numbers(), TreeSettings(rounds=300, patience=5, stopping=stopping))
        for stopping in ("score", "loss")
    ]
    assert runs[0] == runs[1]


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("labels", ["no yes", "a b c"])
def test_the_loss_that_stops_is_weighted_like_training(name, labels, balanced):
    split, watch = classes(labels=labels), Recorder(end=1)
    settings = TreeSettings(rounds=5, stopping="loss", balanced=balanced)
    fit(name, split, settings, watch, max_depth=3)
    table = Table.from_split(split)
    train, val = table.training_rows(balanced), table.stopping_rows("loss", balanced)
    [probabilities] = staged(name, train, val.values, rounds=1)
    expected = log_loss(val.target, probabilities, sample_weight=val.weight)
    assert watch.errors == [pytest.approx(expected, rel=1e-5)]


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("labels", ["no yes", "a b c"])
def test_the_round_of_least_loss_is_kept(name, labels, balanced):
    split = classes(labels=labels, noise=2.0)
    settings = TreeSettings(rounds=60, patience=60, stopping="loss", balanced=balanced)
    fitted = fit(name, split, settings, max_depth=3)
    table = Table.from_split(split)
    train, val = table.training_rows(balanced), table.stopping_rows("loss", balanced)
    losses = [
        log_loss(val.target, probabilities, sample_weight=val.weight)
        for probabilities in staged(name, train, val.values, rounds=60)
    ]
    assert fitted.rounds == np.argmin(losses) + 1 < 60
    assert fitted.val_loss == pytest.approx(min(losses), rel=1e-5)


@pytest.mark.parametrize("stopping", ["score", "loss"])
def test_the_loss_of_a_fit_is_that_of_its_kept_round(name, stopping):
    split, watch = classes(labels="a b c", noise=2.0), Recorder()
    fitted = fit(name, split, TreeSettings(rounds=60, patience=20, stopping=stopping), watch)
    losses = Recorder()
    fit(name, split, TreeSettings(rounds=60, patience=60, stopping="loss"), losses)
    assert fitted.val_loss == pytest.approx(losses.errors[fitted.rounds - 1], rel=1e-5)


def test_the_loss_of_numbers_is_their_error(name):
    fitted = fit(name, numbers(unit=1000))
    assert fitted.val_loss == fitted.val_score


def staged(name, train, values, rounds):
    """Probabilities after each round of the library's own classifier."""
    if name == "xgboost":
        kinds = {"feature_types": ["q", "q", "c"], "enable_categorical": True}
        model = XGBClassifier(
            n_estimators=rounds, learning_rate=0.3, max_depth=3, random_state=1, n_jobs=1, **kinds
        )
        model.fit(train.values, train.target, sample_weight=train.weight)
        return [
            model.predict_proba(values, iteration_range=(0, end)) for end in range(1, rounds + 1)
        ]
    model = CatBoostClassifier(
        iterations=rounds,
        learning_rate=0.3,
        max_depth=3,
        random_seed=1,
        thread_count=1,
        cat_features=[2],
        logging_level="Silent",
        allow_writing_files=False,
    )
    frames = [pd.DataFrame(part).astype({2: int}) for part in (train.values, values)]
    model.fit(frames[0], train.target, sample_weight=train.weight)
    return list(model.staged_predict_proba(frames[1]))


def test_a_p_value_takes_the_place_of_patience_in_catboost(name):
    split = classes(noise=2.0)
    settings = [
        TreeSettings(rounds=300, stopping="loss", patience=patience, od_pval=0.01)
        for patience in (2, 40)
    ]
    short, long = (fit(name, split, chosen) for chosen in settings)
    if name == "catboost":
        assert short == long
    else:
        assert short.trained == short.rounds + 2 < long.trained


@pytest.mark.parametrize("end", [1, 4])
def test_a_watch_ends_a_fit_in_any_round(name, end):
    fitted = fit(name, classes(), watch=Recorder(end=end))
    assert fitted.trained == end
    assert 1 <= fitted.rounds <= end
    assert fitted.val_score > 0.5


def test_seeds_repeat_and_differ(name):
    draw = {"xgboost": {"subsample": 0.5}, "catboost": {"bootstrap_type": "Bayesian"}}[name]
    table = Table.from_split(numbers())
    scores = [
        build_fitter(name, table, QUICK, seed, threads=1).fit(draw, Recorder()).val_score
        for seed in (1, 1, 2)
    ]
    assert scores[0] == scores[1] != scores[2]


@pytest.mark.skipif(get_gpu_device_count() > 0, reason="there is a GPU")
def test_a_missing_gpu_is_an_error_before_any_training(name):
    table = Table.from_split(classes())
    with pytest.raises(TabpetError, match="device is cuda.*no GPU"):
        build_fitter(name, table, TreeSettings(device="cuda"), seed=1, threads=1)


def test_catboost_does_not_prune_on_a_gpu(name, monkeypatch):
    if name == "catboost":
        monkeypatch.setattr("tabpet.trees.catboost.fitter.get_gpu_device_count", lambda: 1)
        table, settings = Table.from_split(classes()), TreeSettings(device="cuda", prune=True)
        with pytest.raises(TabpetError, match="prune: false"):
            build_fitter(name, table, settings, seed=1, threads=1)
