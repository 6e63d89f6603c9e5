"""What can be seen of a running job: a line now and then in its log, a live bar."""

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tabpet.runs import METRICS

if TYPE_CHECKING:
    from rich.console import Console

logger = logging.getLogger(__name__)
_SECONDS_BETWEEN_LINES = 10.0


@dataclass(frozen=True)
class Snapshot:
    """Where training stands after an epoch."""

    epoch: int
    max_epochs: int
    task: str
    best: float | None  # validation score of the best member so far
    training: int  # members that still train
    members: int  # of this job
    seconds_left: float  # at most

    @property
    def best_text(self) -> str:
        """The best score, or that there is none."""
        return "none yet" if self.best is None else f"{self.best:.4f}"

    def describe(self) -> str:
        """One line."""
        return (
            f"epoch {self.epoch}/{self.max_epochs}, best {METRICS[self.task]} {self.best_text}, "
            f"{self.training} of {self.members} alphas training, "
            f"at most {show_seconds(self.seconds_left)} left"
        )


# Whoever wants to know where training stands after an epoch.
Progress = Callable[[Snapshot], None]


class LogProgress:
    """A line in the job's log for the first epoch, and then every few seconds."""

    def __init__(self, seconds: float = _SECONDS_BETWEEN_LINES) -> None:
        self._seconds = seconds
        self._next = 0.0

    def __call__(self, snapshot: Snapshot) -> None:
        """Log the state if it is time to."""
        now = time.monotonic()
        if now >= self._next or snapshot.training == 0:
            logger.info("%s", snapshot.describe())
            self._next = now + self._seconds


@contextlib.contextmanager
def live_bar(max_epochs: int, console: "Console | None" = None) -> Iterator[Progress]:
    """A bar over epochs that also tells the best score, the members left and the time left."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("epoch"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[state]}"),
    )
    with Bar(*columns, console=console) as bar:
        task = bar.add_task("epoch", total=max_epochs, state="starting")

        def show(snapshot: Snapshot) -> None:
            state = (
                f"best {snapshot.best_text}, {snapshot.training}/{snapshot.members} alphas, "
                f"≤ {show_seconds(snapshot.seconds_left)} left"
            )
            bar.update(task, completed=snapshot.epoch, state=state)

        yield show


def show_seconds(seconds: float) -> str:
    """`42 s`, `12 min` or `3 h 20 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
