"""Every method against every other, two at a time (Ismail-Fawaz et al., 2023).

Unlike a mean rank, what is said about two methods here depends on their own scores alone. The
exception is Holm's correction, which by definition counts the comparisons that are made.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from tabpet.stats.improvement import WinRate, higher_wins, relative_difference, summarize
from tabpet.stats.signed_rank import Wilcoxon, wilcoxon
from tabpet.stats.values import Values


@dataclass(frozen=True)
class Pair:
    """One method against another on the datasets that have both; positive speaks for the first."""

    method: str
    other: str
    mean: float  # relative difference in percent of the mean of both; NaN without datasets
    median: float
    duel: WinRate
    test: Wilcoxon  # of the relative differences
    p_holm: float

    @property
    def reversed(self) -> "Pair":
        """The same from the other's point of view."""
        return Pair(
            method=self.other,
            other=self.method,
            mean=-self.mean,
            median=-self.median,
            duel=replace(self.duel, wins=self.duel.losses, losses=self.duel.wins),
            test=replace(self.test, positive=self.test.negative, negative=self.test.positive),
            p_holm=self.p_holm,
        )


@dataclass(frozen=True)
class PairwiseComparison:
    """All pairs of methods, and an order of the methods to show them in."""

    methods: tuple[str, ...]  # by the mean of their mean differences to all others, best first
    pairs: tuple[Pair, ...]  # each once, the method that comes first in this order first
    datasets: int  # with at least two methods

    def pair(self, method: str, other: str) -> Pair:
        """Two methods, from the point of view of the first."""
        for pair in self.pairs:
            if (pair.method, pair.other) == (method, other):
                return pair
            if (pair.method, pair.other) == (other, method):
                return pair.reversed
        raise KeyError((method, other))


def holm(p_values: Values) -> np.ndarray:
    """Holm's step-down correction; tests without a p-value stay so and are not counted."""
    values = np.asarray(p_values, dtype=float)
    corrected = np.full(values.shape, np.nan)
    known = np.flatnonzero(np.isfinite(values))
    order = known[np.argsort(values[known], kind="stable")]
    scaled = values[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return corrected


def compare_pairs(scores: Mapping[str, pd.DataFrame]) -> PairwiseComparison:
    """Compare all methods (columns) over the datasets (rows) of the tables of all tasks."""
    signs = {task: 1.0 if task == "classification" else -1.0 for task in scores}
    oriented = pd.concat([signs[task] * table.astype(float) for task, table in scores.items()])
    methods = sorted(map(str, oriented), key=lambda method: -_mean_lead(oriented, method))
    pairs = [_compare(oriented, *both) for both in combinations(methods, 2)]
    corrected = holm(np.array([pair.test.p for pair in pairs]))
    return PairwiseComparison(
        methods=tuple(methods),
        pairs=tuple(
            replace(pair, p_holm=float(p)) for pair, p in zip(pairs, corrected, strict=True)
        ),
        datasets=int((oriented.notna().sum(axis=1) > 1).sum()),
    )


def _compare(oriented: pd.DataFrame, method: str, other: str) -> Pair:
    """Two methods, not yet corrected for how many pairs there are; higher scores are better."""
    both = oriented[[method, other]].dropna()
    differences = relative_difference("classification", both[method], both[other])
    summary, duel = summarize(differences), higher_wins(both[method], both[other])
    test = wilcoxon(differences)
    return Pair(method, other, summary.mean, summary.median, duel, test, p_holm=np.nan)


def _mean_lead(oriented: pd.DataFrame, method: str) -> float:
    """The mean of a method's mean differences to all others; who meets no other comes last."""
    means = [
        summarize(relative_difference("classification", oriented[method], oriented[other])).mean
        for other in oriented
        if other != method
    ]
    met = [mean for mean in means if np.isfinite(mean)]
    return float(np.mean(met)) if met else -np.inf
