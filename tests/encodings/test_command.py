"""`tabpet encoding`: what a seed's control was."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from tabpet.cli import app
from tabpet.errors import TabpetError
from tabpet.files import write_json, write_parquet
from tests.models.tables import encoding_of

FEATURES = ("zinc", "ash", "malic [acid]")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A run that has the encodings of one graph, as a working directory."""
    encoding = encoding_of(FEATURES)
    place = tmp_path / "results/encodings/demo-wine/split42"
    write_parquet(encoding.to_frame(), place / "spearman.parquet")
    write_json(encoding.to_metadata(), place / "spearman.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(*arguments: str) -> pd.DataFrame:
    done = CliRunner().invoke(
        app, ["encoding", "demo-wine", *arguments, "--write", "shown.csv"], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    return pd.read_csv("shown.csv")


def test_a_control_is_that_of_its_seed(folder):
    encoding = encoding_of(FEATURES)
    plain = written("spearman")
    assert list(plain["feature"]) == list(FEATURES)
    np.testing.assert_allclose(plain.drop(columns="feature"), encoding.values, rtol=1e-12)
    # The stream of controls is the fourth of a seed; rows are drawn in the order of names.
    state = np.random.SeedSequence([7, 3, 0]).generate_state(1)
    noise = np.random.default_rng(int(state[0])).standard_normal(encoding.values.shape)
    expected = encoding.values.mean(axis=0) + encoding.values.std(axis=0) * noise
    random = written("spearman-random", "--seed", "7").set_index("feature")
    np.testing.assert_allclose(random.loc[sorted(FEATURES)], expected, rtol=1e-12)
    shuffled = written("spearman-shuffled", "--seed", "7").drop(columns="feature").to_numpy()
    np.testing.assert_allclose(np.sort(shuffled, axis=0), np.sort(encoding.values, axis=0))
    assert not np.allclose(shuffled, encoding.values)


def test_it_is_printed_by_feature(folder):
    said = CliRunner().invoke(app, ["encoding", "demo-wine", "spearman-random", "--seed", "7"])
    assert "demo-wine, split 42, seed 7: Spearman, random, k = 2" in said.output
    assert "Gaussian with each column's mean and variance" in said.output
    for feature in FEATURES:
        assert feature in said.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("demo-wina", "spearman"), "Did you mean demo-wine"),
        (("@demo", "spearman"), "stands for several datasets"),
        (("demo-wine", "spaerman"), "did you mean 'spearman'"),
        (("demo-wine", "spearman-rnadom"), "did you mean 'random'"),
        (("demo-wine", "pc"), "snakemake results/encodings/demo-wine/split42/pc.parquet"),
        (
            ("demo-wine", "spearman", "--split", "3"),
            "There is no results/encodings/demo-wine/split3",
        ),
    ],
)
def test_wrong_names_are_errors_with_a_hint(folder, arguments, words):
    done = CliRunner().invoke(app, ["encoding", *arguments])
    assert isinstance(done.exception, TabpetError)
    assert words in str(done.exception)
