"""Hand-written passes against their plain formulas, in values and in gradients."""

import pytest
import torch
from torch import Tensor

from tabpet.models import kernels
from tabpet.models.layers import Attention, MemberLayerNorm, MemberLinear
from tabpet.models.weights import Members

SHAPE = (3, 4, 5, 3, 2, 6)  # members, rows, tokens, q k v, heads, width of a head


def normal(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64, requires_grad=True)


def mask_of(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(8)
    return (torch.rand(*shape, generator=generator) > 0.3).double() / 0.7


def plain_attend(qkv: Tensor, mask: Tensor | None) -> Tensor:
    q, k, v = (one.transpose(2, 3) for one in qkv.unbind(3))
    weights = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, dim=-1)
    return ((weights if mask is None else weights * mask) @ v).transpose(2, 3).flatten(3)


def assert_same(ours: Tensor, plain: Tensor, *inputs: Tensor) -> None:
    """Equal values, and equal gradients of a random weighting of them."""
    torch.testing.assert_close(ours, plain)
    weighting = normal(*ours.shape, seed=5).detach()
    found = torch.autograd.grad((ours * weighting).sum(), inputs)
    expected = torch.autograd.grad((plain * weighting).sum(), inputs)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


# 5 x 5 weights of 2 heads: one row, 3 of 4 rows, one member, two members, all at once.
@pytest.mark.parametrize("at_once", [1, 150, 200, 400, 2**20])
@pytest.mark.parametrize("dropped", [False, True])
def test_attention_does_not_depend_on_how_much_is_done_at_once(
    monkeypatch: pytest.MonkeyPatch, at_once: int, dropped: bool
):
    monkeypatch.setattr(kernels, "_WEIGHTS_AT_ONCE", at_once)
    qkv = normal(*SHAPE)
    mask = mask_of(4, 2, 5, 5) if dropped else None
    assert_same(kernels.attend(qkv, mask), plain_attend(qkv, mask), qkv)


@pytest.mark.parametrize("dropped", [False, True])
def test_reglu(dropped: bool):
    x = normal(3, 4, 5, 8)
    mask = mask_of(4, 5, 4) if dropped else None
    value, gate = x.chunk(2, dim=-1)
    plain = value * torch.relu(gate)
    ours = kernels.reglu(x.clone(), mask, 1 / 0.7)
    assert_same(ours, plain if mask is None else plain * mask, x)


def test_follow_lines():
    x, lines = normal(4, 5).detach(), normal(3, 5, 2, 6)
    plain = x[:, :, None] * lines[:, None, :, 0] + lines[:, None, :, 1]
    assert_same(kernels.follow_lines(x, lines), plain, lines)


@pytest.mark.parametrize("qkv_bias", [False, True])
def test_the_first_token_finds_what_it_finds_among_all(qkv_bias: bool):
    attention = Attention(Members(3, 1), 12, 2, 6, dropout=0.0, qkv_bias=qkv_bias).double()
    if attention.qkv.bias is not None:
        attention.qkv.bias.data = normal(*attention.qkv.bias.shape).detach()
    x = normal(3, 4, 5, 12)
    plain = plain_attend(attention.qkv(x).view(SHAPE), None)[:, :, :1]
    assert_same(attention.attend_first(x), plain, x, *attention.qkv.parameters())


def test_the_first_token_drops_weights_of_tokens(monkeypatch: pytest.MonkeyPatch):
    attention = Attention(Members(3, 1), 12, 2, 6, dropout=0.5, qkv_bias=True).double()
    assert attention.qkv.bias is not None
    attention.qkv.bias.data = normal(*attention.qkv.bias.shape).detach()
    mask = mask_of(4, 5, 2)
    monkeypatch.setattr("tabpet.models.layers.dropout_mask", lambda *_: mask)
    x = normal(3, 4, 5, 12)
    full = mask.permute(0, 2, 1)[:, :, None].expand(-1, -1, 5, -1)
    plain = plain_attend(attention.qkv(x).view(SHAPE), full)[:, :, :1]
    assert_same(attention.attend_first(x), plain, x, *attention.qkv.parameters())


@pytest.mark.parametrize("bias", ["uniform", "none"])
def test_a_layer_adds_to_a_residual(bias: str):
    layer = MemberLinear(Members(3, 1), 6, 7, bias=bias).double()
    x, residual = normal(3, 4, 5, 6), normal(3, 4, 5, 7, seed=1)
    plain = residual + torch.stack([x[m] @ layer.weight[m] for m in range(3)])
    if layer.bias is not None:
        plain = plain + layer.bias[:, None, None]
    assert_same(layer.add_to(residual, x), plain, residual, x, *layer.parameters())


def test_a_layer_drops_what_it_adds_to_a_residual():
    layer = MemberLinear(Members(3, 1), 6, 7).double()
    x, residual = normal(3, 50, 6), normal(3, 50, 7)
    torch.manual_seed(1)
    added = layer.add_to(residual, x, p=0.5) - residual
    kept = added != 0
    assert 0.4 < float(kept.double().mean()) < 0.6
    torch.testing.assert_close(added[kept], 2 * layer(x)[kept])
    torch.testing.assert_close(layer.eval().add_to(residual, x, p=0.5), residual + layer(x))


def test_a_norm_is_that_of_each_member():
    norm = MemberLayerNorm(Members(3, 1), 6).double()
    with torch.no_grad():
        norm.weight += normal(3, 6)
        norm.bias += normal(3, 6, seed=1)
    x = normal(3, 4, 5, 6)
    plain = torch.stack(
        [torch.nn.functional.layer_norm(x[m], (6,), norm.weight[m], norm.bias[m]) for m in range(3)]
    )
    assert_same(norm(x), plain, x, *norm.parameters())
