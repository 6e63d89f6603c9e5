"""A prepared split as tree learners and linear models take it: arrays, classes and weights."""

from dataclasses import dataclass

import numpy as np

from tabpet.data.prepare import PARTS, Split
from tabpet.runs import score


@dataclass(frozen=True)
class Sample:
    """Rows to learn from, or to watch while learning."""

    values: np.ndarray  # (n, d)
    target: np.ndarray  # (n,), class index 0 ... K - 1, or the standardised number
    weight: np.ndarray  # (n,), of mean 1


@dataclass(frozen=True)
class Table:
    """The parts of a split as matrices.

    Learners know the classes of the training rows alone, as 0 ... K - 1, and a number by its
    standardised value; `decode` leads back.
    """

    task: str
    levels: np.ndarray  # (d,), of a categorical feature: its levels and the code of unseen ones
    values: dict[str, np.ndarray]  # part -> (n, d) float64, scaled numbers and category codes
    target: dict[str, np.ndarray]  # part -> (n,), as in the split
    classes: np.ndarray  # (K,), ascending; empty for regression
    mean: float
    scale: float

    @classmethod
    def from_split(cls, split: Split) -> "Table":
        """Take features, target and its coding from a split."""
        info = split.info
        names = [feature.name for feature in info.features]
        parts = {part: split.part(part) for part in PARTS}
        target = {part: parts[part][info.target.name].to_numpy() for part in PARTS}
        classification = info.task == "classification"
        return cls(
            task=info.task,
            levels=np.array([len(feature.levels) for feature in info.features]),
            values={part: parts[part][names].to_numpy(dtype="float64") for part in PARTS},
            target=target,
            classes=np.unique(target["train"]) if classification else np.array([], dtype=int),
            mean=info.target.mean,
            scale=info.target.scale,
        )

    @property
    def categorical(self) -> list[int]:
        """The columns of categorical features."""
        return np.flatnonzero(self.levels).tolist()

    def training_rows(self, balanced: bool) -> Sample:
        """All training rows, each class with the same total weight if `balanced`."""
        target = self._encode(self.target["train"])
        return Sample(self.values["train"], target, self._training_weights(target, balanced))

    def stopping_rows(self, stopping: str, balanced: bool) -> Sample:
        """The validation rows that tell when to stop, weighted for what is to tell it.

        By score, the weights make accuracy balanced accuracy. By loss, a class weighs what it
        weighs in training. Rows of a class without training rows are left out: no round can get
        them right, so they move the score of all rounds alike and have no loss.
        """
        known = np.isin(self.target["val"], self.classes) | (self.task == "regression")
        target = self._encode(self.target["val"][known])
        # NOTE[PAPER]: 50 rounds of early stopping, but not of what; both readings are a setting.
        if stopping == "loss":
            weight = self._training_weights(target, balanced)
        else:
            weight = self._balancing_weights(target, target)
        return Sample(self.values["val"][known], target, weight)

    def loss(self, part: str, output: np.ndarray, balanced: bool) -> float:
        """The loss of a learner's output for one part: cross-entropy with the weights of training.

        Rows of a class without training rows have none. The loss of numbers is their score.
        """
        if self.task == "regression":
            return self.score(part, output)
        known = np.isin(self.target[part], self.classes)
        target = self._encode(self.target[part][known])
        likelihood = output[known, target].astype("float64")
        smallest = np.finfo(output.dtype).eps  # as in scikit-learn's log_loss
        weight = self._training_weights(target, balanced)
        return float(np.average(-np.log(np.clip(likelihood, smallest, 1)), weights=weight))

    def decode(self, predicted: np.ndarray) -> np.ndarray:
        """Predictions of a learner in the terms of the split."""
        if self.task == "regression":
            return predicted.astype("float64") * self.scale + self.mean
        return self.classes[predicted]

    def score(self, part: str, predicted: np.ndarray) -> float:
        """The score of a learner's predictions for one part."""
        return score(self.task, self.target[part], self.decode(predicted))

    def _encode(self, target: np.ndarray) -> np.ndarray:
        # NOTE[PAPER]: not said. Standardised, the target's unit changes nothing: penalties keep
        # their meaning, and XGBoost splits for a gain above 1e-6 whatever the unit.
        if self.task == "regression":
            return (target - self.mean) / self.scale
        return np.searchsorted(self.classes, target)

    def _training_weights(self, target: np.ndarray, balanced: bool) -> np.ndarray:
        if not balanced:
            return np.ones(len(target))
        return self._balancing_weights(target, self._encode(self.target["train"]))

    def _balancing_weights(self, target: np.ndarray, counted: np.ndarray) -> np.ndarray:
        """Weights of `target` that give the classes in `counted` the same total there."""
        if self.task == "regression":
            return np.ones(len(target))
        counts = np.bincount(counted, minlength=len(self.classes))
        # NOTE[PAPER]: the text weights the transformers' loss; trees get the same weights.
        return (len(counted) / (np.count_nonzero(counts) * counts[target])).astype("float64")
