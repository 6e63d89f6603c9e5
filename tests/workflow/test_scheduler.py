import time

import pytest
from snakemake.scheduling.job_scheduler import JobScheduler

from tabpet.workflow import calm_scheduler


class FakeScheduler:
    def __init__(self) -> None:
        self.planned: list[float] = []

    def _schedule_reevalutation(self, delay: float) -> None:
        self.planned.append(delay)


def test_one_look_at_the_queue_is_planned_at_a_time():
    scheduler = FakeScheduler()
    calm_scheduler(scheduler)
    for _ in range(5):
        scheduler._schedule_reevalutation(0.05)
    assert scheduler.planned == [0.05]
    deadline = time.monotonic() + 10
    while len(scheduler.planned) == 1 and time.monotonic() < deadline:
        time.sleep(0.01)
        scheduler._schedule_reevalutation(0.05)
    assert len(scheduler.planned) == 2


@pytest.mark.parametrize("scheduler", [object(), None])
def test_other_schedulers_are_left_alone(scheduler):
    calm_scheduler(scheduler)


def test_the_pinned_version_has_what_is_replaced():
    # When this fails, see whether Snakemake still looks at its queue too often.
    assert hasattr(JobScheduler, "_schedule_reevalutation")
