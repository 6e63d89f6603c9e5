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
        weight = torch.empty(self.count, *shape)
        weight[0].uniform_(-bound, bound, generator=self.generator)
        return self.same(weight)

    def normal(self, *shape: int, std: float) -> nn.Parameter:
        """Normal with mean 0."""
        weight = torch.empty(self.count, *shape)
        weight[0].normal_(0.0, std, generator=self.generator)
        return self.same(weight)

    def constant(self, *shape: int, value: float) -> nn.Parameter:
        """The same number everywhere."""
        return nn.Parameter(torch.full((self.count, *shape), value))

    def choice(self, n: int) -> int:
        """One of 0 ... n - 1."""
        return int(torch.randint(n, (1,), generator=self.generator))

    @staticmethod
    def same(weight: Tensor) -> nn.Parameter:
        """A parameter in which all members have what the first one has."""
        weight[1:] = weight[0]
        return nn.Parameter(weight)
