"""SAINT against a plain computation, feature by feature and head by head."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tabpet.models import layers as layers_module
from tabpet.models.build import build_model
from tabpet.models.context import Context
from tabpet.models.layout import Layout
from tabpet.models.saint import SaintSettings
from tests.models.tables import encoding_of, layout_of, rows_of


def plain_saint(
    model: Any, member: int, layout: Layout, alpha: float, values: Tensor, rows: Any
) -> Tensor:
    """SAINT as its paper and code define it, for one member, without batching over anything."""
    numeric, codes = rows
    tokens = plain_tokens(model.tokenizer, member, layout, alpha * values, numeric, codes)
    n, count, width = tokens.shape
    x = tokens
    for columns, between in zip(model.blocks[::2], model.blocks[1::2], strict=True):
        x = torch.stack([plain_block(columns, member, row) for row in x])
        x = plain_block(between, member, x.reshape(n, count * width)).reshape(n, count, width)
    hidden = F.relu(x[:, 0] @ model.hidden.weight[member] + model.hidden.bias[member])
    return hidden @ model.head.weight[member] + model.head.bias[member]


def plain_scored(
    model: Any, member: int, layout: Layout, alpha: float, values: Tensor, row: Any, context: Any
) -> Tensor:
    """One row beside a context: the last of a sequence whose others never see it."""
    tokens = [
        plain_tokens(model.tokenizer, member, layout, alpha * values, *rows)
        for rows in (row, context)
    ]
    [x], others = tokens
    shape = others.shape
    for columns, between in zip(model.blocks[::2], model.blocks[1::2], strict=True):
        x = plain_block(columns, member, x)
        others = torch.stack([plain_block(columns, member, one) for one in others])
        sequence = torch.cat([others.flatten(1), x.reshape(1, -1)])
        x = plain_block(between, member, sequence)[-1].reshape(shape[1:])
        others = plain_block(between, member, others.flatten(1)).reshape(shape)
    hidden = F.relu(x[0] @ model.hidden.weight[member] + model.hidden.bias[member])
    return hidden @ model.head.weight[member] + model.head.bias[member]


def plain_tokens(
    tokens: Any, member: int, layout: Layout, encoding: Tensor, numeric: Tensor, codes: Tensor
) -> Tensor:
    rows = []
    for row in range(len(numeric)):
        found = [torch.cat([tokens.cls[member, 0], torch.zeros(encoding.shape[1])])]
        for i in range(len(layout.numeric)):
            hidden = F.relu(
                numeric[row, i] * tokens.first[member, i, 0] + tokens.first_bias[member, i, 0]
            )
            own = hidden @ tokens.second[member, i] + tokens.second_bias[member, i, 0]
            found.append(torch.cat([own, encoding[i]]))
        start = 0
        for i, cardinality in enumerate(layout.cardinalities):
            own = tokens.embedding.weight[member, start + codes[row, i]]
            found.append(torch.cat([own, encoding[len(layout.numeric) + i]]))
            start += cardinality
        rows.append(torch.stack(found))
    return torch.stack(rows)


def plain_block(block: Any, member: int, x: Tensor) -> Tensor:
    """Attention and feed-forward part of one sequence, (tokens, width)."""
    x = plain_norm(block.attention_norm, member, x)
    x = x + plain_attention(block.attention, member, x)
    x = plain_norm(block.ffn_norm, member, x)
    value, gate = (x @ block.ffn.first.weight[member] + block.ffn.first.bias[member]).chunk(2, -1)
    return (
        x + (value * F.gelu(gate)) @ block.ffn.second.weight[member] + block.ffn.second.bias[member]
    )


def plain_norm(norm: Any, member: int, x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], norm.weight[member], norm.bias[member])


def plain_attention(attention: Any, member: int, x: Tensor) -> Tensor:
    q, k, v = (x @ attention.qkv.weight[member]).chunk(3, dim=-1)
    size = attention.head_width
    heads = []
    for head in range(attention.n_heads):
        part = slice(head * size, (head + 1) * size)
        weights = torch.softmax(q[:, part] @ k[:, part].T / size**0.5, dim=-1)
        heads.append(weights @ v[:, part])
    return torch.cat(heads, dim=-1) @ attention.out.weight[member] + attention.out.bias[member]


ALPHAS = (0.0, 0.7)


def moved_model(layout: Layout, depth: int) -> tuple[Any, Tensor]:
    """A model away from its start, where weights are zeros and ones, and its encodings."""
    graph = encoding_of(layout.features)
    settings = SaintSettings(width=12, depth=depth)
    model = build_model("saint", layout, settings, graph, ALPHAS, seed=1).eval()
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.05 * torch.randn(parameter.shape, generator=generator)
    return model, torch.tensor(graph.values, dtype=torch.float32)


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (2, 2)])
@pytest.mark.parametrize("depth", [1, 2])
def test_equals_a_plain_computation(shape: tuple[int, int], depth: int):
    layout = layout_of(*shape, n_outputs=3)
    model, values = moved_model(layout, depth)
    rows = rows_of(layout)
    found = model(*rows)
    for member, alpha in enumerate(ALPHAS):
        expected = plain_saint(model, member, layout, alpha, values, rows)
        torch.testing.assert_close(found[member], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (2, 2)])
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("size", [1, 7])
def test_scored_rows_equal_a_plain_computation(shape: tuple[int, int], depth: int, size: int):
    layout = layout_of(*shape, n_outputs=3)
    model, values = moved_model(layout, depth)
    numeric, codes = rows_of(layout)
    context = rows_of(layout, n=size, seed=8)
    found = model.given(Context(*context))(numeric, codes)
    for member, alpha in enumerate(ALPHAS):
        for row in range(len(numeric)):
            one = numeric[row : row + 1], codes[row : row + 1]
            expected = plain_scored(model, member, layout, alpha, values, one, context)
            torch.testing.assert_close(found[member, row], expected, rtol=1e-5, atol=1e-5)


def test_a_scored_row_is_what_it_would_be_in_a_batch_of_training_rows():
    # With one block over rows, the batch that consists of the context and the row.
    layout = layout_of(2, 2)
    model, _ = moved_model(layout, depth=1)
    rows, context = rows_of(layout), rows_of(layout, n=5, seed=8)
    found = model.given(Context(*context))(*rows)
    for row in range(6):
        batch = [torch.cat([c, r[row : row + 1]]) for c, r in zip(context, rows, strict=True)]
        torch.testing.assert_close(found[:, row], model(*batch)[:, -1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("size", [1, 5, 300])
def test_other_scored_rows_do_not_matter(depth: int, size: int, monkeypatch: pytest.MonkeyPatch):
    layout = layout_of(2, 2)
    model, _ = moved_model(layout, depth)
    rows = numeric, codes = rows_of(layout, n=40)
    score = model.given(Context(*rows_of(layout, n=size, seed=8)))
    expected = score(*rows)
    assert (expected[:, 1:] - expected[:, :1]).abs().max() > 0.1

    def same(found: Tensor, wanted: Tensor) -> None:
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)

    order = torch.randperm(40, generator=torch.Generator().manual_seed(2))
    same(score(numeric[order], codes[order]), expected[:, order])
    same(score(numeric[::7], codes[::7]), expected[:, ::7])
    for batch in (1, 3, 39):
        pairs = zip(numeric.split(batch), codes.split(batch), strict=True)
        same(torch.cat([score(*pair) for pair in pairs], dim=1), expected)
    # Nor does it matter how many rows ask the context at once.
    monkeypatch.setattr(layers_module, "_WEIGHTS_AT_ONCE", 3 * len(ALPHAS) * 4 * (size + 1))
    same(score(*rows), expected)
    monkeypatch.setattr(layers_module, "_WEIGHTS_AT_ONCE", 1)
    same(score(*rows), expected)


def test_the_order_of_the_context_does_not_matter_and_its_rows_do():
    layout = layout_of(2, 2)
    model, _ = moved_model(layout, depth=2)
    rows, (numeric, codes) = rows_of(layout), rows_of(layout, n=9, seed=8)
    expected = model.given(Context(numeric, codes))(*rows)
    turned = model.given(Context(numeric.flip(0), codes.flip(0)))(*rows)
    torch.testing.assert_close(turned, expected, rtol=1e-5, atol=1e-5)
    assert not torch.allclose(model.given(Context(numeric[:4], codes[:4]))(*rows), expected)


def test_sizes_are_those_of_the_published_code():
    # Width 32, CLS and 4 features: rows of 5 x 32 = 160.
    model: Any = build_model("saint", layout_of(2, 2), SaintSettings(), None, (1.0,), seed=1)
    columns, rows = model.blocks
    assert columns.attention.qkv.weight.shape == (1, 32, 3 * 4 * 16)
    assert columns.ffn.first.weight.shape == (1, 32, 32 * 8)
    assert rows.attention.qkv.weight.shape == (1, 160, 3 * 4 * 64)
    assert rows.ffn.first.weight.shape == (1, 160, 160 * 8)
    assert rows.ffn.second.weight.shape == (1, 160 * 4, 160)
    assert model.tokenizer.first.shape == (1, 2, 1, 100)
    assert model.hidden.weight.shape == (1, 32, 1000)


def test_attention_dropout_is_off_by_default_and_works_when_set():
    layout = layout_of(2, 2)
    rows = rows_of(layout)

    def difference(settings: SaintSettings) -> float:
        model = build_model("saint", layout, settings, None, (1.0,), seed=1)
        expected = model.eval()(*rows)
        torch.manual_seed(1)
        return float((model.train()(*rows) - expected).detach().abs().max())

    assert difference(SaintSettings(ffn_dropout=0.0)) == 0
    assert difference(SaintSettings(ffn_dropout=0.0, attention_dropout=0.8)) > 1e-3
    assert difference(SaintSettings(ffn_dropout=0.8)) > 1e-3
