"""What can be seen of a running job."""

import logging

from tabpet.clock import Clock
from tabpet.training.progress import LogProgress, Snapshot, show_seconds

SNAPSHOT = Snapshot(
    epoch=7,
    max_epochs=500,
    task="classification",
    best=0.87654,
    training=9,
    members=10,
    seconds_left=4000.0,
)


def test_one_line_says_it_all():
    assert SNAPSHOT.describe() == (
        "epoch 7/500, best balanced_accuracy 0.8765, 9 of 10 alphas training, at most 67 min left"
    )


def test_seconds_as_people_write_them():
    assert show_seconds(41.6) == "42 s"
    assert show_seconds(719) == "12 min"
    assert show_seconds(12_000) == "3 h 20 min"


def test_a_line_in_the_log_now_and_then(caplog):
    caplog.set_level(logging.INFO)
    rarely = LogProgress(seconds=1e9)
    for _ in range(5):
        rarely(SNAPSHOT)
    assert len(caplog.records) == 1
    always = LogProgress(seconds=0)
    for _ in range(5):
        always(SNAPSHOT)
    assert len(caplog.records) == 6


def test_clock_counts_what_was_before_once():
    clock = Clock(limit=100.0)
    assert not clock.over and 0 < clock.left <= 100
    clock.resume(150.0)
    clock.resume(120.0)
    assert clock.over and clock.left == 0
    assert 150 <= clock.elapsed < 270  # the larger of the two, not their sum
    assert Clock().left == float("inf")
