import inspect
import threading

import pytest
from snakemake.scheduling.job_scheduler import JobScheduler

from tabpet.workflow import calm_scheduler


class FakeScheduler:
    """Wakes up like Snakemake's: a semaphore is released for every look at the queue."""

    def __init__(self) -> None:
        self._open_jobs = threading.Semaphore(0)

    def _schedule_reevalutation(self, delay: float) -> None:
        threading.Timer(delay, self._open_jobs.release).start()


def test_one_look_at_the_queue_is_planned_at_a_time():
    scheduler = FakeScheduler()
    calm_scheduler(scheduler)
    for _ in range(5):
        scheduler._schedule_reevalutation(0.2)
    assert scheduler._open_jobs.acquire(timeout=10)
    assert not scheduler._open_jobs.acquire(timeout=0.4)


def test_every_look_can_plan_the_next():
    scheduler = FakeScheduler()
    calm_scheduler(scheduler)
    scheduler._schedule_reevalutation(0.001)
    for _ in range(200):
        assert scheduler._open_jobs.acquire(timeout=10)
        scheduler._schedule_reevalutation(0.001)


@pytest.mark.parametrize("scheduler", [object(), None])
def test_other_schedulers_are_left_alone(scheduler):
    calm_scheduler(scheduler)


def test_the_pinned_version_has_what_is_replaced():
    # When this fails, see whether Snakemake still looks at its queue too often.
    assert hasattr(JobScheduler, "_schedule_reevalutation")
    assert "self._open_jobs = threading.Semaphore" in inspect.getsource(JobScheduler.__init__)
