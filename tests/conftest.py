"""Property tests draw the same examples in every run: a build that passed passes again.
Tests marked `gpu` are skipped where there is none. Workers have a thread each: torch's threads that
wait for each other on cores that are taken make small models many times slower."""

import os

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch and BLAS are loaded, by the tests
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu"):
        import torch

        if not torch.cuda.is_available():
            pytest.skip("needs CUDA")
