"""Small tables, encodings and models for the tests of this folder."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tabpet import registry
from tabpet.encodings import Encoding
from tabpet.models.build import build_model
from tabpet.models.ft_transformer import FTTransformerSettings
from tabpet.models.layout import Layout
from tabpet.models.members import MemberModel
from tabpet.models.saint import SaintSettings
from tabpet.models.tab_transformer import TabTransformerSettings

MODELS = tuple(registry.MODELS.own)
SMALL: dict[str, Any] = {
    **{key: model.settings() for key, model in registry.MODELS.own.items()},
    "ft_transformer": FTTransformerSettings(width=16, n_heads=4, n_layers=2),
    "saint": SaintSettings(width=6, n_heads=2),
    "tab_transformer": TabTransformerSettings(width=8, n_heads=2, head_width=4, depth=2),
}


def layout_of(n_numeric: int, n_categorical: int, n_outputs: int = 2) -> Layout:
    """Features x0, x1, ... and c0, c1, ...; c_i has 3 + i % 4 codes."""
    return Layout(
        numeric=tuple(f"x{i}" for i in range(n_numeric)),
        categorical=tuple(f"c{i}" for i in range(n_categorical)),
        cardinalities=tuple(3 + i % 4 for i in range(n_categorical)),
        n_outputs=n_outputs,
    )


def encoding_of(features: Sequence[str], d_pe: int = 4, kind: str = "graph") -> Encoding:
    """Normal numbers; zeros for a learnable encoding, as `control` makes them."""
    values = np.random.default_rng(7).standard_normal((len(features), d_pe))
    return Encoding(
        features=tuple(features),
        values=np.zeros_like(values) if kind == "learnable" else values,
        k=d_pe // 2,
        eigenvalues=np.zeros(len(features)),
        normalized_eigenvalues=np.zeros(len(features)),
        used=tuple(range(d_pe)),
        kind=kind,
    )


def rows_of(layout: Layout, n: int = 6, seed: int = 3) -> tuple[Tensor, Tensor]:
    """Numbers and codes of n rows."""
    generator = torch.Generator().manual_seed(seed)
    numeric = torch.randn(n, len(layout.numeric), generator=generator)
    codes = [torch.randint(one, (n,), generator=generator) for one in layout.cardinalities]
    shape = (n, len(layout.categorical))
    return numeric, torch.stack(codes, dim=1) if codes else torch.zeros(shape, dtype=torch.int64)


def small_model(
    name: Any,
    layout: Layout,
    encoding: Encoding | None,
    alphas: Sequence[float] = (0.0, 0.5, 2.0),
    **options: Any,
) -> MemberModel:
    """A model in its small settings, ready to predict."""
    options = {"seed": 1, "settings": SMALL[name], **options}
    settings = options.pop("settings")
    return build_model(name, layout, settings, encoding, alphas, **options).eval()
