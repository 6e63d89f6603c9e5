"""Training of all alphas of one seed together (paper, appendix F.2).

Members share batches and dropout masks and nothing else: a step's loss is the sum of their losses,
gradients are clipped member by member, AdamW works number by number. So each member goes the way
it would go alone, and one that has stopped can leave.
"""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from tabpet.clock import Clock
from tabpet.interrupt import Interrupt, Interrupted
from tabpet.models.context import Context
from tabpet.models.members import MemberModel
from tabpet.runs import Status, is_out_of_memory
from tabpet.seeds import derive_seed
from tabpet.settings import TrainingSettings
from tabpet.training.checkpoint import Checkpoint
from tabpet.training.context import draw_context
from tabpet.training.device import random_state, restore_random_state
from tabpet.training.memory import release_memory
from tabpet.training.progress import LogProgress, Progress, Snapshot
from tabpet.training.scoring import embedding_spectrum, score_rows
from tabpet.training.stopping import EarlyStopping
from tabpet.training.table import Part, Table

logger = logging.getLogger(__name__)
Build = Callable[[Sequence[float]], MemberModel]


@dataclass(frozen=True)
class Job:
    """What a job trains, how, and who looks on."""

    build: Build
    table: Table
    settings: TrainingSettings
    batch_size: int
    seed: int
    device: torch.device
    clock: Clock = field(default_factory=Clock)
    progress: Progress = field(default_factory=LogProgress)
    checkpoint: Checkpoint = field(default_factory=Checkpoint)
    interrupt: Interrupt = field(default_factory=Interrupt)
    keep_states: bool = False  # whether members hand over their kept parameters
    measure_ranks: bool = False  # whether they hand over the singular values of embeddings
    early_stopping: bool = True  # else every member trains all epochs, and the last state is kept

    @cached_property
    def context(self) -> Context:
        """The rows that scored rows may attend to, the same for all members and epochs."""
        return draw_context(self.table.parts["train"], self.batch_size, self.seed)


@dataclass
class Member:
    """How one member ended; outputs and predictions are those of its kept state."""

    alpha: float
    status: Status = "ok"
    reason: str | None = None
    best_epoch: int | None = None
    epochs: int = 0
    n_parameters: int | None = None
    outputs: dict[str, np.ndarray] | None = None  # part -> (rows, n_outputs)
    predicted: dict[str, np.ndarray] | None = None  # part -> (rows,)
    state: dict[str, Tensor] | None = None  # parameters without member axis
    singular_values: dict[str, np.ndarray] | None = None  # part -> (width,), of its embeddings


@dataclass(frozen=True)
class Fitted:
    """All members of a job, and their learning curves."""

    members: list[Member]
    curves: pd.DataFrame  # epoch, alpha, train_loss, val_loss, val_score


def fit_members(job: Job, alphas: Sequence[float]) -> Fitted:
    """Train a member per alpha: together if memory allows, else in halves from the start."""
    waiting, groups = [tuple(alphas)], []
    largest = len(alphas)
    while waiting:
        group = waiting.pop(0)
        later = sum(map(len, waiting))
        if len(group) <= largest and (fitted := _fit_group(job, group, later)):
            groups.append(fitted)
            continue
        middle = (len(group) + 1) // 2
        largest = min(largest, middle)
        waiting = [group[:middle], group[middle:], *waiting]
    members = [member for group in groups for member in group.members]
    if largest < len(alphas):
        note = f"out of memory: at most {largest} of {len(alphas)} alphas at a time"
        for member in members:
            member.reason = f"{note}; {member.reason}" if member.reason else note
    return Fitted(members, pd.concat([group.curves for group in groups], ignore_index=True))


def _fit_group(job: Job, alphas: tuple[float, ...], later: int) -> Fitted | None:
    """Train members together; None when memory was not enough and there is something to split."""
    try:
        return Trainer(job, alphas).run(later)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        message = str(error).partition("\n")[0] or type(error).__name__
    # Only outside the handler is the memory of what failed free again.
    job.checkpoint.of_group(alphas).delete()
    release_memory()
    logger.warning("out of memory with %d alphas at once: %s", len(alphas), message)
    if len(alphas) > 1:
        return None
    return Fitted([Member(alphas[0], "oom", message)], _curves([], alphas))


class Trainer:
    """One group of members that train together."""

    def __init__(self, job: Job, alphas: Sequence[float]) -> None:
        self.job, self.checkpoint = job, job.checkpoint.of_group(alphas)
        self.active = np.arange(len(alphas))  # members that still train, by position
        self.stopping = EarlyStopping.of(job.table.task, len(alphas), job.settings)
        self.best_scores = np.full(len(alphas), np.nan)
        self.epoch = self.step = 0  # finished epochs, and steps of the one that is being trained
        self.losses: Tensor  # of those steps, summed over rows
        self.history: list[tuple[float, ...]] = []  # epoch, member, train loss, val loss, score
        self.model = job.build(alphas).to(job.device)
        size = self.model.n_parameters()
        self.members = [Member(alpha, n_parameters=size) for alpha in alphas]
        self.best = {
            name: weight.detach().clone() for name, weight in self.model.named_parameters()
        }
        # `keep` leaves parameters the same objects, so this one serves to the end.
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(),
            lr=job.settings.learning_rate,
            weight_decay=job.settings.weight_decay,
            fused=True,  # one pass over the numbers, without copies of them
        )

    def run(self, later: int = 0) -> Fitted:
        """Train until every member has stopped; `later` members of the job still wait for it."""
        self._resume()
        last = self.job.settings.max_epochs
        while len(self.active) and self.epoch < last:
            started = time.monotonic()
            losses = self._train_epoch()
            if losses is None:
                self._end_by_time()
                break
            self.epoch, self.step = self.epoch + 1, 0
            self._close_epoch(losses)
            self.job.progress(self._snapshot(time.monotonic() - started, later))
            ended = not len(self.active) or self.epoch == last
            self._save(at_once=ended and (self.checkpoint.is_periodic or later > 0))
        for member in self.active:
            self.members[member].epochs = self.epoch
        return self._finish()

    def _train_epoch(self) -> Tensor | None:
        """The mean training loss of every active member, or None when the time is over."""
        job, part = self.job, self.job.table.parts["train"]
        self.model.train()
        if self.step == 0:
            torch.manual_seed(derive_seed(job.seed, "dropout", self.epoch))
            self.losses = torch.zeros(len(self.active), dtype=torch.float64, device=job.device)
        shuffle = torch.Generator().manual_seed(derive_seed(job.seed, "order", self.epoch))
        order = torch.randperm(len(part), generator=shuffle).to(job.device)
        parameters = list(self.model.parameters())
        for rows in order.split(job.batch_size)[self.step :]:
            if job.clock.over or job.interrupt.time_is_over:
                return None
            outputs = self.model(part.numeric[rows], part.categorical[rows])
            weight = None if part.weight is None else part.weight[rows]
            losses = job.table.losses(outputs, part.target[rows], weight)
            self.optimizer.zero_grad(set_to_none=True)
            losses.sum().backward()
            clip_by_member(parameters, job.settings.gradient_norm)
            self.optimizer.step()
            self.losses += losses.detach() * len(rows)
            self.step += 1
            self._save(at_once=job.interrupt.must_stop)
            if job.interrupt.must_stop:
                raise Interrupted
        return self.losses / len(part)

    def _save(self, *, at_once: bool) -> None:
        self.checkpoint.save(self._state, self.job.clock, at_once=at_once)

    def _close_epoch(self, train_losses: Tensor) -> None:
        """Score the epoch, keep what is best, and let members go that have stopped."""
        train = train_losses.cpu().numpy()
        val, scores, finite = self._validate(train)
        values = scores if self.job.table.task == "classification" else -val
        if not self.job.early_stopping:
            values = np.full(len(self.active), float(self.epoch))  # the latest is the best
        improved, stop = self.stopping.update(
            self.active, np.where(finite, values, -np.inf), self.epoch
        )
        self._keep_best(np.flatnonzero(improved))
        self.best_scores[self.active[improved]] = scores[improved]
        rows = zip(self.active.tolist(), train, val, scores, strict=True)
        self.history.extend((self.epoch, *map(float, row)) for row in rows)
        for member in self.active[~finite]:
            self.members[member].reason = f"the loss was not finite in epoch {self.epoch}"
        self._let_go(stop | ~finite)

    def _validate(self, train: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Validation losses and scores by member, NaN without such rows, and what is finite."""
        table, part = self.job.table, self.job.table.parts.get("val")
        if part is None:
            unknown = np.full(len(train), np.nan)
            return unknown, unknown, np.isfinite(train)
        outputs = self._evaluate(self.model, part)
        val = table.losses(outputs, part.target).double().cpu().numpy()
        scores = np.array([table.score(part.truth, labels) for labels in table.predict(outputs)])
        return val, scores, np.isfinite(train) & np.isfinite(val)

    @torch.no_grad()
    def _keep_best(self, places: np.ndarray) -> None:
        """Copy the states at these places of the model to where the best ones are kept."""
        if not len(places):
            return
        here = torch.from_numpy(places).to(self.job.device)
        there = torch.from_numpy(self.active[places]).to(self.job.device)
        for name, parameter in self.model.named_parameters():
            self.best[name][there] = parameter[here]

    def _let_go(self, leaving: np.ndarray) -> None:
        """Take members out of the model and of the optimizer."""
        if not leaving.any():
            return
        for member in self.active[leaving]:
            self.members[member].epochs = self.epoch
        staying = torch.from_numpy(np.flatnonzero(~leaving)).to(self.job.device)
        self.active = self.active[~leaving]
        self.model.keep(staying)
        for state in self.optimizer.state.values():
            state.update({name: value[staying] for name, value in state.items() if value.ndim})

    def _end_by_time(self) -> None:
        """Label the members that a time limit stopped."""
        job = self.job
        over = f"{job.clock.limit:g} s were over" if job.clock.over else job.interrupt.reason
        for member in self.active:
            self.members[member].status = "timeout"
            self.members[member].reason = f"{over} in epoch {self.epoch + 1}"

    def _evaluate(self, model: MemberModel, part: Part) -> Tensor:
        """Outputs for all rows of a part in their order, (members, rows, n_outputs)."""
        job = self.job
        return score_rows(model, part.numeric, part.categorical, job.context, job.batch_size)

    def _finish(self) -> Fitted:
        """Predictions of the kept states; a member without one has failed."""
        self.optimizer.state.clear()
        alphas = [member.alpha for member in self.members]
        model = self.job.build(alphas).to(self.job.device)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(self.best[name])
        parts = self.job.table.parts
        outputs = {name: self._evaluate(model, parts[name]) for name in parts if name != "train"}
        spectra = {
            name: embedding_spectrum(
                model, parts[name].numeric, parts[name].categorical, self.job.batch_size
            )
            for name in (("train", "test") if self.job.measure_ranks else ())
        }
        predicted = {part: self.job.table.predict(output) for part, output in outputs.items()}
        for place, member in enumerate(self.members):
            if not self.stopping.best_epoch[place]:
                member.status = "error" if member.status == "ok" else member.status
                continue
            member.best_epoch = int(self.stopping.best_epoch[place])
            member.outputs = {part: o[place].cpu().numpy() for part, o in outputs.items()}
            member.predicted = {part: labels[place] for part, labels in predicted.items()}
            member.singular_values = {part: values[place] for part, values in spectra.items()}
            if self.job.keep_states:
                member.state = {name: weight[place] for name, weight in self.best.items()}
        return Fitted(self.members, _curves(self.history, alphas))

    def _snapshot(self, seconds: float, later: int) -> Snapshot:
        """Where the job stands; the time left supposes that no further member stops early."""
        settings = self.job.settings
        epochs = (settings.max_epochs - self.epoch) * bool(len(self.active))
        left = seconds * (epochs + settings.max_epochs * later / len(self.members))
        left = min(left, self.job.clock.left)
        known = self.best_scores[np.isfinite(self.best_scores)]
        pick = np.max if self.job.table.task == "classification" else np.min
        return Snapshot(
            epoch=self.epoch,
            max_epochs=settings.max_epochs,
            task=self.job.table.task,
            best=float(pick(known)) if len(known) else None,
            training=len(self.active),
            members=len(self.members) + later,
            seconds_left=left,
        )

    def _state(self) -> dict[str, Any]:
        """All that the rest of training depends on, as tensors and plain values."""
        return {
            "epoch": self.epoch,
            "step": self.step,
            "losses": self.losses,
            "random": random_state(self.job.device),
            "active": self.active.tolist(),
            "history": self.history,
            "ended": [(member.epochs, member.reason) for member in self.members],
            "best_scores": self.best_scores.tolist(),
            "stopping": self.stopping.state(),
            "model": dict(self.model.named_parameters()),
            "optimizer": [self.optimizer.state[weight] for weight in self.model.parameters()],
            "best": self.best,
        }

    def _resume(self) -> None:
        """Go back to the last checkpoint, if there is one."""
        state = self.checkpoint.load(self.job.clock, self.job.device)
        if state is None:
            return
        self.epoch, self.step, self.losses = state["epoch"], state["step"], state["losses"]
        restore_random_state(state["random"], self.job.device)
        self.active = np.array(state["active"], dtype=np.int64)
        self.history = [tuple(row) for row in state["history"]]
        for member, (epochs, reason) in zip(self.members, state["ended"], strict=True):
            member.epochs, member.reason = epochs, reason
        self.best_scores = np.array(state["best_scores"])
        self.stopping.restore(state["stopping"])
        self.model.keep(torch.from_numpy(self.active).to(self.job.device))
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(state["model"][name])
        self.best = state["best"]
        for parameter, saved in zip(self.model.parameters(), state["optimizer"], strict=True):
            self.optimizer.state[parameter] = saved
        logger.info(
            "going on after epoch %d and %d steps, from the last checkpoint", self.epoch, self.step
        )


@torch.no_grad()
def clip_by_member(parameters: Iterable[Tensor], max_norm: float) -> None:
    """Scale every member's gradients down to `max_norm`, as torch's `clip_grad_norm_` would."""
    gradients = [weight.grad for weight in parameters if weight.grad is not None]
    norms = torch.stack(
        [torch.linalg.vector_norm(grad.reshape(len(grad), -1), dim=1) for grad in gradients]
    )
    scale = (max_norm / (torch.linalg.vector_norm(norms, dim=0) + 1e-6)).clamp(max=1.0)
    for grad in gradients:
        grad.mul_(scale.view(-1, *[1] * (grad.ndim - 1)))


def _curves(history: Sequence[tuple[float, ...]], alphas: Sequence[float]) -> pd.DataFrame:
    """Learning curves, a row per epoch and member."""
    columns = ["epoch", "member", "train_loss", "val_loss", "val_score"]
    frame = pd.DataFrame(history, columns=columns).astype("float64")
    member = frame.pop("member").astype("int64")
    frame.insert(1, "alpha", np.array(alphas, dtype=np.float64)[member])
    return frame.astype({"epoch": "int64"})
