"""Layers of several members: tensors are (members, batch, ..., width), weights (members, ...)."""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tabpet.models import kernels
from tabpet.models.weights import Members

Bias = Literal["uniform", "zero", "none"]
FFN_FACTOR = 4  # hidden width of a gated feed-forward part, as a multiple of its width


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
        middle = (1,) * (x.ndim - 2)
        normed = F.layer_norm(x, x.shape[-1:])
        weight = self.weight.view(len(x), *middle, -1)
        return torch.addcmul(self.bias.view(len(x), *middle, -1), normed, weight)


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
    if not training or p == 0:
        return x
    return x * dropout_mask(x.shape[1:], p, x.device)


def dropout_mask(shape: torch.Size, p: float, device: torch.device) -> Tensor:
    """Zeros with probability p, else 1 / (1 - p)."""
    # Twice as fast as bernoulli_ on a CPU.
    return torch.rand(shape, device=device).ge_(p).div_(1 - p)


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

    def attend(self, qkv: Tensor) -> Tensor:
        """What tokens find, from their queries, keys and values, before the output layer."""
        n_members, batch, tokens, _ = qkv.shape
        shape = torch.Size((batch, self.n_heads, tokens, tokens))
        mask = self._mask(shape, qkv)
        qkv = qkv.view(n_members, batch, tokens, 3, self.n_heads, self.head_width)
        return kernels.attend(qkv, mask)

    def attend_first(self, x: Tensor) -> Tensor:
        """(members, B, tokens, width) to (members, B, 1, inner width): what the first token finds.

        Keys and values of the other tokens are not needed: q . (x K) is (q K^T) . x, and
        p (x V) is (p x) V, with a query and a mixture per row instead of a key and a value per
        token. A bias of keys is the same for all tokens and cancels in the softmax.
        """
        n_members, batch, tokens, width = x.shape
        heads, size = self.n_heads, self.head_width
        weight = self.qkv.weight.view(n_members, width, 3, heads, size)
        to_q, to_k, to_v = weight.permute(2, 0, 3, 1, 4)  # each (members, heads, width, size)
        q = x[:, None, :, 0] @ to_q
        bias = None
        if self.qkv.bias is not None:
            bias = self.qkv.bias.view(n_members, 3, heads, 1, size)
            q = q + bias[:, 0]
        asked = (q * size**-0.5) @ to_k.transpose(-1, -2)  # (members, heads, B, width)
        weights = torch.softmax(asked.transpose(1, 2) @ x.transpose(-1, -2), dim=-1)
        mask = self._mask(weights.shape[1:], x)
        if mask is not None:
            weights = weights * mask
        mixed = (weights @ x).transpose(1, 2)  # (members, heads, B, width)
        found = mixed @ to_v
        if bias is not None:
            found = found + weights.sum(dim=-1).transpose(1, 2)[..., None] * bias[:, 2]
        return found.permute(0, 2, 1, 3).reshape(n_members, batch, 1, -1)

    def _mask(self, shape: torch.Size, like: Tensor) -> Tensor | None:
        if not self.training or self.dropout == 0:
            return None
        return dropout_mask(shape, self.dropout, like.device)


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
