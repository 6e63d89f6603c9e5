"""The journal of a search: an Optuna study in a file that outlives its job.

A journal belongs to one key, which stands for all that decides a trial. It has one writer at a
time, holds finished trials when it is opened, and is kept after the search: more trials or more
time only add to it.
"""

import contextlib
import fcntl
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import optuna
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.study import StudyDirection
from optuna.trial import TrialState

from tabpet.errors import TabpetError
from tabpet.files import replacing

Direction = Literal["minimize", "maximize"]
logger = logging.getLogger(__name__)


@contextlib.contextmanager
def open_journal(path: Path, key: str, direction: Direction) -> Iterator[optuna.Study]:
    """Yield the study of `key` with its finished trials; a journal of another key is set aside."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _only_writer(path):
        _change_journal(path, key)
        # A killed job leaves a trial that never ends, or half a line. Without them, trial numbers
        # go on as if nothing had happened.
        finished = [trial for trial in _read_trials(path, key) if trial.state.is_finished()]
        _rewrite(path, key, direction, finished)
        yield optuna.load_study(study_name=key, storage=_storage(path))


@contextlib.contextmanager
def _only_writer(path: Path) -> Iterator[None]:
    """Hold a lock that ends with the process, however the process ends."""
    with path.with_name(f".{path.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TabpetError(
                f"Another process is writing {path}. Let it finish or stop it, then run again."
            ) from None
        except OSError as error:
            raise TabpetError(
                f"{path} can't be locked: {error.strerror}. Put the results on a file system that "
                "knows file locks."
            ) from None
        yield


def _change_journal(path: Path, key: str) -> None:
    """Set a journal of another key aside, under its key's name, and take back that of `key`."""
    if path.exists() and (other := _read_key(path)) != key:
        aside = _aside(path, other)
        path.replace(aside)
        logger.warning("data, settings or versions have changed: earlier trials are in %s", aside)
    if not path.exists() and _aside(path, key).exists():
        _aside(path, key).replace(path)


def _aside(path: Path, key: str) -> Path:
    return path.with_name(f"{path.stem}.{key[:12]}{path.suffix}")


def _read_key(path: Path) -> str:
    """The key that a journal begins with."""
    with path.open("rb") as journal:
        first = journal.readline()
    try:
        return str(json.loads(first)["study_name"])
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(path, error) from error


def _rewrite(
    path: Path,
    key: str,
    direction: Direction | StudyDirection,
    trials: list[optuna.trial.FrozenTrial],
) -> None:
    """Write a journal with these trials alone."""
    with replacing(path) as temporary:
        temporary.unlink(missing_ok=True)  # what a killed job left there would be read
        study = optuna.create_study(
            study_name=key, storage=_storage(temporary), direction=direction
        )
        study.add_trials(trials)


def forget_failed_trials(path: Path) -> int:
    """Take failed trials out of a journal, so that they are run again; returns how many."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if not path.exists():
        return 0
    with _only_writer(path):
        key = _read_key(path)
        trials = _read_trials(path, key)
        kept = [trial for trial in trials if trial.state != TrialState.FAIL]
        if len(kept) < len(trials):
            study = optuna.load_study(study_name=key, storage=_storage(path))
            _rewrite(path, key, study.direction, kept)
    return len(trials) - len(kept)


def _read_trials(path: Path, key: str) -> list[optuna.trial.FrozenTrial]:
    if not path.exists():
        return []
    try:
        return optuna.load_study(study_name=key, storage=_storage(path)).get_trials()
    except (ValueError, KeyError, AssertionError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> TabpetError:
    return TabpetError(
        f"The journal {path} is damaged ({type(error).__name__}: {error}). Delete it to begin this "
        "search anew."
    )


def _storage(path: Path) -> optuna.storages.JournalStorage:
    return optuna.storages.JournalStorage(
        JournalFileBackend(str(path), lock_obj=_NoLock(str(path)))
    )


class _NoLock(JournalFileOpenLock):
    """No lock around each line: there is one writer, and a killed job would leave its lock."""

    def acquire(self) -> bool:
        """Nothing to wait for."""
        return True

    def release(self) -> None:
        """Nothing to give back."""
