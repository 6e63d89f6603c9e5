"""Transformers with positional encodings, several members (alphas of a seed) in one module."""

from collections.abc import Callable, Sequence

from tabpet.config import (
    FTTransformerSettings,
    ModelName,
    SaintSettings,
    TabTransformerSettings,
)
from tabpet.encodings import Encoding
from tabpet.errors import TabpetError
from tabpet.models.context import Context
from tabpet.models.ft_transformer import FTTransformer
from tabpet.models.layout import Layout
from tabpet.models.members import MemberModel
from tabpet.models.positions import Integration, Positions
from tabpet.models.saint import Saint
from tabpet.models.tab_transformer import TabTransformer, shared_width
from tabpet.models.weights import Members

__all__ = ["Context", "Integration", "Layout", "MemberModel", "build_model", "unusable_reason"]

Architecture = FTTransformerSettings | SaintSettings | TabTransformerSettings
_MODELS: dict[ModelName, Callable[..., MemberModel]] = {
    "ft_transformer": FTTransformer,
    "saint": Saint,
    "tab_transformer": TabTransformer,
}


def build_model(
    name: ModelName,
    layout: Layout,
    settings: Architecture,
    encoding: Encoding | None,
    alphas: Sequence[float],
    *,
    seed: int,
    integration: Integration = "concatenate",
    learn_alpha: bool = False,
) -> MemberModel:
    """A model with a member per alpha; without an encoding, tokens have the whole width."""
    if reason := unusable_reason(name, layout, settings, encoding, integration=integration):
        raise TabpetError(reason)
    positions = Positions(
        encoding,
        layout.categorical if name == "tab_transformer" else layout.features,
        alphas,
        width=settings.width,
        seed=seed,
        integration=integration,
        learn_alpha=learn_alpha,
    )
    return _MODELS[name](Members(len(alphas), seed), layout, settings, positions)


def unusable_reason(
    name: ModelName,
    layout: Layout,
    settings: Architecture,
    encoding: Encoding | None,
    *,
    integration: Integration = "concatenate",
) -> str | None:
    """The reason why a model can't be built for a table, if there is one."""
    n_categorical = len(layout.categorical)
    if name == "tab_transformer" and n_categorical < 2:
        return f"{name} needs at least 2 categorical features, the table has {n_categorical}"
    d_pe = 0 if encoding is None or integration == "project" else encoding.d_pe
    taken = shared_width(settings) if isinstance(settings, TabTransformerSettings) else 0
    room = settings.width - taken - 1
    if d_pe > room:
        return (
            f"the encoding is {d_pe} wide, but a token of {name} (width {settings.width}) has room "
            f"for {room}: lower `encoding.k_max` or raise `model_settings.{name}.width`"
        )
    return None
