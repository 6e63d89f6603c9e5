"""Outputs of a trained model: no row's depend on which others are scored with it."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from tabpet.models.context import Context
from tabpet.models.members import MemberModel

# Tokens of all members in one batch: large enough to be quick, small enough to fit.
_TOKENS_AT_ONCE = 2**16
_ROWS_AT_ONCE = 1024  # of embeddings whose singular values are wanted


@torch.inference_mode()
def score_rows(
    model: MemberModel, numeric: Tensor, categorical: Tensor, context: Context, batch_size: int
) -> Tensor:
    """Outputs for all rows in their order, (members, rows, n_outputs)."""
    model.eval()
    outputs_of = model.given(context)
    pairs = _batches(model, numeric, categorical, batch_size)
    return torch.cat([outputs_of(*pair) for pair in pairs], dim=1)


@torch.inference_mode()
def embedding_spectrum(
    model: MemberModel, numeric: Tensor, categorical: Tensor, batch_size: int
) -> np.ndarray:
    """Singular values of the matrix of all rows' embeddings, (members, min(rows, width)).

    Rows join a triangular factor that has the singular values of all before them, so that few are
    in memory at once.
    """
    model.eval()
    seen: list[Tensor] = []
    for pair in _batches(model, numeric, categorical, batch_size):
        seen.append(model.embed(*pair).double())
        if sum(rows.shape[1] for rows in seen) > _ROWS_AT_ONCE:
            seen = [torch.linalg.qr(torch.cat(seen, dim=1), mode="r").R]
    return torch.linalg.svdvals(torch.cat(seen, dim=1)).cpu().numpy()


def _batches(
    model: MemberModel, numeric: Tensor, categorical: Tensor, batch_size: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """All rows in their order, as many at once as fit."""
    tokens = 1 + numeric.shape[1] + categorical.shape[1]
    rows = max(batch_size, _TOKENS_AT_ONCE // (model.n_members * tokens))
    return zip(numeric.split(rows), categorical.split(rows), strict=True)
