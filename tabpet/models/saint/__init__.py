"""SAINT: its settings and what is declared about it; the network is in `network.py`."""

from pydantic import Field

from tabpet.entries import Model, Size
from tabpet.section import Section, Share


class SaintSettings(Section):
    """SAINT (paper, appendix F.2)."""

    width: int = Field(32, ge=2, description="Width of a token, positional encoding included.")
    depth: int = Field(1, ge=1, description="Pairs of column and row attention.")
    n_heads: int = Field(4, ge=1, description="Attention heads.")
    attention_dropout: Share = Field(
        0.0,
        description="Dropout of attention weights; SAINT's own code declares it and never applies "
        "it, the paper lists 0.8.",
    )
    ffn_dropout: Share = Field(0.8, description="Dropout inside the feed-forward network.")


def estimate_size(settings: SaintSettings, features: int, categorical: int) -> Size:
    """A row block works on all tokens of a row side by side, so it grows as d squared."""
    width, tokens = settings.width, features + 1
    row_width = width * tokens
    columns = 4 * width * 16 * settings.n_heads + 12 * width**2
    rows = 4 * row_width * 64 * settings.n_heads + 12 * row_width**2
    parameters = settings.depth * (columns + rows) + features * 100 * (width + 2)
    per_token = settings.depth * (80 * width + 2 * settings.n_heads * tokens)
    return Size(parameters, tokens * per_token)


def batch_size(n_features: int) -> int:
    """Rows per step where the catalog gives none (paper, appendix F.2)."""
    return 256 if n_features <= 100 else 64


MODEL = Model(
    key="saint",
    label="SAINT",
    citation="Somepalli, Goldblum, Schwarzschild, Bruss and Goldstein (2021), SAINT: improved "
    "neural networks for tabular data via row attention and contrastive pre-training",
    settings=SaintSettings,
    network="tabpet.models.saint.network:Saint",
    size=estimate_size,
    batch_column="batch_size_saint",
    batch_size=batch_size,
    order=2,
)
