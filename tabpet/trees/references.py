"""Plain references: learners that are not tuned."""

import logging
import time
from dataclasses import dataclass
from typing import Any

from tabpet.data.prepare import Split
from tabpet.errors import TabpetError
from tabpet.interrupt import Interrupt, Interrupted
from tabpet.registry import DEFAULT, LEARNERS
from tabpet.runs import Run, is_transient
from tabpet.settings import TreeSettings
from tabpet.trees.fitting import build_fitter
from tabpet.trees.runs import failure_reason, failure_status, start_run
from tabpet.trees.table import Table

logger = logging.getLogger(__name__)


def fit_reference(
    split: Split,
    name: str,
    seed: int,
    settings: TreeSettings,
    threads: int = 1,
    *,
    provenance: dict[str, Any] | None = None,
    retries_left: int = 0,
    interrupt: Interrupt | None = None,
) -> Run:
    """Fit a learner with the library's own parameters.

    Trees are weighted and stopped as in a search, so that the parameters alone make the difference.
    While there are retries left, what another try may mend is raised. A job that is asked to end
    does so within its round: it raises `Interrupted`, or the row has what there is by then.
    """
    watch = _Watch(interrupt or Interrupt())
    learner = LEARNERS.find(name)
    make_run = start_run(split, learner, DEFAULT, seed, settings, provenance)
    started = time.monotonic()
    try:
        fitter = build_fitter(name, Table.from_split(split), settings, seed, threads)
        fit = fitter.fit({}, watch)
    except TabpetError:
        raise
    except Exception as error:  # a learner that fails is a row that says so
        if retries_left and is_transient(error):
            raise
        logger.exception("%s failed", name)
        seconds = time.monotonic() - started
        return make_run(status=failure_status(error), reason=failure_reason(error), seconds=seconds)
    if watch.stopped and watch.interrupt.must_stop:
        raise Interrupted
    cut = f"{watch.interrupt.reason}, at round {fit.trained}" if watch.stopped else None
    return make_run(
        status="timeout" if cut else "ok",
        reason=cut,
        val_score=fit.val_score,
        test_score=fit.test_score,
        best_epoch=fit.rounds,
        epochs=fit.trained,
        seconds=time.monotonic() - started,
    )


@dataclass
class _Watch:
    """Stops a fit when the job is asked to end."""

    interrupt: Interrupt
    stopped: bool = False

    def __call__(self, rounds: int, error: float) -> bool:
        self.stopped = self.interrupt.requested
        return self.stopped
