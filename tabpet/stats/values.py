"""Numbers of datasets: those that are there, and those that are equal up to rounding."""

import numpy as np
import pandas as pd

Values = pd.Series | np.ndarray
SAME = 1e-12  # relative difference that is rounding


def split_missing(values: Values) -> tuple[np.ndarray, int]:
    """The finite values, and how many others there are."""
    numbers = np.asarray(values, dtype=float)
    finite = numbers[np.isfinite(numbers)]
    return finite, len(numbers) - len(finite)


def on_grid(values: np.ndarray) -> np.ndarray:
    """Values on a grid of 1e-12 of the largest one, so that what differs by rounding is equal."""
    values = np.asarray(values, dtype=float)
    largest = np.max(np.abs(split_missing(values)[0]), initial=0.0)
    return np.round(values / largest, 12) * largest if largest else values
