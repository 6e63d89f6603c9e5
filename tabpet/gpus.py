"""Which GPU a job of this machine uses: slots that are files, locked while their job lives.

Snakemake limits how many GPU jobs run, not on which device. A lock of the kernel vanishes with its
process, however that ends, so no slot is ever lost. Under a cluster's scheduler nothing is exported
here, and the scheduler's choice stands.
"""

import contextlib
import fcntl
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

SLOTS_VARIABLE, VISIBLE = "TABPET_GPU_SLOTS", "CUDA_VISIBLE_DEVICES"
_DEVICE_FILES = Path("/dev")
_SECONDS_BETWEEN_LOOKS = 0.2


def export_slots(jobs_per_gpu: int) -> None:
    """Tell the jobs of this machine which devices they share out among themselves."""
    devices = visible_devices()
    os.environ.pop(SLOTS_VARIABLE, None)
    if devices:
        os.environ[SLOTS_VARIABLE] = f"{jobs_per_gpu}:{','.join(devices)}"


def visible_devices(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The devices that CUDA would see: those that are named to it, else all of the machine."""
    if VISIBLE in environment:
        names = [name.strip() for name in environment[VISIBLE].split(",") if name.strip()]
        # What CUDA makes of these: it stops at -1; NoDevFiles is an old scheduler's word for none.
        return list(itertools.takewhile(lambda name: name not in ("-1", "NoDevFiles"), names))
    numbers = (path.name.removeprefix("nvidia") for path in _DEVICE_FILES.glob("nvidia[0-9]*"))
    # CUDA counts from 0 whatever is there: a container may hold /dev/nvidia3 alone.
    return [str(number) for number in range(sum(map(str.isdigit, numbers)))]


@contextlib.contextmanager
def gpu_slot(folder: Path | None = None, *, wanted: bool = True) -> Iterator[str | None]:
    """Hold a slot of the least used device, and have CUDA see that device alone.

    Waits while all slots are taken. Yields the device, or None where none is shared out.
    """
    exported = os.environ.get(SLOTS_VARIABLE)
    if not exported or not wanted:
        yield None
        return
    jobs_per_gpu, _, names = exported.partition(":")
    slots = [(name, place) for place in range(int(jobs_per_gpu)) for name in names.split(",")]
    before = os.environ.get(VISIBLE)
    with _locked_slot(slots, folder or _slot_folder()) as device:
        os.environ[VISIBLE] = device
        try:
            yield device
        finally:
            os.environ.pop(VISIBLE)
            if before is not None:
                os.environ[VISIBLE] = before


def given_gpu(environment: Mapping[str, str] = os.environ) -> str | None:
    """The devices that this job was given, by a slot or by a scheduler; None for none."""
    named = visible_devices(environment) if VISIBLE in environment else []
    return ",".join(named) or None


def _slot_folder() -> Path:
    """On a disk of this machine, shared by all runs of a user.

    Allocations of Slurm have one each: in every one the devices may be numbered from 0.
    """
    allocation = os.environ.get("SLURM_JOB_ID", "")
    return Path(tempfile.gettempdir()) / "-".join(
        filter(None, ("tabpet-gpus", str(os.getuid()), allocation))
    )


@contextlib.contextmanager
def _locked_slot(slots: list[tuple[str, int]], folder: Path) -> Iterator[str]:
    """Lock the first free slot; a second job goes to a device only when all have one."""
    folder.mkdir(mode=0o700, exist_ok=True)
    for looks in itertools.count():
        for device, place in slots:
            # A device may be named by a UUID, which can hold a slash for MIG.
            path = folder / f"{device.replace('/', '_')}.{place}.lock"
            with path.open("w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                yield device
                return
        if looks == 0:
            sys.stderr.write(f"all {len(slots)} GPU slots are taken: waiting for one\n")
            sys.stderr.flush()
        time.sleep(_SECONDS_BETWEEN_LOOKS)
