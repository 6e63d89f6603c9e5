"""The rows of tuned trees and plain references in run files."""

from collections.abc import Callable
from functools import partial

from tabpet.data.prepare import Split
from tabpet.runs import Run, Status, used_versions


def start_row(
    split: Split, model: str, encoding: str, seed: int, device: str, packages: list[str]
) -> Callable[..., Run]:
    """A row that knows what is run; the caller adds how it went."""
    return partial(
        Run,
        dataset=split.info.dataset,
        split=split.info.split,
        model=model,
        encoding=encoding,
        seed=seed,
        task=split.info.task,
        device=device,
        versions=used_versions(*packages),
    )


def failure_status(error: Exception) -> Status:
    """The status of what raised `error`: `oom` where memory was the reason."""
    text = str(error).lower()
    starved = any(word in text for word in ("bad_alloc", "bad allocation", "out of memory"))
    return "oom" if starved or isinstance(error, MemoryError) else "error"


def failure_reason(error: Exception) -> str:
    """What went wrong, in one line; libraries add a stack trace below theirs."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"
