"""Prepared splits: what is learned, from which rows, and that it can be undone."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

from tabpet.catalog import CatalogRow
from tabpet.config import PrepareSettings
from tabpet.data.card import make_card
from tabpet.data.prepare import MISSING_LEVEL, PARTS, Split, prepare_split
from tabpet.errors import TabpetError

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


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31), missing=st.sampled_from([0.0, 0.2, 0.9]))
def test_nothing_is_learned_from_validation_or_test_rows(seed, missing):
    # The parts depend on the target alone, so features of other rows may be anything at all.
    rng = np.random.default_rng(seed)
    frame = table(120, seed % 1000)
    frame.loc[rng.random(120) < missing, "a"] = np.nan
    split = prepare(frame)
    other = np.setdiff1d(np.arange(120), _training_rows(frame))
    changed = frame.copy()
    changed.loc[other, "a"] = rng.normal(1e6, 1e3, len(other))
    changed.loc[other, "b"] = rng.permutation(frame.loc[other, "b"].to_numpy())
    changed["c"] = changed["c"].cat.add_categories("new")
    changed.loc[other, "c"] = "new"
    again = prepare(changed)
    assert again.info.features == split.info.features
    assert again.info.target == split.info.target
    assert again.info.dropped_features == split.info.dropped_features
    pd.testing.assert_frame_equal(
        again.part("train").reset_index(drop=True), split.part("train").reset_index(drop=True)
    )
    assert set(again.frame.loc[again.frame["part"] != "train", "c"]) <= {
        again.info.features[-1].unseen
    }


def _training_rows(frame: pd.DataFrame) -> np.ndarray:
    from tabpet.data.prepare import assign_parts

    part = assign_parts(frame["y"], "classification", 42, DEFAULTS.fractions, [])
    return np.flatnonzero(part == "train")


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


def test_rare_class_stays_in_training_with_a_warning():
    frame = table()
    frame["y"] = frame["y"].cat.add_categories("once")
    frame.loc[[3, 7, 9], "y"] = "once"
    split = prepare(frame)
    code = split.info.target.classes.index("once")
    assert (split.part("train")["y"] == code).sum() == 3
    assert any("'once' (3 rows)" in warning for warning in split.info.warnings)


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
        (table(4), "too few"),
        (
            table().assign(a=np.nan, b=np.nan, c=pd.Categorical([None] * 200)),
            "every feature misses",
        ),
    ],
)
def test_hopeless_tables(frame, message):
    with pytest.raises(TabpetError, match=message):
        prepare(frame)
