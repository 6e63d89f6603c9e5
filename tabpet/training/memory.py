"""Memory of the process: kept between steps, bounded, and told apart from other errors."""

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
def bounded_memory(device: torch.device) -> Iterator[None]:
    """On the CPU, let a request for more memory than there is fail at once.

    Otherwise the system grants it and kills the process when the pages are used, with no row that
    says so.
    """
    available = available_memory() if device.type == "cpu" else None
    if available is None:
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_DATA)
    limit = _data_size() + available
    if before[1] != resource.RLIM_INFINITY:
        limit = min(limit, before[1])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def available_memory(root: Path = Path("/")) -> int | None:
    """Bytes that the machine and the control group still have for the process, where known."""
    meminfo = root / "proc/meminfo"
    if not meminfo.is_file():
        return None
    fields = dict(line.split(":") for line in meminfo.read_text().splitlines())
    free = [int(fields["MemAvailable"].split()[0]) * 1024]
    groups = root / "proc/self/cgroup"
    for line in groups.read_text().splitlines() if groups.is_file() else []:
        number, _, path = line.split(":", 2)
        if number == "0":  # version 2: one tree for all resources
            group = root / "sys/fs/cgroup" / path.lstrip("/")
            free += [left for one in (group, *group.parents) if (left := _left(one)) is not None]
    return min(free)


def _left(group: Path) -> int | None:
    """Bytes that a control group has left; what its files hold in the cache can be dropped."""
    most = group / "memory.max"
    if not most.is_file() or most.read_text().strip() == "max":
        return None
    stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    used = int((group / "memory.current").read_text()) - int(stat["inactive_file"])
    return max(0, int(most.read_text()) - used)


def _data_size() -> int:
    """Bytes of the process that count against the limit."""
    status = Path("/proc/self/status").read_text()
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return int(fields["VmData"].split()[0]) * 1024
