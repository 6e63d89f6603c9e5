"""A job that is stopped and goes on ends as if it had never been stopped."""

import logging
import time
from dataclasses import replace

import pytest
import torch

from tabpet.clock import Clock
from tabpet.interrupt import Interrupt, Interrupted
from tabpet.models.build import build_model
from tabpet.models.layout import Layout
from tabpet.models.saint import SaintSettings
from tabpet.training.checkpoint import Checkpoint, fingerprint
from tabpet.training.trainer import Trainer, fit_members
from tests.training.tiny import (
    CPU,
    QUICK,
    TinyModel,
    make_cell,
    make_job,
    make_split,
    make_table,
    same_members,
)

ALPHAS = (0.0, 0.5, 1.0, 2.0)
SETTINGS = QUICK.model_copy(update={"max_epochs": 12, "learning_rate": 3e-2})


class Stopped(Exception):
    """What a killed job looks like from inside."""


class StopAfter:
    """Stops a job in an epoch, before that epoch is saved."""

    def __init__(self, epoch):
        self.epoch, self.seen = epoch, []

    def __call__(self, snapshot):
        self.seen.append(snapshot.epoch)
        if snapshot.epoch == self.epoch:
            raise Stopped


def fit(job, alphas=ALPHAS):
    with torch.random.fork_rng():
        return fit_members(job, alphas)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_resumed_training_is_the_same_to_the_last_digit(tmp_path, task):
    split = make_split(task)
    expected = fit(make_job(split, SETTINGS))
    last = max(member.epochs for member in expected.members)
    assert last > min(member.epochs for member in expected.members)
    for epoch in range(1, last + 1):
        saved = Checkpoint(tmp_path / f"{epoch}.pt", seconds=0)
        with pytest.raises(Stopped):
            fit(make_job(split, SETTINGS, checkpoint=saved, progress=StopAfter(epoch)))
        seen = StopAfter(None)
        resumed = fit(make_job(split, SETTINGS, checkpoint=saved, progress=seen))
        assert seen.seen[0] == epoch, "training began anew"
        same_members(resumed.members, expected.members)
        assert resumed.curves.equals(expected.curves)


def test_resumed_saint_has_the_same_context(tmp_path):
    split = make_split()
    layout, settings = Layout.of(split.info), SaintSettings(width=8, n_heads=2)

    def job(**changes):
        def build(alphas):
            return build_model("saint", layout, settings, None, alphas, seed=5)

        return make_job(split, QUICK, build=build, **changes)

    expected = fit(job())
    saved = Checkpoint(tmp_path / "c.pt", seconds=0)
    with pytest.raises(Stopped):
        fit(job(checkpoint=saved, progress=StopAfter(3)))
    seen = StopAfter(None)
    resumed = fit(job(checkpoint=saved, progress=seen))
    assert seen.seen[0] == 3, "training began anew"
    same_members(resumed.members, expected.members)
    assert resumed.curves.equals(expected.curves)


@pytest.mark.parametrize("max_epochs", [3, 12])
def test_stopped_after_the_last_epoch(tmp_path, monkeypatch, max_epochs):
    split = make_split()
    settings = SETTINGS.model_copy(update={"max_epochs": max_epochs})
    expected = fit(make_job(split, settings))
    saved = Checkpoint(tmp_path / "c.pt", seconds=1e9)  # the last epoch is saved in any case
    with monkeypatch.context() as patch, pytest.raises(Stopped):
        patch.setattr(Trainer, "_finish", lambda self: (_ for _ in ()).throw(Stopped))
        fit(make_job(split, settings, checkpoint=saved))
    seen = StopAfter(None)
    resumed = fit(make_job(split, settings, checkpoint=saved, progress=seen))
    assert seen.seen == []
    same_members(resumed.members, expected.members)
    assert resumed.curves.equals(expected.curves)


def test_a_diverged_member_stays_so(tmp_path):
    split = make_split()
    layout = Layout.of(split.info)

    class Diverged(TinyModel):
        def forward(self, numeric, categorical):
            outputs = super().forward(numeric, categorical)
            return outputs * torch.where(self.alphas == 2, torch.nan, 1.0)[:, None, None]

    def job(**changes):
        return make_job(split, SETTINGS, build=lambda alphas: Diverged(alphas, layout), **changes)

    saved = Checkpoint(tmp_path / "c.pt", seconds=0)
    with pytest.raises(Stopped):
        fit(job(checkpoint=saved, progress=StopAfter(2)))
    *others, last = fit(job(checkpoint=saved)).members
    assert (last.status, last.epochs) == ("error", 1)
    assert last.reason == "the loss was not finite in epoch 1"
    assert all(member.status == "ok" for member in others)


def test_groups_of_a_split_job_are_not_trained_twice(tmp_path):
    split = make_split()
    layout = Layout.of(split.info)

    def build(alphas):
        if len(alphas) > 2:
            raise MemoryError
        return TinyModel(alphas, layout)

    expected = fit(make_job(split, SETTINGS, build=build))
    saved = Checkpoint(tmp_path / "c.pt", seconds=0)
    seen = StopAfter(None)
    groups = []

    def second_group_stops(snapshot):
        groups.append(snapshot.members)
        if snapshot.members == 2 and snapshot.epoch == 2:
            raise Stopped

    with pytest.raises(Stopped):
        fit(make_job(split, SETTINGS, build=build, checkpoint=saved, progress=second_group_stops))
    assert 4 in groups
    resumed = fit(make_job(split, SETTINGS, build=build, checkpoint=saved, progress=seen))
    assert seen.seen[0] == 2, "the first group was trained again"
    same_members(resumed.members, expected.members)
    saved.delete_groups()
    assert list(tmp_path.iterdir()) == []


def test_the_clock_goes_on(tmp_path):
    split = make_split()
    saved = Checkpoint(tmp_path / "c.pt", seconds=0)
    with pytest.raises(Stopped):
        before = Clock(before=1000.0)
        fit(make_job(split, SETTINGS, checkpoint=saved, progress=StopAfter(2), clock=before))
    clock = Clock(limit=900.0)
    fitted = fit(make_job(split, SETTINGS, checkpoint=saved, clock=clock))
    assert clock.elapsed > 1000
    assert {member.status for member in fitted.members} == {"timeout"}


@pytest.mark.parametrize("damage", ["other settings", "broken", "no file"])
def test_a_checkpoint_that_does_not_fit_is_not_used(tmp_path, damage, caplog):
    split = make_split()
    expected = fit(make_job(split, SETTINGS))
    saved = Checkpoint(tmp_path / "c.pt", seconds=0, fingerprint="this")
    with pytest.raises(Stopped):
        fit(make_job(split, SETTINGS, checkpoint=saved, progress=StopAfter(3)))
    [path] = tmp_path.iterdir()
    if damage == "other settings":
        saved = replace(saved, fingerprint="that")
    elif damage == "broken":
        path.write_bytes(path.read_bytes()[:1000])
    else:
        saved.of_group(ALPHAS).delete()
        assert not path.exists()
    seen = StopAfter(None)
    caplog.set_level(logging.WARNING)
    again = fit(make_job(split, SETTINGS, checkpoint=saved, progress=seen))
    assert seen.seen[0] == 1
    assert ("starts anew" in caplog.text) == (damage != "no file")
    same_members(again.members, expected.members)


def test_nothing_is_saved_before_it_is_time(tmp_path):
    saved = Checkpoint(tmp_path / "c.pt", seconds=1e9)
    with pytest.raises(Stopped):
        fit(make_job(make_split(), SETTINGS, checkpoint=saved, progress=StopAfter(3)))
    assert list(tmp_path.iterdir()) == []


def test_groups_have_files_of_their_own(tmp_path):
    whole = Checkpoint(tmp_path / "seed1.checkpoint.pt", 0)
    groups = [whole.of_group(one) for one in [(0.0,), (0.0, 0.2), (0.2,), (0.2, 10.0)]]
    assert len({one.path for one in groups}) == len({one.fingerprint for one in groups}) == 4
    neighbour = tmp_path / "seed10.checkpoint.0-1.pt"
    for path in [*(one.path for one in groups), neighbour]:
        path.write_bytes(b"")
    groups[0].delete()
    assert all(one.path.exists() for one in groups[1:])
    whole.delete_groups()
    assert list(tmp_path.iterdir()) == [neighbour]


def test_fingerprint_tells_data_encodings_and_settings_apart():
    table, other = make_table(make_split(seed=0)), make_table(make_split(seed=1))
    values = torch.randn(3, 2, generator=torch.Generator().manual_seed(0)).numpy()
    facts = make_cell().training.model_dump(mode="json")
    keys = [
        fingerprint(table, values, facts),
        fingerprint(other, values, facts),
        fingerprint(table, values + 1e-6, facts),
        fingerprint(table, values, {**facts, "learning_rate": 0.5}),
    ]
    assert len(set(keys)) == 4
    assert fingerprint(make_table(make_split(seed=0)), values.copy(), dict(facts)) == keys[0]


def test_without_a_path_nothing_happens():
    nothing = Checkpoint()
    nothing.save(lambda: pytest.fail("no state is needed"), Clock(), at_once=True)
    assert nothing.load(Clock(), CPU) is None
    nothing.delete()
    nothing.delete_groups()


@pytest.mark.parametrize("error", [RuntimeError("unexpected pos"), OSError(28, "No space left")])
def test_a_checkpoint_that_can_not_be_saved_does_not_end_training(
    tmp_path, monkeypatch, caplog, error
):
    split = make_split("classification")
    expected = fit(make_job(split, SETTINGS))

    def full_disk(*_):
        raise type(error)(*error.args)  # a new one: it holds on to the frames of its step

    monkeypatch.setattr(torch, "save", full_disk)
    saved = Checkpoint(tmp_path / "c.pt", seconds=0)
    found = fit(make_job(split, SETTINGS, checkpoint=saved))
    assert found.curves.equals(expected.curves)
    assert "training goes on without it" in caplog.text
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [[1, 2], {"fingerprint": "x"}, "text"])
def test_a_checkpoint_of_other_content_is_a_fresh_start(tmp_path, content, caplog):
    split = make_split()
    expected = fit(make_job(split, SETTINGS))
    saved = Checkpoint(tmp_path / "c.pt", seconds=0)
    torch.save(content, saved.of_group(ALPHAS).path)
    found = fit(make_job(split, SETTINGS, checkpoint=saved))
    same_members(found.members, expected.members)
    assert "training starts anew" in caplog.text


class InterruptedInStep(TinyModel):
    """Asks its job to end in one of its steps, as a signal would."""

    def __init__(self, alphas, layout, interrupt, step):
        super().__init__(alphas, layout)
        self.interrupt, self.left = interrupt, step

    def forward(self, numeric, categorical):
        if self.training:
            self.left -= 1
            self.interrupt.signalled = self.interrupt.signalled or self.left == 0
        return super().forward(numeric, categorical)


@pytest.mark.parametrize("step", [1, 3, 4, 7])  # an epoch has four steps
def test_an_interrupted_job_ends_its_step_and_goes_on_to_the_same_result(tmp_path, step):
    split = make_split()
    layout, expected = Layout.of(split.info), fit(make_job(split, SETTINGS))
    saved = Checkpoint(tmp_path / "c.pt", seconds=1e9)  # saved because of the interruption alone
    interrupt = Interrupt()

    def build(alphas):
        return InterruptedInStep(alphas, layout, interrupt, step)

    with pytest.raises(Interrupted):
        fit(make_job(split, SETTINGS, build=build, checkpoint=saved, interrupt=interrupt))
    content = torch.load(saved.of_group(ALPHAS).path, weights_only=True)["state"]
    assert 4 * content["epoch"] + content["step"] == step
    resumed = fit(make_job(split, SETTINGS, checkpoint=saved))
    same_members(resumed.members, expected.members)
    assert resumed.curves.equals(expected.curves)


def test_the_last_try_scores_what_it_has_when_the_schedulers_time_is_over(tmp_path):
    split = make_split()
    layout, interrupt = Layout.of(split.info), Interrupt(minutes=1, last_try=True)

    def build(alphas):
        return InterruptedInStep(alphas, layout, interrupt, 7)

    fitted = fit(make_job(split, SETTINGS, build=build, interrupt=interrupt))
    for member in fitted.members:
        assert (member.status, member.best_epoch) == ("timeout", 1)
        assert member.reason == "the 1 min that the job had asked for were over in epoch 2"
        assert member.predicted is not None


def test_what_an_interruption_means_depends_on_the_time_and_the_tries():
    preempted = Interrupt(minutes=600, last_try=True, signalled=True)
    assert preempted.must_stop and not preempted.time_is_over
    another = Interrupt(minutes=1, signalled=True)
    assert another.must_stop and not another.time_is_over
    without_scheduler = Interrupt(last_try=True, signalled=True)
    assert without_scheduler.must_stop
    assert not Interrupt(minutes=1, last_try=True).time_is_over


def test_near_its_limit_a_job_ends_by_itself():
    now = time.monotonic()
    for minutes, seconds, ends in (
        (10, 470, False),
        (10, 490, True),
        (1, 20, False),
        (1, 40, True),
    ):
        interrupt = Interrupt(minutes, started=now - seconds)
        assert interrupt.must_stop == ends
        assert Interrupt(minutes, last_try=True, started=now - seconds).time_is_over == ends
    assert not Interrupt(started=now - 1e6).must_stop
