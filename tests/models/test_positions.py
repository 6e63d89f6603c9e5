"""Encodings on tokens: scaling, placing, integration modes, trained tables and alphas."""

import dataclasses

import pytest
import torch

from tabpet.data.prepare import Feature, SplitInfo, TargetInfo
from tabpet.models.ft_transformer.network import FeatureTokenizer
from tabpet.models.layout import Layout
from tabpet.models.positions import Positions
from tabpet.models.saint.network import Tokenizer
from tabpet.models.tab_transformer.network import ColumnTokenizer
from tabpet.models.weights import Members
from tests.models.tables import encoding_of, layout_of, rows_of

LAYOUT = layout_of(2, 3)
GRAPH = encoding_of(LAYOUT.features)
VALUES = torch.tensor(GRAPH.values, dtype=torch.float32)


@pytest.mark.parametrize("model", ["ft_transformer", "saint"])
def test_the_last_columns_are_alpha_times_the_encoding_and_zeros_for_cls(model: str):
    positions = Positions(GRAPH, LAYOUT.features, (0.0, 0.5), width=16, seed=1)
    start = Members(2, 1), LAYOUT, positions.token_width
    rows = *rows_of(LAYOUT), positions()
    x = Tokenizer(*start)(*rows) if model == "saint" else FeatureTokenizer(*start)(*rows).join()
    assert x.shape == (2, 6, 6, 16)
    assert not x[:, :, 0, 12:].any()
    assert not x[0, :, :, 12:].any()
    torch.testing.assert_close(x[1, :, 1:, 12:], (0.5 * VALUES).expand(6, -1, -1))
    # All else is the same for both alphas.
    torch.testing.assert_close(x[0, ..., :12], x[1, ..., :12])
    assert x[..., :12].all()


def test_tab_transformer_tokens_are_level_feature_and_encoding():
    categorical = LAYOUT.categorical
    positions = Positions(GRAPH, categorical, (0.5,), width=8, seed=1)
    tokens = ColumnTokenizer(Members(1, 1), LAYOUT, positions.token_width, shared=1)
    codes = rows_of(LAYOUT)[1]
    x = tokens(codes, positions())[0]
    assert x.shape == (6, 3, 8)
    # c0 has 3 codes, c1 4: the table begins with 3 rows for c0.
    torch.testing.assert_close(x[:, 1, :3], tokens.embedding.weight[0, 3 + codes[:, 1]])
    torch.testing.assert_close(x[2, :, 3:4], tokens.shared[0])
    torch.testing.assert_close(x[:, :, 4:], (0.5 * VALUES[2:]).expand(6, -1, -1))


def test_project_adds_a_learned_map_of_the_encoding():
    positions = Positions(
        GRAPH, LAYOUT.features, (0.0, 0.5), width=16, seed=1, integration="project"
    )
    assert positions.token_width == 16
    assert positions.projection is not None
    expected = 0.5 * VALUES @ positions.projection[1]
    torch.testing.assert_close(positions()[1], expected)
    assert not positions()[0].any()


def test_a_learned_alpha_moves_unless_it_is_0():
    positions = Positions(GRAPH, LAYOUT.features, (0.0, 0.5), width=16, seed=1, learn_alpha=True)
    torch.testing.assert_close(positions()[1, :, 12:], 0.5 * VALUES)
    positions().sum().backward()
    assert positions.alphas.grad is not None
    assert positions.alphas.grad[0] == 0
    assert positions.alphas.grad[1] == pytest.approx(float(VALUES.sum()), rel=1e-5)


def test_a_trained_table_starts_small_by_name_and_apart_from_other_weights():
    learnable = encoding_of(LAYOUT.features, kind="learnable")
    table = Positions(learnable, LAYOUT.features, (0.0, 1.0), width=16, seed=1).table
    assert table.shape == (2, 5, 4) and table.requires_grad
    assert 0.01 < float(table.detach().std()) < 0.03
    reordered = ("c2", "x1", "c0", "x0", "c1")
    moved = Positions(learnable, reordered, (1.0,), width=16, seed=1).table
    for place, name in enumerate(reordered):
        assert torch.equal(moved[0, place], table[0, LAYOUT.features.index(name)])
    other = Positions(learnable, LAYOUT.features, (1.0,), width=16, seed=2).table
    assert not torch.equal(other[0], table[0])


def test_without_an_encoding_tokens_have_the_whole_width():
    positions = Positions(None, LAYOUT.features, (0.0,), width=16, seed=1)
    assert positions.token_width == 16
    assert positions().shape == (1, 5, 16) and not positions().any()


def test_rows_of_other_features_are_not_used():
    wide = encoding_of(("z", *LAYOUT.features))
    narrow = dataclasses.replace(wide, features=wide.features[1:], values=wide.values[1:])
    one, other = (
        Positions(each, LAYOUT.features, (1.0,), width=16, seed=1) for each in (wide, narrow)
    )
    assert torch.equal(one(), other())


def info_of(classes: list[str] | None) -> SplitInfo:
    features = [
        Feature(name="c", kind="categorical", levels=["a", "b"]),
        Feature(name="x", kind="numeric"),
        Feature(name="d", kind="categorical", levels=["u", "v", "w"]),
    ]
    return SplitInfo(
        dataset="t",
        split=1,
        task="regression" if classes is None else "classification",
        target=TargetInfo(name="y", classes=classes),
        features=features,
        dropped_features={},
        missing_numbers="none",
        rows={},
        rows_dropped={},
        warnings=[],
        prepare={},
    )


def test_layout_puts_numbers_first_and_counts_the_unseen_code():
    assert Layout.of(info_of(["n", "y"])) == Layout(("x",), ("c", "d"), (3, 4), 2)
    assert Layout.of(info_of(None)).n_outputs == 1
    assert Layout.of(info_of(None)).features == ("x", "c", "d")
