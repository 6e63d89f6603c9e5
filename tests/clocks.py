"""Time that a test decides about, so that none depends on the speed of the machine."""

from dataclasses import dataclass

from tabpet.clock import Clock


@dataclass
class Countdown(Clock):
    """A clock whose time is over after a number of looks at it."""

    looks: int = 0

    @property
    def over(self) -> bool:
        self.looks -= 1
        return self.looks < 0


@dataclass
class Still(Clock):
    """A clock that stands still."""

    @property
    def elapsed(self) -> float:
        return self.before
