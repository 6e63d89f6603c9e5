"""A small table of all kinds, and models that train in a moment."""

import numpy as np
import pandas as pd

from tabpet.estimators import TabPETClassifier, TabPETRegressor

TINY = {
    "width": 16,
    "depth": 1,
    "n_heads": 2,
    "epochs": 4,
    "learning_rate": 1e-2,
    "encoding_settings": {"k_max": 2},
    "device": "cpu",
    "random_state": 1,
}


def make_table(n: int = 90, seed: int = 0, gaps: bool = True) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, text, categories and truth values with gaps; a number that follows them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "size": rng.normal(5, 3, n),
            "age": rng.integers(1, 50, n),
            "town": rng.choice(["Oslo", "Rome", "Bern"], n),
            "flag": rng.random(n) < 0.5,
            "grade": pd.Categorical(rng.choice(["low", "high"], n)),
        }
    )
    y = X["size"] + 0.1 * X["age"] + 2 * (X["town"] == "Rome") + rng.normal(0, 0.3, n)
    if gaps:
        X.loc[[3, 20, 41], "size"] = np.nan
        X.loc[[5, 30], "town"] = None
    return X, y.to_numpy()


def classes_of(y: np.ndarray) -> np.ndarray:
    """Three classes from a number."""
    return np.array(["hi", "lo", "mid"])[np.digitize(y, np.quantile(y, [0.3, 0.7]))]


def make(task: str, **changes):
    """An estimator that trains in a moment."""
    kind = TabPETClassifier if task == "classification" else TabPETRegressor
    return kind(**{**TINY, **changes})


def make_target(task: str, y: np.ndarray) -> np.ndarray:
    return classes_of(y) if task == "classification" else y
