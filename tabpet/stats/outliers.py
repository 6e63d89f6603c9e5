"""Datasets whose scores would rule a mean over datasets (appendix, "Systematic Outlier ...")."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

WHISKER, TIMES_MEDIAN = 1.5, 10


@dataclass(frozen=True)
class OutlierExclusion:
    """Which datasets are left out of a mean, by which rule, and at which bound."""

    task: str
    means: pd.Series  # per dataset, over all methods that it has
    iqr_bound: float
    iqr_excluded: tuple[str, ...]
    median_bound: float | None  # regression alone
    median_excluded: tuple[str, ...]

    @property
    def excluded(self) -> tuple[str, ...]:
        """Datasets that either rule names, in the order of the table."""
        named = {*self.iqr_excluded, *self.median_excluded}
        return tuple(name for name in self.means.index if name in named)

    @property
    def kept(self) -> tuple[str, ...]:
        """All other datasets."""
        return tuple(name for name in self.means.index if name not in self.excluded)


def exclude_outliers(task: str, scores: pd.DataFrame) -> OutlierExclusion:
    """One list for all methods (columns), from the mean score of every dataset (row)."""
    # NOTE[PAPER]: the text does not say over which models; all that a dataset has gives its list.
    means = scores.astype(float).mean(axis=1).dropna()
    if means.empty:
        return OutlierExclusion(task, means, np.nan, (), None, ())
    first, third = np.quantile(means, [0.25, 0.75])
    reach = WHISKER * (third - first)
    if task == "classification":
        low = float(first - reach)
        return OutlierExclusion(task, means, low, _names(means < low), None, ())
    high, far = float(third + reach), float(TIMES_MEDIAN * np.median(means))
    return OutlierExclusion(task, means, high, _names(means > high), far, _names(means > far))


def _names(outside: pd.Series) -> tuple[str, ...]:
    return tuple(map(str, outside.index[outside]))
