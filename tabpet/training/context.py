"""The training rows that SAINT's scored rows attend to."""

import torch

from tabpet.models.context import Context
from tabpet.seeds import derive_seed
from tabpet.training.table import Part


def draw_context(train: Part, batch_size: int, seed: int) -> Context:
    """A sample of training rows as large as the company of a row in training, drawn by the seed."""
    # NOTE[PAPER]: neither text nor code says which rows a scored row attends to. With itself they
    # are as many as in a batch of training, and the same whatever else is scored.
    size = max(1, min(batch_size, len(train)) - 1)
    draw = torch.Generator().manual_seed(derive_seed(seed, "context"))
    rows = torch.randperm(len(train), generator=draw)[:size].to(train.numeric.device)
    return Context(train.numeric[rows], train.categorical[rows])
