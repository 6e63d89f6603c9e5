"""Memory of the process: kept between steps, and bounded by what the job was given."""

import contextlib
import ctypes
import gc
import platform
import resource
from collections.abc import Iterator
from pathlib import Path

import torch

# Numbers of glibc's malloc.h.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4
_STATUS = Path("/proc/self/status")


def keep_freed_memory() -> bool:
    """Ask glibc not to hand freed blocks back to the system; False where there is no glibc.

    A training step frees and takes the same blocks again. By default glibc returns large ones
    each time, and the system clears every page anew.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    wishes = ((_MMAP_MAX, 0), (_TRIM_THRESHOLD, 2**31 - 1), (_TOP_PAD, 64 * 2**20))
    return all(mallopt(option, value) == 1 for option, value in wishes)


def release_memory() -> None:
    """Free what nobody refers to any more, and hand it back to the system and the device."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)


@contextlib.contextmanager
def bounded_memory(megabytes: int | None) -> Iterator[None]:
    """Let a request for more memory than the job was given fail at once.

    Otherwise the system grants it, and kills the process or its neighbour when the pages are used,
    with no row that says so. None for no bound.
    """
    if megabytes is None or not _STATUS.is_file():
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    # What is reserved and not resident (stacks of threads, pools) takes no memory.
    data, resident = _sizes("VmData", "VmRSS")
    limit = max(0, data - resident) + megabytes * 10**6
    if before[1] != resource.RLIM_INFINITY:
        limit = min(limit, before[1])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _sizes(*names: str) -> list[int]:
    """Bytes of the process, by the names that Linux gives them."""
    fields = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
    return [int(fields[name].split()[0]) * 1024 for name in names]
