"""Effective ranks of the embeddings that the head of a trained model reads."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch

from tabpet.encodings import Encoding
from tabpet.errors import TabpetError
from tabpet.files import read_json
from tabpet.models.build import build_model
from tabpet.models.ft_transformer import FTTransformerSettings
from tabpet.models.layout import Layout
from tabpet.models.saint import SaintSettings
from tabpet.training import scoring
from tabpet.training.cell import run_cell
from tabpet.training.files import RANKS, Journal, ranks_path, read_cell, write_cell
from tabpet.training.trainer import fit_members
from tests.training.tiny import CPU, make_cell, make_job, make_split, write_encoding


@pytest.fixture
def split():
    return make_split()


@pytest.fixture
def encoding(split, tmp_path):
    return write_encoding(split, tmp_path)


def build_one(split, files, name="ft_transformer", settings=None):
    encoding = Encoding.from_frame(pd.read_parquet(files[0]), read_json(files[1]))
    settings = settings or FTTransformerSettings(n_layers=1, n_heads=1, width=12)
    return partial(build_model, name, Layout.of(split.info), settings, encoding, seed=1)


@pytest.mark.parametrize("rows_at_once", [15, 1024])
def test_of_all_rows_of_the_kept_state(split, encoding, monkeypatch, rows_at_once):
    """By the definition: a hook on the head, the whole matrix, numpy's singular values."""
    monkeypatch.setattr(scoring, "_ROWS_AT_ONCE", rows_at_once)
    monkeypatch.setattr(scoring, "_TOKENS_AT_ONCE", 64)
    build = build_one(split, encoding)
    job = make_job(split, build=lambda alphas: build(alphas=alphas), measure_ranks=True)
    fitted = fit_members(job, [0.0, 3.0])
    for member in fitted.members:
        model = build(alphas=[member.alpha]).eval()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(member.state[name][None])
        seen = []
        model.head.register_forward_pre_hook(lambda _, inputs, seen=seen: seen.append(inputs[0][0]))
        for part in ("train", "test"):
            rows = job.table.parts[part]
            model(rows.numeric, rows.categorical)
            matrix = seen.pop().detach().numpy()
            values = np.linalg.svd(matrix.astype(np.float64), compute_uv=False)
            np.testing.assert_allclose(
                member.singular_values[part], values, atol=1e-5 * values.max()
            )


def test_a_cell_has_them_on_training_and_test_rows(split, encoding, tmp_path):
    journal, run = Journal(tmp_path / "journal.parquet"), tmp_path / "seed1.parquet"
    first = run_cell(make_cell(ranks=True, alphas=(0.5,)), split, encoding, journal=journal)
    both = run_cell(make_cell(ranks=True), split, encoding, device=CPU, journal=journal)
    write_cell(both, run)
    found = pd.read_parquet(ranks_path(run))
    assert found["alpha"].tolist() == [0.0, 0.0, 0.5, 0.5, 2.0, 2.0]
    assert found["part"].tolist() == ["train", "test"] * 3
    assert found["rows"].tolist() == [54, 18] * 3
    # Alphas that were trained before keep theirs.
    pd.testing.assert_frame_equal(found[:4], first.ranks)
    ranks, squared = found["effective_rank"], found["effective_rank_squared"]
    assert ranks.between(1, 16).all() and (squared < ranks).all()
    pd.testing.assert_frame_equal(read_cell(run).ranks, found)


def test_measuring_changes_nothing_else(split, encoding):
    plain = run_cell(make_cell(), split, encoding, device=CPU)
    measured = run_cell(make_cell(ranks=True), split, encoding, device=CPU)
    assert plain.ranks is None
    assert [run.test_score for run in plain.runs] == [run.test_score for run in measured.runs]


def test_only_measured_cells_have_the_file(split, encoding, tmp_path):
    run = tmp_path / "seed1.parquet"
    write_cell(run_cell(make_cell(), split, encoding, device=CPU), run)
    assert not ranks_path(run).exists()
    write_cell(run_cell(make_cell(ranks=True), split, (tmp_path, tmp_path), device=CPU), run)
    empty = pd.read_parquet(ranks_path(run))
    assert empty.empty and list(empty) == list(RANKS)


def test_models_without_such_a_token_say_so(split, encoding):
    model = build_one(split, encoding, "saint", SaintSettings())(alphas=[1.0])
    with pytest.raises(TabpetError, match="not measured of Saint"):
        model.embed(torch.zeros(1, 2), torch.zeros(1, 1, dtype=torch.int64))
