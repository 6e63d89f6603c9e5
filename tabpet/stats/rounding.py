"""Equality of computed numbers: ties must not depend on the last bits of a sum."""

import numpy as np

SAME = 1e-12  # relative difference that is rounding


def on_grid(values: np.ndarray) -> np.ndarray:
    """Values on a grid of 1e-12 of the largest one, so that what differs by rounding is equal."""
    values = np.asarray(values, dtype=float)
    known = np.abs(values[np.isfinite(values)])
    largest = known.max() if len(known) else 0.0
    if largest == 0:
        return values
    return np.round(values / largest, 12) * largest
