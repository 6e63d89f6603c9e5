"""Layers of several members: tensors are (members, batch, ..., width), weights (members, ...)."""

import math
from pathlib import Path
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from tabpet.models.weights import Members

Bias = Literal["uniform", "zero", "none"]
FFN_FACTOR = 4  # hidden width of a gated feed-forward network, as a multiple of its width
_SHORT_AXIS = 16  # below it, torch's softmax over the last axis is several times slower
_WORTH_ONEDNN = 2**21  # multiplications of a member's product, from which a call of its own pays
_WEIGHTS_KEPT = 2**26  # attention weights of a layer and all members, kept for the backward pass
_WEIGHTS_AT_ONCE = 2**20  # attention weights between tokens and a context, of all members

# The only product of floats that torch leaves to oneDNN; torch.compile uses it.
HAS_ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def _is_wide_amd() -> bool:
    """Whether this is a processor on which MKL uses half the width of the vectors."""
    cpu = Path("/proc/cpuinfo")
    wide = torch.backends.cpu.get_cpu_capability().startswith("AVX512")
    return wide and cpu.is_file() and "AuthenticAMD" in cpu.read_text(errors="replace")


def _onednn_works() -> bool:
    """Whether oneDNN may make code here; a hardened system forbids it."""
    one = torch.ones(64, 64, dtype=torch.float32, device="cpu")
    try:
        torch.ops.mkldnn._linear_pointwise(one, one, None, "none", [], "")
    except RuntimeError:
        return False
    return True


_BY_ONEDNN = HAS_ONEDNN and _is_wide_amd() and _onednn_works()


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
        if _by_onednn(flat, self.weight):
            y = OneDNNLinear.apply(flat, self.weight, self.bias)
        elif self.bias is None:
            y = torch.bmm(flat, self.weight)
        else:
            y = torch.baddbmm(self.bias[:, None], flat, self.weight)
        return y.view(*x.shape[:-1], -1)


class OneDNNLinear(torch.autograd.Function):
    """(members, n, d_in) times (members, d_in, d_out), plus a bias, by oneDNN.

    torch has MKL do its products, which on AMD processors does not use AVX-512.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """A product per member."""
        ctx.save_for_backward(x, weight)
        return _products(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Those of the operands, by products again."""
        (x, weight), gradient = ctx.saved_tensors, gradients[0]
        to_x, to_weight, to_bias = ctx.needs_input_grad
        return (
            _products(gradient, weight.mT) if to_x else None,
            _products(x.mT, gradient) if to_weight else None,
            gradient.sum(dim=1) if to_bias else None,
        )


def _by_onednn(x: Tensor, weight: Tensor) -> bool:
    """Whether oneDNN multiplies these faster; it does so member by member."""
    multiplications = x.shape[1] * weight.shape[1] * weight.shape[2]
    fits = x.is_cpu and x.dtype == weight.dtype == torch.float32
    return _BY_ONEDNN and fits and multiplications >= _WORTH_ONEDNN


def _products(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """(members, n, k) times (members, k, m), member by member."""
    if not (b[0].is_contiguous() or b[0].mT.is_contiguous()):
        b = b.contiguous()  # a slice or an expanded number; oneDNN is hundreds of times slower
    biases = [None] * len(a) if bias is None else bias
    products = (
        torch.ops.mkldnn._linear_pointwise(left, right.mT, shift, "none", [], "")
        for left, right, shift in zip(a, b, biases, strict=True)
    )
    if len(a) == 1:
        return next(products)[None]
    result = a.new_empty(len(a), a.shape[1], b.shape[2])
    for place, product in zip(result, products, strict=True):  # one beside the result, not all
        place.copy_(product)
    return result


class MemberLayerNorm(nn.Module):
    """Layer normalisation over the last axis with a scale and a shift per member."""

    def __init__(self, members: Members, width: int) -> None:
        super().__init__()
        self.weight = members.constant(width, value=1.0)
        self.bias = members.constant(width, value=0.0)

    def forward(self, x: Tensor) -> Tensor:
        """Normalise (members, ..., width)."""
        shape = (len(x), *[1] * (x.ndim - 2), x.shape[-1])
        normed = F.layer_norm(x, x.shape[-1:])
        return torch.addcmul(self.bias.view(shape), normed, self.weight.view(shape))


class MemberEmbedding(nn.Module):
    """Embeddings of all categorical features in one table per member, (members, codes, width)."""

    offsets: Tensor

    def __init__(self, weight: nn.Parameter, cardinalities: tuple[int, ...]) -> None:
        super().__init__()
        self.weight = weight
        starts = torch.tensor((0, *cardinalities[:-1]), dtype=torch.int64).cumsum(0)
        self.register_buffer("offsets", starts)

    def forward(self, codes: Tensor) -> Tensor:
        """(B, features) to (members, B, features, width)."""
        n_members, n_codes, width = self.weight.shape
        firsts = torch.arange(n_members, device=codes.device) * n_codes
        places = firsts[:, None, None] + (codes + self.offsets)
        return F.embedding(places, self.weight.view(-1, width))


def dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """Dropout of (members, ...) with one mask for all members."""
    return x * dropout_mask(x.shape[1:], p, x.device) if training and p > 0 else x


def dropout_mask(shape: tuple[int, ...], p: float, device: torch.device) -> Tensor:
    """Zeros with probability p, else 1 / (1 - p)."""
    # Twice as fast as bernoulli_ on a CPU.
    return torch.rand(shape, device=device).ge_(p).div_(1 - p)


class Attention(nn.Module):
    """Multi-head attention per member."""

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
        return self.attend(self.qkv(x))

    def attend(self, qkv: Tensor) -> Tensor:
        """(members, B, tokens, 3 * inner) to (members, B, tokens, width)."""
        heads = qkv.unflatten(-1, (3, self.n_heads, self.head_width))
        return self.out(attention(heads, self.dropout if self.training else 0.0))

    def keys_values(self, x: Tensor) -> Tensor:
        """(members, B, tokens, width) to (2, members, B, heads, tokens, head_width)."""
        return self._by_head(self.qkv(x))[1:]

    def beside(self, x: Tensor, context: Tensor) -> Tensor:
        """The same shape as x: each token attends to itself and to a context, not to the others.

        The context's keys and values are (2, members, B, heads, n, head_width).
        """
        keys, values = context
        n_context = keys.shape[-2]
        weights = (n_context + 1) * keys.shape[:3].numel()  # of one token in all sequences
        mixed = []
        # Only so many tokens at once: memory is bounded, however large the context.
        for chunk in self.qkv(x).split(max(1, _WEIGHTS_AT_ONCE // weights), dim=2):
            query, key, value = self._by_head(chunk)
            query = query * self.head_width**-0.5
            own_score = (query * key).sum(dim=-1, keepdim=True)
            scores = torch.cat([query @ keys.mT, own_score], dim=-1)
            others, own = torch.softmax(scores, dim=-1).split([n_context, 1], dim=-1)
            mixed.append((others @ values + own * value).transpose(2, 3).flatten(3))
        return self.out(torch.cat(mixed, dim=2))

    def _by_head(self, qkv: Tensor) -> Tensor:
        """(members, B, tokens, 3 * inner) to (3, members, B, heads, tokens, head_width)."""
        return qkv.unflatten(-1, (3, self.n_heads, self.head_width)).permute(3, 0, 1, 4, 2, 5)


def attention(qkv: Tensor, p: float) -> Tensor:
    """(members, B, tokens, 3, heads, head_width) to (members, B, tokens, heads * head_width).

    Attention weights are dropped with probability p.
    """
    return (_plain_attention if qkv.is_cpu else _fused_attention)(qkv, p)


def _plain_attention(qkv: Tensor, p: float) -> Tensor:
    """Attention member by member; on a wide table its weights are not kept but computed again."""
    n_members, n_rows, n_tokens, _, n_heads, head_width = qkv.shape
    shape = (n_rows, n_heads, n_tokens, n_tokens)  # a row per query, or where it is short, per key
    by_key = n_tokens < _SHORT_AXIS
    mask = dropout_mask(shape, p, qkv.device) if p > 0 else None
    if mask is not None and by_key:
        mask = mask.mT.contiguous()

    def attend(qkv: Tensor) -> Tensor:
        query, key, value = qkv.permute(2, 0, 3, 1, 4).contiguous()
        query = query * head_width**-0.5
        scores = key @ query.mT if by_key else query @ key.mT
        weights = torch.softmax(scores, dim=-2 if by_key else -1)
        weights = weights if mask is None else weights * mask
        return ((weights.mT if by_key else weights) @ value).transpose(1, 2).flatten(2)

    if n_members * math.prod(shape) <= _WEIGHTS_KEPT:
        return torch.stack([attend(member) for member in qkv])
    return torch.stack([checkpoint(attend, member, use_reentrant=False) for member in qkv])


def _fused_attention(qkv: Tensor, p: float) -> Tensor:
    """torch's own attention, which keeps no weights for the backward pass on a GPU."""
    query, key, value = qkv.permute(3, 0, 1, 4, 2, 5)
    if p == 0:
        rows = query.flatten(0, 1), key.flatten(0, 1), value.flatten(0, 1)
        mixed = F.scaled_dot_product_attention(*rows).unflatten(0, query.shape[:2])
        return mixed.transpose(2, 3).flatten(3)
    devices = [query.device] if query.is_cuda else []
    members = []
    for place, member in enumerate(zip(query, key, value, strict=True)):
        # Every member but the last gives its random numbers back: all share a mask.
        with torch.random.fork_rng(devices, enabled=place < len(query) - 1):
            members.append(F.scaled_dot_product_attention(*member, dropout_p=p))
    return torch.stack(members).transpose(2, 3).flatten(3)


class GatedFeedForward(nn.Module):
    """Feed-forward network of SAINT and TabTransformer: Linear, GEGLU, dropout, Linear."""

    def __init__(self, members: Members, width: int, *, dropout: float) -> None:
        super().__init__()
        self.first = MemberLinear(members, width, 2 * FFN_FACTOR * width)
        self.second = MemberLinear(members, FFN_FACTOR * width, width)
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        """(members, ..., width) to the same shape."""
        value, gate = self.first(x).chunk(2, dim=-1)
        return self.second(dropout(value * F.gelu(gate), self.dropout, self.training))
