"""SAINT with positional encodings (paper, appendix F.2; Somepalli et al. 2021).

Attention between the features of a row, then between the rows of a batch, each with its
feed-forward part; the prediction comes from the CLS token. No pre-training.
"""

import torch
from torch import Tensor, nn

from tabpet.config import SaintSettings
from tabpet.models.layers import Attention, GatedFeedForward, MemberLayerNorm, MemberLinear
from tabpet.models.layout import Layout
from tabpet.models.members import MemberModel
from tabpet.models.positions import Positions
from tabpet.models.tokens import MlpTokens
from tabpet.models.weights import Members

COLUMN_HEAD_WIDTH = 16
ROW_HEAD_WIDTH = 64
HEAD_HIDDEN = 1000


class Block(nn.Module):
    """Attention and feed-forward part over tokens of some width."""

    def __init__(
        self, members: Members, settings: SaintSettings, *, width: int, head_width: int
    ) -> None:
        super().__init__()
        self.attention_norm = MemberLayerNorm(members, width)
        self.attention = Attention(
            members, width, settings.n_heads, head_width, dropout=settings.attention_dropout
        )
        self.ffn_norm = MemberLayerNorm(members, width)
        self.ffn = GatedFeedForward(members, width, dropout=settings.ffn_dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(members, batch, tokens, width) to the same shape."""
        # NOTE[PAPER]: as in SAINT's own code, a branch is added to its normalised input.
        x = self.attention_norm(x)
        x = x + self.attention(x)
        x = self.ffn_norm(x)
        return x + self.ffn(x)


class Saint(MemberModel):
    """Tokens, blocks over columns and over rows, and a head on the CLS token."""

    rows_interact = True

    def __init__(
        self, members: Members, layout: Layout, settings: SaintSettings, positions: Positions
    ) -> None:
        super().__init__(positions)
        width = settings.width
        row_width = width * (1 + len(layout.features))
        # NOTE[AUTHORS]: the released code makes tokens `width` wide and overwrites their last
        # columns with the encodings; here a token is narrower by them.
        self.tokens = MlpTokens(members, layout, positions.token_width)
        self.blocks = nn.ModuleList()
        for _ in range(settings.depth):
            self.blocks.append(Block(members, settings, width=width, head_width=COLUMN_HEAD_WIDTH))
            self.blocks.append(Block(members, settings, width=row_width, head_width=ROW_HEAD_WIDTH))
        self.hidden = MemberLinear(members, width, HEAD_HIDDEN)
        self.head = MemberLinear(members, HEAD_HIDDEN, layout.n_outputs)

    def forward(self, numeric: Tensor, categorical: Tensor) -> Tensor:
        """From (B, n_numeric) floats and (B, n_categorical) codes to (members, B, n_outputs)."""
        x = self.tokens(numeric, categorical, self.positions())
        shape = x.shape
        for columns, rows in zip(self.blocks[::2], self.blocks[1::2], strict=True):
            x = columns(x).view(shape[0], 1, shape[1], -1)
            x = rows(x).view(shape)
        return self.head(torch.relu(self.hidden(x[:, :, 0])))
