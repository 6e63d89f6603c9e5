"""SAINT with positional encodings (paper, appendix F.2; Somepalli et al. 2021).

Attention between the features of a row, then between the rows of a batch, each with its
feed-forward network; the prediction comes from the CLS token. No pre-training. A row that is scored
attends to itself and to a context of training rows, so that no other scored row matters.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tabpet.models.context import Context
from tabpet.models.layers import (
    Attention,
    GatedFeedForward,
    MemberEmbedding,
    MemberLayerNorm,
    MemberLinear,
)
from tabpet.models.layout import Layout
from tabpet.models.members import MemberModel
from tabpet.models.positions import Positions, add_positions
from tabpet.models.saint import SaintSettings
from tabpet.models.weights import Members

TOKENIZER_HIDDEN = 100
COLUMN_HEAD_WIDTH = 16
ROW_HEAD_WIDTH = 64
HEAD_HIDDEN = 1000


class Tokenizer(nn.Module):
    """CLS, an MLP per continuous feature, embeddings, each with its feature's encoding."""

    def __init__(self, members: Members, layout: Layout, width: int) -> None:
        super().__init__()
        n_numeric, bound = len(layout.numeric), TOKENIZER_HIDDEN**-0.5
        self.cls = members.normal(1, width, std=1.0)
        self.embedding: MemberEmbedding | None = None
        self.numeric = n_numeric > 0
        if self.numeric:
            self.first = members.uniform(n_numeric, 1, TOKENIZER_HIDDEN, bound=1.0)
            self.first_bias = members.uniform(n_numeric, 1, TOKENIZER_HIDDEN, bound=1.0)
            self.second = members.uniform(n_numeric, TOKENIZER_HIDDEN, width, bound=bound)
            self.second_bias = members.uniform(n_numeric, 1, width, bound=bound)
        if layout.categorical:
            table = members.normal(sum(layout.cardinalities), width, std=1.0)
            self.embedding = MemberEmbedding(table, layout.cardinalities)

    def forward(self, numeric: Tensor, categorical: Tensor, positions: Tensor) -> Tensor:
        """(B, n_numeric), (B, n_categorical) to (members, B, 1 + features, width)."""
        tokens = [self.cls[:, None].expand(-1, len(numeric), -1, -1)]
        if self.numeric:
            x = numeric.T[:, :, None]  # (features, B, 1): a product per feature
            hidden = F.relu(x * self.first + self.first_bias)
            tokens.append((hidden @ self.second + self.second_bias).transpose(1, 2))
        if self.embedding is not None:
            tokens.append(self.embedding(categorical))
        return add_positions(torch.cat(tokens, dim=2), F.pad(positions, (0, 0, 1, 0)))


class Block(nn.Module):
    """Attention and feed-forward network over tokens of some width."""

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

    needs_context = True

    def __init__(
        self, members: Members, layout: Layout, settings: SaintSettings, positions: Positions
    ) -> None:
        super().__init__(positions)
        width = settings.width
        row_width = width * (1 + len(layout.features))
        # NOTE[AUTHORS]: the released code makes tokens `width` wide and overwrites their last
        # columns with the encodings; here a token is narrower by them.
        self.tokenizer = Tokenizer(members, layout, positions.token_width)
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
        x = self.tokenizer(numeric, categorical, self.positions())
        for columns, rows in self._pairs():
            x = rows(_side_by_side(columns(x))).view(x.shape)
        return self._predict(x)

    def given(self, context: Context) -> Callable[[Tensor, Tensor], Tensor]:
        """Scores rows beside a context, whose own rows attend to each other as in training."""
        x = self.tokenizer(context.numeric, context.categorical, self.positions())
        keys_values = []
        for columns, rows in self._pairs():
            wide = _side_by_side(columns(x))
            keys_values.append(rows.keys_values(wide))
            if rows is not self.blocks[-1]:  # behind it, nobody attends to the context
                x = rows(wide).view(x.shape)
        return partial(self._score, keys_values)

    def _score(self, keys_values: Sequence[Tensor], numeric: Tensor, categorical: Tensor) -> Tensor:
        """`forward` for rows that attend to a context's keys and values, block by block."""
        x = self.tokenizer(numeric, categorical, self.positions())
        for (columns, rows), context in zip(self._pairs(), keys_values, strict=True):
            x = rows.beside(_side_by_side(columns(x)), context).view(x.shape)
        return self._predict(x)

    def _pairs(self) -> Iterator[tuple[Block, Block]]:
        """Blocks over columns, each with the block over rows that follows."""
        return zip(self.blocks[::2], self.blocks[1::2], strict=True)  # type: ignore[arg-type]

    def _predict(self, x: Tensor) -> Tensor:
        """Outputs from the CLS tokens."""
        return self.head(F.relu(self.hidden(x[:, :, 0])))


def _side_by_side(x: Tensor) -> Tensor:
    """Rows as tokens of one sequence: (members, B, tokens, width) to (members, 1, B, row width)."""
    return x.flatten(2)[:, None]
