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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import IO, Any

from tabpet.files import remove_result
from tabpet.interrupt import Interrupt
from tabpet.plan import Cell
from tabpet.runs import Status, is_current, make_provenance
from tabpet.workflow import INTERRUPTED, logged, retries_left, scheduled_minutes


@dataclass(frozen=True)
class Attempt:
    """What a cell may know of the try that it runs in."""

    retries_left: int
    interrupt: Interrupt


_SECONDS_BETWEEN_LOOKS = 0.5
# What a process does to itself and would do again; other signals came from outside. The kernel
# sends SIGKILL where memory is short.
_CRASHES = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}
Work = Callable[[Cell, Attempt], None]
# Writes the row of a cell that could not: its status and the reason.
Lost = Callable[[Cell, Status, str], None]


def cells_to_do(
    snakemake: Any, settings: Mapping[str, Mapping], alphas: Sequence[float | None] = (None,)
) -> list[Cell]:
    """The cells of a job whose files are not all there, or of other settings or inputs.

    Snakemake leaves finished files to the job (`update`), so that a cell that is added, taken back
    or was interrupted is done alone. `settings` are those behind the results, by learner.
    """
    return [
        cell
        for cell, paths in _files(snakemake).items()
        if not all(path.is_file() for path in paths)
        or not is_current(cell.run, make_provenance(settings[cell.model], cell.inputs), alphas)
    ]


def _files(snakemake: Any) -> dict[Cell, tuple[Path, ...]]:
    """The files that a job makes for each of its cells."""
    groups = [[one] if isinstance(one, str) else list(one) for _, one in snakemake.output.items()]
    cells = zip(*groups, strict=True)
    return {Cell.parse(paths[0]): tuple(map(Path, paths)) for paths in cells}


def run_cells(snakemake: Any, cells: Iterable[Cell], work: Work, lost: Lost) -> None:
    """Do some cells of a job, and end the process with an error if one is left to another try."""
    cells, files = list(cells), _files(snakemake)
    logs = dict(zip(files, snakemake.log, strict=True))
    for path in (path for cell in cells for path in files[cell]):
        remove_result(path)
    tries = retries_left(snakemake.resources.attempt)
    minutes = scheduled_minutes(snakemake.resources.runtime)
    attempt = Attempt(tries, Interrupt(minutes, last_try=not tries))
    unfinished = False
    with _forwarded_signals(attempt.interrupt) as children:
        for cell in cells:
            if attempt.interrupt.must_stop:
                sys.exit(INTERRUPTED)
            if attempt.interrupt.time_is_over:
                lost(cell, "timeout", f"not begun: {attempt.interrupt.reason}")
                continue
            code = _run_apart(children, snakemake.rule, cell, logs[cell], work, attempt)
            if code >= 0:
                unfinished |= code > 0
                continue
            reason = f"its process was ended by {signal.Signals(-code).name}"
            with Path(logs[cell]).open("a", encoding="utf-8") as log:
                log.write(f"{time.strftime('%H:%M:%S')} ERROR {reason}\n")
            if tries == 0 and -code in _CRASHES:
                lost(cell, "error", reason)
            elif tries == 0 and -code == signal.SIGKILL and not attempt.interrupt.requested:
                lost(cell, "oom", f"{reason}; the likely cause is that memory ran out")
            else:
                unfinished = True
    if unfinished:
        sys.exit(INTERRUPTED if attempt.interrupt.requested else 1)


def _run_apart(
    children: list[BaseProcess], rule: str, cell: Cell, log: str, work: Work, attempt: Attempt
) -> int:
    """Do one cell in a fork; its exit code, or minus the signal that ended it."""
    child = multiprocessing.get_context("fork").Process(
        target=_do, args=(rule, cell, log, work, attempt)
    )
    sys.stdout.flush()
    child.start()
    children.append(child)
    try:
        if attempt.interrupt.requested:  # it came before there was anybody to pass it on to
            os.kill(child.pid, signal.SIGTERM)  # type: ignore[arg-type]
        child.join()
    finally:
        children.remove(child)
    assert child.exitcode is not None
    return child.exitcode


def _do(rule: str, cell: Cell, log: str, work: Work, attempt: Attempt) -> None:
    with _alone(cell, attempt.interrupt), logged(rule, cell.identity, log):
        work(cell, attempt)


@contextlib.contextmanager
def _alone(cell: Cell, interrupt: Interrupt) -> Iterator[None]:
    """Wait for another process that does this cell: a job may outlive a killed snakemake.

    What it leaves in the journal is not done again. The lock ends with the process.
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
    """While this lasts, SIGTERM and Ctrl-C only ask: this process and the children in the list.

    A fork inherits this, with a list that is empty: to it the signal only asks.
    """
    children: list[BaseProcess] = []

    def ask(number: int, frame: FrameType | None) -> None:
        interrupt.requested = True
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGTERM)  # type: ignore[arg-type]

    before = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield children
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
