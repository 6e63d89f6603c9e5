"""From a graph to positional encodings."""

from typing import Literal

from pydantic import Field, model_validator

from tabpet.section import Section


class EncodingSettings(Section):
    """From a graph to positional encodings (paper, section "Positional Encoding Creation")."""

    symmetrize: Literal["mean", "max"] = Field(
        "mean",
        description="How a directed graph becomes undirected: mean of both directions (paper), or "
        "the larger (released code).",
    )
    laplacian: Literal["combinatorial", "normalized"] = Field(
        "combinatorial",
        description="Laplacian whose eigenvectors are taken: D - A (paper), or normalized "
        "(released code).",
    )
    k_min: int = Field(2, ge=1, description="Fewest eigenvectors from each end of the spectrum.")
    k_max: int = Field(10, ge=1, description="Most eigenvectors from each end of the spectrum.")
    clip: float = Field(10.0, gt=0, description="Encodings are cut at this absolute value.")
    few_nodes: Literal["lower", "repeat"] = Field(
        "lower",
        description="A graph with fewer than 2 k + 1 nodes: lower k until no eigenvector is used "
        "twice, or keep k and repeat those that belong to both ends (released code).",
    )

    @model_validator(mode="after")
    def _ordered(self) -> "EncodingSettings":
        if self.k_min > self.k_max:
            raise ValueError(f"k_min ({self.k_min}) is larger than k_max ({self.k_max})")
        return self
