"""Memory: what is kept, what a job may take, and what a full one looks like."""

import errno
import os
import platform
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tabpet.models import layers
from tabpet.runs import is_out_of_memory
from tabpet.training import memory

LINUX = pytest.mark.skipif(platform.system() != "Linux", reason="needs /proc")


def test_real_errors_of_a_full_memory_are_recognised():
    with pytest.raises(RuntimeError) as full:
        torch.empty(2**60, dtype=torch.uint8)
    assert is_out_of_memory(full.value)
    with pytest.raises(RuntimeError) as other:
        torch.zeros(2) @ torch.zeros(3)
    assert not is_out_of_memory(other.value)
    assert is_out_of_memory(RuntimeError("std::bad_alloc"))
    assert is_out_of_memory(OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)))
    assert is_out_of_memory(RuntimeError("could not create a primitive"))
    unknown = "could not create a primitive descriptor for the inner product"
    assert not is_out_of_memory(RuntimeError(unknown))
    library = "libgomp.so.1: cannot allocate memory in static TLS block"  # another try won't help
    assert not is_out_of_memory(ImportError(library))


@LINUX
def test_more_than_the_job_was_given_fails_at_once():
    with memory.bounded_memory(resident_mb() + 256):
        torch.empty(64 * 10**6, dtype=torch.uint8)
        with pytest.raises(RuntimeError) as full:
            torch.empty(10**9, dtype=torch.uint8)
    assert is_out_of_memory(full.value)
    torch.empty(10**9, dtype=torch.uint8)  # never touched, so it costs nothing


def resident_mb() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    [line] = [line for line in lines if line.startswith("VmRSS")]
    return int(line.split()[1]) // 1000


@LINUX
@pytest.mark.skipif(not layers.HAS_ONEDNN, reason="this torch has no oneDNN")
def test_products_that_lack_memory_say_so():
    code = """
import torch
from tabpet.models.layers import OneDNNLinear
from tabpet.runs import is_out_of_memory
from tabpet.training import memory
memory.keep_freed_memory()
operands = torch.ones(1, 100, 512), torch.ones(1, 512, 1536)
with memory.bounded_memory(1):
    try:
        for _ in range(1000):
            operands += (OneDNNLinear.apply(*operands[:2], None),)
    except (RuntimeError, MemoryError) as error:
        print(is_out_of_memory(error), error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.startswith("True "), done.stdout + done.stderr


@LINUX
def test_the_bound_is_the_jobs_own_and_not_what_is_free():
    before = resource.getrlimit(resource.RLIMIT_DATA)
    limits = []
    for given in (4000, 8000):
        with memory.bounded_memory(given):
            limits.append(resource.getrlimit(resource.RLIMIT_DATA)[0])
    assert limits[1] - limits[0] == 4000 * 10**6
    with memory.bounded_memory(None):
        assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_keeping_and_releasing_memory_is_possible_anywhere(monkeypatch):
    # In a process of its own: the setting lasts as long as the process.
    code = "from tabpet.training import memory; print(memory.keep_freed_memory())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(platform.libc_ver()[0] == "glibc")
    memory.release_memory()
    monkeypatch.setattr(memory.platform, "libc_ver", lambda: ("", ""))
    assert not memory.keep_freed_memory()
    memory.release_memory()
