"""The runs of tuned trees and plain references."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from tabpet.data.prepare import Split
from tabpet.entries import Learner
from tabpet.runs import Run, Status, is_out_of_memory, used_versions
from tabpet.settings import TreeSettings

_CLOCK = re.compile(r"^\[\d\d:\d\d:\d\d\] ")


def start_run(
    split: Split,
    learner: Learner,
    encoding: str,
    seed: int,
    settings: TreeSettings,
    provenance: dict[str, Any] | None,
    *packages: str,
) -> Callable[..., Run]:
    """A run that knows what it is of; the caller adds how it went."""
    return partial(
        Run,
        dataset=split.info.dataset,
        split=split.info.split,
        model=learner.key,
        encoding=encoding,
        seed=seed,
        task=split.info.task,
        device=settings.device if "device" in learner.reads else "cpu",
        versions=used_versions(*learner.needs, *packages),
        provenance=provenance,
    )


def failure_status(error: Exception) -> Status:
    """The status of what raised `error`: `oom` where memory was the reason."""
    return "oom" if is_out_of_memory(error) else "error"


def failure_reason(error: Exception) -> str:
    """What went wrong, in one line; libraries add a stack trace below and a time before theirs."""
    lines = [_CLOCK.sub("", line).strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"
