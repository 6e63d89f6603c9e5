"""Members that train together go the way they would go alone."""

import logging
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn import functional as F

from tabpet.clock import Clock
from tabpet.encodings import Encoding
from tabpet.models.build import build_model
from tabpet.models.ft_transformer import FTTransformerSettings
from tabpet.models.layout import Layout
from tabpet.models.saint import SaintSettings
from tabpet.models.tab_transformer import TabTransformerSettings
from tabpet.seeds import derive_seed
from tabpet.training import scoring
from tabpet.training.trainer import Trainer, clip_by_member, fit_members
from tests.clocks import Countdown
from tests.training.tiny import (
    QUICK,
    TinyModel,
    make_job,
    make_split,
    make_table,
    same_members,
    split_of,
)

LONGER = QUICK.model_copy(update={"max_epochs": 25, "learning_rate": 3e-2})
ALPHAS = (0.0, 0.5, 1.0, 2.0)


def fit(job, alphas=ALPHAS):
    with torch.random.fork_rng():
        return fit_members(job, alphas)


def plain_training(split, job, alpha):
    """One member by a plain loop: torch's own clipping, loss and AdamW, no early stopping."""
    model = TinyModel([alpha], Layout.of(split.info))
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=job.settings.learning_rate, weight_decay=job.settings.weight_decay
    )
    part = job.table.parts["train"]
    for epoch in range(job.settings.max_epochs):
        torch.manual_seed(derive_seed(job.seed, "dropout", epoch))
        shuffle = torch.Generator().manual_seed(derive_seed(job.seed, "order", epoch))
        order = torch.randperm(len(part), generator=shuffle)
        for start in range(0, len(part), job.batch_size):
            rows = order[start : start + job.batch_size]
            [outputs] = model(part.numeric[rows], part.categorical[rows])
            if job.table.class_weights is None:
                loss = F.mse_loss(outputs[:, 0], part.target[rows])
            else:
                loss = F.cross_entropy(outputs, part.target[rows], job.table.class_weights)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), job.settings.gradient_norm)
            optimizer.step()
    return model


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_training_is_that_of_a_plain_loop(task):
    split = make_split(task)
    job = make_job(split, QUICK.model_copy(update={"max_epochs": 1, "gradient_norm": 0.2}))
    fitted = fit(job, (0.0, 1.0))
    for member in fitted.members:
        with torch.random.fork_rng():
            expected = plain_training(split, job, member.alpha)
        for name, value in expected.named_parameters():
            torch.testing.assert_close(member.state[name], value[0].detach())


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_alone_and_together_are_the_same(task):
    job = make_job(make_split(task), LONGER)
    together = fit(job)
    alone = [fit(job, (alpha,)).members[0] for alpha in ALPHAS]
    ends = {member.epochs for member in together.members}
    assert len(ends) > 1, "no member left before the others: nothing was tested"
    same_members(together.members, alone, rtol=1e-4, atol=1e-5)


def doubled(table):
    """The table in double precision.

    Where a gradient is 0 in truth, as for the bias of attention's keys, AdamW makes whole steps of
    its rounding, unless that is far below its epsilon.
    """
    parts = {
        name: replace(part, numeric=part.numeric.double(), target=part.target.double())
        for name, part in table.parts.items()
    }
    return replace(table, parts=parts)


MODELS = {
    "ft_transformer": FTTransformerSettings(n_layers=2, n_heads=2, width=16),
    "saint": SaintSettings(width=16, n_heads=2, attention_dropout=0.1),
    "tab_transformer": TabTransformerSettings(width=16, depth=1, n_heads=2, head_width=4),
}


@pytest.mark.parametrize("name", MODELS)
def test_transformers_alone_and_together_are_the_same(name):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=80), "b": pd.Categorical(rng.integers(0, 3, 80))})
    frame["c"] = pd.Categorical(rng.integers(0, 4, 80))
    frame["y"] = frame["a"] * frame["b"].cat.codes + frame["c"].cat.codes
    split = split_of(frame, "y", "regression")
    values = rng.normal(size=(3, 4))
    empty = np.zeros(0)
    encoding = Encoding(("a", "b", "c"), values, 2, empty, empty, (1, 2, 3, 4))
    layout = Layout.of(split.info)

    def build(alphas):
        return build_model(name, layout, MODELS[name], encoding, alphas, seed=5).double()

    settings = QUICK.model_copy(update={"max_epochs": 4, "learning_rate": 1e-3})
    job = make_job(split, settings, build=build, table=doubled(make_table(split, settings)))
    together = fit(job, (0.0, 1.0, 3.0))
    alone = [fit(job, (alpha,)).members[0] for alpha in (0.0, 1.0, 3.0)]
    same_members(together.members, alone, rtol=1e-7, atol=1e-9)
    assert len({float(member.outputs["test"].sum()) for member in together.members}) == 3


def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not():
    split = make_split()
    first, second = fit(make_job(split, LONGER)), fit(make_job(split, LONGER))
    same_members(first.members, second.members)
    assert first.curves.equals(second.curves)
    other = fit(make_job(split, LONGER, seed=4))
    assert not first.curves.equals(other.curves)


def test_kept_state_is_that_of_the_best_epoch():
    split = make_split("regression")
    long = fit(make_job(split, LONGER.model_copy(update={"patience": 20})), (0.0, 1.0))
    for place, member in enumerate(long.members):
        curve = long.curves[long.curves["alpha"] == member.alpha].reset_index(drop=True)
        assert curve["val_loss"].idxmin() + 1 == member.best_epoch < member.epochs
        # Training that ends with the best epoch ends in the kept state.
        settings = LONGER.model_copy(update={"patience": 20, "max_epochs": member.best_epoch})
        same = fit(make_job(split, settings), (0.0, 1.0)).members[place]
        for name, value in member.state.items():
            torch.testing.assert_close(value, same.state[name], rtol=1e-4, atol=1e-5)
        best = curve["val_score"][member.best_epoch - 1]
        truth = split.part("val")["y"].to_numpy()
        error = np.sqrt(np.mean((truth - member.predicted["val"]) ** 2))
        np.testing.assert_allclose(error, best, rtol=1e-4)
        # In the target's own unit, whose spread is near 80.
        assert 5 < error < 80


def test_curves_have_a_row_per_epoch_and_member_until_it_stops():
    fitted = fit(make_job(make_split(), LONGER))
    assert list(fitted.curves) == ["epoch", "alpha", "train_loss", "val_loss", "val_score"]
    for member in fitted.members:
        epochs = fitted.curves.loc[fitted.curves["alpha"] == member.alpha, "epoch"]
        assert epochs.tolist() == list(range(1, member.epochs + 1))


class Recorder(TinyModel):
    """Remembers the rows of every call, by the value of the first feature."""

    def __init__(self, alphas, layout, seen):
        super().__init__(alphas, layout)
        self.seen = seen

    def forward(self, numeric, categorical):
        self.seen.append((self.training, numeric[:, 0].tolist()))
        return super().forward(numeric, categorical)


def recorded(split, alphas):
    layout, seen = Layout.of(split.info), []

    def build(group):
        return Recorder(group, layout, seen)

    fit(make_job(split, QUICK.model_copy(update={"max_epochs": 2}), build=build), alphas)
    return seen


def test_every_row_once_per_epoch_in_an_order_that_members_do_not_change():
    split = make_split()
    seen = [rows for training, rows in recorded(split, (0.0,)) if training]
    assert [len(rows) for rows in seen] == [16, 16, 16, 6] * 2
    first, second = np.concatenate(seen[:4]), np.concatenate(seen[4:])
    values = split.part("train")["a"].to_numpy().astype("float32")
    assert sorted(first) == sorted(second) == sorted(values)
    assert first.tolist() != second.tolist()
    assert [rows for training, rows in recorded(split, ALPHAS) if training] == seen


def test_evaluation_takes_all_rows_at_once_if_there_is_room(monkeypatch):
    split = make_split()
    values = split.part("val")["a"].to_numpy().astype("float32").tolist()
    evaluated = [rows for training, rows in recorded(split, ALPHAS) if not training]
    assert evaluated[0] == values
    monkeypatch.setattr(scoring, "_TOKENS_AT_ONCE", 1)
    evaluated = [rows for training, rows in recorded(split, ALPHAS) if not training]
    assert evaluated[:2] == [values[:16], values[16:]]


class Onlooker(TinyModel):
    """Remembers the contexts that it is given."""

    def __init__(self, alphas, layout, seen):
        super().__init__(alphas, layout)
        self.seen = seen

    def given(self, context):
        self.seen.append(context)
        return self


def test_one_context_for_all_epochs_parts_and_members():
    split = make_split()
    layout, seen = Layout.of(split.info), []

    def build(group):
        if len(group) > 2:
            raise MemoryError
        return Onlooker(group, layout, seen)

    job = make_job(split, QUICK.model_copy(update={"max_epochs": 2}), build=build)
    fit(job)
    # Two groups, each with two epochs, a validation and a test part.
    assert len(seen) == 2 * 4
    assert all(one is job.context for one in seen)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_saint_is_scored_the_same_in_small_and_large_batches(task, monkeypatch):
    split = make_split(task)
    layout = Layout.of(split.info)

    def build(alphas):
        return build_model("saint", layout, MODELS["saint"], None, alphas, seed=5)

    def fitted():
        return fit(make_job(split, QUICK.model_copy(update={"max_epochs": 4}), build=build))

    expected = fitted()
    monkeypatch.setattr(scoring, "_TOKENS_AT_ONCE", 1)
    found = fitted()
    same_members(found.members, expected.members, rtol=1e-5, atol=1e-5)
    assert found.curves["train_loss"].equals(expected.curves["train_loss"])


def test_gradients_are_clipped_as_torch_would_for_each_member():
    draw = torch.Generator().manual_seed(0)
    shapes = [(3, 4, 5), (3, 5), (3,)]
    gradients = [torch.randn(shape, generator=draw) for shape in shapes]
    for one in gradients:
        one[1] *= 1e-3  # below the limit: stays as it is
    ours = [torch.zeros_like(one, requires_grad=True) for one in gradients]
    for parameter, gradient in zip(ours, gradients, strict=True):
        parameter.grad = gradient.clone()
    clip_by_member([*ours, torch.zeros(3, requires_grad=True)], 1.0)
    for member in range(3):
        theirs = [torch.zeros_like(one[member], requires_grad=True) for one in gradients]
        for parameter, gradient in zip(theirs, gradients, strict=True):
            parameter.grad = gradient[member].clone()
        torch.nn.utils.clip_grad_norm_(theirs, 1.0)
        for one, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one.grad[member], other.grad)


class Diverging(TinyModel):
    """The member with alpha 2 has no finite outputs from some training step on."""

    def __init__(self, alphas, layout, steps):
        super().__init__(alphas, layout)
        self.steps = steps

    def forward(self, numeric, categorical):
        outputs = super().forward(numeric, categorical)
        self.steps -= self.training
        if self.steps < 0:
            outputs = outputs * torch.where(self.alphas == 2, torch.nan, 1.0)[:, None, None]
        return outputs


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize(("steps", "status", "best"), [(0, "error", None), (9, "ok", 2)])
def test_a_member_that_diverges_ends_alone(task, steps, status, best):
    split = make_split(task)
    layout = Layout.of(split.info)
    # Four steps an epoch: the tenth is in the third.
    job = make_job(split, build=lambda alphas: Diverging(alphas, layout, steps))
    *others, diverged = fit(job).members
    same_members(others, fit(make_job(split), ALPHAS[:3]).members, rtol=1e-5, atol=1e-6)
    assert diverged.status == status
    assert diverged.reason == f"the loss was not finite in epoch {3 if best else 1}"
    assert diverged.epochs == (3 if best else 1)
    if best is None:
        assert diverged.predicted is None and diverged.best_epoch is None
    else:
        assert diverged.best_epoch <= best
        assert np.isfinite(diverged.outputs["test"]).all()


def test_time_over_keeps_the_best_state_so_far():
    split = make_split()
    clock = Countdown(limit=7.0, looks=9)  # four steps an epoch: over in the third's second
    fitted = fit(make_job(split, clock=clock))
    full = fit(make_job(split, QUICK.model_copy(update={"max_epochs": 2})))
    for member, expected in zip(fitted.members, full.members, strict=True):
        assert (member.status, member.epochs) == ("timeout", 2)
        assert member.reason == "7 s were over in epoch 3"
        assert member.best_epoch == expected.best_epoch
        np.testing.assert_array_equal(member.outputs["test"], expected.outputs["test"])


def test_time_over_before_the_first_epoch_leaves_no_score():
    clock = Countdown(limit=1.0, looks=2)
    for member in fit(make_job(make_split(), clock=clock)).members:
        assert (member.status, member.predicted, member.epochs) == ("timeout", None, 0)


def test_members_that_stopped_before_the_time_was_over_are_ok():
    split = make_split()
    free = fit(make_job(split, LONGER))
    first = min(member.epochs for member in free.members)
    clock = Countdown(limit=1.0, looks=4 * first)
    for member, expected in zip(
        fit(make_job(split, LONGER, clock=clock)).members, free.members, strict=True
    ):
        assert member.status == ("ok" if expected.epochs == first else "timeout")


def full_from(n_members, split, error):
    """A build that has no memory for so many members."""
    layout = Layout.of(split.info)

    def build(alphas):
        if len(alphas) >= n_members:
            raise error
        return TinyModel(alphas, layout)

    return build


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried ..."),
        MemoryError(),
    ],
    ids=["cuda", "cpu", "python"],
)
@pytest.mark.parametrize("n_members", [4, 2])
def test_out_of_memory_splits_the_members_and_changes_nothing(n_members, error, caplog):
    split = make_split()
    caplog.set_level(logging.WARNING)
    fitted = fit(make_job(split, LONGER, build=full_from(n_members, split, error)))
    free = fit(make_job(split, LONGER))
    same_members(fitted.members, free.members, rtol=1e-4, atol=1e-5)
    assert len(fitted.curves) == len(free.curves)
    largest = n_members // 2
    for member in fitted.members:
        assert member.reason == f"out of memory: at most {largest} of 4 alphas at a time"
    assert "out of memory with 4 alphas at once" in caplog.text


def test_one_member_that_does_not_fit_is_labelled_and_the_others_are_trained():
    split = make_split()
    layout = Layout.of(split.info)

    def build(alphas):
        if 1.0 in alphas:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return TinyModel(alphas, layout)

    members = fit(make_job(split, build=build)).members
    assert [member.alpha for member in members] == list(ALPHAS)
    assert [member.status for member in members] == ["ok", "ok", "oom", "ok"]
    assert "CUDA out of memory." in members[2].reason


def test_other_errors_are_not_taken_for_a_full_memory():
    split = make_split()
    with pytest.raises(RuntimeError, match="shapes"):
        fit(make_job(split, build=full_from(1, split, RuntimeError("shapes do not match"))))


def test_progress_tells_epoch_best_members_and_time():
    seen = []
    fitted = fit(make_job(make_split(), LONGER, progress=seen.append))
    assert [one.epoch for one in seen] == list(range(1, max(m.epochs for m in fitted.members) + 1))
    assert [one.members for one in seen] == [4] * len(seen)
    assert seen[-1].training == 0 and seen[-1].seconds_left == 0
    best = fitted.curves.groupby("epoch")["val_score"].max().cummax()
    # What is kept is better by more than 1e-4, so it may lag behind by that much.
    np.testing.assert_allclose([one.best for one in seen], best, atol=1e-4)
    for one in seen[:-1]:
        assert one.training == sum(member.epochs > one.epoch for member in fitted.members)


def test_time_left_counts_epochs_and_members_to_come():
    trainer = Trainer(make_job(make_split(), QUICK), (0.0, 1.0))
    trainer.epoch = 1
    # Five more epochs of 2 s, then six for each of two groups of this size.
    assert trainer._snapshot(2.0, later=4).seconds_left == 2 * (5 + 6 * 2)
    limited = Trainer(make_job(make_split(), QUICK, clock=Clock(limit=3.0)), (0.0, 1.0))
    assert limited._snapshot(2.0, later=4).seconds_left <= 3
