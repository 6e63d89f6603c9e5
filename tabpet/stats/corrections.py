"""Corrections for asking several questions at once."""

import numpy as np
import pandas as pd


def holm(p_values: pd.Series | np.ndarray) -> np.ndarray:
    """Holm's step-down correction; tests without a p-value stay so and are not counted."""
    values = np.asarray(p_values, dtype=float)
    corrected = np.full(values.shape, np.nan)
    known = np.flatnonzero(np.isfinite(values))
    order = known[np.argsort(values[known], kind="stable")]
    scaled = values[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return corrected
