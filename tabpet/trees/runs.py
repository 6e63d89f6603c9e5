"""The runs of tuned trees and plain references."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from tabpet.data.prepare import Split
from tabpet.registry import LEARNERS
from tabpet.runs import Run, is_out_of_memory, used_versions
from tabpet.settings import TreeSettings
from tabpet.trees.fitting import Fit

_CLOCK = re.compile(r"^\[\d\d:\d\d:\d\d\] ")


def start_run(
    split: Split,
    name: str,
    encoding: str,
    seed: int,
    settings: TreeSettings,
    provenance: dict[str, Any] | None,
    *packages: str,
) -> Callable[..., Run]:
    """A run that knows what it is of; the caller adds how it went."""
    learner = LEARNERS.find(name)
    return partial(
        Run,
        dataset=split.info.dataset,
        split=split.info.split,
        model=name,
        encoding=encoding,
        seed=seed,
        task=split.info.task,
        device=settings.device if "device" in learner.reads else "cpu",
        versions=used_versions(*learner.needs, *packages),
        provenance=provenance,
    )


def describe_fit(fit: Fit, cut: str | None) -> dict[str, Any]:
    """What a row says of a fitted model; `cut` is what ended its training before its time."""
    return {
        "val_score": fit.val_score,
        "test_score": fit.test_score,
        "best_epoch": fit.rounds,
        "epochs": fit.trained,
        "status": "timeout" if cut else "ok",
        "reason": cut,
    }


def describe_failure(error: Exception) -> dict[str, str]:
    """Status and reason in one line; libraries add a stack trace below and a time before theirs."""
    lines = [_CLOCK.sub("", line).strip() for line in str(error).splitlines() if line.strip()]
    return {
        "status": "oom" if is_out_of_memory(error) else "error",
        "reason": f"{type(error).__name__}: {lines[0] if lines else 'no message'}",
    }
