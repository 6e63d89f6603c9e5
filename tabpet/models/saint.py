"""SAINT with positional encodings (paper, appendix F.2; Somepalli et al. 2021).

Attention between the features of a row, then between the rows of a batch, each with its
feed-forward part; the prediction comes from the CLS token. No pre-training. A row that is scored
attends to itself and to a context of training rows, so that no other scored row matters.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from tabpet.config import SaintSettings
from tabpet.models.context import Context
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
        return self._feed(x + self.attention(x))

    def keys_values(self, x: Tensor) -> Tensor:
        """Keys and values of these tokens, for others that attend to them."""
        return self.attention.keys_values(self.attention_norm(x))

    def beside(self, x: Tensor, context: Tensor) -> Tensor:
        """`forward` for tokens that attend to themselves and to a context's keys and values."""
        x = self.attention_norm(x)
        return self._feed(x + self.attention.beside(x, context))

    def _feed(self, x: Tensor) -> Tensor:
        x = self.ffn_norm(x)
        return x + self.ffn(x)


class Saint(MemberModel):
    """Tokens, blocks over columns and over rows, and a head on the CLS token."""

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
        """From (B, n_numeric) floats and (B, n_categorical) codes to (members, B, n_outputs).

        The rows of the batch attend to each other: for training.
        """
        x = self.tokens(numeric, categorical, self.positions())
        for columns, rows in self._pairs():
            x = rows(_side_by_side(columns(x))).view(x.shape)
        return self._read(x)

    def given(self, context: Context) -> Callable[[Tensor, Tensor], Tensor]:
        """Scores rows beside a context, whose own rows attend to each other as in training."""
        x = self.tokens(context.numeric, context.categorical, self.positions())
        seen = []
        for columns, rows in self._pairs():
            wide = _side_by_side(columns(x))
            seen.append(rows.keys_values(wide))
            if rows is not self.blocks[-1]:  # behind it, nobody attends to the context
                x = rows(wide).view(x.shape)
        return partial(self._score, seen)

    def _score(self, seen: Sequence[Tensor], numeric: Tensor, categorical: Tensor) -> Tensor:
        """`forward` for rows that attend to what was seen of a context, block by block."""
        x = self.tokens(numeric, categorical, self.positions())
        for (columns, rows), context in zip(self._pairs(), seen, strict=True):
            x = rows.beside(_side_by_side(columns(x)), context).view(x.shape)
        return self._read(x)

    def _pairs(self) -> Iterator[tuple[Block, Block]]:
        """Blocks over columns, each with the block over rows that follows."""
        return zip(self.blocks[::2], self.blocks[1::2], strict=True)  # type: ignore[arg-type]

    def _read(self, x: Tensor) -> Tensor:
        """Outputs from the CLS tokens."""
        return self.head(torch.relu(self.hidden(x[:, :, 0])))


def _side_by_side(x: Tensor) -> Tensor:
    """Rows as tokens of one sequence: (members, B, tokens, width) to (members, 1, B, row width)."""
    return x.flatten(2)[:, None]
