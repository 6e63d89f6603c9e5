"""FT-Transformer: its settings and what is declared about it; the network is in `network.py`."""

from pydantic import Field, model_validator

from tabpet.entries import Model, Size
from tabpet.section import Section, Share


class FTTransformerSettings(Section):
    """FT-Transformer (paper, appendix F.2)."""

    n_layers: int = Field(3, ge=1, description="Transformer blocks.")
    n_heads: int = Field(8, ge=1, description="Attention heads.")
    width: int = Field(192, ge=2, description="Width of a token, positional encoding included.")
    ffn_factor: float = Field(
        4 / 3,
        gt=0,
        description="Hidden width of the feed-forward network, as a multiple of `width`.",
    )
    attention_dropout: Share = Field(0.2, description="Dropout of attention weights.")
    ffn_dropout: Share = Field(0.1, description="Dropout inside the feed-forward network.")
    residual_dropout: Share = Field(0.0, description="Dropout of what a residual branch adds.")

    @model_validator(mode="after")
    def _heads_fit(self) -> "FTTransformerSettings":
        if self.width % self.n_heads:
            raise ValueError(
                f"width ({self.width}) is not a multiple of n_heads ({self.n_heads}), so it can't "
                "be shared out between them"
            )
        return self


def estimate_size(settings: FTTransformerSettings, features: int, categorical: int) -> Size:
    """Blocks of attention and feed-forward network over a token per feature and CLS."""
    width, tokens = settings.width, features + 1
    hidden = settings.ffn_factor * width
    parameters = settings.n_layers * (4 * width**2 + 3 * width * hidden) + 2 * tokens * width
    per_token = 8 * width + 4 * hidden + 3 * settings.n_heads * tokens
    return Size(parameters, settings.n_layers * tokens * per_token)


MODEL = Model(
    key="ft_transformer",
    label="FT-Transformer",
    short="FT",
    citation="Gorishniy, Rubachev, Khrulkov and Babenko (2021), Revisiting deep learning models "
    "for tabular data, NeurIPS",
    settings=FTTransformerSettings,
    network="tabpet.models.ft_transformer.network:FTTransformer",
    size=estimate_size,
    order=1,
)
