"""Prepared splits: what is learned, from which rows, and that it can be undone."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 (registers the class)
from sklearn.impute import IterativeImputer
from sklearn.preprocessing import StandardScaler

from tabpet.catalog import CatalogRow
from tabpet.data.card import make_card
from tabpet.data.imputer import Imputer
from tabpet.data.nodes import build_node_matrix
from tabpet.data.prepare import (
    MISSING_LEVEL,
    PARTS,
    Split,
    assign_parts,
    code_rows,
    prepare_parts,
    prepare_split,
)
from tabpet.data.summary import tabulate_datasets
from tabpet.errors import TabpetError
from tabpet.settings import PrepareSettings

DEFAULTS = PrepareSettings()


def table(n: int = 200, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": rng.normal(5, 3, n),
            "b": rng.integers(0, 4, n),
            "c": pd.Categorical(rng.choice(["u", "v", "w"], n)),
            "y": pd.Categorical(rng.choice(["no", "yes"], n, p=[0.3, 0.7])),
        }
    )


def prepare(frame: pd.DataFrame, seed: int = 42, options: PrepareSettings = DEFAULTS) -> Split:
    task = "classification" if frame["y"].dtype == "category" else "regression"
    row = CatalogRow(name="toy", path="toy.csv", task=task, target="y")
    return prepare_split(frame, make_card(frame, row, "y", "test", []), seed, options)


def test_parts_are_stratified_and_sized():
    split = prepare(table(1000))
    assert split.info.rows == {"train": 600, "val": 200, "test": 200}
    shares = [split.part(part)["y"].mean() for part in PARTS]
    assert max(shares) - min(shares) < 0.01


def test_scaling_is_sklearns_on_training_rows():
    frame = table()
    split = prepare(frame)
    training = frame.iloc[split.part("train")["row"]]
    scaler = StandardScaler().fit(training[["a", "b"]].to_numpy(dtype=float))
    expected = scaler.transform(frame[["a", "b"]].to_numpy(dtype=float))
    ours = split.frame.sort_values("row")[["a", "b"]].to_numpy()
    np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-12)


def test_round_trip_through_files_and_back_to_raw(tmp_path):
    frame = table()
    split = prepare(frame)
    split.save(tmp_path / "s.parquet", tmp_path / "s.json")
    again = Split.load(tmp_path / "s.parquet", tmp_path / "s.json")
    assert again.info == split.info
    pd.testing.assert_frame_equal(again.frame, split.frame)
    restored = again.restore()
    original = frame.iloc[again.frame["row"]].reset_index(drop=True)
    np.testing.assert_allclose(restored[["a", "b"]], original[["a", "b"]], rtol=1e-12, atol=1e-12)
    assert restored["c"].tolist() == original["c"].astype(str).tolist()
    assert restored["y"].tolist() == original["y"].astype(str).tolist()


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    missing=st.sampled_from([0.0, 0.2, 0.5]),
    task=st.sampled_from(["classification", "regression"]),
)
def test_nothing_is_learned_from_validation_or_test_rows(seed, missing, task):
    rng = np.random.default_rng(seed)
    frame = table(120, seed % 1000).assign(d=rng.normal(size=120))
    if task == "regression":
        frame["y"] = rng.normal(size=120)
    for name in ("a", "d"):  # at 0.5 a quarter of the rows is complete: numbers are imputed
        frame.loc[rng.random(120) < missing, name] = np.nan
    part = assign_parts(frame["y"], task, 42, DEFAULTS.fractions)
    if task == "classification":  # of the rows that may be left, both classes must have some
        complete = frame[["a", "d"]].notna().all(axis=1)
        assume(frame["y"][complete & (part == "train")].nunique() == 2)
    split = prepare(frame)
    event(f"{task}: {split.info.missing_numbers}")
    other = np.flatnonzero(part != "train")
    changed = frame.copy()
    changed.loc[other, "a"] = rng.normal(1e6, 1e3, len(other))
    changed.loc[other, "b"] = rng.permutation(frame.loc[other, "b"].to_numpy())
    changed["c"] = changed["c"].cat.add_categories("new")
    changed.loc[other, "c"] = "new"
    if task == "regression":  # class labels make the strata, so there the parts depend on them
        changed.loc[other, "y"] = rng.normal(50, 9, len(other))
    again = prepare(changed)
    assert again.info.features == split.info.features
    assert again.info.target == split.info.target
    assert again.info.dropped_features == split.info.dropped_features
    pd.testing.assert_frame_equal(
        again.part("train").reset_index(drop=True), split.part("train").reset_index(drop=True)
    )
    others = again.frame[again.frame["part"] != "train"]
    assert set(others["c"]) <= {3}, "a level that training rows do not have is unseen"
    np.testing.assert_array_equal(build_node_matrix(again).values, build_node_matrix(split).values)


def test_incomplete_rows_are_dropped_when_enough_are_complete():
    frame = table()
    frame.loc[::4, "a"] = np.nan
    split = prepare(frame)
    assert split.info.missing_numbers == "rows dropped"
    assert sum(split.info.rows_dropped.values()) == 50
    assert len(split.frame) == 150
    assert not set(split.frame["row"]) & set(range(0, 200, 4))


def test_numbers_are_imputed_when_too_few_rows_are_complete():
    frame = table()
    frame["b"] = frame["a"] * 2 + 1  # so that the imputer has something to find
    frame.loc[frame.index % 5 != 0, "a"] = np.nan
    options = PrepareSettings(max_missing=0.9)
    split = prepare(frame, options=options)
    assert split.info.missing_numbers == "imputed"
    assert len(split.frame) == 200
    restored = split.restore()
    np.testing.assert_allclose(restored["a"], (restored["b"] - 1) / 2, atol=0.05)


def test_sparse_feature_is_dropped_with_the_reason():
    frame = table()
    frame.loc[frame.index % 10 != 0, "a"] = np.nan
    split = prepare(frame)
    assert [feature.name for feature in split.info.features] == ["b", "c"]
    assert "missing" in split.info.dropped_features["a"]


def test_missing_category_is_a_level_of_its_own():
    frame = table()
    frame.loc[::3, "c"] = np.nan
    split = prepare(frame)
    feature = split.info.features[-1]
    assert feature.levels == ["u", "v", "w", MISSING_LEVEL]
    missing_rows = frame["c"].isna().to_numpy()[split.frame["row"]]
    assert (split.frame["c"][missing_rows] == 3).all()


def test_unseen_category_gets_the_unseen_code():
    frame = table()
    rows = prepare(frame).part("test")["row"].to_numpy()
    frame["c"] = frame["c"].cat.add_categories("rare")
    frame.loc[rows[:5], "c"] = "rare"
    split = prepare(frame)
    assert split.info.features[-1].levels == ["u", "v", "w"]
    assert (split.frame.set_index("row").loc[rows[:5], "c"] == split.info.features[-1].unseen).all()


@pytest.mark.parametrize("rows", [[3], [3, 7], [3, 7, 9], [3, 7, 9, 11]])
def test_rare_class_is_always_in_training_and_its_absence_elsewhere_is_said(rows):
    frame = table()
    frame["y"] = frame["y"].cat.add_categories("rare")
    frame.loc[rows, "y"] = "rare"
    split = prepare(frame)
    code = split.info.target.classes.index("rare")
    assert (split.part("train")["y"] == code).any()
    absent = [part for part in PARTS if not (split.part(part)["y"] == code).any()]
    said = [warning for warning in split.info.warnings if f"'rare' ({len(rows)} rows)" in warning]
    assert bool(said) == bool(absent)
    assert all(part in said[0] for part in absent)


def test_a_class_whose_rows_are_all_incomplete_is_reported():
    frame = table()
    frame["y"] = frame["y"].cat.add_categories("gone")
    frame.loc[:19, "y"] = "gone"
    frame.loc[:19, "a"] = np.nan
    split = prepare(frame)
    assert any("'gone' (0 rows) has none in train, val, test" in w for w in split.info.warnings)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
@pytest.mark.parametrize("column", ["a", "y"])
def test_values_that_floats_cannot_square(scale, column):
    frame = table().assign(y=np.arange(200.0))
    frame[column] = np.linspace(1, 2, 200) * scale
    with pytest.raises(TabpetError, match=f"'{column}' are too large or too small"):
        prepare(frame)


def test_a_feature_without_any_value_is_dropped_whatever_the_setting():
    frame = table().assign(d=np.nan)
    frame.loc[::2, "a"] = np.nan
    split = prepare(frame, options=PrepareSettings(max_missing=1, min_complete=1))
    assert "d" in split.info.dropped_features
    assert split.info.missing_numbers == "imputed"


def test_imputing_columns_of_any_name():
    frame = table().rename(columns={"a": "self", "b": "0"})
    frame.loc[::2, "self"] = np.nan
    split = prepare(frame, options=PrepareSettings(min_complete=1))
    assert split.frame["self"].notna().all()


def test_regression_target_stays_in_its_units():
    frame = table().assign(y=lambda t: t["a"] * 100)
    split = prepare(frame)
    training = split.part("train")["y"]
    assert split.info.target.mean == pytest.approx(training.mean())
    assert split.info.target.scale == pytest.approx(training.std(ddof=0))
    np.testing.assert_array_equal(split.frame["y"], frame["y"].to_numpy()[split.frame["row"]])


def test_same_seed_same_split_other_seed_other_split():
    pd.testing.assert_frame_equal(prepare(table()).frame, prepare(table()).frame)
    assert (prepare(table(), seed=1).frame["part"] != prepare(table()).frame["part"]).any()


@pytest.mark.parametrize("column", ["numeric", "categorical"])
def test_one_constant_feature(column):
    values = pd.Series(0.1, range(50)) if column == "numeric" else pd.Series("k", range(50))
    frame = pd.DataFrame({"x": values, "y": pd.Categorical(["a", "b"] * 25)})
    frame["x"] = frame["x"].astype("category") if column == "categorical" else frame["x"]
    split = prepare(frame)
    assert (split.frame["x"] == 0).all()
    assert split.info.features[0].constant


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (table()[:1].assign(y=[1.0]), "nothing to predict"),
        (table()[:2].assign(y=[1.0, 2.0]), "too few"),
        (table(60).assign(y=pd.Categorical(range(60))), "Is the task really classification"),
        (
            table().assign(a=np.nan, b=np.nan, c=pd.Categorical([None] * 200)),
            "every feature misses",
        ),
    ],
)
def test_hopeless_tables(frame, message):
    with pytest.raises(TabpetError, match=message):
        prepare(frame)


def test_validation_rows_that_are_all_incomplete():
    frame = table()
    part = assign_parts(frame["y"], "classification", 42, DEFAULTS.fractions)
    frame.loc[part == "val", "a"] = np.nan
    with pytest.raises(TabpetError, match="no val rows are left.*min_complete: 1"):
        prepare(frame)
    assert prepare(frame, options=PrepareSettings(min_complete=1)).info.rows["val"] == 40


def test_identifiers_of_64_bits_are_not_called_constant():
    frame = table(60)
    frame["b"] = 2**62 + np.arange(60)  # one float for all of them
    card = make_card(
        frame, CatalogRow(name="toy", path="t.csv", task="classification", target="y"), "y", "", []
    )
    assert card.id_like_columns == ["b"] and card.constant_columns == []
    split = prepare_split(frame, card, 42, DEFAULTS)
    [warning] = split.info.warnings
    assert warning.startswith("b: so large that a float has no digits left")


def test_few_rows_to_score_on_are_told():
    frame = pd.DataFrame({"a": np.arange(5.0), "y": np.arange(5.0)})
    assert "only 1 test row: its scores say little" in prepare(frame).info.warnings
    assert "only 8 val rows: its scores say little" in prepare(table(40)).info.warnings
    assert prepare(table(200)).info.warnings == []


def test_given_parts_are_prepared_as_drawn_ones():
    frame = table()
    drawn = prepare(frame)
    part = assign_parts(frame["y"], "classification", 42, DEFAULTS.fractions)
    given = prepare_parts(frame, "y", part, dataset="toy", seed=42, settings=DEFAULTS)
    assert given.info == drawn.info
    pd.testing.assert_frame_equal(given.frame, drawn.frame)
    two = np.where(part == "test", "val", part)
    assert prepare_parts(frame, "y", two, dataset="", seed=0, settings=DEFAULTS).info.rows == {
        "train": 120,
        "val": 80,
        "test": 0,
    }


@pytest.mark.parametrize("columns", [1, 4])
def test_imputation_is_sklearns(columns):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, columns)) @ rng.normal(size=(columns, columns))
    values[rng.random(values.shape) < 0.2] = np.nan
    values[:2] = np.nan
    training, rows = pd.DataFrame(values[:40]), pd.DataFrame(values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        expected = IterativeImputer(random_state=0).fit(training).transform(rows)
        ours = Imputer.learn(training, 0).fill(rows)
    np.testing.assert_allclose(ours, expected, rtol=1e-12)


def test_later_rows_are_coded_as_those_of_the_split():
    frame = table()
    split = prepare(frame)
    coded = code_rows(frame, split.info.features, split.imputer)
    for name in ("a", "b", "c"):
        np.testing.assert_array_equal(coded[name], split.frame[name])
    gaps = frame.head(2).astype({"b": "float64"})
    gaps.loc[0, ["a", "b"]] = np.nan
    filled = code_rows(gaps, split.info.features, None)
    assert filled.loc[0, ["a", "b"]].tolist() == [0.0, 0.0]  # the means of training rows


def test_the_same_table_under_two_names_is_told():
    frame = table(60)
    rows = [CatalogRow(name=name, path="t.csv", task="classification", target="y") for name in "ab"]
    cards = [make_card(frame, row, "y", "", []) for row in rows]
    splits = [prepare_split(frame, card, 42, DEFAULTS).info for card in cards]
    lines = tabulate_datasets(cards, splits)
    assert "the same table as b: it counts twice" in lines["warnings"][0]
    other = make_card(frame.head(50), rows[1], "y", "", [])
    assert "same table" not in tabulate_datasets([cards[0], other], splits)["warnings"][0]
