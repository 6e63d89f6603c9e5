"""How far the order of variances, or of R2, already gives the direction of a graph's arrows.

Near 1 (or 0) a directed graph can be read off the scale or the fit of the columns, and its arrows
are no evidence of causes (Reisach et al. 2021, "Beware of the simulated DAG!", and 2023 for R2).
"""

import numpy as np

_SAME = 1e-9
_RIDGE = 1e-10


def sortability(weights: np.ndarray, scores: np.ndarray) -> float | None:
    """Share of directed paths whose end has the higher score; ties count one half.

    On standardised nodes all variances tie, so varsortability is 0.5 whatever the arrows are; the
    R2 version does not depend on scale and is the one to read. None without edges.
    """
    edges = weights != 0
    difference = scores[None, :] - scores[:, None]
    tie = np.abs(difference) <= _SAME * max(1.0, float(np.abs(scores).max(initial=0.0)))
    gain = np.where(tie, 0.5, (difference > 0).astype(float))
    paths = edges
    n_paths, total = 0, 0.0
    for _ in range(len(weights)):
        if not paths.any():
            break
        # As in the published measure, pairs count once for every path length that joins them.
        n_paths += int(paths.sum())
        total += float(gain[paths].sum())
        paths = (paths.astype(np.float32) @ edges.astype(np.float32)) > 0
    return total / n_paths if n_paths else None


def explained_variances(covariance: np.ndarray) -> np.ndarray:
    """R2 of every node given all others, (d,); 1 for a node that the others determine."""
    variances = np.diag(covariance)
    scale = np.sqrt(np.where(variances > 0, variances, 1.0))
    correlation = covariance / np.outer(scale, scale)
    # The ridge keeps the inverse defined for full one-hot groups, whose R2 is 1.
    precision = np.linalg.inv(correlation + _RIDGE * np.eye(len(correlation)))
    explained = np.clip(1 - 1 / np.diag(precision), 0.0, 1.0)
    return np.where(variances > 0, explained, 0.0)  # nothing to explain in a constant node
