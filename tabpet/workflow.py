"""What the rules and their scripts share: environment, a log file per job, errors that reach it."""

import contextlib
import logging
import os
import platform
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tabpet.config import FetchSettings
from tabpet.errors import TabpetError

FETCH_VARIABLE = "TABPET_FETCH"


def export_environment(root: Path, fetch: FetchSettings) -> None:
    """Give the scripts of this run what is not part of the experiment.

    They import the package of this checkout, in whichever environment they run. How to fetch
    travels here and not in `params`: more attempts or another mirror must not make finished
    results out of date.
    """
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(root), *filter(None, known)]))
    os.environ[FETCH_VARIABLE] = fetch.model_dump_json()


def exported_fetch_settings() -> FetchSettings:
    """The fetch settings that the Snakefile exported."""
    return FetchSettings.model_validate_json(os.environ[FETCH_VARIABLE])


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
