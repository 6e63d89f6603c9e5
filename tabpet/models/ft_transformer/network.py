"""FT-Transformer with positional encodings (paper, appendix F.2; Gorishniy et al. 2021)."""

from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tabpet.models.ft_transformer import FTTransformerSettings
from tabpet.models.layers import (
    Attention,
    MemberEmbedding,
    MemberLayerNorm,
    MemberLinear,
    dropout,
)
from tabpet.models.layout import Layout
from tabpet.models.members import MemberModel
from tabpet.models.positions import Positions
from tabpet.models.weights import Members


@dataclass(frozen=True)
class Tokens:
    """Tokens number * slope + offset of CLS (number 0) and numeric features; those of categories.

    As long as they are apart, a linear layer works on slopes and offsets, not on every row.
    """

    numbers: Tensor  # (B, 1 + n_numeric)
    slope: Tensor  # (members, 1 + n_numeric, width)
    offset: Tensor  # (members, 1 + n_numeric, width)
    embedded: Tensor | None  # (members, B, n_categorical, width)

    def join(self) -> Tensor:
        """The tokens, (members, B, 1 + features, width)."""
        tokens = torch.addcmul(self.offset[:, None], self.numbers[:, :, None], self.slope[:, None])
        return tokens if self.embedded is None else torch.cat([tokens, self.embedded], dim=2)

    def through(self, layer: MemberLinear) -> "Tokens":
        """What a linear layer makes of the tokens."""
        embedded = None if self.embedded is None else layer(self.embedded)
        return Tokens(self.numbers, self.slope @ layer.weight, layer(self.offset), embedded)


class FeatureTokenizer(nn.Module):
    """CLS, x * weight + bias, embedding + bias, each with its feature's encoding."""

    def __init__(self, members: Members, layout: Layout, width: int) -> None:
        super().__init__()
        bound = width**-0.5
        self.cls = members.uniform(1, width, bound=bound)
        self.bias = members.uniform(len(layout.features), width, bound=bound)
        self.weight: nn.Parameter | None = None
        self.embedding: MemberEmbedding | None = None
        if layout.numeric:
            self.weight = members.uniform(len(layout.numeric), width, bound=bound)
        if layout.categorical:
            table = members.uniform(sum(layout.cardinalities), width, bound=bound)
            self.embedding = MemberEmbedding(table, layout.cardinalities)

    def forward(self, numeric: Tensor, categorical: Tensor, positions: Tensor) -> Tokens:
        """(B, n_numeric), (B, n_categorical) to the tokens of (members, 1 + features, width)."""
        n_numeric = numeric.shape[1]
        pad = (0, positions.shape[-1] - self.bias.shape[-1])
        bias = F.pad(self.bias, pad) + positions
        offset = torch.cat([F.pad(self.cls, pad), bias[:, :n_numeric]], dim=1)
        slope = torch.zeros_like(offset)
        if self.weight is not None:
            slope = F.pad(self.weight, (*pad, 1, 0))
        embedded = None
        if self.embedding is not None:
            embedded = F.pad(self.embedding(categorical), pad) + bias[:, None, n_numeric:]
        return Tokens(F.pad(numeric, (1, 0)), slope, offset, embedded)


class CLSAttention(Attention):
    """Attention of the first token alone, to itself and all others.

    With a single query per row there is no need of a key and a value per token: q (x K)^T is
    (q K^T) x^T, and p (x V) is (p x) V. A bias of the keys adds the same to all scores of a query.
    """

    def forward(self, x: Tensor) -> Tensor:
        """(members, B, tokens, width) to (members, B, 1, width)."""
        assert self.qkv.bias is not None
        by_head = (3, self.n_heads, self.head_width)
        to_query, to_key, to_value = self.qkv.weight.unflatten(-1, by_head).unbind(2)
        query_bias, _, value_bias = self.qkv.bias[:, None].unflatten(-1, by_head).unbind(2)
        query = torch.einsum("mbi,mihd->mbhd", x[:, :, 0], to_query) + query_bias
        query = torch.einsum("mbhd,mihd->mbhi", query * self.head_width**-0.5, to_key)
        weights = torch.softmax(x @ query.mT, dim=2)  # (members, B, tokens, heads)
        weights = dropout(weights, self.dropout, self.training)
        mixed = torch.einsum("mbhi,mihd->mbhd", weights.mT @ x, to_value)
        mixed = mixed + weights.sum(dim=2)[..., None] * value_bias
        return self.out(mixed.flatten(2))[:, :, None]


class ReGLU(nn.Module):
    """Feed-forward network: Linear, ReGLU, dropout, Linear."""

    def __init__(self, members: Members, settings: FTTransformerSettings) -> None:
        super().__init__()
        hidden = int(settings.width * settings.ffn_factor)
        self.first = MemberLinear(members, settings.width, 2 * hidden)
        self.second = MemberLinear(members, hidden, settings.width)
        self.dropout = settings.ffn_dropout

    def forward(self, x: Tensor) -> Tensor:
        """(members, ..., width) to the same shape."""
        value, gate = self.first(x).chunk(2, dim=-1)
        return self.second(dropout(value * F.relu(gate), self.dropout, self.training))


class Block(nn.Module):
    """Attention and feed-forward network, each behind its norm and around it a residual."""

    def __init__(
        self, members: Members, settings: FTTransformerSettings, *, first: bool, last: bool
    ) -> None:
        super().__init__()
        width, heads = settings.width, settings.n_heads
        # As published: the first block has no norm before its attention, and of the last one's
        # tokens CLS alone is needed.
        self.attention_norm = nn.Identity() if first else MemberLayerNorm(members, width)
        self.attention = (CLSAttention if last else Attention)(
            members,
            width,
            heads,
            width // heads,
            dropout=settings.attention_dropout,
            qkv_bias=True,
            out_bias="zero",
        )
        self.ffn_norm = MemberLayerNorm(members, width)
        self.ffn = ReGLU(members, settings)
        self.residual_dropout = settings.residual_dropout

    def forward(self, x: Tensor) -> Tensor:
        """(members, B, tokens, width) to the same shape, or to CLS alone."""
        return self._add(x, self.attention(self.attention_norm(x)))

    def forward_tokens(self, tokens: Tokens) -> Tensor:
        """`forward` of the first block, whose queries, keys and values are linear in numbers."""
        qkv = tokens.through(self.attention.qkv)
        return self._add(tokens.join(), self.attention.attend(qkv.join()))

    def _add(self, x: Tensor, attended: Tensor) -> Tensor:
        """The residual of attention, then the feed-forward network and its residual."""
        x = x[:, :, : attended.shape[2]] + self._drop(attended)
        return x + self._drop(self.ffn(self.ffn_norm(x)))

    def _drop(self, x: Tensor) -> Tensor:
        return dropout(x, self.residual_dropout, self.training)


class FTTransformer(MemberModel):
    """Tokenizer, blocks, and a head on the CLS token."""

    def __init__(
        self,
        members: Members,
        layout: Layout,
        settings: FTTransformerSettings,
        positions: Positions,
    ) -> None:
        super().__init__(positions)
        self.tokenizer = FeatureTokenizer(members, layout, positions.token_width)
        n_layers = settings.n_layers
        self.blocks = nn.ModuleList(
            Block(members, settings, first=layer == 0, last=layer == n_layers - 1)
            for layer in range(n_layers)
        )
        self.norm = MemberLayerNorm(members, settings.width)
        self.head = MemberLinear(members, settings.width, layout.n_outputs)

    def forward(self, numeric: Tensor, categorical: Tensor) -> Tensor:
        """From (B, n_numeric) floats and (B, n_categorical) codes to (members, B, n_outputs)."""
        return self.head(self.embed(numeric, categorical))

    def embed(self, numeric: Tensor, categorical: Tensor) -> Tensor:
        """The CLS token as the head reads it: normalised and rectified, (members, B, width)."""
        tokens = self.tokenizer(numeric, categorical, self.positions())
        first, *others = cast(list[Block], list(self.blocks))
        # A single block is the last one, in which CLS alone attends.
        x = first.forward_tokens(tokens) if others else first(tokens.join())
        for block in others:
            x = block(x)
        return F.relu(self.norm(x[:, :, 0]))
