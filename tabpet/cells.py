"""The cells of one job, one after the other, each in a process of its own.

Start-up is most of the cost of a small cell, so it is paid once: cells run in forks of a process
that has imported what they need. One that is killed or crashes takes nothing along: the others go
on, and Snakemake keeps their files (`keep-incomplete` in `profiles/default`; all are whole).
"""

import contextlib
import fcntl
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import IO, Any

from tabpet.files import remove_result
from tabpet.interrupt import REQUESTS, Interrupt
from tabpet.plan import Cell
from tabpet.runs import Status, is_current, make_provenance
from tabpet.workflow import INTERRUPTED, job_started, logged, retries_left, scheduled_minutes


@dataclass(frozen=True)
class Attempt:
    """What a cell may know of the try that it runs in."""

    retries_left: int
    interrupt: Interrupt


_SECONDS_BETWEEN_LOOKS = 0.5
# Schedulers warn two minutes before the end: what can't be stopped in this time is ended.
GRACE_SECONDS = 90.0
# What a process does to itself and would do again; other signals came from outside. The kernel
# sends SIGKILL where memory is short.
_CRASHES = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}
Work = Callable[[Cell, Attempt], None]
# Writes the row of a cell that could not: its status and the reason.
Lost = Callable[[Cell, Status, str], None]


@dataclass(frozen=True)
class Bundle:
    """The cells of a job, and what their files must be made with.

    Snakemake leaves finished files to the job (`update`), so that a cell that is added, taken back
    or was interrupted is done alone.
    """

    snakemake: Any
    settings: Mapping[str, Mapping]  # behind the results, by learner
    alphas: Sequence[float | None] = (None,)

    def unfinished(self) -> list[Cell]:
        """The cells whose files are not all there, or of other settings or inputs."""
        return [cell for cell in self._files if not self.is_finished(cell)]

    def is_finished(self, cell: Cell) -> bool:
        """Whether all files of a cell are there, and of these settings and inputs."""
        provenance = make_provenance(self.settings[cell.model], cell.inputs)
        files = self._files[cell]
        return all(path.is_file() for path in files) and is_current(
            cell.run, provenance, self.alphas
        )

    def run(self, cells: Sequence[Cell], work: Work, lost: Lost) -> None:
        """Do some cells, and end the process with an error if one is left to another try."""
        logs = dict(zip(self._files, self.snakemake.log, strict=True))
        for path in (path for cell in cells for path in self._files[cell]):
            remove_result(path)
        tries = retries_left(self.snakemake.resources.attempt)
        minutes = scheduled_minutes(self.snakemake.resources.runtime)
        interrupt = Interrupt(minutes, last_try=not tries, started=job_started())
        attempt = Attempt(tries, interrupt)
        unfinished = False
        with _forwarded_signals(interrupt) as children:
            for cell in cells:
                if interrupt.must_stop:
                    sys.exit(INTERRUPTED)
                if interrupt.time_is_over:
                    lost(cell, "timeout", f"not begun: {interrupt.reason}")
                    continue
                do = partial(self._do, cell, logs[cell], work, attempt)
                code = _run_apart(children, do, interrupt)
                if code < 0:
                    unfinished |= not _make_row(cell, -code, logs[cell], attempt, lost)
                else:
                    unfinished |= code > 0
        if unfinished:
            sys.exit(INTERRUPTED if interrupt.requested else 1)

    @cached_property
    def _files(self) -> dict[Cell, tuple[Path, ...]]:
        """The files that the job makes for each of its cells."""
        by_name = (files for _, files in self.snakemake.output.items())
        lists = [[files] if isinstance(files, str) else list(files) for files in by_name]
        cells = zip(*lists, strict=True)
        return {Cell.parse(paths[0]): tuple(map(Path, paths)) for paths in cells}

    def _do(self, cell: Cell, log: str, work: Work, attempt: Attempt) -> None:
        """Do one cell, unless another process has done it while this one waited for it."""
        with _alone(cell, attempt.interrupt):
            if self.is_finished(cell):
                return
            with logged(self.snakemake.rule, cell.identity, log):
                work(cell, attempt)


def _make_row(cell: Cell, number: int, log: str, attempt: Attempt, lost: Lost) -> bool:
    """Make a row of a cell whose process a signal ended, unless another try may mend it."""
    interrupt = attempt.interrupt
    reason = f"its process was ended by {signal.Signals(number).name}"
    with Path(log).open("a", encoding="utf-8") as lines:
        lines.write(f"{time.strftime('%H:%M:%S')} ERROR {reason}\n")
    if attempt.retries_left:
        return False
    if number in _CRASHES:
        lost(cell, "error", reason)
    elif number == signal.SIGKILL and interrupt.time_is_over:
        lost(cell, "timeout", f"{interrupt.reason}, and it did not stop when it was asked to")
    elif number == signal.SIGKILL and not interrupt.requested:
        lost(cell, "oom", f"{reason}; the likely cause is that memory ran out")
    else:
        return False
    return True


def _run_apart(children: list[BaseProcess], do: Callable[[], None], interrupt: Interrupt) -> int:
    """Do something in a fork; its exit code, or minus the signal that ended it.

    One that does not stop when it is asked to is ended, so that there is time left for its row.
    """
    child = multiprocessing.get_context("fork").Process(target=do)
    sys.stdout.flush()
    child.start()
    children.append(child)
    try:
        if interrupt.requested:  # it came before there was anybody to pass it on to
            os.kill(child.pid, signal.SIGTERM)  # type: ignore[arg-type]
        while child.is_alive() and not interrupt.requested:
            child.join(_SECONDS_BETWEEN_LOOKS)
        child.join(GRACE_SECONDS)
        child.kill()
        child.join()
    finally:
        children.remove(child)
    assert child.exitcode is not None
    return child.exitcode


@contextlib.contextmanager
def _alone(cell: Cell, interrupt: Interrupt) -> Iterator[None]:
    """Wait for another process that does this cell: a job may outlive a killed snakemake.

    The lock ends with the process.
    """
    path = cell.journal.with_name(f".{cell.journal.name}.cell.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        while not _locked(lock):
            if interrupt.requested:
                sys.exit(INTERRUPTED)
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        yield


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: then both do the same, and write the same
        return True
    return True


@contextlib.contextmanager
def _forwarded_signals(interrupt: Interrupt) -> Iterator[list[BaseProcess]]:
    """While this lasts, some signals only ask: this process and the children in the list.

    A fork inherits this, with a list that is empty: to it the signal only asks.
    """
    children: list[BaseProcess] = []

    def ask(number: int, frame: FrameType | None) -> None:
        interrupt.signalled = True
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGTERM)  # type: ignore[arg-type]

    before = {number: signal.signal(number, ask) for number in REQUESTS}
    try:
        yield children
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
