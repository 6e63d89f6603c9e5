"""Where training runs, and how exactly it repeats."""

import contextlib
import os
from collections.abc import Iterator

import torch
from torch.utils import deterministic

from tabpet.settings import TrainingSettings


def choose_device() -> torch.device:
    """The GPU that the job was given, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def device_name(device: torch.device) -> str:
    """What the `device` column of a run says."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


@contextlib.contextmanager
def numerics(settings: TrainingSettings, device: torch.device) -> Iterator[None]:
    """Set precision and repeatability as the settings say, and leave torch as it was found."""
    precision = torch.get_float32_matmul_precision()
    strict = torch.are_deterministic_algorithms_enabled()
    filling = deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    devices = [device] if device.type == "cuda" else []
    if settings.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS repeats only with it
    try:
        with torch.random.fork_rng(devices=devices):
            if device.type == "cuda":
                torch.set_float32_matmul_precision("high" if settings.tf32 else "highest")
            torch.use_deterministic_algorithms(settings.deterministic)
            # Filling fresh memory guards code that reads it before writing; here it only costs.
            deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
            yield
    finally:
        torch.set_float32_matmul_precision(precision)
        torch.use_deterministic_algorithms(strict)
        deterministic.fill_uninitialized_memory = filling  # type: ignore[attr-defined]
