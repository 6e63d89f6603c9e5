"""Ranks of methods over datasets, and the distance from which two mean ranks differ."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from tabpet.extras import need
from tabpet.stats.comparison import bootstrap
from tabpet.stats.values import on_grid


@dataclass(frozen=True)
class Ranks:
    """Rank 1 is best; a method is ranked among those that a dataset has."""

    table: pd.DataFrame  # datasets x methods; NaN where a method was not run
    means: pd.DataFrame  # as `mean_ranks` has them


def rank_methods(
    task: str, scores: pd.DataFrame, significance: float = 0.05, samples: int = 10_000
) -> Ranks:
    """Rank the methods (columns) on every dataset (row); equal scores share their mean rank.

    A dataset with a single method ranks nothing and is left out.
    """
    rounded = _rounded_rows(scores)
    table = rounded[rounded.notna().sum(axis=1) > 1].rank(
        axis=1, ascending=task == "regression", method="average"
    )
    return Ranks(table, mean_ranks(table, significance, samples))


def mean_ranks(ranks: pd.DataFrame, significance: float, samples: int) -> pd.DataFrame:
    """Mean rank of every method, its bootstrap interval over datasets, and how many those are.

    The interval is what other datasets would change; other methods change the ranks themselves.
    """
    intervals = [bootstrap(ranks[method], significance, samples) for method in ranks]
    return pd.DataFrame(
        {
            "mean_rank": ranks.mean(),
            "mean_rank_low": [interval.low for interval in intervals],
            "mean_rank_high": [interval.high for interval in intervals],
            "ranked_datasets": ranks.notna().sum(),
        }
    )


@dataclass(frozen=True)
class CriticalDifference:
    """Friedman's test over all methods, and Nemenyi's distance between two mean ranks."""

    means: pd.DataFrame  # as `mean_ranks` has them, best first
    datasets: int  # that have all of these methods
    sparse: tuple[str, ...]  # methods that were left out: missing on half of the datasets or more
    statistic: float  # Friedman; NaN below three methods
    p: float
    significance: float
    distance: float
    p_values: pd.DataFrame  # Nemenyi, between two methods


def critical_difference(
    ranks: pd.DataFrame, significance: float = 0.05, samples: int = 10_000
) -> CriticalDifference | None:
    """Compare all methods (columns) over datasets (rows); smaller is better, as ranks are.

    Methods that half of the datasets lack are left out first, then datasets that lack a method.
    None when fewer than two methods or datasets are left.
    """
    sparse = [str(name) for name in ranks if ranks[name].isna().mean() >= 0.5]
    complete = ranks.drop(columns=sparse).dropna()
    n, k = complete.shape
    if n < 2 or k < 2:
        return None
    within = _rounded_rows(complete).rank(axis=1)
    statistic, p = _friedman(within)
    quantile = stats.studentized_range.ppf(1 - significance, k, np.inf)
    distance = float(quantile / np.sqrt(2) * np.sqrt(k * (k + 1) / (6 * n)))
    return CriticalDifference(
        means=mean_ranks(within, significance, samples).sort_values("mean_rank", kind="stable"),
        datasets=n,
        sparse=tuple(sparse),
        statistic=statistic,
        p=p,
        significance=significance,
        distance=distance,
        p_values=need("scikit_posthocs", "The Nemenyi test").posthoc_nemenyi_friedman(within),
    )


def _rounded_rows(table: pd.DataFrame) -> pd.DataFrame:
    rows = [on_grid(row) for row in table.to_numpy(dtype=float)]
    return pd.DataFrame(rows, index=table.index, columns=table.columns, dtype=float)


def _friedman(ranks: pd.DataFrame) -> tuple[float, float]:
    if ranks.shape[1] < 3:
        return np.nan, np.nan
    if (ranks.max(axis=1) == ranks.min(axis=1)).all():
        return 0.0, 1.0  # every dataset has all methods equal: SciPy would divide by zero
    statistic, p = stats.friedmanchisquare(*(ranks[name] for name in ranks))
    return float(statistic), float(p)
