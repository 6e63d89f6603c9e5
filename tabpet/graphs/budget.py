"""The wall-clock budget of one graph."""

import time


class BudgetSpent(Exception):
    """The time for this graph is over."""


class Budget:
    """Counts down from `seconds`; without a number it never ends."""

    def __init__(self, seconds: float | None = None) -> None:
        self._started = time.monotonic()
        self._seconds = seconds

    @property
    def used(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    @property
    def left(self) -> float | None:
        """Seconds until the end, not below 0; None without an end."""
        return None if self._seconds is None else max(0.0, self._seconds - self.used)

    def check(self) -> None:
        """Raise `BudgetSpent` when the time is over."""
        if self._seconds is not None and self.used > self._seconds:
            raise BudgetSpent
