"""Positional encodings of tokens: scaled by alpha, joined by feature name (Methodology,
"Integration with Transformers")."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tabpet.encodings import Encoding
from tabpet.errors import TabpetError
from tabpet.models.weights import Members

Integration = Literal["concatenate", "project"]
# Spread of a trained table before training, that of BERT's and ViT's position embeddings.
# NOTE[PAPER]: "randomly initialized" is all that the text says.
LEARNABLE_STD = 0.02
# Keeps the draws of trained tables and projections apart from those of all other weights.
_OWN_STREAM = 2**32


class Positions(nn.Module):
    """The encodings of the features that are tokens, times each member's alpha."""

    active: Tensor  # (members,), 0 where alpha is 0 and stays so
    alphas: Tensor  # (members,)
    table: Tensor  # (features, d_pe), or (members, features, d_pe) when trained
    member_buffers: tuple[str, ...]

    def __init__(
        self,
        encoding: Encoding | None,
        features: Sequence[str],
        alphas: Sequence[float],
        *,
        width: int,
        seed: int,
        integration: Integration = "concatenate",
        learn_alpha: bool = False,
    ) -> None:
        super().__init__()
        values = rows_by_name(encoding, features)
        members = Members(len(alphas), seed + _OWN_STREAM)
        scale = torch.tensor(alphas, dtype=torch.float32)
        self.learn_alpha = learn_alpha
        if learn_alpha:
            # Alpha 0 is the model without encodings, also when alpha is trained.
            self.alphas = nn.Parameter(scale)
            self.register_buffer("active", (scale != 0).float())
        else:
            self.register_buffer("alphas", scale)
        self.member_buffers = ("active",) if learn_alpha else ("alphas",)
        d_pe = values.shape[1]
        if encoding is not None and encoding.is_trained:
            self.table = _draw_table(members, features, d_pe)
        else:
            self.register_buffer("table", values)
        self.projection: nn.Parameter | None = None
        if integration == "project":
            self.projection = members.uniform(d_pe, width, bound=max(d_pe, 1) ** -0.5)
        # Columns that are left for what a token says itself.
        self.token_width = width if integration == "project" else width - d_pe

    def forward(self) -> Tensor:
        """What is added to each feature's token, (members, features, width)."""
        scale = self.alphas * self.active if self.learn_alpha else self.alphas
        scaled = scale[:, None, None] * self.table
        if self.projection is not None:
            return scaled @ self.projection
        return F.pad(scaled, (self.token_width, 0))


def add_positions(tokens: Tensor, positions: Tensor) -> Tensor:
    """Tokens (members, B, tokens, own width) padded to the whole width, plus their encodings."""
    return F.pad(tokens, (0, positions.shape[-1] - tokens.shape[-1])) + positions[:, None]


def rows_by_name(encoding: Encoding | None, features: Sequence[str]) -> Tensor:
    """The encoding's rows in the order of the tokens, (features, d_pe)."""
    if encoding is None:
        return torch.zeros(len(features), 0)
    places = {name: place for place, name in enumerate(encoding.features)}
    missing = [name for name in features if name not in places]
    if missing:
        raise TabpetError(
            f"The encoding has no row for {', '.join(map(repr, missing[:5]))}. "
            "It was made from another table or split: encode this one again."
        )
    rows = encoding.values[[places[name] for name in features]]
    return torch.from_numpy(np.ascontiguousarray(rows, dtype=np.float32))


def _draw_table(members: Members, features: Sequence[str], d_pe: int) -> nn.Parameter:
    """A trained table, drawn in the order of names so that the order of columns has no say."""
    drawn = members.normal(len(features), d_pe, std=LEARNABLE_STD).detach()
    order = np.argsort(np.array(features, dtype=np.str_), kind="stable")
    table = torch.empty_like(drawn)
    table[:, torch.from_numpy(order)] = drawn
    return nn.Parameter(table)
