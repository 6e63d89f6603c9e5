"""Memory: what is kept, what is free, and what a full one looks like."""

import platform
import subprocess
import sys

import pytest
import torch

from tabpet.runs import is_out_of_memory
from tabpet.training import memory
from tests.training.tiny import CPU

LINUX = pytest.mark.skipif(platform.system() != "Linux", reason="needs /proc")


def test_real_errors_of_a_full_memory_are_recognised():
    with pytest.raises(RuntimeError) as full:
        torch.empty(2**60, dtype=torch.uint8)
    assert is_out_of_memory(full.value)
    with pytest.raises(RuntimeError) as other:
        torch.zeros(2) @ torch.zeros(3)
    assert not is_out_of_memory(other.value)
    assert is_out_of_memory(RuntimeError("std::bad_alloc"))


@LINUX
def test_more_than_there_is_fails_at_once(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 2**28)
    with memory.bounded_memory(CPU):
        torch.empty(2**26, dtype=torch.uint8)
        with pytest.raises(RuntimeError) as full:
            torch.empty(2**30, dtype=torch.uint8)
    assert is_out_of_memory(full.value)
    torch.empty(2**30, dtype=torch.uint8)  # never touched, so it costs nothing


@LINUX
def test_available_memory_of_the_machine():
    available = memory.available_memory()
    assert available is not None and available > 0


def test_the_tightest_of_machine_and_control_groups_counts(tmp_path):
    def write(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    5000 kB\n")
    write("proc/self/cgroup", "0::/jobs/mine\n")
    assert memory.available_memory(tmp_path) == 5000 * 1024
    write("sys/fs/cgroup/jobs/mine/memory.max", "max\n")
    assert memory.available_memory(tmp_path) == 5000 * 1024
    # 3,000,000 allowed, 1,000,000 used, of which 200,000 are files that can be dropped.
    write("sys/fs/cgroup/jobs/memory.max", "3000000\n")
    write("sys/fs/cgroup/jobs/memory.current", "1000000\n")
    write("sys/fs/cgroup/jobs/memory.stat", "anon 800000\ninactive_file 200000\n")
    assert memory.available_memory(tmp_path) == 2_200_000
    assert memory.available_memory(tmp_path / "elsewhere") is None


def test_keeping_and_releasing_memory_is_possible_anywhere(monkeypatch):
    # In a process of its own: the setting lasts as long as the process.
    code = "from tabpet.training import memory; print(memory.keep_freed_memory())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(platform.libc_ver()[0] == "glibc")
    memory.release_memory()
    monkeypatch.setattr(memory.platform, "libc_ver", lambda: ("", ""))
    assert not memory.keep_freed_memory()
    memory.release_memory()
