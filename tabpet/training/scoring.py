"""Outputs of a trained model: no row's depend on which others are scored with it."""

import torch
from torch import Tensor

from tabpet.models.context import Context
from tabpet.models.members import MemberModel

# Tokens of all members in one batch: large enough to be quick, small enough to fit.
_TOKENS_AT_ONCE = 2**16


@torch.inference_mode()
def score_rows(
    model: MemberModel, numeric: Tensor, categorical: Tensor, context: Context, batch_size: int
) -> Tensor:
    """Outputs for all rows in their order, (members, rows, n_outputs)."""
    model.eval()
    tokens = 1 + numeric.shape[1] + categorical.shape[1]
    rows = max(batch_size, _TOKENS_AT_ONCE // (model.n_members * tokens))
    pairs = zip(numeric.split(rows), categorical.split(rows), strict=True)
    outputs_of = model.given(context)
    return torch.cat([outputs_of(*pair) for pair in pairs], dim=1)
