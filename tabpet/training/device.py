"""Where training runs, and how exactly it repeats."""

import contextlib
import logging
import os
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.utils import deterministic

from tabpet.errors import TabpetError
from tabpet.gpus import VISIBLE, given_gpu
from tabpet.settings import TrainingSettings

logger = logging.getLogger(__name__)


def choose_device(wanted: str = "auto") -> torch.device:
    """`cpu`, `cuda`, or with `auto` the GPU that the job was given, else the CPU."""
    if wanted == "cpu" or torch.cuda.is_available():
        return torch.device("cpu" if wanted == "cpu" else "cuda")
    if wanted == "cuda":
        raise TabpetError(
            f"training.device is cuda, but torch {torch.__version__} finds no GPU here "
            f"({VISIBLE}: {os.environ.get(VISIBLE, 'not set') or 'empty'}). Give the job one, "
            "install a torch for this driver, or set `training: {device: auto}`."
        )
    if given_gpu():
        logger.warning("%s; training runs on the CPU", _unused_gpu())
    return torch.device("cpu")


def device_name(device: torch.device, wanted: str = "auto") -> str:
    """What the `device` column of a run says: also that a GPU was given in vain."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    in_vain = wanted == "auto" and device.type == "cpu" and given_gpu()
    return f"{device.type} ({_unused_gpu()})" if in_vain else device.type


def _unused_gpu() -> str:
    return f"given GPU {given_gpu()}, but torch sees none"


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


def random_state(device: torch.device) -> list[Tensor]:
    """Where the generators stand that dropout draws from."""
    states = [torch.get_rng_state()]
    return [*states, torch.cuda.get_rng_state(device)] if device.type == "cuda" else states


def restore_random_state(states: list[Tensor], device: torch.device) -> None:
    """Go back to where they stood."""
    torch.set_rng_state(states[0].cpu())
    if device.type == "cuda":
        torch.cuda.set_rng_state(states[1].cpu(), device)
