"""What the estimators promise beyond scikit-learn's checks."""

import json
import pickle
import warnings
from dataclasses import replace
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from matplotlib.axes import Axes
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tabpet.errors import TabpetError
from tabpet.estimators import TabPETClassifier, TabPETRegressor, base
from tabpet.training.trainer import fit_members
from tests.clocks import Countdown
from tests.estimators.tables import make, make_table, make_target

TASKS = ("classification", "regression")
BACKBONES = ("ft_transformer", "saint", "tab_transformer")
pytestmark = pytest.mark.filterwarnings("ignore:only .* val rows", "ignore:constant in training")


def fitted(task="classification", n=90, **changes):
    X, y = make_table(n)
    return make(task, **{"alpha": 0.5, **changes}).fit(X, make_target(task, y)), X


def outputs(estimator, X):
    return estimator.predict_proba(X) if hasattr(estimator, "classes_") else estimator.predict(X)


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("task", TASKS)
def test_a_prediction_is_that_of_its_row_alone(task, backbone):
    estimator, X = fitted(task, backbone=backbone)
    together = outputs(estimator, X)
    order = np.random.default_rng(0).permutation(len(X))
    np.testing.assert_allclose(outputs(estimator, X.iloc[order]), together[order], rtol=1e-10)
    alone = np.concatenate([outputs(estimator, X.iloc[[row]]) for row in range(5)])
    np.testing.assert_allclose(alone, together[:5], rtol=1e-10)


@pytest.mark.parametrize("backbone", BACKBONES)
@pytest.mark.parametrize("task", TASKS)
def test_saved_and_loaded_it_is_the_same(tmp_path, task, backbone):
    estimator, X = fitted(task, backbone=backbone)
    path = tmp_path / "model.safetensors"
    estimator.save(path)
    again = type(estimator).load(path)
    np.testing.assert_array_equal(outputs(again, X), outputs(estimator, X))
    assert again.get_params() == estimator.get_params()
    pd.testing.assert_frame_equal(again.history_, estimator.history_, check_exact=True)
    pd.testing.assert_frame_equal(again.alpha_scores_, estimator.alpha_scores_)
    np.testing.assert_array_equal(again.encoding_.values, estimator.encoding_.values)
    np.testing.assert_array_equal(again.graph_.adjacency, estimator.graph_.adjacency)
    assert list(again.feature_names_in_) == list(X) and again.n_features_in_ == X.shape[1]
    # Training rows are stored where scored rows look at them, and nowhere else.
    with safe_open(path, framework="np") as file:
        rows = [name for name in file.keys() if name.startswith("context")]  # noqa: SIM118
        json.loads(file.metadata()["tabpet"])
    assert bool(rows) == (backbone == "saint")
    for copy in (pickle.loads(pickle.dumps(estimator)), _through_joblib(estimator, tmp_path)):
        np.testing.assert_array_equal(outputs(copy, X), outputs(estimator, X))


def _through_joblib(estimator, folder):
    joblib.dump(estimator, folder / "model.joblib")
    return joblib.load(folder / "model.joblib")


def test_parameters_that_are_set_later_are_not_those_of_the_model(tmp_path):
    estimator, X = fitted()
    estimator.set_params(backbone="saint", width=32, n_heads=4)
    estimator.save(tmp_path / "m.safetensors")
    again = TabPETClassifier.load(tmp_path / "m.safetensors")
    assert (again.backbone, again.width) == ("saint", 32)
    np.testing.assert_allclose(again.predict_proba(X), estimator.predict_proba(X), rtol=1e-12)
    again.save(tmp_path / "second.safetensors")
    twice = TabPETClassifier.load(tmp_path / "second.safetensors")
    np.testing.assert_allclose(twice.predict_proba(X), estimator.predict_proba(X), rtol=1e-12)


def test_frames_and_arrays_stand_for_each_other(tmp_path):
    X, y = make_table()
    X = X.rename(columns={"size": "row"})
    of_frame = make("regression", alpha=1.0).fit(X, y)
    expected = of_frame.predict(X)
    of_frame.save(tmp_path / "m.safetensors")
    for estimator in (of_frame, TabPETRegressor.load(tmp_path / "m.safetensors")):
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            np.testing.assert_allclose(estimator.predict(X.to_numpy()), expected, rtol=1e-10)
    of_array = make("regression", alpha=1.0).fit(X.to_numpy(), y)
    with pytest.warns(UserWarning, match="X has feature names, but TabPETRegressor was fitted wi"):
        np.testing.assert_allclose(of_array.predict(X), of_array.predict(X.to_numpy()), rtol=1e-10)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        mixed = make("regression", alpha=1.0).fit(X, y, X_val=X.to_numpy(), y_val=y)
    same = make("regression", alpha=1.0).fit(X, y, X_val=X, y_val=y)
    np.testing.assert_array_equal(mixed.predict(X), same.predict(X))
    # Names that are numbers are names to us, though not to scikit-learn.
    numbered = X.set_axis(range(5), axis=1)
    by_number = make("regression", alpha=1.0).fit(numbered, y)
    turned = by_number.predict(numbered[[4, 3, 2, 1, 0]])
    np.testing.assert_array_equal(turned, by_number.predict(numbered))


def test_loading_needs_no_training_device(tmp_path):
    estimator, X = fitted()
    estimator.device = "cuda:3"  # as if it had been trained there
    estimator.save(tmp_path / "m.safetensors")
    again = TabPETClassifier.load(tmp_path / "m.safetensors")
    assert again.device == "cuda:3"
    np.testing.assert_allclose(again.predict_proba(X), estimator.predict_proba(X), rtol=1e-6)


def test_parameters_without_a_json_form_come_back_as_far_as_they_can(tmp_path):
    X, y = make_table()
    edges = pd.DataFrame({"a": ["size"], "b": ["age"], "weight": [2.0]})
    estimator = make(
        "classification",
        alpha=np.float64(0.5),
        graph=edges,
        class_weight={2: 3.0, 1: np.float32(1)},
        random_state=np.random.RandomState(3),
        encoding_settings={"k_max": np.int64(2)},
        device=torch.device("cpu"),
    )
    estimator.fit(X, (y > 8) + 1)
    estimator.save(tmp_path / "m.safetensors")
    again = TabPETClassifier.load(tmp_path / "m.safetensors")
    assert again.class_weight == {2: 3.0, 1: 1.0} and again.graph == [["size", "age", 2.0]]
    assert again.encoding_settings == {"k_max": 2} and again.device == "cpu"
    assert again.random_state is None and again.classes_.tolist() == [1, 2]
    np.testing.assert_array_equal(again.predict(X), estimator.predict(X))


def test_what_is_no_saved_estimator_is_refused(tmp_path):
    path = tmp_path / "m.safetensors"
    with pytest.raises(TabpetError, match="no file"):
        TabPETClassifier.load(path)
    path.write_bytes(b"what?" * 10)
    with pytest.raises(TabpetError, match="not a saved estimator"):
        TabPETClassifier.load(path)
    fitted("regression")[0].save(path)
    with safe_open(path, framework="np") as file:
        facts = json.loads(file.metadata()["tabpet"])
    wrong = {"format": 1}, {"preparation": {}}, {"parameters": {}}, {"backbone_settings": {}}
    for change in wrong:
        metadata = {"tabpet": json.dumps({**facts, **change})}
        save_file(load_file(path), tmp_path / "wrong", metadata)
        with pytest.raises(TabpetError, match="was not written by this version's `save`"):
            TabPETRegressor.load(tmp_path / "wrong")
    with pytest.raises(TabpetError, match=r"holds a TabPETRegressor: use TabPETRegressor.load"):
        TabPETClassifier.load(path)


def test_auto_never_falls_back_to_no_encodings(monkeypatch):
    def fail_with_encodings(job, alphas):
        done = fit_members(job, alphas)
        members = [replace(one, state=None) if one.alpha else one for one in done.members]
        return replace(done, members=members)

    monkeypatch.setattr(base, "fit_members", fail_with_encodings)
    with pytest.raises(ValueError, match="only 0 .no encodings. could be trained"):
        fitted(alpha="auto", alphas=(0.5, 2))
    assert fitted(graph="none", alpha="auto")[0].alpha_ == 0


@pytest.mark.parametrize("task", TASKS)
def test_auto_takes_the_alpha_with_the_best_validation_score(task):
    estimator, _ = fitted(task, alpha="auto", alphas=(0.1, 1, 5), epochs=3)
    scores = estimator.alpha_scores_.set_index("alpha")
    assert list(scores.index) == [0, 0.1, 1, 5]
    candidates = scores.loc[[0.1, 1, 5], "val_score"]
    best = candidates.idxmax() if task == "classification" else candidates.idxmin()
    assert estimator.alpha_ == best and scores["chosen"].sum() == 1
    # A member's score is that of its best epoch.
    curve = estimator.history_[estimator.history_["alpha"] == best].set_index("epoch")
    kept = curve.loc[scores.loc[best, "best_epoch"], "val_score"]
    assert scores.loc[best, "val_score"] == pytest.approx(kept, rel=1e-5)


def test_graphs_by_name_edges_control_or_none():
    X, y = make_table()
    names = ["size", "age", "town", "flag", "grade"]
    spearman = make("regression", alpha=1.0).fit(X, y)
    assert spearman.graph_.method == "spearman" and spearman.graph_.features == tuple(names)
    given = make("regression", alpha=1.0, graph=[("size", "age"), ("town", "flag", 2.5)]).fit(X, y)
    assert given.graph_.nodes == tuple(names) and given.graph_.n_edges == 2
    assert given.graph_.adjacency[2, 3] == given.graph_.adjacency[3, 2] == 2.5
    none = make("regression", alpha=1.0, graph="none").fit(X, y)
    assert none.graph_ is None and none.encoding_ is None and none.alpha_ == 0
    random = make("regression", alpha=1.0, graph="random").fit(X, y)
    assert random.encoding_.kind == "random"
    assert random.encoding_.values.shape == spearman.encoding_.values.shape
    assert not np.allclose(random.encoding_.values, spearman.encoding_.values)
    learnable = make("regression", graph="learnable", alphas=(2, 3)).fit(X, y)
    assert learnable.encoding_.kind == "learnable" and learnable.alpha_ == 1
    with pytest.raises(TabpetError, match="there is no graph 'spearmn'; did you mean 'spearman'"):
        make("regression", graph="spearmn").fit(X, y)
    with pytest.raises(ValueError, match="'weight' is not a feature of X"):
        make("regression", graph=[("size", "weight")]).fit(X, y)
    with pytest.warns(UserWarning, match="has no edges, so the encoding is zero"):
        make("regression", alpha=1.0, graph=[]).fit(X, y)


def test_edges_name_columns_as_they_were_given(tmp_path):
    X, y = make_table()
    settings = {"alpha": 1.0, "epochs": 1}
    renamed = make("regression", graph=[("row", "age", 2)], **settings)
    renamed.fit(X.rename(columns={"size": "row"}), y)
    assert renamed.graph_.adjacency[0, 1] == 2
    of_array = make("regression", graph=np.array([[0, 1], [2, 3]]), **settings)
    of_array.fit(X.to_numpy(), y)
    assert of_array.graph_.adjacency[[0, 2], [1, 3]].tolist() == [1, 1]
    of_array.save(tmp_path / "m.safetensors")
    assert TabPETRegressor.load(tmp_path / "m.safetensors").graph == [[0, 1], [2, 3]]
    sparse = make("regression", graph=[("age", "empty"), ("age", "size")], **settings)
    with pytest.warns(UserWarning, match="edge .'age', 'empty'. is ignored: empty was left out"):
        sparse.fit(X.assign(empty=np.nan), y)
    assert sparse.graph_.n_edges == 1


def test_without_early_stopping_all_rows_and_epochs_are_used():
    X, y = make_table()
    estimator = make("regression", alpha=1.0, early_stopping=False, patience=1, min_epochs=0)
    estimator.fit(X, y)
    assert estimator.preparation_.rows == {"train": 90, "val": 0, "test": 0}
    assert estimator.alpha_scores_["best_epoch"].tolist() == [4]
    assert estimator.history_["val_score"].isna().all()
    # Without validation rows, nothing tells epochs apart: the last state is kept.
    longer = clone(estimator).set_params(epochs=5).fit(X, y)
    assert not np.allclose(longer.predict(X), estimator.predict(X))
    assert longer.history_["train_loss"][:4].equals(estimator.history_["train_loss"])


def test_a_row_without_weight_is_no_row():
    X, y = make_table()
    weight = np.ones(90)
    weight[[1, 7, 50]] = 0
    there = weight > 0
    weighted = make("regression", alpha=1.0).fit(X, y, sample_weight=3 * weight)
    fewer = make("regression", alpha=1.0).fit(X[there], y[there])
    np.testing.assert_allclose(weighted.predict(X), fewer.predict(X), rtol=1e-4)


def test_weights_pull_predictions():
    X, _ = make_table(gaps=False)
    y = np.where(np.arange(90) % 2, 10.0, -10.0)  # nothing in X tells them apart
    up = make("regression", alpha=1.0, epochs=10).fit(X, y, sample_weight=np.where(y > 0, 9, 1))
    down = make("regression", alpha=1.0, epochs=10).fit(X, y, sample_weight=np.where(y > 0, 1, 9))
    assert up.predict(X).mean() > 3 and down.predict(X).mean() < -3


def test_time_limit_keeps_the_best_so_far(monkeypatch):
    X, y = make_table(100)
    settings = {"alpha": 1.0, "batch_size": 20}  # four steps an epoch
    monkeypatch.setattr(base, "Clock", partial(Countdown, looks=10))
    with pytest.warns(UserWarning, match="timeout: 60 s were over in epoch 3"):
        cut = make("regression", **settings, max_seconds=60).fit(X, y)
    monkeypatch.undo()
    two = make("regression", **settings, epochs=2).fit(X, y)
    np.testing.assert_array_equal(cut.predict(X), two.predict(X))


def test_time_that_is_over_before_there_is_a_graph_says_what_to_change():
    X, y = make_table()
    with pytest.raises(ValueError, match="no notears graph: .* Raise graph_seconds or max_seconds"):
        make("regression", graph="notears", max_seconds=1e-9).fit(X, y)


def test_a_loss_that_explodes_says_what_to_change():
    X, y = make_table()
    with pytest.raises(ValueError, match="not finite in epoch 1. Lower learning_rate or alpha"):
        make("regression", alpha=1e30).fit(X, y)


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (pd.Series([1, 2] * 45, dtype=object), [1, 2]),
        (pd.Series([True, False] * 45, dtype=object), [False, True]),
        (pd.Series([True, False] * 45, dtype="boolean"), [False, True]),
        (pd.Series([1, 2] * 45, dtype="Int64"), [1, 2]),
        (pd.Series(["u", "v"] * 45, dtype="string"), ["u", "v"]),
    ],
)
def test_classes_are_what_was_given_whatever_holds_them(y, classes):
    estimator = make("classification", alpha=0.5, epochs=1).fit(make_table()[0], y)
    assert estimator.classes_.tolist() == classes
    assert type(estimator.classes_.tolist()[0]) is type(classes[0])


def test_warnings_point_to_the_line_that_calls_fit(monkeypatch):
    X, y = make_table(100)
    monkeypatch.setattr(base, "Clock", partial(Countdown, looks=10))
    with pytest.warns(UserWarning) as caught:
        make("regression", alpha=1.0, batch_size=20, max_seconds=60).fit(X.assign(k=1), y)
        make("regression", alpha=1.0, batch_size=20, graph=[], max_seconds=60).fit(X, y)
    messages = " ".join(str(one.message) for one in caught)
    assert all(words in messages for words in ("constant", "timeout", "no edges"))
    assert {one.filename for one in caught} == {__file__}


def test_time_that_is_over_in_the_first_epoch_says_what_to_change():
    X, y = make_table()
    estimator = make("regression", alpha=1.0, max_seconds=1e-9)
    with pytest.raises(ValueError, match="1e-09 s were over in epoch 1. Raise max_seconds, or"):
        estimator.fit(X, y)


def test_new_categories_and_gaps_at_predict():
    estimator, X = fitted(n=120)
    strange = X.head(3).copy()
    strange["town"] = ["Lima", None, "Rome"]
    strange["age"] = [np.nan, 3, np.inf]
    assert np.isfinite(estimator.predict_proba(strange)).all()
    # Text that looks like a number is still the level that it was.
    codes, y = pd.DataFrame({"code": ["01", "02", "x"] * 20}), np.arange(60) % 3
    by_code = make("classification", alpha=0.5, epochs=30).fit(codes, y)
    only = pd.DataFrame({"code": ["02"]})
    np.testing.assert_allclose(
        by_code.predict_proba(only), by_code.predict_proba(codes)[[1]], rtol=1e-10
    )


def test_truth_values_are_the_same_as_numbers():
    X, y = make_table()
    numbers = X.assign(flag=X["flag"].astype(int))
    by_share = make("regression", alpha=1.0, epochs=20).fit(X, y)
    by_rows = make("regression", alpha=1.0, epochs=20).fit(X, y, X_val=numbers, y_val=y)
    same = make("regression", alpha=1.0, epochs=20).fit(X, y, X_val=X, y_val=y)
    np.testing.assert_array_equal(by_rows.history_["val_score"], same.history_["val_score"])
    assert by_share.preparation_.features[3].levels == ["False", "True"]
    for flag in (numbers["flag"], numbers["flag"].astype(float), numbers["flag"].astype(str)):
        np.testing.assert_array_equal(by_share.predict(X.assign(flag=flag)), by_share.predict(X))
    assert not np.allclose(by_share.predict(X.assign(flag=~X["flag"])), by_share.predict(X))


@pytest.mark.parametrize("backbone", BACKBONES)
def test_enormous_numbers_at_predict(backbone):
    estimator, X = fitted(backbone=backbone)
    far = X.head(4).assign(size=[1e300, -1e300, 1e38, np.inf], age=[1e308, 3, -1e308, 5])
    assert np.isfinite(estimator.predict_proba(far)).all()


def test_a_column_of_new_categories_alone_is_worth_a_warning():
    estimator, X = fitted(n=120)
    with pytest.warns(UserWarning, match="grade: none of its values was there in training, wh"):
        estimator.predict(X.assign(grade="Low"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator.predict(X.head(1).assign(grade="Low"))  # one new value is no surprise


def test_columns_named_like_those_of_a_split():
    X, y = make_table()
    X = X.rename(columns={"size": "row", "age": "part", "town": "target"})
    estimator = make("regression", alpha=1.0).fit(X, y)
    assert np.isfinite(estimator.predict(X)).all()


def test_it_is_a_scikit_learn_estimator():
    X, y = make_table(60)
    target = make_target("classification", y)
    estimator = make("classification", epochs=1, validation=0.3, alphas=(0.5,))
    assert len(cross_val_score(estimator, X, target, cv=2)) == 2
    grid = {"alpha": [0.5, 2.0], "graph": ["spearman", "none"], "backbone": ["ft_transformer"]}
    search = GridSearchCV(estimator, grid, cv=2, error_score="raise").fit(X, target)
    assert set(search.best_params_) == set(grid)
    pipeline = make_pipeline(FunctionTransformer(lambda X: X.drop(columns="flag")), estimator)
    assert pipeline.fit(X, target).predict(X).shape == (60,)
    assert clone(estimator).get_params() == estimator.get_params()


def test_plots_are_axes():
    estimator, _ = fitted(alpha="auto", alphas=(0.5, 2))
    for plot in ("plot_graph", "plot_encoding", "plot_history", "plot_alphas"):
        axes = getattr(estimator, plot)()
        assert isinstance(axes, Axes)
        assert getattr(estimator, plot)(axes) is axes
        axes.figure.canvas.draw()
    with pytest.raises(TabpetError, match="graph='none'"):
        fitted(graph="none")[0].plot_graph()


def test_verbose_shows_a_bar(capsys):
    fitted("regression", verbose=True)
    assert "4/4" in capsys.readouterr().out
    fitted("regression")
    assert capsys.readouterr().out == ""


def test_what_could_not_be_fitted_is_not_fitted():
    X, y = make_table()
    estimator = make("classification", alpha=0.5)
    with pytest.raises(ValueError, match="Unknown label type"):
        estimator.fit(X, y)
    with pytest.raises(NotFittedError):
        estimator.predict(X)
    with pytest.raises(NotFittedError):
        estimator.plot_history()


@pytest.mark.parametrize("changes", [{"max_seconds": 1e-6}, {"device": "abacus"}, {"graph": "pcc"}])
def test_a_failed_fit_leaves_the_last_one_whole(changes):
    estimator, X = fitted()
    expected = estimator.predict_proba(X)
    other = pd.DataFrame({"a": np.arange(90.0), "b": np.tile([1, 5, 2], 30)})
    before = dict(estimator.set_params(**changes).__dict__)
    with pytest.raises(ValueError, match=r"could be trained|abacus|no graph 'pcc'"):
        estimator.fit(other, np.tile(["no", "yes"], 45))
    assert estimator.__dict__ == before
    np.testing.assert_array_equal(estimator.predict_proba(X), expected)


def test_same_random_state_same_model():
    X, y = make_table()
    first, again = (make("regression", alpha=1.0).fit(X, y).predict(X) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    other = make("regression", alpha=1.0, random_state=2).fit(X, y).predict(X)
    assert not np.allclose(first, other)


def test_class_weights_decide_what_counts():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    y = (rng.random(200) < 0.15).astype(int)  # nothing in X tells them apart
    settings = {"alpha": 0.5, "epochs": 12}
    shares = {
        weight: make("classification", class_weight=weight, **settings)
        .fit(X, y)
        .predict_proba(X)[:, 1]
        .mean()
        for weight in ("balanced", None)
    }
    assert abs(shares["balanced"] - 0.5) < 0.15 and abs(shares[None] - 0.15) < 0.1


def test_both_classes_name_the_same_parameters():
    ours, theirs = TabPETClassifier().get_params(), TabPETRegressor().get_params()
    assert ours == {**theirs, "class_weight": "balanced"}
