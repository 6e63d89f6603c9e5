"""What a training job needs, estimated from the settings of its model. Light: for the Snakefile.

The trainer halves the group of alphas where memory is not enough, so an estimate that is too small
costs time and no result.
"""

from tabpet.catalog import CatalogRow
from tabpet.entries import Size
from tabpet.plan import batch_size, member_alphas
from tabpet.registry import MODELS
from tabpet.settings import Settings

_BASE_MB = 1000  # Python, torch, the table, and one batch of an evaluation
# Together up to this much, the alphas of a job train in one group; larger models go in several.
_GROUP_MB = 8000
_SAFETY = 1.3
# Weight, gradient, two moments of Adam, the best state so far, and the model that scores it.
_BYTES_PER_PARAMETER = 6 * 4
_UNKNOWN_ROWS, _UNKNOWN_FEATURES = 10_000, 100


def table_shape(row: CatalogRow) -> tuple[int, int]:
    """Rows and features of a table, guessed where its catalog row does not say."""
    return row.n_rows or _UNKNOWN_ROWS, row.n_features or _UNKNOWN_FEATURES


def step_size(settings: Settings, row: CatalogRow, model: str) -> tuple[int, Size]:
    """Rows in a training step, and what the model takes in memory on this table."""
    entry = MODELS.find(model)
    _, features = table_shape(row)
    categorical = features if row.n_categorical is None else row.n_categorical
    batch = batch_size(row, model) or entry.batch_size(features)
    return batch, entry.size(settings.model_settings.of(model), features, categorical)


def training_megabytes(
    settings: Settings, row: CatalogRow, model: str, encoding: str, attempt: int = 1
) -> int:
    """Memory of one training job; doubles when it is tried again."""
    batch, size = step_size(settings, row, model)
    numbers = _BYTES_PER_PARAMETER * size.parameters + 4 * batch * size.activations
    member = _SAFETY * numbers / 1e6
    members = len(member_alphas(encoding, settings.alphas))
    group = max(member, min(members * member, _GROUP_MB))
    return int(_BASE_MB + group) * 2 ** (attempt - 1)


def training_minutes(settings: Settings, row: CatalogRow, cells: int = 1, attempt: int = 1) -> int:
    """The time limit if there is one, else up to a day by rows; doubles when tried again.

    Cells that run one after the other in one job have the time of all.
    """
    rows, _ = table_shape(row)
    minutes = 60 + min(rows, 50_000) / 50_000 * 1380
    if cells > 1:
        minutes += settings.bundle_minutes
    if settings.training.max_seconds:
        minutes = cells * settings.training.max_seconds / 60 + 30
    return int(minutes) * 2 ** (attempt - 1)


def tuning_minutes(settings: Settings, cells: int = 1, attempt: int = 1) -> int:
    """The same for searches, half a day without a limit."""
    limit = settings.trees.max_seconds
    minutes = cells * limit / 60 if limit else 720 + settings.bundle_minutes * (cells > 1)
    return int(minutes + 15) * 2 ** (attempt - 1)
