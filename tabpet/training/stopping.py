"""Early stopping, by member (paper, appendix F.2; the rule itself is the released code's)."""

from dataclasses import dataclass

import numpy as np

from tabpet.settings import TrainingSettings

# NOTE[PAPER]: the text has one min_delta of 1e-6; balanced accuracy has at least this one.
_LEAST_ACCURACY_DELTA = 1e-4
_CHANGING = ("best", "best_epoch", "waited")


@dataclass
class EarlyStopping:
    """What each member has reached, and for how long it has not come near it again."""

    best: np.ndarray  # (M,), larger is better; -inf before the first epoch
    best_epoch: np.ndarray  # (M,), counted from 1; 0 before the first epoch
    waited: np.ndarray  # (M,), epochs that count as without success
    min_delta: float
    min_epochs: int
    patience: int

    @classmethod
    def of(cls, task: str, n_members: int, settings: TrainingSettings) -> "EarlyStopping":
        """A fresh counter for every member."""
        delta = settings.min_delta
        if task == "classification":
            delta = max(delta, _LEAST_ACCURACY_DELTA)
        return cls(
            best=np.full(n_members, -np.inf),
            best_epoch=np.zeros(n_members, dtype=np.int64),
            waited=np.zeros(n_members, dtype=np.int64),
            min_delta=delta,
            min_epochs=settings.min_epochs,
            patience=settings.patience,
        )

    def update(
        self, members: np.ndarray, values: np.ndarray, epoch: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Which of `members` are better than ever after this epoch, and which have to stop.

        `values` are balanced accuracies, or negative validation losses.
        """
        improved = values > self.best[members] + self.min_delta
        self.best[members[improved]] = values[improved]
        self.best_epoch[members[improved]] = epoch
        # NOTE[PAPER]: "patience" counts epochs that stay more than min_delta below the best, so a
        # tie with the best starts the count anew although it is not kept.
        near = values >= self.best[members] - self.min_delta
        counts = epoch > self.min_epochs
        self.waited[members] = np.where(near, 0, self.waited[members] + counts)
        return improved, self.waited[members] >= self.patience

    def state(self) -> dict[str, list[float]]:
        """The numbers that change, as plain lists."""
        return {name: getattr(self, name).tolist() for name in _CHANGING}

    def restore(self, state: dict[str, list[float]]) -> None:
        """Go back to what `state` returned."""
        for name in _CHANGING:
            setattr(self, name, np.array(state[name], dtype=getattr(self, name).dtype))
