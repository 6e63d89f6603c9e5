"""Automatic choice of k, the number of eigenvectors from each end (appendix, Algorithm 2)."""

from dataclasses import dataclass

import numpy as np

LOW, HIGH = 0.75, 1.25  # eigenvalues between them are mid-frequency and not used
_ROUNDING = 1e-9


@dataclass(frozen=True)
class KChoice:
    """Outcome of Algorithm 2 with the counts behind it."""

    k_first: int
    k_last: int
    low_count: int
    high_count: int


def select_k(eigenvalues: np.ndarray, k_min: int = 2, k_max: int = 10) -> KChoice:
    """Choose k from the ascending eigenvalues of the normalized Laplacian."""
    low = eigenvalues[1:][eigenvalues[1:] <= LOW + _ROUNDING]
    high = eigenvalues[eigenvalues >= HIGH - _ROUNDING]
    low_gaps, high_gaps = _significant_gaps(low), _significant_gaps(high)
    low_count = int(low_gaps[0]) + 1 if len(low_gaps) else len(low)
    high_count = len(high) - int(high_gaps[-1]) - 1 if len(high_gaps) else len(high)
    # NOTE[PAPER]: the high side is counted, but the text sets k_last = k_first.
    k = max(k_min, min(low_count, k_max))
    return KChoice(k_first=k, k_last=k, low_count=low_count, high_count=high_count)


def _significant_gaps(eigenvalues: np.ndarray) -> np.ndarray:
    """Positions i where the gap between eigenvalues i and i + 1 is significant."""
    # NOTE[PAPER]: "sufficient eigenvalues" and "significant" have no numbers in the text; these
    # are the released code's.
    if len(eigenvalues) <= 3:
        return np.zeros(0, dtype=np.int64)
    gaps = np.diff(eigenvalues)
    return np.flatnonzero(gaps > max(10 * float(np.median(gaps)), 0.5))
