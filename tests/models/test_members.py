"""Members of one module are what each would be alone."""

import copy
from typing import Any

import pytest
import torch
from torch import nn

from tabpet.encodings import control
from tabpet.models import layers
from tabpet.models.layers import dropout
from tabpet.models.members import MemberModel
from tests.models.tables import MODELS, SMALL, encoding_of, layout_of, rows_of, small_model

ALPHAS = (0.0, 0.1, 1.0, 5.0)
LAYOUT = layout_of(2, 3)


def gradients(model: MemberModel) -> list[torch.Tensor]:
    """Gradients of one training step with a fixed dropout mask."""
    torch.manual_seed(5)
    model.train()
    model.zero_grad()
    model(*rows_of(LAYOUT)).square().sum().backward()
    return [one.grad for one in model.parameters() if one.grad is not None]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", ["graph", "learnable"])
@pytest.mark.parametrize("options", [{}, {"integration": "project", "learn_alpha": True}])
def test_alone_and_together_give_the_same_outputs_and_gradients(
    name: Any, kind: str, options: dict[str, Any]
):
    encoding = encoding_of(LAYOUT.features, kind=kind)
    together = small_model(name, LAYOUT, encoding, ALPHAS, **options)
    predicted = together(*rows_of(LAYOUT))
    found = gradients(together)
    for member, alpha in enumerate(ALPHAS):
        alone = small_model(name, LAYOUT, encoding, (alpha,), **options)
        torch.testing.assert_close(
            alone(*rows_of(LAYOUT))[0], predicted[member], rtol=1e-5, atol=1e-6
        )
        for one, other in zip(gradients(alone), found, strict=True):
            torch.testing.assert_close(one[0], other[member], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_has_a_member_axis_and_equal_starts(name: Any):
    model = small_model(name, LAYOUT, encoding_of(LAYOUT.features, kind="learnable"), ALPHAS)
    for parameter in model.parameters():
        assert parameter.shape[0] == len(ALPHAS)
        assert (parameter == parameter[:1]).all()


@pytest.mark.parametrize("name", MODELS)
def test_starts_depend_on_the_seed_alone(name: Any):
    graph = encoding_of(LAYOUT.features)

    def start(encoding: Any, alphas: tuple[float, ...], **options: Any) -> dict[str, torch.Tensor]:
        model = small_model(name, LAYOUT, encoding, alphas, **options)
        return {key: one[0].detach() for key, one in model.named_parameters()}

    expected = start(graph, (1.0,))
    for other in (
        start(graph, (2.0, 1.0, 0.0)),
        start(control(graph, "learnable", 1), (1.0,)),
        start(graph, (1.0,), learn_alpha=True),
    ):
        assert set(expected) <= set(other)
        assert all(torch.equal(value, other[key]) for key, value in expected.items())
    moved = start(graph, (1.0,), seed=2)
    assert any(not torch.equal(value, moved[key]) for key, value in expected.items())


@pytest.mark.parametrize("name", MODELS)
def test_dropout_masks_are_shared(name: Any):
    model = small_model(name, LAYOUT, encoding_of(LAYOUT.features), (1.0, 1.0)).train()
    torch.manual_seed(1)
    first = model(*rows_of(LAYOUT))
    second = model(*rows_of(LAYOUT))
    torch.testing.assert_close(first[0], first[1], rtol=0, atol=1e-6)
    has_dropout = any(key.endswith("dropout") and rate for key, rate in SMALL[name])
    assert torch.allclose(first, second) is not has_dropout


def test_dropout_keeps_the_mean_and_drops_the_share():
    x = torch.ones(3, 200, 200)
    torch.manual_seed(1)
    dropped = dropout(x, 0.2, training=True)
    assert torch.equal(dropped[0], dropped[2])
    assert dropped.unique().tolist() == [0.0, 1.25]
    assert float((dropped == 0).float().mean()) == pytest.approx(0.2, abs=0.01)
    assert dropout(x, 0.2, training=False) is x
    assert dropout(x, 0.0, training=True) is x


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("learn_alpha", [False, True])
def test_keep_drops_members_in_place(name: Any, learn_alpha: bool):
    encoding = encoding_of(LAYOUT.features, kind="learnable")
    model = small_model(name, LAYOUT, encoding, ALPHAS, learn_alpha=learn_alpha)
    perturb(model)
    parameters = list(model.parameters())
    rows = rows_of(LAYOUT)
    before = model(*rows)
    before.sum().backward()
    model.keep(torch.tensor([1, 3]))
    after = model(*rows)  # while the graph of `before` is alive
    assert model.n_members == 2
    torch.testing.assert_close(model.alphas.detach(), torch.tensor([0.1, 5.0]), atol=0.02, rtol=0)
    torch.testing.assert_close(after, before[[1, 3]], rtol=1e-5, atol=1e-6)
    assert all(one is other for one, other in zip(model.parameters(), parameters, strict=True))
    assert all(one.grad is None for one in parameters)
    after.sum().backward()
    assert all(one.grad.shape == one.shape for one in parameters)
    model.keep(torch.tensor([1]))
    torch.testing.assert_close(model(*rows)[0], before[3], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_training_one_member_leaves_the_others_alone(name: Any):
    model = small_model(name, LAYOUT, encoding_of(LAYOUT.features), ALPHAS)
    model(*rows_of(LAYOUT))[2].sum().backward()
    for parameter in model.parameters():
        assert not parameter.grad[[0, 1, 3]].any()


def test_n_parameters_is_that_of_one_member():
    # CLS 12, tokens 12 x (2 weights + 5 biases + 12 codes), two blocks of width 16 (the first
    # without attention norm): 4 x (16 x 16 + 16) + 32 + 16 x 42 + 42 + 21 x 16 + 16, 32 for the
    # second attention norm, head 32 + 16 x 2 + 2.
    tokens = 12 * (1 + 2 + 5 + 12)
    block = 4 * (16 * 16 + 16) + 32 + 16 * 42 + 42 + 21 * 16 + 16
    expected = tokens + 2 * block + 32 + 32 + 34
    model = small_model("ft_transformer", LAYOUT, encoding_of(LAYOUT.features), ALPHAS)
    assert model.n_parameters() == expected


def perturb(model: nn.Module) -> None:
    """Make members differ, as training does."""
    generator = torch.Generator().manual_seed(9)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.005 * torch.randn(parameter.shape, generator=generator)


@pytest.mark.skipif(not layers.HAS_ONEDNN, reason="this torch has no oneDNN")
@pytest.mark.parametrize("name", MODELS)
def test_products_by_onednn_are_those_of_doubles(name: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(layers, "_BY_ONEDNN", True)
    monkeypatch.setattr(layers, "_WORTH_ONEDNN", 0)
    model = small_model(name, LAYOUT, encoding_of(LAYOUT.features), ALPHAS).eval()
    doubled = copy.deepcopy(model).double()
    numeric, codes = rows_of(LAYOUT)
    outputs, exact = model(numeric, codes), doubled(numeric.double(), codes)
    torch.testing.assert_close(outputs.double(), exact, rtol=1e-4, atol=1e-5)
    weighting = torch.arange(1.0, 1 + len(ALPHAS))[:, None, None]  # members matter
    for output in (outputs, exact):
        (output.square() * weighting).sum().backward()
    for own, other in zip(model.parameters(), doubled.parameters(), strict=True):
        if own.grad is not None:
            torch.testing.assert_close(own.grad.double(), other.grad, rtol=1e-4, atol=1e-4)
