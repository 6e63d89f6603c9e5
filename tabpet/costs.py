"""How long cells take, by estimate. Light: for the Snakefile and `tabpet plan`.

Rates are those of one core of an EPYC (Zen 3), measured with `bench/training.py` and the default
run. For GPUs they are an assumption; what a run has measured itself replaces both.
Estimates decide how jobs are cut and how long they may take at first, never a result.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from tabpet.catalog import CatalogRow
from tabpet.config import FTTransformerSettings, SaintSettings, Settings
from tabpet.plan import DEFAULT, TUNED, member_alphas
from tabpet.resources import UNKNOWN_FEATURES, UNKNOWN_ROWS


@dataclass(frozen=True)
class Device:
    """How fast transformers train somewhere."""

    products: float  # floating-point operations in a second
    step: float  # seconds of a step in which nothing is computed


DEVICES = {"cpu": Device(80e9, 0.006), "gpu": Device(4e12, 0.012)}
START_SECONDS = 3.0  # of a job, until it works
_SCORING = 1.15  # validation rows after every epoch, test rows at the end
_SAINT_BATCH = 256
_LEVELS = 3  # nodes of a categorical feature beyond its first
_SEARCH_ROUNDS = 500  # of a trial, where early stopping ends it before
_ROUND_SECONDS, _VALUE_SECONDS = (
    1e-3,
    2e-8,
)  # of a boosting round: at least, and per value of a table


def cell_seconds(
    settings: Settings, row: CatalogRow, model: str, encoding: str, device: str = "cpu"
) -> float:
    """The seconds of one cell, without the start of its process."""
    features, rows = row.n_features or UNKNOWN_FEATURES, row.n_rows or UNKNOWN_ROWS
    training_rows = settings.prepare.fractions[0] * rows
    if encoding in (TUNED, DEFAULT):
        trials = settings.trees.trials if encoding == TUNED else 1
        rounds = 1 if model == "linear" else min(settings.trees.rounds, _SEARCH_ROUNDS)
        seconds = trials * rounds * (_ROUND_SECONDS + _VALUE_SECONDS * training_rows * features)
        return min(seconds, settings.trees.max_seconds or seconds)
    where, training = DEVICES[device], settings.training
    epochs = min(training.max_epochs, training.min_epochs + 2 * training.patience)
    batch = row.batch_size_of(model) or _SAINT_BATCH
    members = len(member_alphas(encoding, settings.alphas))
    operations = 6 * training_rows * members * _products_per_row(settings, row, model, features)
    steps = -(-training_rows // batch)
    seconds = _SCORING * epochs * (steps * where.step + operations / where.products)
    return min(seconds, training.max_seconds or seconds)


def graph_seconds(settings: Settings, row: CatalogRow, graph: str) -> float:
    """The seconds of a slow graph, at most its time limit (docs/performance.md has the points)."""
    features = row.n_features or UNKNOWN_FEATURES
    nodes = features + _LEVELS * (row.n_categorical or 0)
    if graph == "lingam":
        rows = min(settings.nodes.max_rows, settings.prepare.fractions[0] * (row.n_rows or 1e4))
        seconds = 2 + 0.5 * (nodes / 60) ** 2.4 * rows / 2000
    else:
        seconds = 2 + 35 * (nodes / 60) ** 2.75
    return min(seconds, settings.graph_seconds)


def small_tables(
    settings: Settings, rows: Iterable[CatalogRow], learners: Iterable[tuple[str, str]]
) -> list[str]:
    """The tables on which all seeds of each of these (model, encoding) take `bundle_minutes`.

    None, where each split has a seed of its own.
    """
    if settings.seeds_of_splits == "paired":
        return []
    seeds, pairs = len(settings.seeds), list(learners)

    def longest(row: CatalogRow) -> float:
        return max((cell_seconds(settings, row, *pair) for pair in pairs), default=0.0)

    return [row.name for row in rows if seeds * longest(row) <= 60 * settings.bundle_minutes]


def _products_per_row(settings: Settings, row: CatalogRow, model: str, features: int) -> float:
    """Multiplications of one member's forward pass for a row."""
    architecture = getattr(settings.model_settings, model)
    width, tokens = architecture.width, features + 1
    if isinstance(architecture, FTTransformerSettings):
        hidden = architecture.ffn_factor * width
        per_token = 4 * width**2 + 3 * width * hidden + 2 * tokens * width
        return architecture.n_layers * tokens * per_token
    if isinstance(architecture, SaintSettings):
        heads, row_width = architecture.n_heads, width * tokens
        columns = tokens * (4 * width * 16 * heads + 12 * width**2)
        return architecture.depth * (columns + 4 * row_width * 64 * heads + 12 * row_width**2)
    tokens = features if row.n_categorical is None else row.n_categorical
    inner = architecture.n_heads * architecture.head_width
    per_token = architecture.residual_streams * (4 * width * inner + 12 * width**2)
    last = width * tokens + features - tokens
    return architecture.depth * tokens * per_token + 8 * last**2
