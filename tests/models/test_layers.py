"""Layers with a member axis against their plain formulas, in values and in gradients."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tabpet.models import layers
from tabpet.models.ft_transformer.network import CLSAttention, Tokens
from tabpet.models.layers import Attention, MemberLayerNorm, MemberLinear, attention
from tabpet.models.weights import Members

SHAPE = (3, 4, 2, 5, 6)  # members, rows, heads, tokens, width of a head


def normal(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64, requires_grad=True)


def mask_of(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(8)
    return (torch.rand(*shape, generator=generator) > 0.3).double() / 0.7


def joined(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """(members, rows, tokens, 3, heads, width) of three by head."""
    return torch.stack([q, k, v]).permute(1, 2, 4, 0, 3, 5)


def by_token(mixed: Tensor) -> Tensor:
    """(members, rows, heads, tokens, width) to (members, rows, tokens, all)."""
    return mixed.transpose(2, 3).flatten(3)


def plain_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | float = 1.0) -> Tensor:
    return (torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1) * mask) @ v


def assert_same(ours: Tensor, plain: Tensor, *inputs: Tensor) -> None:
    """Equal values, and equal gradients of a random weighting of them."""
    torch.testing.assert_close(ours, plain)
    weighting = normal(*ours.shape, seed=5).detach()
    gradients = torch.autograd.grad((ours * weighting).sum(), inputs)
    expected = torch.autograd.grad((plain * weighting).sum(), inputs)
    for gradient, other in zip(gradients, expected, strict=True):
        torch.testing.assert_close(gradient, other)


@pytest.mark.parametrize("tokens", [1, 5, 17])  # a row per key, and where it is long per query
def test_attention_is_its_formula(tokens: int):
    q, k, v = (normal(3, 4, 2, tokens, 6, seed=seed) for seed in range(3))
    assert_same(attention(joined(q, k, v), 0.0), by_token(plain_attention(q, k, v)), q, k, v)


@pytest.mark.parametrize("tokens", [5, 17])
@pytest.mark.parametrize("kept", [0, 2**30])  # computed again, or kept
def test_attention_drops_weights_with_one_mask_for_all_members(
    monkeypatch: pytest.MonkeyPatch, kept: int, tokens: int
):
    monkeypatch.setattr(layers, "_WEIGHTS_KEPT", kept)
    q, k, v = (normal(3, 4, 2, tokens, 6, seed=seed) for seed in range(3))
    mask = mask_of(4, 2, tokens, tokens)
    monkeypatch.setattr(layers, "dropout_mask", lambda *_: mask)
    plain = by_token(plain_attention(q, k, v, mask))
    assert_same(attention(joined(q, k, v), 0.3), plain, q, k, v)


def test_fused_attention_drops_the_same_weights_of_every_member():
    # What runs on a GPU: equal members stay equal, whichever of them are there.
    q, k, v = (
        normal(1, *SHAPE[1:], seed=seed).detach().expand(SHAPE).requires_grad_()
        for seed in range(3)
    )
    torch.manual_seed(1)
    together = layers._fused_attention(joined(q, k, v), 0.5)
    after = torch.rand(1)
    torch.manual_seed(1)
    alone = layers._fused_attention(joined(q[:1], k[:1], v[:1]), 0.5)
    assert torch.equal(after, torch.rand(1))  # further draws do not depend on members either
    for member in together:
        torch.testing.assert_close(member, alone[0])
    assert not torch.allclose(together, by_token(plain_attention(q, k, v)))
    for gradient in torch.autograd.grad(together.square().sum(), (q, k, v)):
        torch.testing.assert_close(gradient, gradient[:1].expand(SHAPE))


@pytest.mark.parametrize("p", [0.0, 0.5])
def test_cls_attention_is_that_of_the_first_token(p: float, monkeypatch: pytest.MonkeyPatch):
    cls = CLSAttention(Members(3, 1), 12, 2, 6, dropout=p, qkv_bias=True).double()
    assert cls.qkv.bias is not None
    cls.qkv.bias.data = normal(*cls.qkv.bias.shape).detach()
    mask = mask_of(4, 5, 2)  # rows, tokens, heads
    monkeypatch.setattr(layers, "dropout_mask", lambda *_: mask)
    x = normal(3, 4, 5, 12)
    q, k, v = cls.qkv(x).view(3, 4, 5, 3, 2, 6).permute(3, 0, 1, 4, 2, 5)
    plain = plain_attention(q, k, v, mask.mT[:, :, None] if p else 1.0)
    plain = cls.out(by_token(plain))[:, :, :1]
    assert_same(cls(x), plain, x, *cls.parameters())


def test_attention_of_a_context_of_no_rows_is_the_tokens_own_value():
    layer = Attention(Members(3, 1), 12, 2, 6, dropout=0.0).double()
    x = normal(3, 4, 5, 12)
    value = layer.qkv(x)[..., 24:]
    nothing = x.new_empty(2, 3, 4, 2, 0, 6)
    torch.testing.assert_close(layer.beside(x, nothing), layer.out(value))


def test_a_linear_layer_on_slopes_and_offsets_is_that_on_tokens():
    layer = MemberLinear(Members(3, 1), 6, 7).double()
    slope, offset, embedded = normal(3, 5, 6), normal(3, 5, 6, seed=1), normal(3, 4, 2, 6, seed=2)
    tokens = Tokens(normal(4, 5).detach(), slope, offset, embedded)
    inputs = (slope, offset, embedded, *layer.parameters())
    assert_same(tokens.through(layer).join(), layer(tokens.join()), *inputs)
    numbers = tokens.numbers[:, :, None]
    plain = torch.cat([numbers * slope[:, None] + offset[:, None], embedded], dim=2)
    assert_same(tokens.join(), plain, slope, offset, embedded)


def test_a_norm_is_that_of_each_member():
    norm = MemberLayerNorm(Members(3, 1), 6).double()
    with torch.no_grad():
        norm.weight += normal(3, 6)
        norm.bias += normal(3, 6, seed=1)
    x = normal(3, 4, 5, 6)
    plain = torch.stack([F.layer_norm(x[m], (6,), norm.weight[m], norm.bias[m]) for m in range(3)])
    assert_same(norm(x), plain, x, *norm.parameters())


def apart(layer: MemberLinear) -> MemberLinear:
    """The layer with other weights for every member; drawn, they are equal."""
    with torch.no_grad():
        for weight in layer.parameters():
            weight += normal(*weight.shape, seed=3).float()
    return layer


needs_onednn = pytest.mark.skipif(not layers.HAS_ONEDNN, reason="this torch has no oneDNN")


@needs_onednn
@pytest.mark.parametrize("bias", ["uniform", "none"])
@pytest.mark.parametrize("tokens", [5, 1])  # as they come, and one of them in every row
def test_a_product_by_onednn_is_that_of_each_member(
    monkeypatch: pytest.MonkeyPatch, bias: layers.Bias, tokens: int
):
    monkeypatch.setattr(layers, "_BY_ONEDNN", True)
    monkeypatch.setattr(layers, "_WORTH_ONEDNN", 0)
    layer = apart(MemberLinear(Members(3, 1), 48, 7, bias=bias))
    x = normal(3, 40, 5, 48).detach().float().requires_grad_()
    taken = x[:, :, :tokens]
    ours = layer(taken)
    assert "OneDNN" in ours.grad_fn.next_functions[0][0].name()
    shift = 0.0 if layer.bias is None else layer.bias[:, None, None]
    plain = torch.einsum("mbti,mio->mbto", taken, layer.weight) + shift
    torch.testing.assert_close(ours, plain)
    inputs = (x, *layer.parameters())
    # The gradient of a sum is one number, expanded.
    for gradient in (torch.ones(()).expand(ours.shape), torch.randn(ours.shape)):
        both = (torch.autograd.grad(y, inputs, gradient, retain_graph=True) for y in (ours, plain))
        for own, other in zip(*both, strict=True):
            torch.testing.assert_close(own, other, rtol=1e-4, atol=1e-4)
    with torch.no_grad():
        torch.testing.assert_close(layer(taken), plain)


@needs_onednn
def test_onednn_gets_no_slices_to_multiply_by(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(layers, "_BY_ONEDNN", True)
    monkeypatch.setattr(layers, "_WORTH_ONEDNN", 0)
    product, packed = torch.ops.mkldnn._linear_pointwise, []

    def watched(left: Tensor, right: Tensor, *more: object) -> Tensor:
        packed.append(right.is_contiguous() or right.mT.is_contiguous())
        return product(left, right, *more)

    monkeypatch.setattr(torch.ops.mkldnn, "_linear_pointwise", watched)
    layer, other = (apart(MemberLinear(Members(2, 1), 8, 6)) for _ in range(2))
    x = torch.randn(2, 5, 4, 8, requires_grad=True)
    layer(x).sum().backward()  # the gradient is one number, expanded
    torch.cat([layer(x[:, :, :1]), other(x)], dim=2).square().sum().backward()  # a slice of it
    assert packed == [True] * 18


@needs_onednn
def test_a_member_alone_has_the_same_products_to_the_last_digit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(layers, "_BY_ONEDNN", True)
    together, alone = (MemberLinear(Members(n, 1), 192, 192) for n in (3, 1))
    apart(together)
    alone.load_state_dict({name: weight[1:2] for name, weight in together.state_dict().items()})
    x = normal(3, 32, 10, 192).detach().float()
    group, single = together(x), alone(x[1:2])
    assert "OneDNN" in group.grad_fn.next_functions[0][0].name()
    assert torch.equal(group[1:2], single)
    group.square().sum().backward()
    single.square().sum().backward()
    for own, other in zip(alone.parameters(), together.parameters(), strict=True):
        assert torch.equal(own.grad, other.grad[1:2])


@needs_onednn
def test_a_product_by_onednn_has_no_second_derivative(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(layers, "_BY_ONEDNN", True)
    monkeypatch.setattr(layers, "_WORTH_ONEDNN", 0)
    layer = MemberLinear(Members(1, 1), 4, 3)
    x = torch.ones(1, 2, 4, requires_grad=True)
    (slope,) = torch.autograd.grad(layer(x).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice"):
        slope.sum().backward()
