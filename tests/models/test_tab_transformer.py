"""TabTransformer against the package that the released code is built on."""

from typing import Any

import pytest
import torch
from tab_transformer_pytorch import TabTransformer as Published
from torch import Tensor, nn

from tabpet.models.build import build_model
from tabpet.models.layout import Layout
from tabpet.models.tab_transformer import TabTransformerSettings
from tests.models.tables import encoding_of, layout_of, rows_of, small_model

SPECIAL_TOKENS = 2


def published_of(model: Any, layout: Layout, settings: TabTransformerSettings) -> Any:
    """The published model with the weights of the first member."""
    published = (
        Published(
            categories=layout.cardinalities,
            num_continuous=len(layout.numeric),
            dim=settings.width,
            depth=settings.depth,
            heads=settings.n_heads,
            dim_head=settings.head_width,
            dim_out=layout.n_outputs,
            mlp_act=nn.ReLU(),
            num_special_tokens=SPECIAL_TOKENS,
            num_residual_streams=settings.residual_streams,
        )
        .double()
        .eval()
    )
    fill(published.category_embed.weight[SPECIAL_TOKENS:], model.tokenizer.embedding.weight[0])
    fill(published.shared_category_embed, model.tokenizer.shared[0])
    theirs = [one for pair in published.transformer.layers for one in pair]
    for connection, block in zip(theirs, model.blocks, strict=True):
        if settings.residual_streams > 1:
            copy_connection(connection, block)
        prenorm, branch = connection.branch, block.branch
        copy_affine(prenorm.norm, branch.norm)
        if hasattr(prenorm.fn, "to_qkv"):
            fill(prenorm.fn.to_qkv.weight, branch.layer.qkv.weight[0].T)
            copy_linear(prenorm.fn.to_out, branch.layer.out)
        else:
            copy_linear(prenorm.fn.net[0], branch.layer.first)
            copy_linear(prenorm.fn.net[3], branch.layer.second)
    if layout.numeric:
        copy_affine(published.norm, model.norm)
    layers = [one for one in published.mlp.mlp if isinstance(one, nn.Linear)]
    for layer, ours in zip(layers, model.mlp, strict=True):
        copy_linear(layer, ours)
    return published


def copy_connection(theirs: Any, ours: Any) -> None:
    fill(theirs.norm.gamma, ours.norm[0])
    fill(theirs.static_alpha, ours.mix[0])
    fill(theirs.dynamic_alpha_fn, ours.mix_by_input[0])
    fill(theirs.dynamic_alpha_scale, ours.mix_scale[0])
    fill(theirs.static_beta, ours.write[0])
    fill(theirs.dynamic_beta_fn, ours.write_by_input[0, :, 0])
    fill(theirs.dynamic_beta_scale, ours.write_scale[0])


def fill(theirs: Tensor, ours: Tensor) -> None:
    assert theirs.shape == ours.shape
    theirs.data.copy_(ours)


def copy_linear(theirs: nn.Linear, ours: Any) -> None:
    fill(theirs.weight, ours.weight[0].T)
    fill(theirs.bias, ours.bias[0])


def copy_affine(theirs: nn.LayerNorm, ours: Any) -> None:
    fill(theirs.weight, ours.weight[0])
    fill(theirs.bias, ours.bias[0])


@pytest.mark.parametrize("n_numeric", [0, 3])
@pytest.mark.parametrize("n_outputs", [1, 4])
@pytest.mark.parametrize("streams", [1, 4])
def test_equals_the_published_model(n_numeric: int, n_outputs: int, streams: int):
    layout = layout_of(n_numeric, 3, n_outputs)
    settings = TabTransformerSettings(residual_streams=streams)
    model = build_model("tab_transformer", layout, settings, None, (0.0, 1.0), seed=1).eval()
    model = model.double()  # six blocks make 2e-5 of the rounding of float32
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        # Dynamic parts and norms start at constants that would hide a mistake.
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn(parameter.shape[1:], generator=generator)
    numeric, codes = rows_of(layout)
    expected = published_of(model, layout, settings)(codes, numeric.double())
    for member in model(numeric.double(), codes):
        torch.testing.assert_close(member, expected)


def test_has_the_published_parameters_but_for_special_tokens():
    layout, settings = layout_of(3, 4), TabTransformerSettings()
    model = build_model("tab_transformer", layout, settings, None, (1.0,), seed=1)
    published = published_of(model, layout, settings)
    count = sum(one.numel() for one in published.parameters())
    shared = settings.width // 8
    assert model.n_parameters() == count - SPECIAL_TOKENS * (settings.width - shared)


def test_a_branch_starts_on_one_stream_and_adds_to_all():
    model: Any = small_model("tab_transformer", layout_of(0, 3), None, (1.0,))
    for block in model.blocks:
        assert block.mix[0, :, 0].sort().values.tolist() == [0.0, 0.0, 0.0, 1.0]
        assert torch.equal(block.mix[0, :, 1:], torch.eye(4))
        assert block.write[0].tolist() == [1.0, 1.0, 1.0, 1.0]


def test_encodings_of_numeric_features_have_no_say():
    layout = layout_of(2, 3)
    graph = encoding_of(layout.features)
    moved = encoding_of(layout.features)
    moved.values[:2] += 5.0
    rows = rows_of(layout)
    expected = small_model("tab_transformer", layout, graph)(*rows)
    assert torch.equal(small_model("tab_transformer", layout, moved)(*rows), expected)
