"""SAINT against a plain computation, feature by feature and head by head."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tabpet.config import SaintSettings
from tabpet.models import Layout, build_model
from tests.models.tables import encoding_of, layout_of, rows_of


def plain_saint(
    model: Any, member: int, layout: Layout, alpha: float, values: Tensor, rows: Any
) -> Tensor:
    """SAINT as its paper and code define it, for one member, without batching over anything."""
    numeric, codes = rows
    tokens = plain_tokens(model.tokens, member, layout, alpha * values, numeric, codes)
    n, count, width = tokens.shape
    x = tokens
    for columns, between in zip(model.blocks[::2], model.blocks[1::2], strict=True):
        x = torch.stack([plain_block(columns, member, row) for row in x])
        x = plain_block(between, member, x.reshape(n, count * width)).reshape(n, count, width)
    hidden = F.relu(x[:, 0] @ model.hidden.weight[member] + model.hidden.bias[member])
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


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (2, 2)])
@pytest.mark.parametrize("depth", [1, 2])
def test_equals_a_plain_computation(shape: tuple[int, int], depth: int):
    layout = layout_of(*shape, n_outputs=3)
    graph = encoding_of(layout.features)
    alphas = (0.0, 0.7)
    settings = SaintSettings(width=12, depth=depth)
    model = build_model("saint", layout, settings, graph, alphas, seed=1).eval()
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.05 * torch.randn(parameter.shape, generator=generator)
    rows = rows_of(layout)
    found = model(*rows)
    values = torch.tensor(graph.values, dtype=torch.float32)
    for member, alpha in enumerate(alphas):
        expected = plain_saint(model, member, layout, alpha, values, rows)
        torch.testing.assert_close(found[member], expected, rtol=1e-5, atol=1e-5)


def test_sizes_are_those_of_the_published_code():
    # Width 32, CLS and 4 features: rows of 5 x 32 = 160.
    model: Any = build_model("saint", layout_of(2, 2), SaintSettings(), None, (1.0,), seed=1)
    columns, rows = model.blocks
    assert columns.attention.qkv.weight.shape == (1, 32, 3 * 4 * 16)
    assert columns.ffn.first.weight.shape == (1, 32, 32 * 8)
    assert rows.attention.qkv.weight.shape == (1, 160, 3 * 4 * 64)
    assert rows.ffn.first.weight.shape == (1, 160, 160 * 8)
    assert rows.ffn.second.weight.shape == (1, 160 * 4, 160)
    assert model.tokens.first.shape == (1, 2, 1, 100)
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
