"""Numbers of datasets: which are better, which are there, and which are equal up to rounding."""

import numpy as np
import pandas as pd

Values = pd.Series | np.ndarray
SAME = 1e-12  # relative difference that is rounding


def direction(task: str | Values) -> np.ndarray:
    """1 where a higher score is better, -1 where a lower one is: of one task, or of each."""
    return np.where(np.asarray(task) == "classification", 1.0, -1.0)


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
