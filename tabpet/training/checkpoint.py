"""The state of a training job in a file, so that a stopped job goes on from there."""

import hashlib
import json
import logging
import math
import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tabpet.clock import Clock
from tabpet.errors import TabpetError
from tabpet.files import replacing
from tabpet.training.table import Table

logger = logging.getLogger(__name__)
# What reading raises where a file is cut short, no checkpoint at all, or one of something else.
_NO_CHECKPOINT = (
    pickle.UnpicklingError,
    RuntimeError,
    EOFError,
    OSError,
    KeyError,
    IndexError,
    TypeError,
    ValueError,
)


@dataclass
class Checkpoint:
    """The file of one group of members; without a path, nothing is saved."""

    path: Path | None = None
    seconds: float = 60.0  # between two; infinite: only when the job is asked to end
    fingerprint: str = ""  # of all that the result depends on
    _last: float = field(default_factory=time.monotonic)

    @property
    def is_periodic(self) -> bool:
        """Whether it is saved while all goes well."""
        return math.isfinite(self.seconds)

    def of_group(self, alphas: Sequence[float]) -> "Checkpoint":
        """The checkpoint of members that train together."""
        if self.path is None:
            return self
        name = f"{self.path.stem}.{alphas[0]:g}-{alphas[-1]:g}{self.path.suffix}"
        key = hashlib.sha256(f"{self.fingerprint} {list(alphas)}".encode()).hexdigest()
        return Checkpoint(self.path.with_name(name), self.seconds, key)

    def save(self, state: Callable[[], dict[str, Any]], clock: Clock, *, at_once: bool) -> None:
        """Write the state if it is time to, whole or not at all."""
        if self.path is None or not (at_once or time.monotonic() - self._last >= self.seconds):
            return
        content = {"fingerprint": self.fingerprint, "elapsed": clock.elapsed, "state": state()}
        try:
            with replacing(self.path) as temporary:
                torch.save(content, temporary)
        except (TabpetError, RuntimeError) as error:  # torch hides a full disk in the latter
            # Its text alone: the error holds on to the frames, and these to a step's memory.
            text = str(error)
            logger.warning("%s can't be saved, training goes on without it: %s", self.path, text)
        self._last = time.monotonic()

    def load(self, clock: Clock, device: torch.device) -> dict[str, Any] | None:
        """The saved state; None when there is none, or one of other data or settings."""
        if self.path is None or not self.path.is_file():
            return None
        try:
            content = torch.load(self.path, map_location=device, weights_only=True)
            key, elapsed, state = (content[name] for name in ("fingerprint", "elapsed", "state"))
        except _NO_CHECKPOINT as error:
            logger.warning("%s can't be read, training starts anew: %s", self.path, error)
            return None
        if key != self.fingerprint:
            logger.warning("%s is of other data or settings, training starts anew", self.path)
            return None
        clock.resume(elapsed)
        return state

    def delete(self) -> None:
        """Remove the file of this group."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def delete_groups(self) -> None:
        """Remove the files of all groups of this job."""
        if self.path is not None:
            for path in self.path.parent.glob(f"{self.path.stem}.*{self.path.suffix}"):
                path.unlink(missing_ok=True)


def fingerprint(table: Table, values: np.ndarray, facts: dict[str, Any]) -> str:
    """A key of the table, the encoding's values, and plain facts such as settings."""
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    digest.update(np.ascontiguousarray(values).tobytes())
    for part in table.parts.values():
        for tensor in (part.numeric, part.categorical, part.target):
            digest.update(str(tuple(tensor.shape)).encode())
            digest.update(tensor.cpu().numpy().tobytes())
    return digest.hexdigest()
