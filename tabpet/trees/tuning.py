"""tune_trees: the search for a learner's parameters with Optuna (paper, appendix F.1)."""

import hashlib
import json
import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
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
from tabpet.registry import LEARNERS, TUNED
from tabpet.runs import METRICS, Run, is_transient, used_versions
from tabpet.settings import TreeSettings
from tabpet.trees.fitting import Fit, Fitter, build_fitter
from tabpet.trees.journal import Direction, open_journal
from tabpet.trees.runs import failure_reason, failure_status, start_run
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
    column: str
    direction: Direction
    order: tuple[tuple[str, int], ...]  # columns by which trials are sorted; -1: larger is better

    @classmethod
    def of(cls, task: str, objective: str) -> "Objective":
        """The objective `score` or `loss`; of numbers, both are the score."""
        score, loss = ("val_score", -1), ("val_loss", 1)
        if task == "regression":
            return cls(METRICS[task], "val_score", "minimize", (("val_score", 1),))
        if objective == "score":
            return cls(METRICS[task], "val_score", "maximize", (score, loss))
        return cls("loss", "val_loss", "minimize", (loss, score))

    def find_best(self, trials: pd.DataFrame) -> "pd.Series[Any]":
        """The best trial; of those equal in all columns that with the fewest rounds, the first."""
        ranks = [self._rank(trial) for _, trial in trials.iterrows()]
        return trials.iloc[ranks.index(min(ranks))]

    def _rank(self, trial: "pd.Series[Any]") -> tuple[float, ...]:
        values = [sign * float(f"{trial[name]:.{_TIE_DIGITS}g}") for name, sign in self.order]
        return (*values, _known_rounds(trial["rounds"]) or 0)


@dataclass(frozen=True)
class Cut:
    """The trial that the time ended, as it stood then."""

    fit: Fit
    parameters: dict[str, Any]
    seconds: float


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
) -> tuple[Run, pd.DataFrame]:
    """Search with `settings.trials` trials, those in the journal included.

    Returns the row of the trial that `settings.objective` likes best, and the trials: their number,
    state, validation score and loss, test score (which no choice looks at), seconds, rounds of the
    kept model and rounds trained, parameters as JSON, and the reason of an error. While there are
    retries left, what another try may mend is raised; the journal keeps the trials before it.
    """
    learner = LEARNERS.find(name)
    make_run = start_run(split, learner, TUNED, seed, settings, provenance, "optuna")
    try:
        fitter = build_fitter(name, Table.from_split(split), settings, seed, threads)
    except TabpetError:
        raise
    except Exception as error:  # a table that a library refuses is a row that says so
        if retries_left and is_transient(error):
            raise
        logger.exception("%s refuses the table", name)
        refused = make_run(status=failure_status(error), reason=failure_reason(error))
        return refused, _tabulate([])
    key = make_key(split, name, seed, settings)
    objective = Objective.of(split.info.task, settings.objective)
    with open_journal(journal, key, objective.direction) as study:
        cut = Search(study, fitter, learner, seed, settings, objective, retries_left).run()
        finished = [trial for trial in study.get_trials() if trial.state.is_finished()]
    trials = _tabulate(finished[: settings.trials])
    return _choose(make_run, trials, cut, settings, objective), trials


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


class Search:
    """Trials one after the other, until there are enough or the time is over."""

    def __init__(
        self,
        study: optuna.Study,
        fitter: Fitter,
        learner: Learner,
        seed: int,
        settings: TreeSettings,
        objective: Objective,
        retries_left: int = 0,
    ) -> None:
        self._retries_left = retries_left
        self._study, self._fitter, self._learner, self._seed = study, fitter, learner, seed
        self._settings, self._objective = settings, objective
        study.pruner = optuna.pruners.MedianPruner(interval_steps=_REPORT_EVERY)
        used = sum(trial.user_attrs["seconds"] for trial in study.get_trials())
        # What earlier jobs of the search spent on finished trials counts.
        self._clock = Clock(settings.max_seconds, before=used)

    def run(self) -> Cut | None:
        """Run trials; the first one begins even without time, so that there is something to score.

        Returns the trial that the time ended, if it did. It is not in the journal: with more time
        it is run again from its beginning.
        """
        done = len(self._study.get_trials())
        if done:
            logger.info("%d finished trials in the journal", done)
        while done < self._settings.trials and not (done and self._clock.over):
            if cut := self._run_trial(done):
                logger.info("the time was over in trial %d", done + 1)
                return cut
            done += 1
            self._log_progress(done)
        return None

    def _run_trial(self, number: int) -> Cut | None:
        """Run one trial and record it, unless the time ends it."""
        # A sampler of its own for each trial: a search that goes on draws what it would have drawn.
        state = np.random.SeedSequence([self._seed, number]).generate_state(1)
        self._study.sampler = optuna.samplers.TPESampler(seed=int(state[0]))
        trial = self._study.ask()
        parameters = suggest(trial, self._learner.space)
        watch = _Watch(self._clock, trial if self._settings.prune else None, self._study.direction)
        trial.set_user_attr("parameters", parameters)
        started = time.monotonic()
        try:
            fit = self._fitter.fit({**self._learner.fixed, **parameters}, watch)
        except Exception as error:  # a failed trial is recorded as one, and the search goes on
            if self._retries_left and is_transient(error):
                raise
            logger.exception("trial %d failed", number + 1)
            trial.set_user_attr("seconds", time.monotonic() - started)
            trial.set_user_attr("status", failure_status(error))
            trial.set_user_attr("reason", failure_reason(error))
            self._study.tell(trial, state=TrialState.FAIL)
            return None
        seconds = time.monotonic() - started
        if watch.out_of_time:
            return Cut(fit, parameters, seconds)
        trial.set_user_attr("seconds", seconds)
        trial.set_user_attr("fit", asdict(fit))
        if watch.pruned:
            self._study.tell(trial, state=TrialState.PRUNED)
        else:
            self._study.tell(trial, getattr(fit, self._objective.column))
        return None

    def _log_progress(self, done: int) -> None:
        """A line about the last trial, the best one and the time that is left."""
        trials = self._study.get_trials(deepcopy=False)
        last, seconds = trials[-1], [trial.user_attrs["seconds"] for trial in trials]
        left = float(np.mean(seconds)) * (self._settings.trials - done)
        complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
        best = f"{self._study.best_trial.value:.5g}" if complete else "none"
        left = min(left, self._clock.left)
        fit = last.user_attrs.get("fit")
        value = f"{fit[self._objective.column]:.5g}" if fit else "none"
        logger.info(
            "trial %d of %d: %s, %s %s, best %s, %.1f s, about %.0f s left",
            *(done, self._settings.trials, _STATES[last.state], self._objective.label, value, best),
            *(seconds[-1], left),
        )


class _Watch:
    """Ends a fit when the time is over, or when it is hopeless."""

    def __init__(
        self,
        clock: Clock,
        pruned_trial: optuna.Trial | None,
        direction: optuna.study.StudyDirection,
    ) -> None:
        self._clock, self._trial = clock, pruned_trial
        # The pruner compares in the direction of the objective.
        self._sign = -1 if direction == optuna.study.StudyDirection.MAXIMIZE else 1
        self.out_of_time = self.pruned = False

    def __call__(self, rounds: int, error: float) -> bool:
        if self._clock.over:
            self.out_of_time = True
        elif self._trial is not None and rounds % _REPORT_EVERY == 0:
            self._trial.report(self._sign * error, rounds)
            self.pruned = self._trial.should_prune()
        return self.out_of_time or self.pruned


def _known_rounds(rounds: Any) -> int | None:
    """Rounds of a trial; None for a learner that has none."""
    return None if rounds is pd.NA else int(rounds)


def _tabulate(trials: list[FrozenTrial]) -> pd.DataFrame:
    """One row per finished trial."""
    rows = []
    for trial in trials:
        fit, attributes = trial.user_attrs.get("fit", {}), trial.user_attrs
        rows.append(
            {
                "number": trial.number,
                "state": attributes.get("status", _STATES[trial.state]),
                "val_score": fit.get("val_score"),
                "val_loss": fit.get("val_loss"),
                "test_score": fit.get("test_score"),
                "seconds": attributes["seconds"],
                "rounds": fit.get("rounds"),
                "trained": fit.get("trained"),
                "parameters": json.dumps(attributes["parameters"]),
                "reason": attributes.get("reason"),
            }
        )
    return pd.DataFrame(rows, columns=list(_COLUMNS)).astype(_COLUMNS)


def _choose(
    make_run: Callable[..., Run],
    trials: pd.DataFrame,
    cut: Cut | None,
    settings: TreeSettings,
    objective: Objective,
) -> Run:
    """The row of the search: its best finished trial, else what the time left of the first.

    A search that the time ended is a `timeout`, with the scores that it has.
    """
    spent = float(trials["seconds"].sum()) + (cut.seconds if cut else 0.0)
    finished = trials[trials["state"] == "ok"]
    ended = f"the time ({settings.max_seconds:g} s) was over" if settings.max_seconds else ""
    if not finished.empty:
        best = objective.find_best(finished)
        complete = len(trials) == settings.trials
        return make_run(
            seconds=spent,
            val_score=float(best["val_score"]),
            test_score=float(best["test_score"]),
            best_epoch=_known_rounds(best["rounds"]),
            epochs=_known_rounds(best["trained"]),
            parameters=json.loads(str(best["parameters"])),
            status="ok" if complete else "timeout",
            reason=None if complete else f"{ended} after {len(trials)} of {settings.trials} trials",
        )
    if cut is not None:
        return make_run(
            seconds=spent,
            val_score=cut.fit.val_score,
            test_score=cut.fit.test_score,
            best_epoch=cut.fit.rounds,
            epochs=cut.fit.trained,
            parameters=cut.parameters,
            status="timeout",
            reason=f"{ended} in trial {len(trials) + 1}, at round {cut.fit.trained}",
        )
    last = trials.iloc[-1]
    tried = f"{len(trials)} of {settings.trials} trials were run and all failed"
    return make_run(seconds=spent, status=last["state"], reason=f"{tried}; {last['reason']}")
