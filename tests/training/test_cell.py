"""A cell has a row per alpha, whatever happens to it."""

import logging
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from tabpet.encodings import load_encoding
from tabpet.errors import TabpetError
from tabpet.files import read_json, write_json
from tabpet.models.ft_transformer import FTTransformerSettings
from tabpet.models.saint import SaintSettings, batch_size
from tabpet.models.tab_transformer import TabTransformerSettings
from tabpet.names import EncodingName
from tabpet.plan import member_alphas
from tabpet.runs import read_runs
from tabpet.settings import TrainingSettings
from tabpet.training import cell as cells
from tabpet.training.cell import run_cell
from tabpet.training.checkpoint import Checkpoint
from tabpet.training.device import numerics
from tabpet.training.files import (
    Journal,
    checkpoint_path,
    curves_path,
    predictions_path,
    write_cell,
)
from tests.training.tiny import CPU, make_cell, make_split, split_of, write_encoding


@pytest.fixture
def split():
    return make_split()


@pytest.fixture
def encoding(split, tmp_path):
    return write_encoding(split, tmp_path)


def test_names_of_encodings():
    assert EncodingName.parse("spearman") == EncodingName("spearman", None)
    assert EncodingName.parse("chow_liu-shuffled") == EncodingName("chow_liu", "shuffled")
    assert member_alphas("spearman", [5, 0.5, 1]) == (0.0, 0.5, 1.0, 5.0)
    assert member_alphas("spearman", [0, 2]) == (0.0, 2.0)
    assert member_alphas("spearman-random", [2]) == (0.0, 2.0)
    assert member_alphas("spearman-learnable", [0.5, 5]) == (0.0, 1.0)


def test_rows_of_a_trained_cell(split, encoding, caplog):
    caplog.set_level(logging.INFO)
    result = run_cell(make_cell(), split, encoding, device=CPU)
    assert [run.alpha for run in result.runs] == [0.0, 0.5, 2.0]
    for run in result.runs:
        assert (run.dataset, run.split, run.model, run.seed) == ("toy", 42, "ft_transformer", 1)
        assert (run.encoding, run.task, run.status) == ("spearman", "classification", "ok")
        assert 0 <= run.val_score <= 1 and 0 <= run.test_score <= 1
        assert 1 <= run.best_epoch <= run.epochs == 3
        assert run.device == "cpu" and run.d_pe == 4
        assert {"tabpet", "torch", "numpy"} == set(run.versions)
    assert len({run.n_parameters for run in result.runs}) == 1
    assert len({run.seconds for run in result.runs}) == 1
    assert "epoch 1/3, best balanced_accuracy" in caplog.text
    assert "3 of 3 alphas training" in caplog.text


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_files_agree_with_the_rows(task, tmp_path):
    split = make_split(task)
    kept = make_cell().training.model_copy(update={"keep_predictions": True})
    cell = make_cell(training=kept)
    result = run_cell(cell, split, write_encoding(split, tmp_path), device=CPU)
    path = tmp_path / "seed1.parquet"
    write_cell(result, path)
    runs, curves = read_runs(path), pd.read_parquet(curves_path(path))
    predictions = pd.read_parquet(predictions_path(path))
    assert list(curves) == ["epoch", "alpha", "train_loss", "val_loss", "val_score"]
    assert len(curves) == runs["epochs"].sum()
    for (alpha, part), rows in predictions.groupby(["alpha", "part"]):
        expected = split.part(part)
        assert rows["row"].tolist() == expected["row"].tolist()
        np.testing.assert_array_equal(rows["truth"], expected["y"])
        if task == "classification":
            hits = rows["truth"] == rows["predicted"]
            value = hits.groupby(rows["truth"]).mean().mean()
            shares = rows[["p_0", "p_1", "p_2"]].to_numpy()
            np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
            np.testing.assert_array_equal(shares.argmax(axis=1), rows["predicted"])
        else:
            value = np.sqrt(np.mean((rows["truth"] - rows["predicted"]) ** 2))
        [stored] = runs.loc[runs["alpha"] == alpha, f"{part}_score"]
        np.testing.assert_allclose(stored, value, rtol=1e-9)
    assert runs["metric"].unique() == ("balanced_accuracy" if task == "classification" else "rmse")


def test_a_model_that_does_not_fit_the_table_is_skipped(split, encoding, tmp_path):
    cell = make_cell(model="tab_transformer", model_settings=TabTransformerSettings())
    result = run_cell(cell, split, encoding, device=CPU)
    assert [run.alpha for run in result.runs] == [0.0, 0.5, 2.0]
    for run in result.runs:
        assert run.status == "skipped" and "at least 2 categorical features" in run.reason
        assert run.d_pe == 4
    path = tmp_path / "seed1.parquet"
    write_cell(result, path)
    assert list(read_runs(path)["status"]) == ["skipped"] * 3
    assert list(pd.read_parquet(curves_path(path))) == [
        *("epoch", "alpha", "train_loss", "val_loss", "val_score")
    ]
    assert pd.read_parquet(predictions_path(path)).empty


def test_an_encoding_wider_than_a_token_has_rows_that_say_so(split, encoding):
    cell = make_cell(model_settings=FTTransformerSettings(n_heads=2, width=4))
    for run in run_cell(cell, split, encoding, device=CPU).runs:
        assert run.status == "skipped" and "width 4" in run.reason


def test_an_encoding_file_that_can_not_be_read_is_an_error_row(split, tmp_path, caplog):
    broken = tmp_path / "spearman.parquet"
    broken.write_bytes(b"not parquet")
    for run in run_cell(make_cell(), split, (broken, tmp_path / "x.json"), device=CPU).runs:
        assert run.status == "error" and run.reason
    assert "Traceback" in caplog.text


def test_an_encoding_with_missing_values_is_an_error_row(split, encoding):
    frame = pd.read_parquet(encoding[0])
    frame.loc[0, "pe_1"] = np.nan
    frame.to_parquet(encoding[0])
    for run in run_cell(make_cell(), split, encoding, device=CPU).runs:
        assert run.status == "error" and "missing or infinite values" in run.reason


def test_an_encoding_of_another_table_is_an_error_row(split, encoding):
    frame = pd.read_parquet(encoding[0])
    frame.loc[frame["feature"] == "a", "feature"] = "z"
    frame.to_parquet(encoding[0])
    for run in run_cell(make_cell(), split, encoding, device=CPU).runs:
        assert run.status == "error" and "'a'" in run.reason


@pytest.mark.parametrize(
    ("error", "status"), [(ValueError("odd"), "error"), (MemoryError("full"), "oom")]
)
def test_whatever_else_fails_is_a_row(split, encoding, monkeypatch, error, status):
    def fail(*_):
        raise error

    monkeypatch.setattr(cells, "build_table", fail)
    for run in run_cell(make_cell(), split, encoding, device=CPU).runs:
        assert (run.status, run.reason) == (status, f"{type(error).__name__}: {error}")
        assert run.seconds >= 0


def test_no_memory_for_a_single_alpha_is_an_oom_row(split, encoding, monkeypatch):
    def full(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(cells, "build_model", full)
    for run in run_cell(make_cell(), split, encoding, device=CPU).runs:
        assert run.status == "oom" and "CUDA out of memory." in run.reason


def test_time_over_at_once_is_a_row_without_scores(split, encoding):
    cell = make_cell(training=TrainingSettings(max_seconds=1e-9))
    for run in run_cell(cell, split, encoding, device=CPU).runs:
        assert (run.status, run.val_score) == ("timeout", None)
        assert "over in epoch 1" in run.reason


def test_controls_are_drawn_by_seed_and_learnable_ones_have_more_parameters(split, encoding):
    draws = {}
    for kind in ("random", "shuffled"):
        for seed in (1, 2):
            draws[kind, seed] = load_encoding(EncodingName("spearman", kind), seed, *encoding)
            assert draws[kind, seed].kind == kind
    plain = load_encoding(EncodingName("spearman"), 1, *encoding)
    assert not np.array_equal(draws["random", 1].values, draws["random", 2].values)
    shuffled = draws["shuffled", 1].values
    assert sorted(map(tuple, shuffled)) == sorted(map(tuple, plain.values))
    again = load_encoding(EncodingName("spearman", "random"), 1, *encoding)
    np.testing.assert_array_equal(again.values, draws["random", 1].values)

    fixed = run_cell(make_cell(), split, encoding, device=CPU).runs
    learnable = run_cell(make_cell(encoding="spearman-learnable"), split, encoding, device=CPU).runs
    assert [run.alpha for run in learnable] == [0.0, 1.0]
    assert learnable[0].n_parameters - fixed[0].n_parameters == 3 * 4
    # Without encodings both are the same model: same weights, batches and dropout.
    assert learnable[0].val_score == fixed[0].val_score
    assert learnable[0].test_score == fixed[0].test_score


def test_learned_alpha_and_projected_encodings_train(split, encoding):
    for change in ({"learn_alpha": True}, {"integration": "project"}):
        training = make_cell().training.model_copy(update=change)
        runs = run_cell(make_cell(training=training), split, encoding, device=CPU).runs
        assert [run.status for run in runs] == ["ok"] * 3


def test_saint_trains_and_a_last_batch_of_one_row_is_used(tmp_path):
    split = make_split(n=83)
    assert split.info.rows["train"] % 16 == 1
    cell = make_cell(model="saint", model_settings=SaintSettings(width=16, n_heads=2))
    runs = run_cell(cell, split, write_encoding(split, tmp_path), device=CPU).runs
    assert [run.status for run in runs] == ["ok"] * 3


def sorted_table(task):
    """The split of a table that is sorted by its target."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    signal = frame["a"] + frame["b"] * frame["c"] + rng.normal(0, 0.5, 200)
    frame["y"] = signal if task == "regression" else np.where(signal > 0, "yes", "no")
    frame["y"] = frame["y"].astype("category" if task == "classification" else float)
    return split_of(frame.sort_values("y", ignore_index=True), "y", task)


def saint_cell():
    """A small SAINT whose predictions are kept."""
    training = make_cell().training.model_copy(update={"keep_predictions": True})
    settings = SaintSettings(width=16, n_heads=2)
    return make_cell(model="saint", model_settings=settings, training=training)


def rearranged(split, order):
    """The split with validation and test rows in another order, or fewer of them."""
    return replace(split, frame=pd.concat([split.part("train"), split.frame.loc[order]]))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_saint_scores_do_not_depend_on_the_order_of_scored_rows(task, tmp_path):
    split = sorted_table(task)
    files = write_encoding(split, tmp_path)
    cell = saint_cell()
    scored = split.frame.index[split.frame["part"] != "train"].to_numpy()
    moved = rearranged(split, np.random.default_rng(1).permutation(scored))
    assert moved.part("val")["row"].tolist() != split.part("val")["row"].tolist()
    first, second = (run_cell(cell, one, files, device=CPU) for one in (split, moved))
    for run, other in zip(first.runs, second.runs, strict=True):
        assert run.best_epoch == other.best_epoch
        np.testing.assert_allclose(other.val_score, run.val_score, rtol=1e-6)
        np.testing.assert_allclose(other.test_score, run.test_score, rtol=1e-6)
    # Training does not see it at all.
    assert first.curves["train_loss"].equals(second.curves["train_loss"])
    keys = ["alpha", "part", "row"]
    one, other = (result.predictions.sort_values(keys) for result in (first, second))
    columns = ["p_0", "p_1"] if task == "classification" else ["predicted"]
    np.testing.assert_allclose(one[columns], other[columns], rtol=1e-5, atol=1e-6)


def test_saint_predicts_test_rows_the_same_when_others_are_left_out(tmp_path):
    split = sorted_table("regression")
    files = write_encoding(split, tmp_path)
    cell = saint_cell()
    val = split.frame.index[split.frame["part"] == "val"]
    test = split.frame.index[split.frame["part"] == "test"]
    few = rearranged(split, np.concatenate([val, test[::7]]))
    whole, part = (run_cell(cell, one, files, device=CPU).predictions for one in (split, few))
    keys = ["alpha", "part", "row"]
    both = whole.merge(part, on=keys, suffixes=("", "_part"))
    assert len(both) == len(part) < len(whole)
    np.testing.assert_allclose(both["predicted_part"], both["predicted"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rows", [1, 2])
def test_saint_trains_on_as_few_rows_as_there_are(rows, tmp_path):
    split = sorted_table("regression")
    files = write_encoding(split, tmp_path)
    drop = split.part("train").index[rows:]
    few = replace(split, frame=split.frame.drop(index=drop))
    cell = make_cell(model="saint", model_settings=SaintSettings(width=16, n_heads=2))
    for run in run_cell(cell, few, files, device=CPU).runs:
        assert run.status == "ok" and np.isfinite(run.test_score)


def test_saint_gives_the_same_digits_for_the_same_seed(split, encoding):
    cell = make_cell(model="saint", model_settings=SaintSettings(width=16, n_heads=2))
    first, second = (run_cell(cell, split, encoding, device=CPU) for _ in range(2))
    assert first.curves.equals(second.curves)
    assert first.predictions.equals(second.predictions)


def test_cells_leave_torch_as_they_found_it(split, encoding):
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    first = run_cell(make_cell(), split, encoding, device=CPU)
    assert torch.equal(torch.rand(1), expected)
    assert not torch.are_deterministic_algorithms_enabled()
    # Nor does it matter how they find it.
    second = run_cell(make_cell(), split, encoding, device=CPU)
    assert first.curves.equals(second.curves)


def test_numerics_follow_the_settings():
    before = torch.get_float32_matmul_precision()
    with numerics(TrainingSettings(deterministic=True), CPU):
        assert torch.are_deterministic_algorithms_enabled()
    with numerics(TrainingSettings(deterministic=False), CPU):
        assert not torch.are_deterministic_algorithms_enabled()
    assert torch.get_float32_matmul_precision() == before


def test_checkpoints_stand_beside_the_journal_and_fit_only_the_same_cell(split, encoding, tmp_path):
    journal = tmp_path / "journals" / "seed1.parquet"
    assert checkpoint_path(journal) == tmp_path / "journals" / "seed1.checkpoint.pt"
    saved = Checkpoint(checkpoint_path(journal), 0)
    first = run_cell(make_cell(), split, encoding, device=CPU, checkpoint=saved)
    [path] = journal.parent.iterdir()

    seen = []
    options = {"device": CPU, "checkpoint": saved, "progress": seen.append}
    again = run_cell(make_cell(), split, encoding, **options)
    assert seen == [] and again.curves.equals(first.curves)
    # Keeping predictions does not change training; another batch size does.
    kept = make_cell().training.model_copy(update={"keep_predictions": True})
    run_cell(make_cell(training=kept), split, encoding, **options)
    assert seen == []
    run_cell(make_cell(batch_size=8), split, encoding, **options)
    assert len(seen) == 3
    saved.delete_groups()
    assert not path.exists()


def test_saint_takes_smaller_batches_of_wide_tables():
    assert [batch_size(n) for n in (1, 100, 101, 300)] == [256, 256, 64, 64]


def with_graph_state(encoding, state, reason):
    """The same encoding, as if its graph had ended in another way."""
    table, info = encoding
    write_json(read_json(info) | {"graph_state": state, "graph_reason": reason}, info)
    return table, info


def test_without_a_graph_nothing_is_trained(split, encoding):
    files = with_graph_state(encoding, "failed", "no lingam graph: the budget ended: no edges")
    for run in run_cell(make_cell(), split, files, device=CPU).runs:
        assert (run.status, run.graph_state) == ("skipped", "failed")
        assert run.reason == "no lingam graph: the budget ended: no edges"
        assert run.test_score is None


@pytest.mark.parametrize("state", ["cut", "empty"])
def test_a_cut_or_empty_graph_is_trained_and_said_so(split, encoding, state):
    files = with_graph_state(encoding, state, "what is special about it")
    for run in run_cell(make_cell(), split, files, device=CPU).runs:
        assert (run.status, run.graph_state) == ("ok", state)
        assert run.reason == "what is special about it" and run.test_score is not None


PROVENANCE = {"settings": {"batch_size": 16}, "inputs": {"split": "ab"}}


def scores_of(runs):
    return [(run.alpha, run.val_score, run.test_score, run.best_epoch, run.epochs) for run in runs]


def same_scores(ours, theirs):
    """Equal up to the order in which sums are added, which a group of another size changes."""
    np.testing.assert_allclose(scores_of(ours), scores_of(theirs), rtol=1e-5)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_an_added_alpha_is_trained_alone_and_gives_what_all_together_give(task, tmp_path):
    split = make_split(task)
    encoding = write_encoding(split, tmp_path)
    training = make_cell().training.model_copy(update={"keep_predictions": True})
    journal = Journal(tmp_path / "journal.parquet")
    options = {"device": CPU, "provenance": PROVENANCE}
    few = make_cell(training=training)
    more = make_cell(training=training, alphas=(0.5, 1, 2))
    together = run_cell(more, split, encoding, **options)
    first = run_cell(few, split, encoding, journal=journal, **options)
    seen = []
    options |= {"journal": journal, "progress": seen.append}
    second = run_cell(more, split, encoding, **options)
    assert [snapshot.members for snapshot in seen] == [1, 1, 1]
    same_scores(second.runs, together.runs)
    rounding = {"rtol": 1e-4, "check_dtype": False}
    pd.testing.assert_frame_equal(second.curves, together.curves, **rounding)
    pd.testing.assert_frame_equal(second.predictions, together.predictions, **rounding)
    # One fewer is a matter of choosing rows.
    seen.clear()
    fewer = run_cell(few, split, encoding, **options)
    assert seen == [] and scores_of(fewer.runs) == scores_of(first.runs)
    # Another grid keeps what the journal has of this one.
    run_cell(make_cell(training=training, alphas=(5,)), split, encoding, **options)
    assert {snapshot.members for snapshot in seen} == {1}
    seen.clear()
    again = run_cell(more, split, encoding, **options)
    assert seen == [] and scores_of(again.runs) == scores_of(second.runs)


def test_the_journal_of_other_settings_or_inputs_is_not_used(split, encoding, tmp_path):
    journal = Journal(tmp_path / "journal.parquet")
    options = {"device": CPU, "journal": journal}
    run_cell(make_cell(), split, encoding, provenance=PROVENANCE, **options)
    for other in (
        {**PROVENANCE, "settings": {"batch_size": 8}},
        {**PROVENANCE, "inputs": {"split": "cd"}},
    ):
        seen = []
        run_cell(make_cell(), split, encoding, provenance=other, progress=seen.append, **options)
        assert len(seen) == 3


def test_a_broken_journal_is_a_fresh_start(split, encoding, tmp_path, caplog):
    journal = Journal(tmp_path / "journal.parquet")
    journal.path.write_bytes(b"PAR1 and then the disk was full")
    runs = run_cell(make_cell(), split, encoding, device=CPU, journal=journal).runs
    assert [run.status for run in runs] == ["ok"] * 3
    assert "can't be read" in caplog.text


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("full"),
        OSError(5, "Input/output error"),
        RuntimeError("CUDA error: the launch timed out and was terminated"),
    ],
)
def test_what_another_try_may_mend_is_raised_while_there_are_tries(
    split, encoding, monkeypatch, error
):
    def fail(*_):
        raise error

    monkeypatch.setattr(cells, "build_table", fail)
    with pytest.raises(type(error)):
        run_cell(make_cell(), split, encoding, device=CPU, retries_left=1)
    runs = run_cell(make_cell(), split, encoding, device=CPU).runs
    assert {run.status for run in runs} == {"oom" if isinstance(error, MemoryError) else "error"}


def test_a_failure_that_no_try_mends_is_a_row_at_once(split, encoding, monkeypatch):
    def fail(*_):
        raise ValueError("odd")

    monkeypatch.setattr(cells, "build_table", fail)
    runs = run_cell(make_cell(), split, encoding, device=CPU, retries_left=3).runs
    assert {run.reason for run in runs} == {"ValueError: odd"}


def test_alphas_that_fit_are_kept_for_the_next_try(split, encoding, monkeypatch, tmp_path):
    build = cells.build_model

    def short(*arguments, **options):
        if 2.0 in arguments[4]:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return build(*arguments, **options)

    journal = Journal(tmp_path / "journal.parquet")
    options = {"device": CPU, "journal": journal, "provenance": PROVENANCE}
    with monkeypatch.context() as patch:
        patch.setattr(cells, "build_model", short)
        with pytest.raises(TabpetError, match="1 of 3 alphas ran out of memory"):
            run_cell(make_cell(), split, encoding, retries_left=1, **options)
        last = run_cell(make_cell(), split, encoding, **options).runs
        assert [run.status for run in last] == ["ok", "ok", "oom"]
    seen = []
    mended = run_cell(make_cell(), split, encoding, progress=seen.append, **options).runs
    assert [run.status for run in mended] == ["ok"] * 3
    assert {snapshot.members for snapshot in seen} == {1}


def test_members_that_the_time_ended_are_trained_again_beside_an_added_one(
    split, encoding, tmp_path
):
    journal = Journal(tmp_path / "journal.parquet")
    options = {"device": CPU, "journal": journal, "provenance": PROVENANCE}
    short = make_cell().training.model_copy(update={"max_seconds": 1e-9})
    first = run_cell(make_cell(training=short), split, encoding, **options).runs
    assert {run.status for run in first} == {"timeout"}
    seen = []
    more = make_cell(alphas=(0.5, 1, 2))
    runs = run_cell(more, split, encoding, progress=seen.append, **options).runs
    assert {run.status for run in runs} == {"ok"} and seen[0].members == 4


def test_a_journal_that_was_being_written_is_not_used(split, encoding, tmp_path, monkeypatch):
    journal = Journal(tmp_path / "journal.parquet")
    training = make_cell().training.model_copy(update={"keep_predictions": True})
    options = {"device": CPU, "provenance": PROVENANCE, "journal": journal}
    run_cell(make_cell(training=training), split, encoding, **options)

    def killed(*_):
        raise KeyboardInterrupt

    other = {**PROVENANCE, "inputs": {"split": "cd"}}
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("tabpet.training.files.write_runs", killed)
        run_cell(make_cell(training=training), split, encoding, **{**options, "provenance": other})
    assert journal.load(PROVENANCE).runs == [] and journal.load(other).runs == []


def test_a_gpu_that_torch_does_not_see_is_told_or_refused(split, encoding, monkeypatch, caplog):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    told = "given GPU 1, but torch sees none"
    [run, *_] = run_cell(make_cell(), split, encoding).runs
    assert (run.status, run.device) == ("ok", f"cpu ({told})") and told in caplog.text
    on_cpu = make_cell().training.model_copy(update={"device": "cpu"})
    assert run_cell(make_cell(training=on_cpu), split, encoding).runs[0].device == "cpu"
    on_gpu = make_cell().training.model_copy(update={"device": "cuda"})
    with pytest.raises(TabpetError, match="training.device is cuda, but torch .* finds no GPU"):
        run_cell(make_cell(training=on_gpu), split, encoding)


def test_rows_of_a_cell_that_is_gone_keep_what_its_journal_has(split, encoding, tmp_path):
    journal, provenance = Journal(tmp_path / "seed1.parquet"), {"settings": {}, "inputs": {}}
    options = {"device": CPU, "journal": journal, "provenance": provenance}
    run_cell(make_cell(alphas=(0.5,)), split, encoding, **options)
    lost = cells.lost_cell(make_cell(), "classification", journal, provenance, "timeout", "over")
    assert [(run.alpha, run.status) for run in lost.runs] == [
        *((0.0, "ok"), (0.5, "ok"), (2.0, "timeout")),
    ]
    assert lost.runs[-1].reason == "over" and lost.runs[-1].provenance == provenance
