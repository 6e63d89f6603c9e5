"""Building a model by its key."""

import pkgutil
from collections.abc import Sequence
from typing import Any

from tabpet.encodings import Encoding
from tabpet.errors import TabpetError
from tabpet.models.layout import Layout
from tabpet.models.members import MemberModel
from tabpet.models.positions import Integration, Positions
from tabpet.models.weights import Members
from tabpet.registry import MODELS


def build_model(
    name: str,
    layout: Layout,
    settings: Any,
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
    model = MODELS.find(name)
    positions = Positions(
        encoding,
        layout.categorical if model.categorical_tokens else layout.features,
        alphas,
        width=settings.width,
        seed=seed,
        integration=integration,
        learn_alpha=learn_alpha,
    )
    network = pkgutil.resolve_name(model.network)
    return network(Members(len(alphas), seed), layout, settings, positions)


def unusable_reason(
    name: str,
    layout: Layout,
    settings: Any,
    encoding: Encoding | None,
    *,
    integration: Integration = "concatenate",
) -> str | None:
    """The reason why a model can't be built for a table, if there is one."""
    model, n_categorical = MODELS.find(name), len(layout.categorical)
    if model.categorical_tokens and n_categorical < 2:
        return f"{name} needs at least 2 categorical features, the table has {n_categorical}"
    d_pe = 0 if encoding is None or integration == "project" else encoding.d_pe
    room = settings.width - model.reserved_width(settings) - 1
    if encoding is not None and d_pe > room:
        # Where k is the least that is allowed already, lowering the most changes nothing.
        bound = "k_min" if encoding.k <= encoding.settings.get("k_min", 0) else "k_max"
        return (
            f"the encoding is {d_pe} wide, but a token of {name} (width {settings.width}) has room "
            f"for {room}: lower `encoding.{bound}` or raise `model_settings.{name}.width`"
        )
    return None
