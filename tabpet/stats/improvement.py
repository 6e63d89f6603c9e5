"""How much better one learner is than another: per dataset, and summed up over datasets."""

from dataclasses import dataclass

import numpy as np

from tabpet.stats.values import SAME, Values, direction, split_missing


def improvement(task: str | Values, base: float | Values, score: float | Values) -> np.ndarray:
    """Percent by which `score` is better than `base`, whatever the direction of the metric.

    NaN where the base is 0 or infinite: there is nothing to compare with. Scores that differ by
    rounding alone are equal. There may be a task for each score.
    """
    base, score = np.asarray(base, dtype=float), np.asarray(score, dtype=float)
    gain = direction(task) * (score - base)
    base, gain = np.broadcast_arrays(base, np.where(np.abs(gain) <= SAME * np.abs(base), 0.0, gain))
    out = np.full(base.shape, np.nan)
    return 100 * np.divide(gain, base, out=out, where=(base != 0) & np.isfinite(base))


def relative_difference(task: str, score: Values, other: Values) -> np.ndarray:
    """Percent by which `score` is better than `other`, of the mean of both; 0 where both are 0.

    Swapping the two changes nothing but the sign, which `improvement` does not give.
    """
    ours, theirs = np.asarray(score, dtype=float), np.asarray(other, dtype=float)
    gain = direction(task) * ours - direction(task) * theirs
    mean = (np.abs(ours) + np.abs(theirs)) / 2
    return 100 * np.divide(gain, mean, out=np.where(np.isnan(gain), np.nan, 0.0), where=mean > 0)


@dataclass(frozen=True)
class Summary:
    """Improvements over datasets, in percent; NaN where no dataset has one."""

    datasets: int  # with a number
    missing: int
    mean: float
    median: float
    minimum: float
    positive_rate: float  # percent of datasets above 0


def summarize(percent: Values) -> Summary:
    """Sum up the improvements of datasets; those without a number are counted and left out."""
    finite, missing = split_missing(percent)
    if not len(finite):
        return Summary(0, missing, np.nan, np.nan, np.nan, np.nan)
    return Summary(
        datasets=len(finite),
        missing=missing,
        mean=float(np.mean(finite)),
        median=float(np.median(finite)),
        minimum=float(np.min(finite)),
        positive_rate=float(100 * np.mean(finite > 0)),
    )


@dataclass(frozen=True)
class WinRate:
    """How often one learner beats another on the same dataset."""

    datasets: int  # that have both
    wins: int
    ties: int
    losses: int

    @property
    def percent(self) -> float:
        """Strict wins in percent of all datasets that have both; a tie is no win."""
        return 100 * self.wins / self.datasets if self.datasets else np.nan


def win_rate(task: str | Values, score: Values, other: Values) -> WinRate:
    """Head to head on the datasets that have both scores."""
    sign = direction(task)
    return higher_wins(sign * np.asarray(score, dtype=float), sign * np.asarray(other, dtype=float))


def higher_wins(value: Values, other: Values) -> WinRate:
    """Head to head where more is better, as it is of improvements."""
    ours, theirs = np.asarray(value, dtype=float), np.asarray(other, dtype=float)
    both = np.isfinite(ours) & np.isfinite(theirs)
    ours, theirs = ours[both], theirs[both]
    equal = np.isclose(ours, theirs, rtol=SAME, atol=0)
    wins, ties = int(((ours > theirs) & ~equal).sum()), int(equal.sum())
    return WinRate(len(ours), wins, ties, len(ours) - wins - ties)
