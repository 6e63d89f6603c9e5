"""Hand-written forward and backward passes, where autograd's own would copy or keep too much.

Each equals its plain formula, in values and gradients; bench/training.py measures what they save.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

# Attention weights that are worked on at once on a CPU: few enough to stay in its cache.
_WEIGHTS_AT_ONCE = 2**18


def attend(qkv: Tensor, mask: Tensor | None) -> Tensor:
    """Attention of every token to all: (members, B, tokens, 3, heads, width) to (members, B,
    tokens, heads * width); `mask` (B, heads, tokens, tokens) multiplies the weights."""
    return _Attend.apply(qkv, mask)


def reglu(x: Tensor, mask: Tensor | None) -> Tensor:
    """First half of the last axis times the positive part of the second half, times `mask`.

    Overwrites `x`.
    """
    return _ReGLU.apply(x, mask)


def spread(x: Tensor, slope: Tensor, offset: Tensor) -> Tensor:
    """offset + x * slope: (B, tokens), (members, tokens, width) twice to (members, B, tokens,
    width)."""
    return _Spread.apply(x, slope, offset)


class _Attend(Function):
    @staticmethod
    def forward(ctx: Any, qkv: Tensor, mask: Tensor | None) -> Tensor:
        n_members, batch, tokens, _, heads, width = qkv.shape
        found = qkv.new_empty(n_members, batch, tokens, heads, width)
        saved = []
        for here, rows in _chunks(qkv):
            parts = _by_head(qkv[here].permute(3, 0, 1, 4, 2, 5))
            q, k, v = parts.unbind()
            weights = torch.softmax(_product(q, k.transpose(1, 2), width**-0.5), dim=-1)
            dropped = weights if mask is None else _masked(weights, mask[rows])
            out = found[here].transpose(2, 3)
            out.copy_(torch.bmm(dropped, v).view(out.shape))
            saved += [parts, weights]
        ctx.save_for_backward(mask, *saved)
        ctx.shape = qkv.shape
        return found.flatten(3)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        mask, *saved = ctx.saved_tensors
        grad_qkv = grad.new_empty(ctx.shape)
        width = ctx.shape[-1]
        grad = grad.view(*ctx.shape[:3], *ctx.shape[4:])
        for (here, rows), parts, weights in zip(
            _chunks(grad_qkv), saved[::2], saved[1::2], strict=True
        ):
            q, k, v = parts.unbind()
            grad_found = _by_head(grad[here].transpose(2, 3)[None])[0]
            grads = torch.empty_like(parts)
            dropped = weights if mask is None else _masked(weights, mask[rows])
            torch.bmm(dropped.transpose(1, 2), grad_found, out=grads[2])
            grad_weights = torch.bmm(grad_found, v.transpose(1, 2))
            if mask is not None:
                grad_weights = _masked(grad_weights, mask[rows], out=grad_weights)
            grad_scores = torch._softmax_backward_data(grad_weights, weights, -1, weights.dtype)
            _product(grad_scores, k, width**-0.5, out=grads[0])
            _product(grad_scores.transpose(1, 2), q, width**-0.5, out=grads[1])
            part = grad_qkv[here].permute(3, 0, 1, 4, 2, 5)
            part.copy_(grads.view(part.shape))
        return grad_qkv, None


def _chunks(qkv: Tensor) -> Iterator[tuple[tuple[slice, slice], slice]]:
    """Where to work at once: members and rows, and the rows alone."""
    n_members, batch, tokens, _, heads, _ = qkv.shape
    rows = batch
    if qkv.device.type == "cpu":
        rows = max(1, min(batch, _WEIGHTS_AT_ONCE // (heads * tokens * tokens)))
    members = n_members
    if qkv.device.type == "cpu":
        members = max(1, _WEIGHTS_AT_ONCE // (batch * heads * tokens * tokens))
    for first in range(0, n_members, members):
        for row in range(0, batch, rows):
            here = slice(row, row + rows)
            yield (slice(first, first + members), here), here


def _by_head(parts: Tensor) -> Tensor:
    """(parts, members, B, heads, tokens, width) to (parts, one axis for all, tokens, width)."""
    return parts.contiguous().view(len(parts), -1, *parts.shape[-2:])


def _product(a: Tensor, b: Tensor, scale: float, out: Tensor | None = None) -> Tensor:
    """The product of batches of matrices, times a number."""
    if out is None:
        out = a.new_empty(a.shape[0], a.shape[1], b.shape[2])
    return torch.baddbmm(out, a, b, beta=0, alpha=scale, out=out)


def _masked(weights: Tensor, mask: Tensor, out: Tensor | None = None) -> Tensor:
    """Weights of several members, times a mask that they share."""
    shape = (-1, *mask.shape)
    into = None if out is None else out.view(shape)
    return torch.mul(weights.view(shape), mask, out=into).view(weights.shape)


class _ReGLU(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, mask: Tensor | None) -> Tensor:
        value, gate = x.chunk(2, dim=-1)
        gate.relu_()
        out = value * gate
        if mask is not None:
            out *= mask
        ctx.save_for_backward(x, mask)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        x, mask = ctx.saved_tensors
        value, gate = x.chunk(2, dim=-1)
        if mask is not None:
            grad = grad * mask
        grad_x = torch.empty_like(x)
        grad_value, grad_gate = grad_x.chunk(2, dim=-1)
        torch.mul(grad, gate, out=grad_value)
        torch.mul(grad, value, out=grad_gate)
        torch.ops.aten.threshold_backward.grad_input(grad_gate, gate, 0, grad_input=grad_gate)
        return grad_x, None


class _Spread(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, slope: Tensor, offset: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.addcmul(offset[:, None], x[:, :, None], slope[:, None])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor, Tensor]:
        (x,) = ctx.saved_tensors
        # For every token the rows of [x, 1] times the gradients of the batch.
        pairs = torch.stack([x, torch.ones_like(x)]).permute(2, 0, 1)  # (tokens, 2, B)
        grads = torch.stack([torch.bmm(pairs, one.transpose(0, 1)) for one in grad])
        return None, grads[:, :, 0], grads[:, :, 1]
