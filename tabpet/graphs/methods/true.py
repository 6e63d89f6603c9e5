"""The true graph of a table, where it is known: not estimated, but read from the card."""

import numpy as np

from tabpet.clock import Clock
from tabpet.entries import Estimate, Estimator
from tabpet.section import NoSettings

NO_TRUE_GRAPH = (
    "the table has no true graph: take `true` out of `graphs`, or name a file of edges in the "
    "column `graph` of its catalog row"
)


def find_none(values: np.ndarray, settings: NoSettings, clock: Clock) -> Estimate:
    """Values alone do not say what is true; `tabpet.graphs.true_graph` reads what does."""
    d = values.shape[1]
    return Estimate(np.zeros((d, d)), status="error", reason=NO_TRUE_GRAPH)


ESTIMATOR = Estimator(
    key="true",
    label="True graph",
    function=find_none,
    directed=False,
    growth="nothing is estimated",
    citation="the generator of the table, or the file that its catalog row names",
    cost="instant",
    from_card=True,
    order=90,
)
