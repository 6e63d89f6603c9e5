"""How long cells take, by estimate. Light: for the Snakefile and `tabpet plan`.

Rates are those of one core of an EPYC (Zen 3), measured with `bench/training.py` and the default
run. For GPUs they are an assumption; what a run has measured itself replaces both.
Estimates decide how jobs are cut and how long they may take at first, never a result.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tabpet.catalog import CatalogRow
from tabpet.plan import RULES, member_alphas
from tabpet.registry import GRAPHS, LEARNERS, TUNED
from tabpet.resources import step_size, table_shape
from tabpet.settings import Settings


@dataclass(frozen=True)
class Device:
    """How fast transformers train somewhere."""

    products: float  # floating-point operations in a second
    step: float  # seconds of a step in which nothing is computed


DEVICES = {"cpu": Device(80e9, 0.006), "gpu": Device(4e12, 0.012)}
START_SECONDS = 3.0  # of a job, until it works
_SCORING = 1.15  # validation rows after every epoch, test rows at the end
# A number that a step keeps is the sum of about this share of a token's width of products.
_PRODUCTS_PER_NUMBER = 0.4
_LEVELS = 3  # nodes of a categorical feature beyond its first
_SEARCH_ROUNDS = 500  # of a trial, where early stopping ends it before
_ROUND_SECONDS = 1e-3  # of a boosting round, at least
_VALUE_SECONDS = 2e-8  # of a boosting round, per value of a table


def cell_seconds(
    settings: Settings, row: CatalogRow, model: str, encoding: str, device: str = "cpu"
) -> float:
    """The seconds of one cell, without the start of its process."""
    rows, features = table_shape(row)
    training_rows = settings.prepare.fractions[0] * rows
    if encoding in RULES:
        trials = settings.trees.trials if encoding == TUNED else 1
        boosted = "rounds" in LEARNERS.find(model).reads
        rounds = min(settings.trees.rounds, _SEARCH_ROUNDS) if boosted else 1
        seconds = trials * rounds * (_ROUND_SECONDS + _VALUE_SECONDS * training_rows * features)
        return min(seconds, settings.trees.max_seconds or seconds)
    where, training = DEVICES[device], settings.training
    epochs = min(training.max_epochs, training.min_epochs + 2 * training.patience)
    batch, size = step_size(settings, row, model)
    steps = -(-training_rows // batch)
    width = settings.model_settings.of(model).width
    # Of a forward pass for a row; weights that are used once a row are counted by themselves.
    products = _PRODUCTS_PER_NUMBER * width * size.activations + size.parameters
    members = len(member_alphas(encoding, settings.alphas))
    operations = 6 * training_rows * members * products
    seconds = _SCORING * epochs * (steps * where.step + operations / where.products)
    return min(seconds, training.max_seconds or seconds)


def graph_seconds(settings: Settings, row: CatalogRow, graph: str) -> float:
    """The seconds of a graph with a job of its own, at most its time limit."""
    estimator = GRAPHS.find(graph)
    if estimator.cost == "instant":
        return 2.0
    rows, features = table_shape(row)
    nodes = features + _LEVELS * (row.n_categorical or 0)
    seen = min(settings.nodes.max_rows, settings.prepare.fractions[0] * rows)
    return min(estimator.seconds(nodes, seen), settings.graph_seconds)


def small_tables(
    settings: Settings, rows: Iterable[CatalogRow], pairs: Iterable[tuple[str, str]]
) -> list[str]:
    """The tables on which all seeds of each of these (model, encoding) take `bundle_minutes`.

    None, where each split has a seed of its own.
    """
    if settings.seeds_of_splits == "paired":
        return []
    seeds, listed = len(settings.seeds), list(pairs)

    def longest(row: CatalogRow) -> float:
        return max((cell_seconds(settings, row, *pair) for pair in listed), default=0.0)

    return [row.name for row in rows if seeds * longest(row) <= 60 * settings.bundle_minutes]
