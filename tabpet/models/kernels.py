"""Hand-written forward and backward passes, where autograd's own would copy or keep too much.

Each equals its plain formula, in values and gradients.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

# Attention weights that are worked on at once on a CPU; bounds what a wide table needs meanwhile.
_WEIGHTS_AT_ONCE = 2**19
_EPSILON = 1e-5  # of layer normalisation, torch's default


def attend(qkv: Tensor, mask: Tensor | None) -> Tensor:
    """Attention of every token to all: (members, B, tokens, 3, heads, width) to (members, B,
    tokens, heads * width); `mask` (B, heads, tokens, tokens) multiplies the weights."""
    return _Attend.apply(qkv, mask)


def reglu(x: Tensor, mask: Tensor | None, scale: float = 1.0) -> Tensor:
    """First half of the last axis times the positive part of the second half, times `mask`.

    The mask holds zeros and `scale`. Overwrites `x`.
    """
    return _ReGLU.apply(x, mask, scale)


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Layer normalisation of (members, ..., width), with (members, width) scales and shifts."""
    shape = (len(x), *[1] * (x.ndim - 2), x.shape[-1])
    return _LayerNorm.apply(x, weight.view(shape), bias.view(shape))


def mix(asked: Tensor, x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Means of tokens, weighted by the softmax of their products with what is asked for.

    From (members, B, heads, width), (members, B, tokens, width) and (B, tokens, heads) to
    (members, B, heads, width), and the sums of the masked weights, (members, B, heads).
    """
    return _Mix.apply(asked, x, mask)


def follow_lines(x: Tensor, lines: Tensor) -> Tensor:
    """x * slope + offset: (B, tokens), (members, tokens, 2, width) to (members, B, tokens,
    width)."""
    return _FollowLines.apply(x, lines)


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
            if ctx.needs_input_grad[0]:
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
    members, rows = n_members, batch
    if qkv.device.type == "cpu":
        fit = max(1, _WEIGHTS_AT_ONCE // (heads * tokens * tokens))  # rows of one member
        members, rows = max(1, fit // batch), min(fit, batch)
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
    def forward(ctx: Any, x: Tensor, mask: Tensor | None, scale: float) -> Tensor:
        value, gate = x.chunk(2, dim=-1)
        gate.relu_()
        if mask is not None:
            gate *= mask
        # Not marked as overwritten: the linear layer that made x does not need it any more.
        ctx.save_for_backward(x)
        ctx.scale = 1.0 if mask is None else scale
        return value * gate

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (x,) = ctx.saved_tensors
        value, gate = x.chunk(2, dim=-1)
        grad_x = torch.empty_like(x)
        grad_value, grad_gate = grad_x.chunk(2, dim=-1)
        torch.mul(grad, gate, out=grad_value)
        torch.mul(grad, value, out=grad_gate)
        # Where something passed the gate, its slope is that of the mask.
        torch.ops.aten.threshold_backward.grad_input(grad_gate, gate, 0, grad_input=grad_gate)
        if ctx.scale != 1:
            grad_gate *= ctx.scale
        return grad_x, None, None


class _LayerNorm(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        normed, mean, rstd = torch.native_layer_norm(x, x.shape[-1:], None, None, _EPSILON)
        ctx.save_for_backward(x, normed, mean, rstd, weight)
        return torch.addcmul(bias, normed, weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, normed, mean, rstd, weight = ctx.saved_tensors
        over = tuple(range(1, x.ndim - 1))
        scaled = grad * normed
        grad_weight = scaled.sum(dim=over, keepdim=True)
        torch.mul(grad, weight, out=scaled)
        grad_x, _, _ = torch.ops.aten.native_layer_norm_backward(
            scaled, x, x.shape[-1:], mean, rstd, None, None, [True, False, False]
        )
        return grad_x, grad_weight, grad.sum(dim=over, keepdim=True)


class _Mix(Function):
    @staticmethod
    def forward(ctx: Any, asked: Tensor, x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        n_members, batch, tokens, width = x.shape
        x = x.reshape(-1, tokens, width)
        asked = asked.reshape(len(x), -1, width)
        weights = torch.softmax(torch.bmm(x, asked.transpose(1, 2)), dim=1)
        dropped = weights if mask is None else _masked(weights, mask)
        ctx.save_for_backward(asked, x, mask, weights)
        ctx.shape = (n_members, batch)
        mixed = torch.bmm(dropped.transpose(1, 2), x)
        return mixed.unflatten(0, ctx.shape), dropped.sum(dim=1).unflatten(0, ctx.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_mixed: Tensor, grad_sums: Tensor) -> tuple[Tensor, Tensor, None]:
        asked, x, mask, weights = ctx.saved_tensors
        grad_mixed = grad_mixed.reshape(asked.shape)
        grad_weights = torch.bmm(x, grad_mixed.transpose(1, 2))
        grad_weights += grad_sums.reshape(len(x), 1, -1)
        dropped = weights
        if mask is not None:
            dropped = _masked(weights, mask)
            grad_weights = _masked(grad_weights, mask, out=grad_weights)
        grad_scores = torch._softmax_backward_data(grad_weights, weights, 1, weights.dtype)
        grad_x = torch.bmm(dropped, grad_mixed)
        grad_x.baddbmm_(grad_scores, asked)
        grad_asked = torch.bmm(grad_scores.transpose(1, 2), x)
        return grad_asked.unflatten(0, ctx.shape), grad_x.unflatten(0, ctx.shape), None


class _FollowLines(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, lines: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        slope, offset = lines[:, None].unbind(dim=-2)
        return torch.addcmul(offset, x[:, :, None], slope)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor]:
        (x,) = ctx.saved_tensors
        # For every token the rows of [x, 1] times the gradients of the batch.
        pairs = torch.stack([x, torch.ones_like(x)]).permute(2, 0, 1)  # (tokens, 2, B)
        return None, torch.stack([torch.bmm(pairs, one.transpose(0, 1)) for one in grad])
