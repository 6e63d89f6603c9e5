"""GPU slots: pretended devices, more jobs than slots, killed jobs, and a scheduler's choice."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tabpet import gpus
from tests.workflow.conftest import ROOT

HOLD = """
import pathlib, sys, os, time
from tabpet.gpus import gpu_slot
folder, name = pathlib.Path(sys.argv[1]), sys.argv[2]
with gpu_slot(folder / "slots") as device:
    assert os.environ.get("CUDA_VISIBLE_DEVICES") == device
    (folder / f"{name}.has").write_text(str(device))
    while not (folder / f"{name}.end").exists():
        time.sleep(0.02)
(folder / f"{name}.done").touch()
"""


@pytest.fixture
def start(tmp_path):
    """Start a job that holds a slot until its `.end` file is there."""
    started: list[subprocess.Popen] = []

    def begin(name: str, slots: str = "1:0,1") -> subprocess.Popen:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), gpus.SLOTS_VARIABLE: slots}
        environment.pop(gpus.VISIBLE, None)
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(tmp_path), name], env=environment
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()


def wait_for(condition, seconds: float = 240) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def holders(folder: Path) -> dict[str, str]:
    return {
        path.stem: path.read_text()
        for path in folder.glob("*.has")
        if path.read_text() and not path.with_suffix(".done").exists()
    }


def test_every_job_has_a_device_and_a_second_one_only_when_all_have_one(tmp_path, start):
    for name in "abcd":
        start(name, "2:0,1")
        wait_for(lambda name=name: name in holders(tmp_path))
        assert max(Counter(holders(tmp_path).values()).values()) == (1 if name in "ab" else 2)
    assert Counter(holders(tmp_path).values()) == {"0": 2, "1": 2}


def test_more_jobs_than_slots_wait_for_one(tmp_path, start):
    for name in "ab":
        start(name)
    wait_for(lambda: len(holders(tmp_path)) == 2)
    start("c")
    time.sleep(1)
    assert set(holders(tmp_path)) == {"a", "b"}
    freed = holders(tmp_path)["a"]
    (tmp_path / "a.end").touch()
    wait_for(lambda: "c" in holders(tmp_path))
    assert holders(tmp_path)["c"] == freed


def test_a_killed_job_leaves_its_slot(tmp_path, start):
    first = start("a", "1:7")
    wait_for(lambda: "a" in holders(tmp_path))
    start("b", "1:7")
    first.send_signal(signal.SIGKILL)
    first.wait()
    wait_for(lambda: "b" in holders(tmp_path))
    assert holders(tmp_path)["b"] == "7"


def test_without_slots_the_choice_of_a_scheduler_stands(monkeypatch):
    monkeypatch.delenv(gpus.SLOTS_VARIABLE, raising=False)
    monkeypatch.setenv(gpus.VISIBLE, "3")
    with gpus.gpu_slot() as device:
        assert device is None
        assert os.environ[gpus.VISIBLE] == "3" == gpus.given_gpu()


def test_the_environment_is_as_before_after_a_slot(monkeypatch, tmp_path):
    monkeypatch.setenv(gpus.SLOTS_VARIABLE, "1:5")
    monkeypatch.setenv(gpus.VISIBLE, "5,6")
    with contextlib.suppress(RuntimeError), gpus.gpu_slot(tmp_path / "slots") as device:
        assert device == "5" == os.environ[gpus.VISIBLE]
        raise RuntimeError
    assert os.environ[gpus.VISIBLE] == "5,6"


def test_devices_of_the_machine_or_those_that_are_named(monkeypatch, tmp_path):
    for name in ("nvidia0", "nvidia1", "nvidia10", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    monkeypatch.setattr(gpus, "_DEVICE_FILES", tmp_path)
    assert gpus.visible_devices({}) == ["0", "1", "2"]  # as CUDA counts what a container holds
    assert gpus.visible_devices({gpus.VISIBLE: "2, GPU-aa/1"}) == ["2", "GPU-aa/1"]
    for nothing in ("", "-1", "NoDevFiles"):
        assert gpus.visible_devices({gpus.VISIBLE: nothing}) == []
        assert gpus.given_gpu({gpus.VISIBLE: nothing}) is None
    assert gpus.visible_devices({gpus.VISIBLE: "1,-1,2"}) == ["1"]
    assert gpus.given_gpu({}) is None and gpus.given_gpu({gpus.VISIBLE: "0,MIG-a"}) == "0,MIG-a"
    monkeypatch.delenv(gpus.VISIBLE, raising=False)
    monkeypatch.setenv(gpus.SLOTS_VARIABLE, "of an outer run")
    gpus.export_slots(2)
    assert os.environ[gpus.SLOTS_VARIABLE] == "2:0,1,2"
    monkeypatch.setenv(gpus.VISIBLE, "")
    gpus.export_slots(2)
    assert gpus.SLOTS_VARIABLE not in os.environ
