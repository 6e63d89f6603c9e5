"""Searches: exact numbers of trials, going on after a stop, time limits, failures and choices."""

import json
import logging
from functools import partial

import numpy as np
import pandas as pd
import pytest

from tabpet import registry
from tabpet.errors import TabpetError
from tabpet.interrupt import Interrupt, Interrupted
from tabpet.plan import Cell
from tabpet.runs import stored_runs
from tabpet.settings import TreeSettings
from tabpet.trees import tuning
from tabpet.trees.fitting import Fit, build_fitter
from tabpet.trees.jobs import TreeJob
from tabpet.trees.journal import forget_failed_trials, open_journal
from tabpet.trees.table import Table
from tabpet.trees.tuning import make_key, tune_trees
from tests.clocks import Countdown
from tests.trees.splits import QUICK, classes, codes_only, numbers, prepare

LEARNERS = ("xgboost", "catboost")
OTHER = {"score": "loss", "loss": "score"}
FEW = TreeSettings(trials=13, rounds=8, patience=4)  # the last three are drawn by TPE


class Stopped(BaseException):
    """Stands for a signal: nothing may catch it."""


class FakeLearner:
    """Scores its parameters without a model, tells the watch of its rounds, and may misbehave."""

    def __init__(self, stop_at=None, fail_at=(), results=()):
        self.fits, self.stop_at, self.fail_at, self.results = 0, stop_at, fail_at, results
        self.error = RuntimeError("no luck\nin this trial")

    def fit(self, parameters, watch):
        self.fits += 1
        error = float(np.log10(parameters["learning_rate"]) + 2) ** 2
        for rounds in range(1, 31):
            if self.fits == self.stop_at and rounds == 5:
                raise Stopped
            if self.fits in self.fail_at:
                raise self.error
            if watch(rounds, error):
                break
        if self.results:
            return self.results[self.fits - 1]
        return Fit(1 - error / 10, 0.5, error, rounds, rounds)


@pytest.fixture
def fake(monkeypatch):
    """Put a fake learner in the place of the real ones."""

    def use(**options) -> FakeLearner:
        learner = FakeLearner(**options)
        monkeypatch.setattr(tuning, "build_fitter", lambda *arguments: learner)
        return learner

    return use


def search(tmp_path, settings=FEW, split=None, name="xgboost", seed=1, journal="seed1.log"):
    return tune_trees(split or classes(100), name, seed, settings, tmp_path / journal)


def settings(**changes) -> TreeSettings:
    return FEW.model_copy(update=changes)


def timeless(trials: pd.DataFrame) -> pd.DataFrame:
    return trials.drop(columns="seconds")


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(
    "split",
    [classes(), classes(labels="a b c"), numbers(), codes_only()],
    ids=["two classes", "three classes", "numbers", "codes"],
)
def test_the_best_trial_is_the_row(tmp_path, name, split):
    run, trials = search(tmp_path, QUICK, split, name)
    assert list(trials["number"]) == [0, 1, 2, 3]
    assert set(trials["state"]) == {"ok"}
    best = trials.iloc[int(np.argmin(trials["val_loss"]))]
    assert (run.val_score, run.test_score) == (best["val_score"], best["test_score"])
    assert (run.best_epoch, run.epochs) == (best["rounds"], best["trained"])
    assert run.parameters == json.loads(best["parameters"])
    assert run.seconds == pytest.approx(trials["seconds"].sum())
    assert (run.status, run.encoding, run.device) == ("ok", "tuned", "cpu")


@pytest.mark.parametrize("name", LEARNERS)
def test_a_row_can_be_repeated_from_its_parameters(tmp_path, name):
    run, _ = search(tmp_path, QUICK, numbers(), name)
    learner = build_fitter(name, Table.from_split(numbers()), QUICK, seed=1, threads=1)
    parameters = {**registry.LEARNERS.find(name).fixed, **run.parameters}
    fitted = learner.fit(parameters, lambda rounds, error: False)
    assert (fitted.val_score, fitted.test_score) == (run.val_score, run.test_score)


@pytest.mark.parametrize("prune", [False, True])
@pytest.mark.parametrize("stop_at", [1, 3, 12])
def test_a_stopped_search_goes_on_as_if_it_had_not_been(tmp_path, fake, stop_at, prune):
    fake()
    whole, expected = search(tmp_path, settings(prune=prune), journal="whole.log")
    fake(stop_at=stop_at)
    with pytest.raises(Stopped):
        search(tmp_path, settings(prune=prune))
    again = fake()
    run, trials = search(tmp_path, settings(prune=prune))
    assert again.fits == 13 - (stop_at - 1)
    pd.testing.assert_frame_equal(timeless(trials), timeless(expected))
    assert run.parameters == whole.parameters
    assert ("pruned" in set(trials["state"])) == prune


@pytest.mark.parametrize("cut", [1, 40])
def test_half_a_line_at_the_end_of_a_journal(tmp_path, fake, cut):
    fake()
    _, expected = search(tmp_path)
    journal = tmp_path / "seed1.log"
    journal.write_bytes(journal.read_bytes()[:-cut])  # inside the line that ends the last trial
    (tmp_path / ".seed1.log.tmp").write_text("left by a killed job")
    again = fake()
    _, trials = search(tmp_path)
    assert again.fits == 1
    pd.testing.assert_frame_equal(timeless(trials), timeless(expected))
    pd.testing.assert_series_equal(trials["seconds"][:12], expected["seconds"][:12])


def test_more_trials_only_add_and_fewer_are_the_first(tmp_path, fake):
    fake()
    _, first = search(tmp_path, settings(trials=5))
    more = fake()
    _, second = search(tmp_path, settings(trials=8))
    assert more.fits == 3
    pd.testing.assert_frame_equal(second[:5], first)
    none = fake()
    run, third = search(tmp_path, settings(trials=5))
    assert (none.fits, run.status) == (0, "ok")
    pd.testing.assert_frame_equal(third, first)


def test_a_changed_search_sets_the_journal_aside_and_finds_it_again(tmp_path, fake, caplog):
    fake()
    _, first = search(tmp_path)
    changed = fake()
    search(tmp_path, settings(patience=5))
    assert changed.fits == 13
    assert "have changed: earlier trials are in" in caplog.text
    assert len(list(tmp_path.glob("seed1*.log"))) == 2
    back = fake()
    _, again = search(tmp_path)
    assert back.fits == 0
    pd.testing.assert_frame_equal(again, first)


def test_the_key_holds_what_decides_a_trial_and_no_more():
    split = classes(100)
    key = make_key(split, "xgboost", 1, FEW)
    assert key == make_key(split, "xgboost", 1, settings(trials=2, max_seconds=9, od_pval=0.1))
    others = [
        make_key(split, "catboost", 1, FEW),
        make_key(split, "catboost", 1, settings(od_pval=0.1)),
        make_key(split, "xgboost", 2, FEW),
        make_key(classes(100, noise=0.4), "xgboost", 1, FEW),
        *(
            make_key(split, "xgboost", 1, settings(**change))
            for change in (
                {"balanced": False},
                {"stopping": OTHER[FEW.stopping]},
                {"objective": OTHER[FEW.objective]},
                {"prune": True},
            )
        ),
    ]
    assert len({key, *others}) == 9


def test_a_journal_has_one_writer(tmp_path, fake):
    fake()
    key = make_key(classes(100), "xgboost", 1, FEW)
    with (
        open_journal(tmp_path / "seed1.log", key, "maximize"),
        pytest.raises(TabpetError, match="Another process is writing .*seed1.log"),
    ):
        search(tmp_path)
    assert search(tmp_path)[0].status == "ok"


@pytest.mark.parametrize("line", [0, 3])
def test_a_damaged_journal_says_so(tmp_path, fake, line):
    fake()
    search(tmp_path)
    lines = (tmp_path / "seed1.log").read_bytes().splitlines(keepends=True)
    lines[line] = b"\0\0\0\n"  # as after a power failure
    (tmp_path / "seed1.log").write_bytes(b"".join(lines))
    with pytest.raises(TabpetError, match="seed1.log is damaged.*Delete it"):
        search(tmp_path)
    with pytest.raises(TabpetError, match="seed1.log is damaged.*Delete it"):
        forget_failed_trials(tmp_path / "seed1.log")


def test_seeds_draw_different_trials(tmp_path, fake):
    fake()
    drawn = [search(tmp_path, seed=seed, journal=f"{seed}.log")[1]["parameters"] for seed in (1, 2)]
    assert not set(drawn[0]) & set(drawn[1])
    assert drawn[0].is_unique


@pytest.mark.parametrize("name", LEARNERS)
def test_a_time_that_is_over_in_the_first_round_still_scores_it(tmp_path, name):
    run, trials = search(tmp_path, settings(max_seconds=1e-9), name=name)
    assert trials.empty
    assert (run.status, run.best_epoch, run.epochs) == ("timeout", 1, 1)
    assert run.reason == "the time (1e-09 s) was over in trial 1, at round 1"
    assert 0 <= run.val_score <= 1
    # With more time the same trial is run to its end.
    whole, trials = search(tmp_path, settings(trials=1), name=name)
    assert (whole.status, len(trials)) == ("ok", 1)
    assert whole.parameters == run.parameters


def test_a_time_that_is_over_inside_a_later_trial_keeps_the_best_finished_one(
    tmp_path, fake, monkeypatch
):
    # In the third trial of thirty rounds.
    monkeypatch.setattr(tuning, "Clock", partial(Countdown, looks=75))
    fake()
    run, trials = search(tmp_path, settings(max_seconds=60))
    assert len(trials) == 2
    assert (run.status, run.val_score) == ("timeout", trials["val_score"].max())
    assert run.reason == "the time (60 s) was over after 2 of 13 trials"
    monkeypatch.undo()
    rest = fake()
    run, again = search(tmp_path)
    assert (rest.fits, run.status) == (11, "ok")
    pd.testing.assert_frame_equal(again[:2], trials)


def test_time_of_earlier_jobs_counts(tmp_path, fake):
    fake()
    search(tmp_path, settings(trials=3))
    spent = fake()
    run, trials = search(tmp_path, settings(max_seconds=1e-9))
    assert (spent.fits, len(trials), run.status) == (0, 3, "timeout")


def test_failed_trials_are_recorded_and_counted(tmp_path, fake):
    fake(fail_at=(1, 4))
    run, trials = search(tmp_path)
    assert (run.status, len(trials)) == ("ok", 13)
    failed = trials[trials["state"] == "error"]
    assert list(failed["number"]) == [0, 3]
    assert set(failed["reason"]) == {"RuntimeError: no luck"}
    assert failed["val_score"].isna().all()
    assert trials["val_score"].max() == run.val_score
    again = fake()
    pd.testing.assert_frame_equal(search(tmp_path)[1], trials)
    assert again.fits == 0


def test_a_search_in_which_all_fails_is_a_row(tmp_path, fake):
    fake(fail_at=range(1, 99))
    run, trials = search(tmp_path)
    assert (run.status, run.test_score, len(trials)) == ("error", None, 13)
    assert run.reason == "13 of 13 trials were run and all failed; RuntimeError: no luck"


@pytest.mark.filterwarnings("ignore:The value nan is not acceptable")
def test_a_search_without_a_number_is_a_row(tmp_path, fake):
    fake(results=[Fit(0.5, 0.5, np.nan, 3, 3)] * 13)
    run, trials = search(tmp_path)
    assert (run.status, run.test_score, len(trials)) == ("error", None, 13)
    assert run.reason == "13 of 13 trials were run and all failed; its loss was not a number"


def test_memory_that_runs_out_is_named(tmp_path, monkeypatch):
    def starve(*arguments):
        raise MemoryError("std::bad_alloc")

    monkeypatch.setattr(tuning, "build_fitter", starve)
    run, trials = search(tmp_path)
    monkeypatch.undo()
    assert (run.status, run.reason) == ("oom", "MemoryError: std::bad_alloc")
    assert trials.empty
    assert list(trials) == list(search(tmp_path / "whole", QUICK)[1])


def test_a_table_that_catboost_refuses_is_a_row(tmp_path):
    frame = pd.DataFrame({"k": [1.0] * 60, "y": pd.Categorical(["u", "v"] * 30)})
    run, trials = search(tmp_path, QUICK, prepare(frame), "catboost")
    assert run.status == "error"
    assert "constant" in run.reason
    assert len(trials) == 4


def test_progress_is_logged(tmp_path, fake, caplog):
    fake()
    with caplog.at_level(logging.INFO):
        search(tmp_path, settings(trials=2, max_seconds=1000))
    lines = [record.message for record in caplog.records if "trial" in record.message]
    assert lines[0].startswith("trial 1 of 2: ok, loss ")
    assert ", best " in lines[1]
    assert lines[1].endswith("about 0 s left")


def test_a_trial_without_memory_is_raised_while_there_are_tries(tmp_path, fake, monkeypatch):
    learner = fake(fail_at=(3,))
    monkeypatch.setattr(learner, "error", MemoryError("full"))
    arguments = (classes(100), "xgboost", 1, FEW, tmp_path / "seed1.log")
    with pytest.raises(MemoryError):
        tune_trees(*arguments, retries_left=1)
    # The trials before it are in the journal, and the search goes on with the third.
    learner.fail_at = ()
    run, trials = tune_trees(*arguments)
    assert (run.status, len(trials), learner.fits) == ("ok", 13, 14)


def test_without_tries_a_trial_without_memory_is_recorded_and_can_be_forgotten(tmp_path, fake):
    learner = fake(fail_at=(3,))
    learner.error = MemoryError("full")
    arguments = (classes(100), "xgboost", 1, FEW, tmp_path / "seed1.log")
    _, trials = tune_trees(*arguments)
    assert trials["state"].tolist().count("oom") == 1
    assert forget_failed_trials(tmp_path / "seed1.log") == 1
    assert forget_failed_trials(tmp_path / "seed1.log") == 0
    fits = learner.fits
    _, again = tune_trees(*arguments)
    assert set(again["state"]) == {"ok"} and learner.fits == fits + 1
    assert forget_failed_trials(tmp_path / "nowhere.log") == 0


# Validation score, test score, validation loss, rounds of the kept model, rounds trained.
UNLIKE = [
    Fit(0.70, 0.1, 0.50, 9, 20),
    Fit(0.80, 0.2, 0.69, 9, 20),  # the best score, three times over
    Fit(0.80, 0.3, 0.60, 9, 20),
    Fit(0.80, 0.4, 0.60, 5, 20),
    Fit(0.80, 0.5, 0.60, 5, 20),
    Fit(0.75, 0.6, 0.40, 9, 20),  # the best loss, twice
    Fit(0.76, 0.7, 0.40, 9, 20),
]


@pytest.mark.parametrize(("objective", "chosen"), [("score", 3), ("loss", 6)])
def test_trials_are_chosen_by_the_objective_and_ties_by_the_other_then_by_rounds(
    tmp_path, fake, objective, chosen
):
    fake(results=UNLIKE)
    run, trials = search(tmp_path, settings(trials=len(UNLIKE), objective=objective))
    best = UNLIKE[chosen]
    assert (run.val_score, run.test_score) == (best.val_score, best.test_score)
    assert run.best_epoch == best.rounds
    assert list(trials["val_loss"]) == [fit.val_loss for fit in UNLIKE]
    assert list(trials["val_score"]) == [fit.val_score for fit in UNLIKE]


def test_equal_scores_are_ties_however_they_were_rounded(tmp_path, fake):
    # Recalls of 0.1 and 0.2, and 0.3 and 0: the same mean, but not as floating-point numbers.
    assert 0.1 + 0.2 > 0.3
    fits = [Fit((0.1 + 0.2) / 2, 0.1, 0.9, 5, 5), Fit(0.3 / 2, 0.2, 0.8, 5, 5)]
    fake(results=fits)
    run, _ = search(tmp_path, settings(trials=2, objective="score"))
    assert run.test_score == 0.2


@pytest.mark.parametrize("objective", ["score", "loss"])
def test_the_sampler_is_told_the_objective(tmp_path, fake, objective):
    fake(results=UNLIKE)
    chosen = settings(trials=len(UNLIKE), objective=objective)
    search(tmp_path, chosen)
    key = make_key(classes(100), "xgboost", 1, chosen)
    direction = {"score": "maximize", "loss": "minimize"}[objective]
    with open_journal(tmp_path / "seed1.log", key, direction) as study:
        assert study.direction.name.lower() == direction
        told = [trial.value for trial in study.get_trials()]
    assert told == [getattr(fit, f"val_{objective}") for fit in UNLIKE]


@pytest.mark.parametrize("name", LEARNERS)
def test_the_objective_of_numbers_is_their_error_either_way(tmp_path, name):
    by_score, by_loss = (
        search(
            tmp_path,
            QUICK.model_copy(update={"objective": objective}),
            numbers(),
            name,
            journal=f"{objective}.log",
        )
        for objective in ("score", "loss")
    )
    pd.testing.assert_frame_equal(timeless(by_score[1]), timeless(by_loss[1]))
    assert by_score[0].parameters == by_loss[0].parameters


class AsksToEnd(FakeLearner):
    """Asks its search to end in the fifth round of a fit, as a signal would."""

    def __init__(self, interrupt, at):
        super().__init__()
        self.interrupt, self.at, self.rounds_after = interrupt, at, 0

    def fit(self, parameters, watch):
        def counted(rounds, error):
            if self.fits == self.at and rounds >= 5:
                self.rounds_after += self.interrupt.requested
                self.interrupt.signalled = True
            return watch(rounds, error)

        return super().fit(parameters, counted)


def test_an_interrupted_search_ends_in_its_round_and_goes_on(tmp_path, fake, monkeypatch):
    fake()
    expected, whole = search(tmp_path, journal="whole.log")
    interrupt = Interrupt()
    learner = AsksToEnd(interrupt, at=4)
    monkeypatch.setattr(tuning, "build_fitter", lambda *arguments: learner)
    with pytest.raises(Interrupted):
        tune_trees(classes(100), "xgboost", 1, FEW, tmp_path / "seed1.log", interrupt=interrupt)
    assert learner.rounds_after == 0
    rest = fake()
    run, trials = search(tmp_path)
    assert rest.fits == FEW.trials - 3
    pd.testing.assert_frame_equal(timeless(trials), timeless(whole))
    assert run.parameters == expected.parameters


def test_a_search_whose_last_try_ends_is_a_row_with_what_it_has(tmp_path, monkeypatch):
    interrupt = Interrupt(minutes=1, last_try=True)
    learner = AsksToEnd(interrupt, at=4)
    monkeypatch.setattr(tuning, "build_fitter", lambda *arguments: learner)
    run, trials = tune_trees(
        classes(100), "xgboost", 1, FEW, tmp_path / "seed1.log", interrupt=interrupt
    )
    assert (run.status, len(trials)) == ("timeout", 3)
    reason = "the 1 min that the job had asked for were over after 3 of 13 trials"
    assert run.reason == reason and run.test_score is not None


@pytest.mark.parametrize("encoding", ["tuned", "default"])
def test_a_cell_that_is_gone_has_its_row(tmp_path, monkeypatch, encoding):
    monkeypatch.chdir(tmp_path)
    split, cell = classes(100), Cell("toy", 42, "xgboost", encoding, 1)
    split.save(cell.inputs["split"], cell.inputs["split info"])
    job = TreeJob({"xgboost": TreeSettings().experiment_fields()}, threads=1)
    (job.lose_search if encoding == "tuned" else job.lose)(cell, "timeout", "not begun")
    [run] = stored_runs(cell.run)
    assert (run.status, run.reason, run.encoding) == ("timeout", "not begun", encoding)
    assert cell.trials.is_file() == (encoding == "tuned")
