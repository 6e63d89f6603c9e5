"""What a training job needs, estimated from the settings of its model. Light: for the Snakefile.

The trainer halves the group of alphas where memory is not enough, so an estimate that is too small
costs time and no result.
"""

from tabpet.catalog import CatalogRow
from tabpet.config import FTTransformerSettings, SaintSettings, Settings, TabTransformerSettings
from tabpet.plan import member_alphas

_BASE_MB = 1000  # Python, torch, the table, and one batch of an evaluation
# Together up to this much, the alphas of a job train in one group; larger models go in several.
_GROUP_MB = 8000
_SAFETY = 1.3
# Weight, gradient, two moments of Adam, the best state so far, and the model that scores it.
_BYTES_PER_PARAMETER = 6 * 4
UNKNOWN_FEATURES, UNKNOWN_ROWS = 100, 10_000
_SAINT_BATCH = 256


def training_megabytes(
    settings: Settings, row: CatalogRow, model: str, encoding: str, attempt: int = 1
) -> int:
    """Memory of one training job; doubles when it is tried again."""
    architecture = getattr(settings.model_settings, model)
    features = row.n_features or UNKNOWN_FEATURES
    categorical = features if row.n_categorical is None else row.n_categorical
    batch = row.batch_size_of(model) or _SAINT_BATCH
    if isinstance(architecture, FTTransformerSettings):
        parameters, numbers = _ft_transformer(architecture, features)
    elif isinstance(architecture, SaintSettings):
        parameters, numbers = _saint(architecture, features)
    else:
        parameters, numbers = _tab_transformer(architecture, features, categorical)
    member = _SAFETY * (_BYTES_PER_PARAMETER * parameters + 4 * batch * numbers) / 1e6
    members = len(member_alphas(encoding, settings.alphas))
    group = max(member, min(members * member, _GROUP_MB))
    return int(_BASE_MB + group) * 2 ** (attempt - 1)


def training_minutes(settings: Settings, row: CatalogRow, cells: int = 1, attempt: int = 1) -> int:
    """The time limit if there is one, else up to a day by rows; doubles when tried again.

    Cells that run one after the other in one job have the time of all.
    """
    minutes = 60 + min(row.n_rows or UNKNOWN_ROWS, 50_000) / 50_000 * 1380
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


def _ft_transformer(settings: FTTransformerSettings, features: int) -> tuple[float, float]:
    """Parameters of a member, and numbers that a training step keeps for a row of the batch."""
    width, tokens = settings.width, features + 1
    hidden = settings.ffn_factor * width
    parameters = settings.n_layers * (4 * width**2 + 3 * width * hidden) + 2 * tokens * width
    per_token = 8 * width + 4 * hidden + 3 * settings.n_heads * tokens
    return parameters, settings.n_layers * tokens * per_token


def _saint(settings: SaintSettings, features: int) -> tuple[float, float]:
    """The same; a row block works on all tokens of a row side by side, so it grows as d squared."""
    width, tokens = settings.width, features + 1
    row_width = width * tokens
    columns = 4 * width * 16 * settings.n_heads + 12 * width**2
    rows = 4 * row_width * 64 * settings.n_heads + 12 * row_width**2
    parameters = settings.depth * (columns + rows) + features * 100 * (width + 2)
    per_token = settings.depth * (80 * width + 2 * settings.n_heads * tokens)
    return parameters, tokens * per_token


def _tab_transformer(
    settings: TabTransformerSettings, features: int, categorical: int
) -> tuple[float, float]:
    """The same; the final MLP takes all tokens side by side, so it grows as d squared."""
    width = settings.width
    inner = settings.n_heads * settings.head_width
    block = 4 * width * inner + 12 * width**2
    flat = width * categorical + features - categorical
    per_token = 20 * width + 10 * settings.residual_streams * width + 4 * inner
    per_token += 3 * settings.n_heads * categorical
    numbers = settings.depth * categorical * per_token + 12 * flat
    return settings.depth * block + 12 * flat**2, numbers
