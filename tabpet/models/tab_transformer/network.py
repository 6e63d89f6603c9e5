"""TabTransformer with positional encodings (paper, appendix F.2; Huang et al. 2020).

Categorical features are tokens and attend to each other; continuous ones go beside the flattened
tokens into the final MLP. Residual streams are hyper-connections (Zhu et al. 2024).
"""

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor, nn

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
from tabpet.models.tab_transformer import TabTransformerSettings, shared_width
from tabpet.models.weights import Members

MLP_FACTORS = (4, 2)
DYNAMIC_SCALE = 1e-2


class ColumnTokenizer(nn.Module):
    """The embedding of a level beside that of its feature, with the feature's encoding."""

    def __init__(self, members: Members, layout: Layout, width: int, *, shared: int) -> None:
        super().__init__()
        # NOTE[AUTHORS]: the package behind the released code holds two more rows, never used.
        table = members.normal(sum(layout.cardinalities), width - shared, std=1.0)
        self.embedding = MemberEmbedding(table, layout.cardinalities)
        self.shared = members.normal(len(layout.categorical), shared, std=0.02)

    def forward(self, categorical: Tensor, positions: Tensor) -> Tensor:
        """(B, n_categorical) to (members, B, n_categorical, width)."""
        shared = self.shared[:, None].expand(-1, len(categorical), -1, -1)
        return add_positions(torch.cat([self.embedding(categorical), shared], dim=-1), positions)


class HyperConnection(nn.Module):
    """A branch between residual streams: it reads a mixture of them and adds to each."""

    def __init__(self, members: Members, width: int, n_streams: int, branch: nn.Module) -> None:
        super().__init__()
        self.branch = branch
        self.norm = members.constant(width, value=0.0)
        read = torch.zeros(members.count, n_streams, 1)
        read[:, members.choice(n_streams)] = 1.0
        keep = torch.eye(n_streams).expand(members.count, -1, -1)
        # Columns: what the branch reads, then what each stream becomes.
        self.mix = nn.Parameter(torch.cat([read, keep], dim=-1))
        self.mix_by_input = members.constant(width, 1 + n_streams, value=0.0)
        self.mix_scale = members.constant(value=DYNAMIC_SCALE)
        self.write = members.constant(n_streams, value=1.0)
        self.write_by_input = members.constant(width, 1, value=0.0)
        self.write_scale = members.constant(value=DYNAMIC_SCALE)

    def forward(self, streams: Tensor) -> Tensor:
        """(members, B, tokens, streams, width) to the same shape."""
        n_members, *inner, width = streams.shape
        normed = F.normalize(streams, dim=-1) * (width**0.5 * (self.norm + 1)).view(
            n_members, 1, 1, 1, width
        )
        flat = normed.reshape(n_members, -1, width)
        by_input = torch.tanh(flat @ torch.cat([self.mix_by_input, self.write_by_input], dim=-1))
        mix, write = by_input.view(n_members, *inner, -1).split((self.mix.shape[-1], 1), dim=-1)
        mix = mix * self._spread(self.mix_scale) + self.mix[:, None, None]
        write = write * self._spread(self.write_scale) + self.write[:, None, None, :, None]
        mixed = mix.transpose(-1, -2) @ streams
        return mixed[..., 1:, :] + write * self.branch(mixed[..., 0, :]).unsqueeze(-2)

    @staticmethod
    def _spread(scale: Tensor) -> Tensor:
        return scale.view(-1, 1, 1, 1, 1)


class PreNorm(nn.Module):
    """A norm before a layer."""

    def __init__(self, members: Members, width: int, layer: nn.Module) -> None:
        super().__init__()
        self.norm = MemberLayerNorm(members, width)
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        """(members, B, tokens, width) to the same shape."""
        return self.layer(self.norm(x))


class Residual(nn.Module):
    """A branch around a single residual stream, kept as an axis of one."""

    def __init__(self, branch: nn.Module) -> None:
        super().__init__()
        self.branch = branch

    def forward(self, streams: Tensor) -> Tensor:
        """(members, B, tokens, 1, width) to the same shape."""
        return streams + self.branch(streams[..., 0, :]).unsqueeze(-2)


class TabTransformer(MemberModel):
    """Categorical tokens through the blocks, then an MLP together with continuous features."""

    def __init__(
        self,
        members: Members,
        layout: Layout,
        settings: TabTransformerSettings,
        positions: Positions,
    ) -> None:
        super().__init__(positions)
        width = settings.width
        self.n_streams = settings.residual_streams
        self.tokenizer = ColumnTokenizer(
            members, layout, positions.token_width, shared=shared_width(settings)
        )
        self.blocks = nn.ModuleList()
        for _ in range(settings.depth):
            attention = Attention(
                members,
                width,
                settings.n_heads,
                settings.head_width,
                dropout=settings.attention_dropout,
            )
            ffn = GatedFeedForward(members, width, dropout=settings.ffn_dropout)
            for layer in (attention, ffn):
                branch = PreNorm(members, width, layer)
                self.blocks.append(
                    HyperConnection(members, width, self.n_streams, branch)
                    if self.n_streams > 1
                    else Residual(branch)
                )
        self.norm: MemberLayerNorm | None = None
        if layout.numeric:
            self.norm = MemberLayerNorm(members, len(layout.numeric))
        d_in = width * len(layout.categorical) + len(layout.numeric)
        sizes = (d_in, *(factor * d_in for factor in MLP_FACTORS), layout.n_outputs)
        self.mlp = nn.ModuleList(
            MemberLinear(members, d_in, d_out) for d_in, d_out in itertools.pairwise(sizes)
        )

    def forward(self, numeric: Tensor, categorical: Tensor) -> Tensor:
        """From (B, n_numeric) floats and (B, n_categorical) codes to (members, B, n_outputs)."""
        tokens = self.tokenizer(categorical, self.positions())
        streams = tokens.unsqueeze(3).expand(-1, -1, -1, self.n_streams, -1)
        for block in self.blocks:
            streams = block(streams)
        x = streams.sum(dim=3).flatten(2)
        if self.norm is not None:
            x = torch.cat([x, self.norm(numeric.expand(self.n_members, -1, -1))], dim=-1)
        for layer in self.mlp[:-1]:
            x = F.relu(layer(x))
        return self.mlp[-1](x)
