"""tune_trees: the search for a learner's parameters with Optuna (paper, appendix F.1)."""

import hashlib
import json
import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
from optuna.trial import FrozenTrial, TrialState

from tabpet.clock import Clock
from tabpet.data.prepare import Split
from tabpet.entries import FIT_SETTINGS, Learner
from tabpet.errors import TabpetError
from tabpet.interrupt import Interrupt, Interrupted
from tabpet.registry import LEARNERS, TUNED
from tabpet.runs import METRICS, Run, is_transient, used_versions
from tabpet.settings import TreeSettings
from tabpet.trees.fitting import Fit, Fitter, build_fitter
from tabpet.trees.journal import Direction, open_journal
from tabpet.trees.runs import describe_failure, describe_fit, start_run
from tabpet.trees.space import suggest
from tabpet.trees.table import Table

logger = logging.getLogger(__name__)

_REPORT_EVERY = 10  # rounds between two looks at the pruner; each is a line in the journal
_TIE_DIGITS = 9  # equal scores and losses differ in their last bits, by the way they were summed
_STATES = {TrialState.COMPLETE: "ok", TrialState.PRUNED: "pruned", TrialState.FAIL: "error"}
_COLUMNS = {
    "number": "int64",
    "state": "string",
    "val_score": "float64",
    "val_loss": "float64",
    "test_score": "float64",
    "seconds": "float64",
    "rounds": "Int64",
    "trained": "Int64",
    "parameters": "string",
    "reason": "string",
}


@dataclass(frozen=True)
class Objective:
    """What a search optimises, and what decides between trials that are equal in it."""

    label: str  # in the log
    order: tuple[tuple[str, int], ...]  # of a fit, the most important first; -1: larger is better

    @classmethod
    def of(cls, task: str, objective: str) -> "Objective":
        """The objective `score` or `loss`; of numbers, both are the score."""
        score, loss = ("val_score", -1), ("val_loss", 1)
        if task == "regression":
            return cls(METRICS[task], (("val_score", 1),))
        if objective == "score":
            return cls(METRICS[task], (score, loss))
        return cls("loss", (loss, score))

    @property
    def sign(self) -> int:
        """-1 where larger is better."""
        return self.order[0][1]

    @property
    def direction(self) -> Direction:
        """What the study is told."""
        return "maximize" if self.sign == -1 else "minimize"

    def value(self, fit: Fit) -> float:
        """What is optimised."""
        return getattr(fit, self.order[0][0])

    def rank(self, fit: Fit) -> tuple[float, ...]:
        """The smallest is the best; of those equal in all else that with the fewest rounds."""
        values = [
            sign * float(f"{getattr(fit, name):.{_TIE_DIGITS}g}") for name, sign in self.order
        ]
        return (*values, fit.rounds or 0)


@dataclass(frozen=True)
class Trial:
    """A trial with a model: a finished one, or one that the time ended as it stood then."""

    fit: Fit
    parameters: dict[str, Any]
    seconds: float

    @classmethod
    def of(cls, trial: FrozenTrial) -> "Trial":
        """A trial of the journal."""
        kept = trial.user_attrs
        return cls(Fit(**kept["fit"]), kept["parameters"], kept["seconds"])


def tune_trees(
    split: Split,
    name: str,
    seed: int,
    settings: TreeSettings,
    journal: Path,
    threads: int = 1,
    *,
    provenance: dict[str, Any] | None = None,
    retries_left: int = 0,
    interrupt: Interrupt | None = None,
) -> tuple[Run, pd.DataFrame]:
    """Search with `settings.trials` trials, those in the journal included.

    Returns the row of the trial that `settings.objective` likes best, and the trials: their number,
    state, validation score and loss, test score (which no choice looks at), seconds, rounds of the
    kept model and rounds trained, parameters as JSON, and the reason of an error. While there are
    retries left, what another try may mend is raised; the journal keeps the trials before it. A
    search that is asked to end does so within its trial and raises `Interrupted`.
    """
    interrupt = interrupt or Interrupt()
    learner = LEARNERS.find(name)
    make_run = start_run(split, name, TUNED, seed, settings, provenance, "optuna")
    try:
        fitter = build_fitter(name, Table.from_split(split), settings, seed, threads)
    except TabpetError:
        raise
    except Exception as error:  # a table that a library refuses is a row that says so
        if retries_left and is_transient(error):
            raise
        logger.exception("%s refuses the table", name)
        return make_run(**describe_failure(error)), tabulate_trials([])
    key = make_key(split, name, seed, settings)
    objective = Objective.of(split.info.task, settings.objective)
    with open_journal(journal, key, objective.direction) as study:
        search = Search(study, fitter, learner, seed, settings, objective, interrupt, retries_left)
        cut = search.run()
        finished = [trial for trial in study.get_trials() if trial.state.is_finished()]
    trials = finished[: settings.trials]
    ended = interrupt.reason if interrupt.time_is_over else ""
    if not ended and settings.max_seconds:
        ended = f"the time ({settings.max_seconds:g} s) was over"
    run = _choose(make_run, trials, cut, settings.trials, objective, ended)
    return run, tabulate_trials(trials)


def make_key(split: Split, name: str, seed: int, settings: TreeSettings) -> str:
    """A digest of all that decides a trial; how many there are and how long is no part of it."""
    learner = LEARNERS.find(name)
    ignored = {"trials", "max_seconds"} | (FIT_SETTINGS - learner.reads)
    rows = pd.util.hash_pandas_object(split.frame, index=False)
    facts = {
        "rows": hashlib.sha256(rows.to_numpy().tobytes()).hexdigest(),
        "info": split.info.model_dump(mode="json"),
        "learner": name,
        "space": {parameter: asdict(where) for parameter, where in learner.space.items()},
        "fixed": dict(learner.fixed),
        "seed": seed,
        "settings": settings.model_dump(mode="json", exclude=ignored),
        "versions": used_versions(*learner.needs, "optuna", "numpy"),
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


@dataclass
class Search:
    """Trials one after the other, until there are enough or the time is over."""

    study: optuna.Study
    fitter: Fitter
    learner: Learner
    seed: int
    settings: TreeSettings
    objective: Objective
    interrupt: Interrupt
    retries_left: int
    clock: Clock = field(init=False)

    def __post_init__(self) -> None:
        self.study.pruner = optuna.pruners.MedianPruner(interval_steps=_REPORT_EVERY)
        used = sum(trial.user_attrs["seconds"] for trial in self.study.get_trials())
        # What earlier jobs of the search spent on finished trials counts.
        self.clock = Clock(self.settings.max_seconds, before=used)

    def run(self) -> Trial | None:
        """Run trials; the first one begins even without time, so that there is something to score.

        Returns the trial that the time ended, if it did. It is not in the journal: with more time
        it is run again from its beginning.
        """
        done = len(self.study.get_trials())
        if done:
            logger.info("%d finished trials in the journal", done)
        while done < self.settings.trials and not (done and self._time_is_over):
            if cut := self._run_trial(done):
                logger.info("the time was over in trial %d", done + 1)
                return cut
            done += 1
            self._log_progress(done)
        return None

    @property
    def _time_is_over(self) -> bool:
        return self.clock.over or self.interrupt.time_is_over

    def _run_trial(self, number: int) -> Trial | None:
        """Run one trial and record it, unless the time ends it."""
        # A sampler of its own for each trial: a search that goes on draws what it would have drawn.
        state = np.random.SeedSequence([self.seed, number]).generate_state(1)
        self.study.sampler = optuna.samplers.TPESampler(seed=int(state[0]))
        trial = self.study.ask()
        parameters = suggest(trial, self.learner.space)
        pruned_trial = trial if self.settings.prune else None
        watch = _Watch(self.clock, self.interrupt, pruned_trial, self.objective.sign)
        trial.set_user_attr("parameters", parameters)
        started = time.monotonic()
        try:
            fit = self.fitter.fit({**self.learner.fixed, **parameters}, watch)
        except Exception as error:  # a failed trial is recorded as one, and the search goes on
            if self.retries_left and is_transient(error):
                raise
            logger.exception("trial %d failed", number + 1)
            trial.set_user_attr("seconds", time.monotonic() - started)
            for name, value in describe_failure(error).items():
                trial.set_user_attr(name, value)
            self.study.tell(trial, state=TrialState.FAIL)
            return None
        seconds = time.monotonic() - started
        if self.interrupt.must_stop:
            raise Interrupted
        if watch.out_of_time:
            return Trial(fit, parameters, seconds)
        trial.set_user_attr("seconds", seconds)
        trial.set_user_attr("fit", asdict(fit))
        if watch.pruned:
            self.study.tell(trial, state=TrialState.PRUNED)
        else:
            self.study.tell(trial, self.objective.value(fit))
        return None

    def _log_progress(self, done: int) -> None:
        """A line about the last trial, the best one and the time that is left."""
        trials = self.study.get_trials(deepcopy=False)
        last, seconds = trials[-1], [trial.user_attrs["seconds"] for trial in trials]
        left = float(np.mean(seconds)) * (self.settings.trials - done)
        complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
        best = f"{self.study.best_trial.value:.5g}" if complete else "none"
        left = min(left, self.clock.left)
        fit = last.user_attrs.get("fit")
        value = f"{self.objective.value(Fit(**fit)):.5g}" if fit else "none"
        logger.info(
            "trial %d of %d: %s, %s %s, best %s, %.1f s, about %.0f s left",
            *(done, self.settings.trials, _STATES[last.state], self.objective.label, value, best),
            *(seconds[-1], left),
        )


@dataclass
class _Watch:
    """Ends a fit when the time is over, when the job was asked to end, or when it is hopeless."""

    clock: Clock
    interrupt: Interrupt
    pruned_trial: optuna.Trial | None
    sign: int  # the pruner compares in the direction of the objective
    out_of_time: bool = False
    pruned: bool = False

    def __call__(self, rounds: int, error: float) -> bool:
        if self.interrupt.must_stop:
            return True
        if self.clock.over or self.interrupt.time_is_over:
            self.out_of_time = True
        elif self.pruned_trial is not None and rounds % _REPORT_EVERY == 0:
            self.pruned_trial.report(self.sign * error, rounds)
            self.pruned = self.pruned_trial.should_prune()
        return self.out_of_time or self.pruned


def tabulate_trials(trials: list[FrozenTrial]) -> pd.DataFrame:
    """One row per finished trial."""
    rows = [
        {
            **trial.user_attrs.get("fit", {}),
            "number": trial.number,
            "state": _state(trial),
            "seconds": trial.user_attrs["seconds"],
            "parameters": json.dumps(trial.user_attrs["parameters"]),
            "reason": trial.user_attrs.get("reason"),
        }
        for trial in trials
    ]
    return pd.DataFrame(rows, columns=list(_COLUMNS)).astype(_COLUMNS)


def _state(trial: FrozenTrial) -> str:
    return trial.user_attrs.get("status", _STATES[trial.state])


def _choose(
    make_run: Callable[..., Run],
    trials: list[FrozenTrial],
    cut: Trial | None,
    wanted: int,
    objective: Objective,
    ended: str,
) -> Run:
    """The row of the search: its best finished trial, else what the time left of the first.

    A search that the time ended is a `timeout`, with the scores that it has; `ended` says which.
    """
    done = len(trials)
    spent = sum(trial.user_attrs["seconds"] for trial in trials) + (cut.seconds if cut else 0.0)
    finished = [Trial.of(trial) for trial in trials if trial.state == TrialState.COMPLETE]
    if finished:
        chosen = min(finished, key=lambda trial: objective.rank(trial.fit))
        reason = None if done == wanted else f"{ended} after {done} of {wanted} trials"
    elif cut is not None:
        chosen = cut
        reason = f"{ended} in trial {done + 1}, at round {cut.fit.trained}"
    else:
        tried = f"{done} of {wanted} trials were run and all failed"
        reason = f"{tried}; {trials[-1].user_attrs.get('reason', 'its loss was not a number')}"
        return make_run(seconds=spent, status=_state(trials[-1]), reason=reason)
    return make_run(seconds=spent, parameters=chosen.parameters, **describe_fit(chosen.fit, reason))
