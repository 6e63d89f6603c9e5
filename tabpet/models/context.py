"""Rows that a model looks at beside those it scores."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Context:
    """Training rows that belong to a trained model as its parameters do."""

    numeric: Tensor  # (n, n_numeric), float32
    categorical: Tensor  # (n, n_categorical), int64

    def __len__(self) -> int:
        return len(self.numeric)
