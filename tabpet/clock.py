"""The wall clock of a job: how long it has taken, and how long it may take."""

import time
from dataclasses import dataclass, field


class OutOfTime(Exception):
    """The time for this job is over."""


@dataclass
class Clock:
    """Seconds of a job, those before an interruption included, and how many it may take."""

    limit: float | None = None
    before: float = 0.0
    _started: float = field(default_factory=time.monotonic)

    @property
    def elapsed(self) -> float:
        """Seconds spent on the job so far."""
        return self.before + time.monotonic() - self._started

    @property
    def left(self) -> float:
        """Seconds until the limit, not below 0; infinite without a limit."""
        return float("inf") if self.limit is None else max(0.0, self.limit - self.elapsed)

    @property
    def over(self) -> bool:
        """Whether the time has run out."""
        return self.left == 0

    def check(self) -> None:
        """Raise `OutOfTime` when the time has run out."""
        if self.over:
            raise OutOfTime

    def resume(self, elapsed: float) -> None:
        """Count the seconds of an interrupted job, unless they are counted already."""
        self.before = max(self.before, elapsed)
