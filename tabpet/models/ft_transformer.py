"""FT-Transformer with positional encodings (paper, appendix F.2; Gorishniy et al. 2021)."""

from typing import cast

import torch
from torch import Tensor, nn

from tabpet.config import FTTransformerSettings
from tabpet.models import kernels
from tabpet.models.layers import Attention, MemberLayerNorm, MemberLinear, dropout_mask
from tabpet.models.layout import Layout
from tabpet.models.members import MemberModel
from tabpet.models.positions import Positions
from tabpet.models.tokens import LinearTokens, TokenParts
from tabpet.models.weights import Members


class ReGLU(nn.Module):
    """Feed-forward part: Linear, ReGLU, dropout, Linear."""

    def __init__(self, members: Members, settings: FTTransformerSettings) -> None:
        super().__init__()
        hidden = int(settings.width * settings.ffn_factor)
        self.first = MemberLinear(members, settings.width, 2 * hidden)
        self.second = MemberLinear(members, hidden, settings.width)
        self.dropout = settings.ffn_dropout

    def forward(self, x: Tensor) -> Tensor:
        """(members, ..., width) to (members, ..., hidden width), before the second layer."""
        hidden = self.first(x)
        shape = (*x.shape[1:-1], hidden.shape[-1] // 2)
        mask = dropout_mask(shape, self.dropout, x.device) if self.training else None
        return kernels.reglu(hidden, mask, 1 / (1 - self.dropout))


class Block(nn.Module):
    """Attention and feed-forward part, each behind its norm and around it a residual."""

    def __init__(self, members: Members, settings: FTTransformerSettings, *, first: bool) -> None:
        super().__init__()
        width, heads = settings.width, settings.n_heads
        # As published: the first block has no norm before its attention.
        self.attention_norm = None if first else MemberLayerNorm(members, width)
        self.attention = Attention(
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

    def begin(self, tokens: TokenParts) -> Tensor:
        """The first block, from the parts of its tokens to (members, B, tokens, width)."""
        qkv = tokens.through(self.attention.qkv).join()
        return self._finish(tokens.join(), self.attention.attend(qkv))

    def forward(self, x: Tensor) -> Tensor:
        """(members, B, tokens, width) to the same shape."""
        return self._finish(x, self.attention.attend(self.attention.qkv(self._normed(x))))

    def end(self, x: Tensor) -> Tensor:
        """The last block, of whose tokens CLS alone is needed: (members, B, 1, width)."""
        return self._finish(x[:, :, :1], self.attention.attend_first(self._normed(x)))

    def _normed(self, x: Tensor) -> Tensor:
        return x if self.attention_norm is None else self.attention_norm(x)

    def _finish(self, x: Tensor, found: Tensor) -> Tensor:
        x = self.attention.out.add_to(x, found, self.residual_dropout)
        hidden = self.ffn(self.ffn_norm(x))
        return self.ffn.second.add_to(x, hidden, self.residual_dropout)


class FTTransformer(MemberModel):
    """Linear tokens, blocks, and a head on the CLS token."""

    def __init__(
        self,
        members: Members,
        layout: Layout,
        settings: FTTransformerSettings,
        positions: Positions,
    ) -> None:
        super().__init__(positions)
        self.tokens = LinearTokens(members, layout, positions.token_width)
        self.blocks = nn.ModuleList(
            Block(members, settings, first=layer == 0) for layer in range(settings.n_layers)
        )
        self.norm = MemberLayerNorm(members, settings.width)
        self.head = MemberLinear(members, settings.width, layout.n_outputs)

    def forward(self, numeric: Tensor, categorical: Tensor) -> Tensor:
        """From (B, n_numeric) floats and (B, n_categorical) codes to (members, B, n_outputs)."""
        tokens = self.tokens(numeric, categorical, self.positions())
        *inner, last = cast(list[Block], list(self.blocks))
        x = inner[0].begin(tokens) if inner else tokens.join()
        for block in inner[1:]:
            x = block(x)
        x = last.end(x)
        return self.head(torch.relu(self.norm(x[:, :, 0])))
