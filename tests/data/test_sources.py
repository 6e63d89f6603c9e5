"""Bundled and synthetic tables."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tabpet.catalog import read_catalogs
from tabpet.data.bundled import LINES, play_tic_tac_toe
from tabpet.data.fetch import fetch_dataset
from tabpet.data.synthetic import generate_groups
from tabpet.errors import TabpetError
from tabpet.settings import FetchSettings

CATALOG = read_catalogs([Path(__file__).parents[2] / "datasets.csv"])
DEMO = [row for row in CATALOG.values() if "demo" in row.groups]


@pytest.mark.parametrize("row", DEMO, ids=lambda row: row.name)
def test_demo_tables_match_the_catalog_and_repeat(row):
    raw, card = fetch_dataset(row, FetchSettings())  # a mismatch would raise
    assert card.rows == row.n_rows
    assert list(raw)[-1] == row.target
    assert fetch_dataset(row, FetchSettings())[1].sha256 == card.sha256


def test_tic_tac_toe_is_the_uci_table():
    # 958 boards, 626 won by x, 316 by o, 16 draws: the figures of the UCI description.
    table = play_tic_tac_toe()
    boards = table.drop(columns="Class").astype(str).agg("".join, axis=1)
    assert boards.nunique() == len(table) == 958
    assert table["Class"].value_counts().to_dict() == {"positive": 626, "negative": 332}
    won_by_o = sum(any(all(b[i] == "o" for i in line) for line in LINES) for b in boards)
    assert won_by_o == 316
    assert len(table) - 626 - won_by_o == 16  # draws


@pytest.mark.skipif("TABPET_MIRROR" not in os.environ, reason="no mirror folder")
def test_tic_tac_toe_equals_the_mirrors_copy():
    copy = pd.read_parquet(Path(os.environ["TABPET_MIRROR"]) / "tic-tac-toe_v1.parquet").astype(str)
    ours = play_tic_tac_toe().astype(str)
    assert set(map(tuple, copy.to_numpy())) == set(map(tuple, ours.to_numpy()))


def test_algorithm_1_structure():
    table, group = generate_groups(d=12, k=4, n=5000, seed=0)
    x, y = table.drop(columns="y").to_numpy(), table["y"].to_numpy()
    assert sorted(np.bincount(group)) == [3, 3, 3, 3]
    correlation = np.abs(np.corrcoef(x.T))
    same = group[:, None] == group[None, :]
    # Groups are independent: correlations between them are of the order of 1/sqrt(n).
    assert correlation[~same].max() < 5 / np.sqrt(5000)
    # A feature is w * theta + noise with var(theta) = 16/12 and noise variance 0.01.
    weight = np.sqrt(np.maximum(x.var(axis=0) - 0.01, 0) / (16 / 12))
    assert (weight <= 1.02).all()
    strong = weight > 0.3
    assert correlation[np.ix_(strong, strong)][same[np.ix_(strong, strong)]].min() > 0.85
    # The target is a linear function of one group's latent variable.
    explained = np.abs([np.corrcoef(column, y)[0, 1] for column in x.T])
    target_group = group[np.argmax(explained)]
    assert explained[strong & (group == target_group)].min() > 0.9
    assert explained[group != target_group].max() < 0.1


def test_mixed_variant_has_text_levels_in_several_groups():
    table, group = generate_groups(d=12, k=4, n=400, seed=1, n_categorical=4)
    plain, _ = generate_groups(d=12, k=4, n=400, seed=1)
    categorical = [name for name in table if table[name].dtype == "category"]
    assert len(categorical) == 4
    assert len({group[int(name[1:]) - 1] for name in categorical}) > 1
    for name in categorical:
        assert table[name].value_counts().tolist() == [100, 100, 100, 100]
    untouched = [name for name in table if name not in categorical]
    pd.testing.assert_frame_equal(table[untouched], plain[untouched])


@pytest.mark.parametrize(
    "options", [{"d": 3, "k": 4, "n": 9, "seed": 0}, {"d": 3, "k": 0, "n": 9, "seed": 0}]
)
def test_impossible_synthetic_tables(options):
    with pytest.raises(TabpetError, match="1 <= k <= d"):
        generate_groups(**options)
