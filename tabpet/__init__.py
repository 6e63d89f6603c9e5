"""Positional encodings from feature graphs for tabular transformers.

The public names, imported when they are first used:

- `TabPETClassifier`, `TabPETRegressor`: the method as scikit-learn estimators
- `estimate_graph`, `Graph`: feature graphs
- `encode`, `Encoding`: positional encodings of a graph
- `TabpetError`: what went wrong and how to mend it
"""

import importlib
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tabpet.encodings import Encoding, encode
    from tabpet.errors import TabpetError
    from tabpet.estimators import TabPETClassifier, TabPETRegressor
    from tabpet.graphs.estimate import estimate_graph
    from tabpet.graphs.graph import Graph

__version__ = "0.1.0"
__all__ = [
    "Encoding",
    "Graph",
    "TabPETClassifier",
    "TabPETRegressor",
    "TabpetError",
    "encode",
    "estimate_graph",
]
_HOMES = {
    "TabPETClassifier": "tabpet.estimators",
    "TabPETRegressor": "tabpet.estimators",
    "Graph": "tabpet.graphs.graph",
    "estimate_graph": "tabpet.graphs.estimate",
    "Encoding": "tabpet.encodings",
    "encode": "tabpet.encodings",
    "TabpetError": "tabpet.errors",
}
# Whoever uses the package decides what becomes of its log.
logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
