"""Models with a leading member axis: one weight tensor holds all alphas of a seed.

Every parameter has the shape (members, ...). All members start from the same draw, see the same
batches and the same dropout masks, and never exchange anything, so each is what it would be alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor, nn

from tabpet.errors import TabpetError
from tabpet.models.context import Context
from tabpet.models.positions import Positions


class MemberModel(nn.Module, ABC):
    """A model of several members, which differ in alpha alone when training begins."""

    needs_context = False  # whether scored rows look at the context that they are given

    def __init__(self, positions: Positions) -> None:
        super().__init__()
        self.positions = positions

    @property
    def alphas(self) -> Tensor:
        """The scale of each member's encodings, (members,)."""
        return self.positions.alphas

    @property
    def n_members(self) -> int:
        """How many members are left."""
        return len(self.alphas)

    def n_parameters(self) -> int:
        """Trainable numbers of one member."""
        return sum(parameter[0].numel() for parameter in self.parameters())

    @abstractmethod
    def forward(self, numeric: Tensor, categorical: Tensor) -> Tensor:
        """From (B, n_numeric) floats and (B, n_categorical) codes to (members, B, n_outputs)."""

    def given(self, context: Context) -> Callable[[Tensor, Tensor], Tensor]:
        """What `forward` is to scored rows: no row's outputs depend on the others of its batch.

        A model whose rows attend to each other in training lets them attend to the context.
        """
        return self

    def embed(self, numeric: Tensor, categorical: Tensor) -> Tensor:
        """What the last linear layer reads of each row, (members, B, width)."""
        raise TabpetError(f"effective ranks are not measured of {type(self).__name__}")

    @torch.no_grad()
    def keep(self, members: Tensor) -> None:
        """Drop the members that are not listed; parameters stay the same objects."""
        for parameter in self.parameters():
            kept = parameter.data[members]
            # A change of type makes autograd forget the old shape, even while a graph is alive.
            parameter.data = torch.empty(0, dtype=torch.float64, device=kept.device)
            parameter.data = kept
            parameter.grad = None
        for module in self.modules():
            for name in getattr(module, "member_buffers", ()):
                setattr(module, name, getattr(module, name)[members])
