"""What the rules and their scripts share: environment, a log file per job, errors that reach it."""

import contextlib
import logging
import os
import platform
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tabpet.config import FetchSettings, Settings
from tabpet.errors import TabpetError

FETCH_VARIABLE = "TABPET_FETCH"
CHECKPOINT_VARIABLE = "TABPET_CHECKPOINT"  # seconds between two; empty for none


def export_environment(root: Path, settings: Settings) -> None:
    """Give the scripts of this run what is not part of the experiment.

    They import the package of this checkout, in whichever environment they run. How to fetch and
    whether to save the state of training travel here and not in `params`: more attempts, another
    mirror or a checkpoint must not make finished results out of date.
    """
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(root), *filter(None, known)]))
    os.environ[FETCH_VARIABLE] = settings.fetch.model_dump_json()
    training = settings.training
    os.environ[CHECKPOINT_VARIABLE] = (
        str(training.checkpoint_seconds) if training.checkpoint else ""
    )


def exported_fetch_settings() -> FetchSettings:
    """The fetch settings that the Snakefile exported."""
    return FetchSettings.model_validate_json(os.environ[FETCH_VARIABLE])


def exported_checkpoint_seconds() -> float | None:
    """Seconds between two checkpoints of training; None for no checkpoints."""
    seconds = os.environ[CHECKPOINT_VARIABLE]
    return float(seconds) if seconds else None


def calm_scheduler(scheduler: Any) -> None:
    """Let one re-evaluation of Snakemake's queue be planned at a time.

    Snakemake 9 plans another one after every look at the queue, those that were planned included,
    so looks multiply with finished jobs until they fill a core that the jobs could use.
    """
    if not (hasattr(scheduler, "_schedule_reevalutation") and hasattr(scheduler, "_open_jobs")):
        return  # a version that does it in another way
    planned = threading.Lock()

    def look() -> None:
        planned.release()  # first, so that this look can plan the next one
        scheduler._open_jobs.release()

    def plan_once(delay: float) -> None:
        if planned.acquire(blocking=False):
            threading.Timer(delay, look).start()

    scheduler._schedule_reevalutation = plan_once


@contextlib.contextmanager
def run_job(snakemake: Any) -> Iterator[logging.Logger]:
    """Log to the job's log file; a TabpetError becomes its message and exit code 1."""
    handler = logging.FileHandler(snakemake.log[0], mode="w", encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(True)
    logger = logging.getLogger(f"tabpet.{snakemake.rule}")
    logger.info("%s %s on %s", snakemake.rule, dict(snakemake.wildcards), platform.node())
    try:
        yield logger
        logger.info("done")
    except TabpetError as error:
        logger.error("%s", error)
        sys.exit(1)
    except Exception:
        logger.error("unexpected error, please report it:\n%s", traceback.format_exc())
        raise
    finally:
        handler.close()
