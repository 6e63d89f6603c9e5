"""From a split to a graph."""

from typing import Literal

from pydantic import Field

from tabpet.registry import GRAPHS
from tabpet.section import Section
from tabpet.settings.by_key import settings_by_key


class NodeSettings(Section):
    """The node matrix that graphs are estimated on."""

    rows: Literal["train", "all"] = Field(
        "train", description="Rows that a graph may see: training rows, or all (released code)."
    )
    max_rows: int = Field(
        5000,
        ge=10,
        description="At most this many rows, by a stratified sample for classification.",
    )
    max_levels: int = Field(
        10,
        ge=2,
        description="A categorical feature with more levels keeps its most frequent ones and "
        "pools the others, so that it has this many nodes.",
    )


class MethodSettings(settings_by_key(GRAPHS)):  # type: ignore[misc]
    """Settings of the graph estimators that have any."""
