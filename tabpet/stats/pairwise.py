"""Every method against every other, two at a time (Ismail-Fawaz et al., 2023).

Unlike a mean rank, what is said about two methods here depends on their own scores alone. The
exception is Holm's correction, which by definition counts the comparisons that are made.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from tabpet.stats.corrections import holm
from tabpet.stats.improvement import WinRate, higher_wins, relative_difference, summarize
from tabpet.stats.signed_rank import Wilcoxon, wilcoxon


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


def compare_pairs(scores: Mapping[str, pd.DataFrame]) -> PairwiseComparison:
    """Compare all methods (columns) over the datasets (rows) of the tables of all tasks."""
    methods = list(dict.fromkeys(str(name) for table in scores.values() for name in table))
    pairs = [_compare(scores, one, other) for one, other in combinations(methods, 2)]
    corrected = holm(np.array([pair.test.p for pair in pairs]))
    order = _order(methods, pairs)
    place = {method: number for number, method in enumerate(order)}
    found = (
        replace(pair, p_holm=float(p)) if place[pair.method] < place[pair.other]
        else replace(pair.reversed, p_holm=float(p))
        for pair, p in zip(pairs, corrected, strict=True)
    )  # fmt: skip
    return PairwiseComparison(
        methods=tuple(order),
        pairs=tuple(sorted(found, key=lambda pair: (place[pair.method], place[pair.other]))),
        datasets=sum(int((table.notna().sum(axis=1) > 1).sum()) for table in scores.values()),
    )


def _compare(scores: Mapping[str, pd.DataFrame], method: str, other: str) -> Pair:
    """Two methods, not yet corrected for how many pairs there are."""
    ours, theirs, percent = [np.empty(0)], [np.empty(0)], [np.empty(0)]
    for task, table in scores.items():
        if method in table and other in table:
            both = table[[method, other]].astype(float).dropna()
            sign = 1 if task == "classification" else -1
            ours.append(sign * both[method].to_numpy())
            theirs.append(sign * both[other].to_numpy())
            percent.append(relative_difference(task, both[method], both[other]))
    differences = np.concatenate(percent)
    size = summarize(differences)
    return Pair(
        method=method,
        other=other,
        mean=size.mean,
        median=size.median,
        duel=higher_wins(np.concatenate(ours), np.concatenate(theirs)),
        test=wilcoxon(differences),
        p_holm=float("nan"),
    )


def _order(methods: list[str], pairs: list[Pair]) -> list[str]:
    """Methods by the mean of their mean differences; those that meet no other come last."""
    means: dict[str, list[float]] = {method: [] for method in methods}
    for pair in pairs:
        if np.isfinite(pair.mean):
            means[pair.method].append(pair.mean)
            means[pair.other].append(-pair.mean)
    return sorted(methods, key=lambda name: -np.mean(means[name]) if means[name] else np.inf)
