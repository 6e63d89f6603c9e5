"""Every method against every other, two at a time (Ismail-Fawaz et al., 2023).

Unlike a mean rank, what is said about two methods here depends on their own scores alone. The
exception is Holm's correction, which by definition counts the comparisons that are made.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pandas as pd

from tabpet.stats.improvement import higher_wins, relative_difference, summarize
from tabpet.stats.signed_rank import wilcoxon
from tabpet.stats.values import Values, direction

_COLUMNS = [
    "method", "other", "datasets", "mean_difference_pct", "median_difference_pct", "wins", "ties",
    "losses", "p", "p_holm", "effect_size", "zeros", "tied_differences",
]  # fmt: skip
_SIGNED = ["mean_difference_pct", "median_difference_pct", "effect_size"]


@dataclass(frozen=True)
class PairwiseComparison:
    """All pairs of methods, and an order of the methods to show them in.

    `pairs` has a row per `method` and `other`, and speaks for the first of them: the `datasets`
    that have both, relative differences in percent of the mean of both (NaN without datasets),
    wins, ties and losses, and the test of the differences, also after Holm's correction.
    """

    methods: tuple[str, ...]  # by the mean of their mean differences to all others, best first
    pairs: pd.DataFrame  # each once, the method that comes first in this order first
    datasets: int  # with at least two methods

    @property
    def both_ways(self) -> pd.DataFrame:
        """Every pair from the point of view of either method, under (method, other)."""
        swapped = {"method": "other", "other": "method", "wins": "losses", "losses": "wins"}
        seen_by_other = self.pairs.rename(columns=swapped)
        seen_by_other[_SIGNED] *= -1
        both = pd.concat([self.pairs, seen_by_other]).set_index(["method", "other"])
        return both.reindex(list(permutations(self.methods, 2)))


def holm(p_values: Values) -> np.ndarray:
    """Holm's step-down correction; tests without a p-value stay so and are not counted."""
    values = np.asarray(p_values, dtype=float)
    corrected = np.full(values.shape, np.nan)
    finite = np.flatnonzero(np.isfinite(values))
    order = finite[np.argsort(values[finite], kind="stable")]
    scaled = values[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return corrected


def compare_pairs(scores: Mapping[str, pd.DataFrame]) -> PairwiseComparison:
    """Compare all methods (columns) over the datasets (rows) of the tables of all tasks."""
    oriented = pd.concat([table.astype(float) * direction(task) for task, table in scores.items()])
    methods = sorted(map(str, oriented), key=lambda method: -_mean_lead(oriented, method))
    rows = [_compare(oriented, *both) for both in combinations(methods, 2)]
    pairs = pd.DataFrame(rows, columns=_COLUMNS)
    return PairwiseComparison(
        methods=tuple(methods),
        pairs=pairs.assign(p_holm=holm(pairs["p"])),
        datasets=int((oriented.notna().sum(axis=1) > 1).sum()),
    )


def _compare(oriented: pd.DataFrame, method: str, other: str) -> dict[str, Any]:
    """Two methods, not yet corrected for how many pairs there are; higher scores are better."""
    both = oriented[[method, other]].dropna()
    differences = relative_difference("classification", both[method], both[other])
    summary, test = summarize(differences), wilcoxon(differences)
    return {
        "method": method,
        "other": other,
        **asdict(higher_wins(both[method], both[other])),
        "mean_difference_pct": summary.mean,
        "median_difference_pct": summary.median,
        "p": test.p,
        "effect_size": test.effect_size,
        "zeros": test.zeros,
        "tied_differences": test.ties,
    }


def _mean_lead(oriented: pd.DataFrame, method: str) -> float:
    """The mean of a method's mean differences to all others; who meets no other comes last."""
    means = [
        summarize(relative_difference("classification", oriented[method], oriented[other])).mean
        for other in oriented
        if other != method
    ]
    met = [mean for mean in means if np.isfinite(mean)]
    return float(np.mean(met)) if met else -np.inf
