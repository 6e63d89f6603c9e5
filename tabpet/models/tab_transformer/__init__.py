"""TabTransformer: its settings and what is declared about it; the network is in `network.py`."""

from pydantic import Field

from tabpet.entries import Model, Size
from tabpet.section import Section, Share


class TabTransformerSettings(Section):
    """TabTransformer (paper, appendix F.2)."""

    width: int = Field(32, ge=8, description="Width of a token, positional encoding included.")
    depth: int = Field(6, ge=1, description="Transformer blocks.")
    n_heads: int = Field(8, ge=1, description="Attention heads.")
    head_width: int = Field(16, ge=1, description="Width of an attention head.")
    attention_dropout: Share = Field(0.1, description="Dropout of attention weights.")
    ffn_dropout: Share = Field(0.1, description="Dropout inside the feed-forward network.")
    residual_streams: int = Field(4, ge=1, description="Residual streams (hyper-connections).")


def estimate_size(settings: TabTransformerSettings, features: int, categorical: int) -> Size:
    """The final MLP takes all tokens side by side, so it grows as d squared."""
    width = settings.width
    inner = settings.n_heads * settings.head_width
    block = 4 * width * inner + 12 * width**2
    flat = width * categorical + features - categorical
    per_token = 20 * width + 10 * settings.residual_streams * width + 4 * inner
    per_token += 3 * settings.n_heads * categorical
    activations = settings.depth * categorical * per_token + 12 * flat
    return Size(settings.depth * block + 12 * flat**2, activations)


def shared_width(settings: TabTransformerSettings) -> int:
    """Columns of a token that name its feature: an eighth of the width, encodings or not."""
    # NOTE[PAPER]: whether that eighth shrinks with the room that encodings take is not said.
    return settings.width // 8


MODEL = Model(
    key="tab_transformer",
    label="TabTransformer",
    short="TabT",
    citation="Huang, Khetan, Cvitkovic and Karnin (2020), TabTransformer: tabular data modeling "
    "using contextual embeddings",
    settings=TabTransformerSettings,
    network="tabpet.models.tab_transformer.network:TabTransformer",
    size=estimate_size,
    categorical_tokens=True,
    reserved_width=shared_width,
    order=3,
)
