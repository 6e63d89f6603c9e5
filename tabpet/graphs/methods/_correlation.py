"""Correlation matrices that stay finite on constant columns."""

import numpy as np

# Below this share of the largest absolute value, a column's spread is rounding.
_CONSTANT = 1e-12


def absolute_correlations(values: np.ndarray) -> np.ndarray:
    """Absolute Pearson correlations, (d, d), with a zero diagonal; constant columns get 0."""
    largest = np.abs(values).max(axis=0)
    centred = values - values.mean(axis=0)
    lengths = np.sqrt((centred * centred).sum(axis=0))
    constant = lengths <= _CONSTANT * np.sqrt(len(values)) * np.maximum(largest, 1e-300)
    scaled = np.where(constant, 0.0, centred / np.where(constant, 1.0, lengths))
    correlations = np.minimum(np.abs(scaled.T @ scaled), 1.0)
    correlations = (correlations + correlations.T) / 2
    np.fill_diagonal(correlations, 0.0)
    return correlations
