"""Plain references: learners that are not tuned."""

import logging
import time
from typing import Any

from tabpet.data.prepare import Split
from tabpet.errors import TabpetError
from tabpet.interrupt import Interrupt, Interrupted
from tabpet.registry import DEFAULT
from tabpet.runs import Run, is_transient
from tabpet.settings import TreeSettings
from tabpet.trees.fitting import build_fitter
from tabpet.trees.runs import describe_failure, describe_fit, start_run
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
    interrupt = interrupt or Interrupt()
    stopped = False

    def watch(rounds: int, error: float) -> bool:
        nonlocal stopped
        stopped = interrupt.requested
        return stopped

    make_run = start_run(split, name, DEFAULT, seed, settings, provenance)
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
        return make_run(**describe_failure(error), seconds=time.monotonic() - started)
    if stopped and interrupt.must_stop:
        raise Interrupted
    cut = f"{interrupt.reason}, at round {fit.trained}" if stopped else None
    return make_run(**describe_fit(fit, cut), seconds=time.monotonic() - started)
