"""What the rules and their scripts share: environment, a log file per job, errors that reach it."""

import contextlib
import logging
import os
import platform
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tabpet.errors import TabpetError
from tabpet.gpus import export_slots
from tabpet.interrupt import Interrupted
from tabpet.section import Section
from tabpet.settings import FetchSettings, Settings

VARIABLE, RETRIES_VARIABLE, SCHEDULED_VARIABLE = "TABPET_JOB", "TABPET_RETRIES", "TABPET_SCHEDULED"
STARTED_VARIABLE = "TABPET_STARTED"
_GRAPH_MARGIN = 120.0  # seconds to begin and to end
INTERRUPTED = 75  # exit code of a job that was asked to end, sysexits.h's "try again"


class JobSettings(Section):
    """What reaches the scripts and is no part of the experiment.

    It travels in the environment and not in `params`: more attempts, another mirror, a checkpoint
    or a time limit must not make finished results out of date.
    """

    fetch: FetchSettings = FetchSettings()
    checkpoint_seconds: float | None = None  # between two; None for no checkpoints
    graph_seconds: float | None = None
    training_seconds: float | None = None
    device: str = "auto"
    tree_seconds: float | None = None


def export_environment(root: Path, settings: Settings) -> None:
    """Give the scripts of this run what they need besides `params`.

    They import the package of this checkout, in whichever environment they run.
    """
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(root), *filter(None, known)]))
    os.environ.setdefault(STARTED_VARIABLE, str(time.time()))
    training = settings.training
    os.environ[VARIABLE] = JobSettings(
        fetch=settings.fetch,
        checkpoint_seconds=training.checkpoint_seconds if training.checkpoint else None,
        graph_seconds=settings.graph_seconds,
        training_seconds=training.max_seconds,
        device=training.device,
        tree_seconds=settings.trees.max_seconds,
    ).model_dump_json()


def export_run(retries: int, *, local: bool, jobs_per_gpu: int) -> None:
    """Tell all jobs what only the first process knows.

    That is how often a failed one is tried again, and who decides about time and GPUs: a scheduler,
    or this machine.
    """
    os.environ.pop(STARTED_VARIABLE, None)  # every job has a start of its own
    os.environ[RETRIES_VARIABLE] = str(retries)
    os.environ[SCHEDULED_VARIABLE] = "" if local else "1"
    if local:
        export_slots(jobs_per_gpu)


def exported_settings() -> JobSettings:
    """What the Snakefile exported."""
    return JobSettings.model_validate_json(os.environ[VARIABLE])


def retries_left(attempt: int) -> int:
    """How often a job that is in its `attempt`-th try will be tried again if it fails."""
    if RETRIES_VARIABLE not in os.environ:
        sys.stderr.write(
            f"{RETRIES_VARIABLE} is not set, so this counts as the job's last try: have the "
            "scheduler pass on the environment of the snakemake call (`qsub -V`).\n"
        )
    return max(0, int(os.environ.get(RETRIES_VARIABLE, "0")) - (attempt - 1))


def scheduled_minutes(runtime: int) -> int | None:
    """The minutes after which a job is ended, if there is a scheduler that does so."""
    return runtime if os.environ.get(SCHEDULED_VARIABLE) else None


def job_started() -> float:
    """When the first process of this job began, by `time.monotonic`."""
    now = time.time()
    return time.monotonic() - (now - float(os.environ.get(STARTED_VARIABLE, now)))


def seconds_of_graph(runtime: int) -> float | None:
    """The time limit of a graph: that of the config, and earlier than a scheduler ends the job."""
    limit, minutes = exported_settings().graph_seconds, scheduled_minutes(runtime)
    if minutes is None:
        return limit
    granted = max(60.0 * minutes - _GRAPH_MARGIN, 30.0 * minutes)
    return granted if limit is None else min(limit, granted)


@contextlib.contextmanager
def run_job(snakemake: Any) -> Iterator[logging.Logger]:
    """Log to the job's log file; a TabpetError becomes its message and exit code 1."""
    with logged(snakemake.rule, dict(snakemake.wildcards), snakemake.log[0]) as logger:
        yield logger


@contextlib.contextmanager
def logged(rule: str, what: object, log: str | Path) -> Iterator[logging.Logger]:
    """Log to a file; what ends a job becomes its message there and the process's exit code."""
    handler = logging.FileHandler(log, mode="w", encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(True)
    logger = logging.getLogger(f"tabpet.{rule}")
    logger.info("%s %s on %s", rule, what, platform.node())
    try:
        yield logger
        logger.info("done")
    except TabpetError as error:
        logger.error("%s", error)
        sys.exit(1)
    except Interrupted:
        logger.error("was asked to end: what there is is kept, and the next try goes on from it")
        sys.exit(INTERRUPTED)
    except Exception:
        logger.error("unexpected error, please report it:\n%s", traceback.format_exc())
        raise
    finally:
        handler.close()
