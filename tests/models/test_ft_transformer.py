"""FT-Transformer against the package of its authors."""

import dataclasses
from typing import Any

import pytest
import torch
from rtdl_revisiting_models import FTTransformer as Published
from torch import Tensor, nn

from tabpet.models.build import build_model
from tabpet.models.ft_transformer import FTTransformerSettings
from tabpet.models.ft_transformer.network import FeatureTokenizer
from tabpet.models.layout import Layout
from tabpet.models.members import MemberModel
from tests.models.tables import encoding_of, layout_of, rows_of, small_model

PAPER = FTTransformerSettings()


def published_of(model: Any, layout: Layout, settings: FTTransformerSettings) -> Published:
    """The published model with the weights of the first member."""
    published = Published(
        n_cont_features=len(layout.numeric),
        cat_cardinalities=list(layout.cardinalities),
        d_out=layout.n_outputs,
        n_blocks=settings.n_layers,
        d_block=settings.width,
        attention_n_heads=settings.n_heads,
        attention_dropout=settings.attention_dropout,
        ffn_d_hidden=None,
        ffn_d_hidden_multiplier=settings.ffn_factor,
        ffn_dropout=settings.ffn_dropout,
        residual_dropout=settings.residual_dropout,
    ).eval()
    copy_tokens(model.tokenizer, published, layout)
    for ours, block in zip(model.blocks, published.backbone.blocks, strict=True):
        weights = ours.attention.qkv.weight[0].chunk(3, dim=-1)
        biases = ours.attention.qkv.bias[0].chunk(3)
        for part, weight, bias in zip("qkv", weights, biases, strict=True):
            layer = getattr(block["attention"], f"W_{part}")
            fill(layer.weight, weight.T)
            fill(layer.bias, bias)
        copy_layer(block["attention"].W_out, ours.attention.out)
        if "attention_normalization" in block:
            copy_norm(block["attention_normalization"], ours.attention_norm)
        copy_norm(block["ffn_normalization"], ours.ffn_norm)
        copy_layer(block["ffn"].linear1, ours.ffn.first)
        copy_layer(block["ffn"].linear2, ours.ffn.second)
    copy_norm(published.backbone.output.normalization, model.norm)
    copy_layer(published.backbone.output.linear, model.head)
    return published


def copy_tokens(tokens: FeatureTokenizer, published: Any, layout: Layout) -> None:
    n_numeric = len(layout.numeric)
    fill(published.cls_embedding.weight, tokens.cls[0, 0])
    if tokens.weight is not None:
        fill(published.cont_embeddings.weight, tokens.weight[0])
        fill(published.cont_embeddings.bias, tokens.bias[0, :n_numeric])
    if tokens.embedding is not None:
        tables = tokens.embedding.weight[0].split(layout.cardinalities)
        for theirs, table in zip(published.cat_embeddings.embeddings, tables, strict=True):
            fill(theirs.weight, table)
        fill(published.cat_embeddings.bias, tokens.bias[0, n_numeric:])


def fill(theirs: Tensor, ours: Tensor) -> None:
    assert theirs.shape == ours.shape
    theirs.data.copy_(ours)


def copy_layer(theirs: nn.Linear, ours: Any) -> None:
    fill(theirs.weight, ours.weight[0].T)
    fill(theirs.bias, ours.bias[0])


def copy_norm(theirs: nn.LayerNorm, ours: Any) -> None:
    fill(theirs.weight, ours.weight[0])
    fill(theirs.bias, ours.bias[0])


def randomised(model: MemberModel) -> MemberModel:
    """Biases and norms start at constants; random ones show a mistake in their place."""
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.05 * torch.randn(parameter.shape[1:], generator=generator)
    return model


@pytest.mark.parametrize("shape", [(4, 0), (0, 3), (3, 2), (1, 0)])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("n_layers", [1, 3])
def test_equals_the_published_model(shape: tuple[int, int], n_outputs: int, n_layers: int):
    layout = layout_of(*shape, n_outputs)
    settings = FTTransformerSettings(n_layers=n_layers)
    model = build_model("ft_transformer", layout, settings, None, (0.0, 1.0), seed=1).eval()
    randomised(model)
    numeric, codes = rows_of(layout)
    published = published_of(model, layout, settings)
    expected = published(numeric if shape[0] else None, codes if shape[1] else None)
    found = model(numeric, codes)
    for member in found:
        torch.testing.assert_close(member, expected, rtol=1e-5, atol=1e-5)


def test_gradients_equal_those_of_the_published_model():
    layout = layout_of(3, 2)
    model = randomised(build_model("ft_transformer", layout, PAPER, None, (1.0,), seed=1).eval())
    published = published_of(model, layout, PAPER)
    rows = rows_of(layout)
    model(*rows).square().sum().backward()
    published(*rows).square().sum().backward()
    for ours, theirs in zip(model.blocks, published.backbone.blocks, strict=True):
        stacked = [getattr(theirs["attention"], f"W_{one}").weight.grad.T for one in "qkv"]
        assert_close(ours.attention.qkv.weight.grad[0], torch.cat(stacked, dim=-1))
        biases = [getattr(theirs["attention"], f"W_{one}").bias.grad for one in "qkv"]
        assert_close(ours.attention.qkv.bias.grad[0], torch.cat(biases))
        assert_close(ours.ffn.first.weight.grad[0], theirs["ffn"].linear1.weight.grad.T)
        assert_close(ours.ffn.second.bias.grad[0], theirs["ffn"].linear2.bias.grad)
        assert_close(ours.ffn_norm.weight.grad[0], theirs["ffn_normalization"].weight.grad)
        assert_close(ours.ffn_norm.bias.grad[0], theirs["ffn_normalization"].bias.grad)
    assert_close(model.tokenizer.cls.grad[0, 0], published.cls_embedding.weight.grad)
    assert_close(model.tokenizer.weight.grad[0], published.cont_embeddings.weight.grad)
    tables = [one.weight.grad for one in published.cat_embeddings.embeddings]
    assert_close(model.tokenizer.embedding.weight.grad[0], torch.cat(tables))


def assert_close(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5 * float(other.abs().max()))


def test_weights_are_drawn_as_in_the_published_model():
    layout = layout_of(40, 8)
    model = build_model("ft_transformer", layout, PAPER, None, (1.0,), seed=1)
    torch.manual_seed(1)
    published = Published(
        n_cont_features=40, cat_cardinalities=list(layout.cardinalities), d_out=2,
        **{k: v for k, v in Published.get_default_kwargs(3).items() if k != "_is_default"},
    )  # fmt: skip
    drawn = published_of(model, layout, PAPER)
    for (name, ours), theirs in zip(drawn.named_parameters(), published.parameters(), strict=True):
        spread = float(theirs.detach().std())
        if spread == 0:
            assert torch.equal(ours, theirs), name
        elif ours.numel() > 500:
            assert float(ours.detach().std()) == pytest.approx(spread, rel=0.1), name
            largest = float(theirs.detach().abs().max())
            assert float(ours.detach().abs().max()) == pytest.approx(largest, rel=0.01), name


def test_permuting_columns_with_their_encodings_leaves_the_output_unchanged():
    layout = layout_of(3, 3)
    graph = encoding_of(layout.features)
    model = small_model("ft_transformer", layout, graph)
    numeric_order, categorical_order = [2, 0, 1], [1, 2, 0]
    cardinalities = tuple(layout.cardinalities[i] for i in categorical_order)
    moved_layout = dataclasses.replace(
        layout,
        numeric=tuple(layout.numeric[i] for i in numeric_order),
        categorical=tuple(layout.categorical[i] for i in categorical_order),
        cardinalities=cardinalities,
    )
    moved = small_model("ft_transformer", moved_layout, graph)
    state = model.state_dict()
    features = [*numeric_order, *(3 + i for i in categorical_order)]
    tables = state["tokenizer.embedding.weight"].split(layout.cardinalities, dim=1)
    state["tokenizer.bias"] = state["tokenizer.bias"][:, features]
    state["tokenizer.weight"] = state["tokenizer.weight"][:, numeric_order]
    state["tokenizer.embedding.weight"] = torch.cat([tables[i] for i in categorical_order], dim=1)
    # Encodings and offsets are the moved model's own: it must find them by name.
    own = {"positions.table", "tokenizer.embedding.offsets"}
    moved.load_state_dict({key: state[key] for key in state if key not in own}, strict=False)
    numeric, codes = rows_of(layout)
    expected = model(numeric, codes)
    found = moved(numeric[:, numeric_order], codes[:, categorical_order])
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    # The same columns with the rows of the encoding swapped are another model.
    values = graph.values[::-1].copy()
    other = small_model("ft_transformer", layout, dataclasses.replace(graph, values=values))(
        numeric, codes
    )
    assert not torch.allclose(other[1:], expected[1:], atol=1e-3)
