"""Signals as a wish: what runs finishes its step, saves what it has, and stops.

A scheduler asks before it takes a job away: by SIGTERM when another job is more important, by
SIGUSR1 (`profiles/slurm`) when the time that was asked for is nearly over. That one may come while
a job still starts and hears nothing, so a job looks at the clock as well. In this case, and with no
try left, going on later is not to be had: what there is by then is scored and labelled `timeout`.
"""

import signal
import time
from dataclasses import dataclass, field

REQUESTS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)
# Schedulers warn two minutes before the end (`--signal=USR1@120`), some a minute earlier still,
# and begin to count before this process does.
_WARNED_BEFORE = 240.0
_ENDS_BEFORE = 120.0  # its limit, by itself; of a job of a few minutes, half of its time


class Interrupted(BaseException):
    """A job ends because it was asked to; no error, so nothing makes a row of it."""


@dataclass
class Interrupt:
    """Whether this process was asked to end, and what a scheduler allows it."""

    minutes: float | None = None  # that the job asked for
    last_try: bool = False
    signalled: bool = False
    started: float = field(default_factory=time.monotonic)

    @property
    def requested(self) -> bool:
        """Whether a signal or the clock asks this process to end."""
        return self.signalled or self._seconds_left < min(_ENDS_BEFORE, self._limit / 2)

    @property
    def time_is_over(self) -> bool:
        """Whether to score what there is: the time of a last try ends."""
        return self.requested and self.last_try and self._seconds_left <= _WARNED_BEFORE

    @property
    def reason(self) -> str:
        """Why what there is was scored."""
        return f"the {self.minutes:g} min that the job had asked for were over"

    @property
    def must_stop(self) -> bool:
        """Whether to save and stop, so that another try goes on."""
        return self.requested and not self.time_is_over

    @property
    def _limit(self) -> float:
        return float("inf") if self.minutes is None else 60 * self.minutes

    @property
    def _seconds_left(self) -> float:
        return self.started + self._limit - time.monotonic()
