"""Bootstrap intervals over datasets: how much would other datasets change the number?"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from scipy import stats


@dataclass(frozen=True)
class BootstrapInterval:
    """An interval of a mean over datasets; not a number below two datasets."""

    datasets: int
    missing: int
    estimate: float
    low: float
    high: float
    level: float
    samples: int
    method: Literal["BCa", "percentile", "none"]
    seed: int


def bootstrap(
    values: pd.Series | np.ndarray,
    level: float = 0.05,
    samples: int = 10_000,
    seed: int = 0,
) -> BootstrapInterval:
    """Resample datasets: BCa, percentiles for constant values."""
    given = np.asarray(values, dtype=float)
    known = given[np.isfinite(given)]
    estimate = float(np.mean(known)) if len(known) else float("nan")
    low = high = float("nan")
    method: Literal["BCa", "percentile", "none"] = "none"
    if len(known) > 1:
        # The jackknife behind BCa divides by the spread.
        method = "BCa" if np.ptp(known) > 0 else "percentile"
        result = stats.bootstrap(
            (known,),
            np.mean,
            n_resamples=samples,
            confidence_level=1 - level,
            method=method,
            rng=np.random.default_rng(seed),
        )
        low, high = map(float, result.confidence_interval)
    return BootstrapInterval(
        datasets=len(known),
        missing=len(given) - len(known),
        estimate=estimate,
        low=low,
        high=high,
        level=level,
        samples=samples,
        method=method,
        seed=seed,
    )
