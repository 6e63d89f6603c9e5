"""What holds for all models, on tables of every kind."""

import dataclasses
from dataclasses import replace
from typing import Any

import pytest
import torch

from tabpet import registry
from tabpet.encodings import Encoding, control
from tabpet.errors import TabpetError
from tabpet.models.build import build_model, unusable_reason
from tabpet.models.context import Context
from tabpet.models.layout import Layout
from tabpet.models.saint import SaintSettings
from tabpet.models.tab_transformer import TabTransformerSettings
from tests.models.tables import MODELS, SMALL, encoding_of, layout_of, rows_of, small_model

TABLES = {
    "numeric only": (3, 0),
    "categorical only": (0, 4),
    "mixed": (3, 2),
    "one number": (1, 0),
    "one category": (0, 1),
    "260 numbers": (260, 0),
    "260 categories": (0, 260),
}
ENCODINGS = (None, "graph", "learnable")


def encoding_for(layout: Layout, kind: str | None) -> Encoding | None:
    return None if kind is None else encoding_of(layout.features, kind=kind)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", ENCODINGS)
@pytest.mark.parametrize("table", TABLES)
def test_predicts_and_learns_on_every_kind_of_table(name: Any, kind: str | None, table: str):
    layout = layout_of(*TABLES[table])
    encoding = encoding_for(layout, kind)
    if registry.MODELS.own[name].categorical_tokens and len(layout.categorical) < 2:
        reason = unusable_reason(name, layout, SMALL[name], encoding)
        assert reason is not None and "at least 2 categorical features" in reason
        with pytest.raises(TabpetError, match=f"the table has {len(layout.categorical)}"):
            small_model(name, layout, encoding)
        return
    assert unusable_reason(name, layout, SMALL[name], encoding) is None
    # Weights between all pairs of tokens: one member is enough of them.
    alphas = (0.5,) if len(layout.features) > 200 else (0.0, 0.5, 2.0)
    model = small_model(name, layout, encoding, alphas).train()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.01  # where a weight starts at zero, others can't move
    predicted = model(*rows_of(layout))
    assert predicted.shape == (len(alphas), 6, 2)
    assert predicted.isfinite().all()
    predicted.square().sum().backward()
    for key, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad[-1].any(), key


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", ENCODINGS)
@pytest.mark.parametrize("n_outputs", [1, 2, 10])
def test_outputs_are_classes_or_one_number(name: Any, kind: str | None, n_outputs: int):
    layout = layout_of(2, 3, n_outputs)
    model = small_model(name, layout, encoding_for(layout, kind))
    assert model(*rows_of(layout)).shape == (3, 6, n_outputs)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", ENCODINGS)
@pytest.mark.parametrize("training", [False, True])
def test_a_batch_of_one_row(name: Any, kind: str | None, training: bool):
    layout = layout_of(2, 3)
    model = small_model(name, layout, encoding_for(layout, kind)).train(training)
    predicted = model(*rows_of(layout, n=1))
    assert predicted.shape == (3, 1, 2) and predicted.isfinite().all()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", ENCODINGS)
def test_unseen_categories_have_a_code_of_their_own(name: Any, kind: str | None):
    layout = layout_of(2, 3)
    model = small_model(name, layout, encoding_for(layout, kind))
    numeric, codes = rows_of(layout)
    outputs = []
    for code in range(layout.cardinalities[1]):
        codes[0, 1] = code
        outputs.append(model(numeric, codes)[:, 0])
    assert torch.stack(outputs).isfinite().all()
    for other in outputs[:-1]:
        assert not torch.allclose(outputs[-1], other)
    codes[0, 1] = layout.cardinalities[1] - 1
    codes[0, 2] = 0
    assert not torch.allclose(model(numeric, codes)[:, 0], outputs[-1])


@pytest.mark.parametrize("name", MODELS)
def test_fixed_encodings_cost_no_parameters_and_trained_ones_their_table(name: Any):
    layout = layout_of(2, 3)
    graph = encoding_of(layout.features)
    fixed = [graph, control(graph, "random", 1), control(graph, "shuffled", 1)]
    counts = [
        small_model(name, layout, one, alphas).n_parameters()
        for one in fixed
        for alphas in ((0.0,), (2.0,), (0.0, 0.5, 2.0))
    ]
    assert len(set(counts)) == 1
    learnable = small_model(name, layout, control(graph, "learnable", 1), (0.0, 1.0))
    tokens = 3 if registry.MODELS.own[name].categorical_tokens else 5
    assert learnable.n_parameters() == counts[0] + tokens * graph.d_pe


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("integration", ["concatenate", "project"])
def test_alpha_0_equals_an_encoding_of_zeros(name: Any, integration: str):
    layout = layout_of(2, 3)
    graph = encoding_of(layout.features)
    zeros = dataclasses.replace(graph, values=0 * graph.values)
    rows = rows_of(layout)
    baseline = small_model(name, layout, graph, (0.0,), integration=integration)(*rows)
    for alpha in (0.0, 1.0, 10.0):
        model = small_model(name, layout, zeros, (alpha,), integration=integration)
        assert torch.equal(model(*rows), baseline)
    model = small_model(name, layout, graph, (1.0,), integration=integration)
    assert not torch.allclose(model(*rows), baseline, atol=1e-4)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", ["graph", "learnable"])
def test_encodings_follow_names_not_places(name: Any, kind: str):
    layout = layout_of(2, 3)
    graph = encoding_of(layout.features)
    order = [3, 0, 4, 2, 1]
    moved = dataclasses.replace(
        graph,
        features=tuple(graph.features[i] for i in order),
        values=graph.values[order],
    )
    if kind == "learnable":
        graph, moved = (control(one, "learnable", 1) for one in (graph, moved))
    rows = rows_of(layout)
    expected = small_model(name, layout, graph)(*rows)
    assert torch.equal(small_model(name, layout, moved)(*rows), expected)


@pytest.mark.parametrize("name", MODELS)
def test_an_encoding_of_another_table_is_refused(name: Any):
    layout = layout_of(2, 3)
    with pytest.raises(TabpetError, match=r"no row for 'c1'.*encode this one again"):
        small_model(name, layout, encoding_of(["x0", "x1", "c0", "c2"]))


def test_tab_transformer_needs_rows_for_its_tokens_only():
    layout = layout_of(2, 3)
    small_model("tab_transformer", layout, encoding_of(["c0", "c1", "c2"]))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("kind", ["graph", "learnable"])
@pytest.mark.parametrize("d_pe", [0, 1, 3])
def test_an_encoding_of_few_nodes_may_have_any_width(name: Any, kind: str, d_pe: int):
    layout = layout_of(2, 3)
    encoding = encoding_of(layout.features, d_pe, kind)
    assert small_model(name, layout, encoding)(*rows_of(layout)).isfinite().all()


@pytest.mark.parametrize("name", MODELS)
def test_too_wide_encodings_are_refused_and_say_how_wide(name: Any):
    layout = layout_of(2, 3)
    # A token keeps at least one column for what it says itself.
    room = SMALL[name].width - registry.MODELS.own[name].reserved_width(SMALL[name]) - 1
    assert room == {"ft_transformer": 15, "saint": 5, "tab_transformer": 6}.get(name, room)
    fits = encoding_of(layout.features, d_pe=room)
    assert small_model(name, layout, fits)(*rows_of(layout)).isfinite().all()
    wide = encoding_of(layout.features, d_pe=room + 1)
    reason = unusable_reason(name, layout, SMALL[name], wide)
    assert reason is not None
    assert f"{room + 1} wide" in reason and f"room for {room}" in reason
    with pytest.raises(TabpetError, match="lower `encoding.k_max`"):
        small_model(name, layout, wide)
    # Where k is the least that is allowed, only a lower least helps.
    least = replace(wide, settings={"k_min": wide.k})
    assert "lower `encoding.k_min`" in str(unusable_reason(name, layout, SMALL[name], least))
    # Added through a projection, any width has room.
    assert unusable_reason(name, layout, SMALL[name], wide, integration="project") is None
    assert small_model(name, layout, wide, integration="project")(*rows_of(layout)).ndim == 3


@pytest.mark.parametrize(
    ("name", "settings"),
    [("saint", SaintSettings()), ("tab_transformer", TabTransformerSettings())],
)
def test_the_widest_encoding_fits_a_token_of_32(name: Any, settings: Any):
    layout = layout_of(1, 2)
    model = build_model(name, layout, settings, encoding_of(layout.features, 20), (1.0,), seed=1)
    assert model(*rows_of(layout)).isfinite().all()


@pytest.mark.parametrize("name", MODELS)
def test_rows_see_each_other_in_training_at_most_and_never_when_they_are_scored(name: Any):
    layout = layout_of(2, 3)
    model = small_model(name, layout, encoding_of(layout.features))
    numeric, codes = rows_of(layout)
    for forward, apart in (
        (model, not model.needs_context),
        (model.given(Context(*rows_of(layout, seed=9))), True),
    ):
        together = forward(numeric, codes)
        alone = torch.cat([forward(numeric[i : i + 1], codes[i : i + 1]) for i in range(6)], dim=1)
        assert torch.allclose(together, alone, atol=1e-5) is apart


@pytest.mark.parametrize("name", MODELS)
def test_scored_rows_of_a_member_are_what_they_are_alone(name: Any):
    layout, alphas = layout_of(2, 3), (0.0, 0.5, 2.0)
    encoding, context = encoding_of(layout.features), Context(*rows_of(layout, seed=9))
    together = small_model(name, layout, encoding, alphas).given(context)(*rows_of(layout))
    for member, alpha in enumerate(alphas):
        alone = small_model(name, layout, encoding, (alpha,)).given(context)(*rows_of(layout))
        torch.testing.assert_close(alone[0], together[member], rtol=1e-5, atol=1e-6)
