"""From a row of a table to tokens, each with its feature's positional encoding.

What a token says itself fills its first columns and is padded to the whole width; the encoding is
added, so that it stands in the last columns (concatenated) or in all of them (projected).
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tabpet.models import kernels
from tabpet.models.layers import MemberEmbedding, MemberLinear
from tabpet.models.layout import Layout
from tabpet.models.weights import Members

MLP_HIDDEN = 100


class LinearTokens(nn.Module):
    """FT-Transformer's tokens: CLS, x * weight + bias, embedding + bias."""

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

    def forward(self, numeric: Tensor, categorical: Tensor, positions: Tensor) -> "TokenParts":
        """(B, n_numeric), (B, n_categorical) to the parts of (members, B, 1 + features, width)."""
        n_numeric = numeric.shape[1]
        spare = positions.shape[-1] - self.bias.shape[-1]
        bias = F.pad(self.bias, (0, spare)) + positions
        cls = F.pad(self.cls, (0, spare))
        slope = torch.zeros_like(cls)
        if self.weight is not None:
            slope = torch.cat([slope, F.pad(self.weight, (0, spare))], dim=1)
        offset = torch.cat([cls, bias[:, :n_numeric]], dim=1)
        found = None
        if self.embedding is not None:
            found = self.embedding(categorical, spare) + bias[:, None, n_numeric:]
        return TokenParts(F.pad(numeric, (1, 0)), torch.stack([slope, offset], dim=2), found)


@dataclass(frozen=True)
class TokenParts:
    """Tokens as x * slope + offset for CLS and numeric features, beside those of categories.

    A linear layer on the former works on slopes and offsets, not on every row of the batch.
    """

    x: Tensor  # (B, 1 + n_numeric), 0 for CLS
    lines: Tensor  # (members, 1 + n_numeric, 2, width): slope and offset
    found: Tensor | None  # (members, B, n_categorical, width)

    def join(self) -> Tensor:
        """The tokens, (members, B, tokens, width)."""
        tokens = kernels.follow_lines(self.x, self.lines)
        return tokens if self.found is None else torch.cat([tokens, self.found], dim=2)

    def through(self, layer: MemberLinear) -> "TokenParts":
        """What a linear layer makes of the tokens."""
        n_members, n_lines, _, width = self.lines.shape
        lines = torch.bmm(self.lines.view(n_members, -1, width), layer.weight)
        lines = lines.view(n_members, n_lines, 2, -1)
        if layer.bias is not None:
            # Offsets move by the bias, slopes do not.
            lines = lines + F.pad(layer.bias[:, None, None], (0, 0, 1, 0))
        return TokenParts(self.x, lines, None if self.found is None else layer(self.found))


class MlpTokens(nn.Module):
    """SAINT's tokens: CLS, an MLP per continuous feature, embeddings."""

    def __init__(self, members: Members, layout: Layout, width: int) -> None:
        super().__init__()
        n_numeric, bound = len(layout.numeric), MLP_HIDDEN**-0.5
        self.cls = members.normal(1, width, std=1.0)
        self.embedding: MemberEmbedding | None = None
        self.numeric = n_numeric > 0
        if self.numeric:
            self.first = members.uniform(n_numeric, 1, MLP_HIDDEN, bound=1.0)
            self.first_bias = members.uniform(n_numeric, 1, MLP_HIDDEN, bound=1.0)
            self.second = members.uniform(n_numeric, MLP_HIDDEN, width, bound=bound)
            self.second_bias = members.uniform(n_numeric, 1, width, bound=bound)
        if layout.categorical:
            table = members.normal(sum(layout.cardinalities), width, std=1.0)
            self.embedding = MemberEmbedding(table, layout.cardinalities)

    def forward(self, numeric: Tensor, categorical: Tensor, positions: Tensor) -> Tensor:
        """(B, n_numeric), (B, n_categorical) to (members, B, 1 + features, width)."""
        spare = positions.shape[-1] - self.cls.shape[-1]
        cls = F.pad(self.cls, (0, spare))[:, None].expand(-1, len(numeric), -1, -1)
        parts = [cls]
        n_numeric = numeric.shape[1]
        if self.numeric:
            x = numeric.T[:, :, None]  # (features, B, 1): a product per feature
            hidden = torch.relu(torch.addcmul(self.first_bias, x, self.first))
            offset = F.pad(self.second_bias, (0, spare)) + positions[:, :n_numeric, None]
            found = hidden @ F.pad(self.second, (0, spare)) + offset
            parts.append(found.transpose(1, 2))
        if self.embedding is not None:
            parts.append(self.embedding(categorical, spare) + positions[:, None, n_numeric:])
        return torch.cat(parts, dim=2)


class ColumnTokens(nn.Module):
    """TabTransformer's tokens: the embedding of a level beside that of its feature."""

    def __init__(self, members: Members, layout: Layout, width: int, *, shared: int) -> None:
        super().__init__()
        # NOTE[AUTHORS]: the package behind the released code holds two more rows, never used.
        table = members.normal(sum(layout.cardinalities), width - shared, std=1.0)
        self.embedding = MemberEmbedding(table, layout.cardinalities)
        self.shared = members.normal(len(layout.categorical), shared, std=0.02)

    def forward(self, categorical: Tensor, positions: Tensor) -> Tensor:
        """(B, n_categorical) to (members, B, n_categorical, width)."""
        own = self.embedding.weight.shape[-1]
        spare = positions.shape[-1] - own
        offset = positions + F.pad(self.shared, (own, spare - self.shared.shape[-1]))
        return self.embedding(categorical, spare) + offset[:, None]
