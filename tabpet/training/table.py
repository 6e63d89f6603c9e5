"""A prepared split as tensors on the training device, moved there once."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn import functional as F

from tabpet.data.prepare import PARTS, Split
from tabpet.models.layout import Layout
from tabpet.runs import score
from tabpet.settings import TrainingSettings


@dataclass(frozen=True)
class Part:
    """The rows of one part; features in the token order of the layout."""

    numeric: Tensor  # (n, n_numeric), float32
    categorical: Tensor  # (n, n_categorical), int64
    target: Tensor  # (n,), class index or scaled number
    truth: np.ndarray  # (n,), class index or number in its own unit
    rows: np.ndarray  # (n,), rows of the raw table
    weight: Tensor | None = None  # (n,), of a row in the loss; None: all the same

    def __len__(self) -> int:
        return len(self.truth)


@dataclass(frozen=True)
class Table:
    """All parts, the loss and the way back from outputs to predictions."""

    task: str
    parts: dict[str, Part]
    class_weights: Tensor | None  # (n_classes,), None for regression
    mean: float  # of the target; a prediction is output * scale + mean
    scale: float
    accuracy_weights: np.ndarray | None = None  # (n_classes,), in `score`; None: balanced accuracy

    def losses(self, outputs: Tensor, target: Tensor, weight: Tensor | None = None) -> Tensor:
        """The loss of every member, (M,), from outputs (M, B, n_outputs) and targets (B,)."""
        if self.class_weights is None:
            squares = (outputs.squeeze(-1) - target).square()
            return squares.mean(dim=1) if weight is None else squares @ (weight / weight.sum())
        members, rows, _ = outputs.shape
        labels = target.expand(members, rows)
        losses = F.cross_entropy(
            outputs.flatten(0, 1), labels.flatten(), self.class_weights, reduction="none"
        )
        losses, weights = losses.view(members, rows), self.class_weights[target]
        if weight is not None:
            losses, weights = losses * weight, weights * weight
        # Rows whose classes no training row has weigh nothing: their loss is 0, not 0 / 0.
        return losses.sum(dim=1) / weights.sum().clamp_min(1e-12)

    def predict(self, outputs: Tensor) -> np.ndarray:
        """Class indices, or numbers in the target's own unit, (M, B)."""
        if self.class_weights is not None:
            return outputs.argmax(dim=-1).cpu().numpy()
        return outputs.squeeze(-1).double().cpu().numpy() * self.scale + self.mean

    def score(self, truth: np.ndarray, predicted: np.ndarray) -> float:
        """The score of one member that stops training and chooses alpha."""
        if self.accuracy_weights is None:
            return score(self.task, truth, predicted)
        return float(np.average(truth == predicted, weights=self.accuracy_weights[truth]))


def build_table(
    split: Split, layout: Layout, settings: TrainingSettings, device: torch.device
) -> Table:
    """Move a split to the device."""
    info = split.info
    mean, scale = 0.0, 1.0
    # NOTE[AUTHORS]: the released code trains on the raw target.
    if info.task == "regression" and settings.target_scaling == "standard":
        mean, scale = info.target.mean, info.target.scale
    parts = {
        name: _build_part(split, name, layout, mean, scale, device)
        for name in PARTS
        if info.rows[name]
    }
    weights = None
    if info.target.classes is not None:
        weights = class_weights(parts["train"].truth, len(info.target.classes)).to(device)
    return Table(info.task, parts, weights, mean, scale)


def class_weights(labels: np.ndarray, n_classes: int) -> Tensor:
    """1 / (C p_c) by class, so that all C classes of the labels count the same; 0 for others."""
    counts = np.bincount(labels, minlength=n_classes)
    present = counts > 0
    weights = np.zeros(n_classes, dtype=np.float32)
    weights[present] = len(labels) / (present.sum() * counts[present])
    return torch.from_numpy(weights)


def _build_part(
    split: Split, name: str, layout: Layout, mean: float, scale: float, device: torch.device
) -> Part:
    frame = split.part(name)
    truth = frame[split.info.target.name].to_numpy()
    if split.info.task == "classification":
        truth = truth.astype(np.int64)
        target = torch.from_numpy(truth)
    else:
        target = torch.from_numpy(((truth - mean) / scale).astype(np.float32))
    numeric, categorical = feature_tensors(frame, layout)
    return Part(
        numeric=numeric.to(device),
        categorical=categorical.to(device),
        target=target.to(device),
        truth=truth,
        rows=frame["row"].to_numpy(),
    )


def feature_tensors(frame: pd.DataFrame, layout: Layout) -> tuple[Tensor, Tensor]:
    """Coded features in the order of tokens: numbers as float32, codes as int64."""
    numeric = np.array(frame[[*layout.numeric]], dtype=np.float32, order="C")
    categorical = np.array(frame[[*layout.categorical]], dtype=np.int64, order="C")
    return torch.from_numpy(numeric), torch.from_numpy(categorical)
