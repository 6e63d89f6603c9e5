"""Layers of several members: tensors are (members, batch, ..., width), weights (members, ...)."""

from collections.abc import Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tabpet.models import kernels
from tabpet.models.weights import Members

Bias = Literal["uniform", "zero", "none"]
FFN_FACTOR = 4  # hidden width of a gated feed-forward part, as a multiple of its width
_WEIGHTS_AT_ONCE = 2**20  # attention weights between tokens and a context, of all members


class MemberLinear(nn.Module):
    """A linear layer per member, drawn as torch.nn.Linear draws its weights (kaiming)."""

    def __init__(self, members: Members, d_in: int, d_out: int, *, bias: Bias = "uniform") -> None:
        super().__init__()
        bound = d_in**-0.5
        self.weight = members.uniform(d_in, d_out, bound=bound)
        self.bias: nn.Parameter | None = None
        if bias == "uniform":
            self.bias = members.uniform(d_out, bound=bound)
        elif bias == "zero":
            self.bias = members.constant(d_out, value=0.0)

    def forward(self, x: Tensor) -> Tensor:
        """(members, ..., d_in) to (members, ..., d_out)."""
        flat = x.reshape(x.shape[0], -1, x.shape[-1])
        if self.bias is None:
            y = torch.bmm(flat, self.weight)
        else:
            y = torch.baddbmm(self.bias[:, None], flat, self.weight)
        return y.view(*x.shape[:-1], -1)

    def add_to(self, residual: Tensor, x: Tensor, p: float = 0.0) -> Tensor:
        """What the layer makes of x, after dropout with probability p, plus the residual."""
        if self.training and p > 0:
            return residual + dropout(self(x), p, self.training)
        flat = x.reshape(x.shape[0], -1, x.shape[-1])
        y = torch.baddbmm(residual.flatten(1, -2), flat, self.weight)
        if self.bias is not None:
            y += self.bias[:, None]
        return y.view(residual.shape)


class MemberLayerNorm(nn.Module):
    """Layer normalisation over the last axis with a scale and a shift per member."""

    def __init__(self, members: Members, width: int) -> None:
        super().__init__()
        self.weight = members.constant(width, value=1.0)
        self.bias = members.constant(width, value=0.0)

    def forward(self, x: Tensor) -> Tensor:
        """Normalise (members, ..., width)."""
        return kernels.layer_norm(x, self.weight, self.bias)


class MemberEmbedding(nn.Module):
    """Embeddings of all categorical features in one table per member, (members, codes, width)."""

    offsets: Tensor

    def __init__(self, weight: nn.Parameter, cardinalities: tuple[int, ...]) -> None:
        super().__init__()
        self.weight = weight
        starts = torch.tensor((0, *cardinalities[:-1]), dtype=torch.int64).cumsum(0)
        self.register_buffer("offsets", starts)

    def forward(self, codes: Tensor, spare: int = 0) -> Tensor:
        """(B, features) to (members, B, features, width + spare), with zeros in the spare part."""
        table = F.pad(self.weight, (0, spare))
        n_members, n_codes, width = table.shape
        firsts = torch.arange(n_members, device=codes.device) * n_codes
        places = firsts[:, None, None] + (codes + self.offsets)
        return F.embedding(places, table.view(-1, width))


def dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """Dropout of (members, ...) with one mask for all members."""
    mask = dropout_mask(x.shape[1:], p, x.device) if training else None
    return x if mask is None else x * mask


def dropout_mask(shape: Sequence[int], p: float, device: torch.device) -> Tensor | None:
    """Zeros with probability p, else 1 / (1 - p); nothing where nothing is dropped."""
    if p == 0:
        return None
    # Twice as fast as bernoulli_ on a CPU.
    return torch.rand(tuple(shape), device=device).ge_(p).div_(1 - p)


class Attention(nn.Module):
    """Multi-head attention per member; all tokens attend, or the first one alone."""

    def __init__(
        self,
        members: Members,
        width: int,
        n_heads: int,
        head_width: int,
        *,
        dropout: float,
        qkv_bias: bool = False,
        out_bias: Bias = "uniform",
    ) -> None:
        super().__init__()
        inner = n_heads * head_width
        self.qkv = MemberLinear(members, width, 3 * inner, bias="zero" if qkv_bias else "none")
        self.out = MemberLinear(members, inner, width, bias=out_bias)
        self.n_heads, self.head_width, self.dropout = n_heads, head_width, dropout

    def forward(self, x: Tensor) -> Tensor:
        """(members, B, tokens, width) to the same shape."""
        return self.out(self.attend(self.qkv(x)))

    def keys_values(self, x: Tensor) -> Tensor:
        """(members, B, tokens, width) to (2, members, B, heads, tokens, head_width)."""
        return self._by_head(self.qkv(x))[1:]

    def beside(self, x: Tensor, context: Tensor) -> Tensor:
        """The same shape as x: each token attends to itself and to a context, not to the others.

        The context's keys and values are (2, members, B, heads, n, head_width).
        """
        keys, values = context
        weights = (keys.shape[-2] + 1) * keys.shape[:3].numel()  # of one token in all sequences
        found = []
        # Only so many tokens at once: memory is bounded, however large the context.
        for part in self.qkv(x).split(max(1, _WEIGHTS_AT_ONCE // weights), dim=2):
            q, k, v = self._by_head(part)
            q = q * self.head_width**-0.5
            scores = torch.cat([q @ keys.mT, (q * k).sum(dim=-1, keepdim=True)], dim=-1)
            others, own = torch.softmax(scores, dim=-1).split([keys.shape[-2], 1], dim=-1)
            found.append((others @ values + own * v).transpose(2, 3).flatten(3))
        return self.out(torch.cat(found, dim=2))

    def _by_head(self, qkv: Tensor) -> Tensor:
        """(members, B, tokens, 3 * inner) to (3, members, B, heads, tokens, head_width)."""
        by_head = qkv.view(*qkv.shape[:3], 3, self.n_heads, self.head_width)
        return by_head.permute(3, 0, 1, 4, 2, 5)

    def attend(self, qkv: Tensor) -> Tensor:
        """What tokens find, from their queries, keys and values, before the output layer."""
        n_members, batch, tokens, _ = qkv.shape
        mask = self._mask((batch, self.n_heads, tokens, tokens), qkv.device)
        qkv = qkv.view(n_members, batch, tokens, 3, self.n_heads, self.head_width)
        return kernels.attend(qkv, mask)

    def attend_first(self, x: Tensor) -> Tensor:
        """(members, B, tokens, width) to (members, B, 1, inner width): what the first token finds.

        Keys and values of the other tokens are not needed: q . (x K) is (q K^T) . x, and
        p (x V) is (p x) V, with a query and a mixture per row instead of a key and a value per
        token. A bias of keys is the same for all tokens and cancels in the softmax.
        """
        n_members, batch, tokens, width = x.shape
        by_head = (n_members, width, 3, self.n_heads, self.head_width)
        to_q, to_k, to_v = self.qkv.weight.view(by_head).permute(2, 0, 3, 1, 4)
        q = x[:, None, :, 0] @ to_q  # (members, heads, B, head_width)
        bias = None
        if self.qkv.bias is not None:
            bias = self.qkv.bias.view(n_members, 3, self.n_heads, 1, self.head_width)
            q = q + bias[:, 0]
        asked = (q * self.head_width**-0.5) @ to_k.transpose(-1, -2)  # (members, heads, B, width)
        mask = self._mask((batch, tokens, self.n_heads), x.device)
        mixed, sums = kernels.mix(asked.transpose(1, 2), x, mask)
        found = mixed.transpose(1, 2) @ to_v
        if bias is not None:
            found = found + sums.transpose(1, 2)[..., None] * bias[:, 2]
        return found.transpose(1, 2).reshape(n_members, batch, 1, -1)

    def _mask(self, shape: tuple[int, ...], device: torch.device) -> Tensor | None:
        return dropout_mask(shape, self.dropout, device) if self.training else None


class GatedFeedForward(nn.Module):
    """Feed-forward part of SAINT and TabTransformer: Linear, GEGLU, dropout, Linear."""

    def __init__(self, members: Members, width: int, *, dropout: float) -> None:
        super().__init__()
        self.first = MemberLinear(members, width, 2 * FFN_FACTOR * width)
        self.second = MemberLinear(members, FFN_FACTOR * width, width)
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        """(members, ..., width) to the same shape."""
        value, gate = self.first(x).chunk(2, dim=-1)
        return self.second(dropout(value * F.gelu(gate), self.dropout, self.training))
