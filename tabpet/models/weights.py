"""Initial weights: drawn once, the same for every member."""

import torch
from torch import Tensor, nn


class Members:
    """Draws every weight once and gives each of `count` members a copy of it."""

    def __init__(self, count: int, seed: int) -> None:
        self.count = count
        self.generator = torch.Generator().manual_seed(seed)

    def uniform(self, *shape: int, bound: float) -> nn.Parameter:
        """Uniform between -bound and bound."""
        return self._same(torch.empty(shape).uniform_(-bound, bound, generator=self.generator))

    def normal(self, *shape: int, std: float) -> nn.Parameter:
        """Normal with mean 0."""
        return self._same(torch.empty(shape).normal_(0.0, std, generator=self.generator))

    def constant(self, *shape: int, value: float) -> nn.Parameter:
        """The same number everywhere."""
        return nn.Parameter(torch.full((self.count, *shape), value))

    def choice(self, n: int) -> int:
        """One of 0 ... n - 1."""
        return int(torch.randint(n, (1,), generator=self.generator))

    def _same(self, drawn: Tensor) -> nn.Parameter:
        return nn.Parameter(drawn.repeat(self.count, *[1] * drawn.ndim))
