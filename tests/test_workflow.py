"""What the rules hand to their scripts beside `params`."""

import pytest

from tabpet import workflow
from tabpet.workflow import JobSettings, seconds_of_graph


@pytest.mark.parametrize(
    ("scheduled", "runtime", "limit", "seconds"),
    [
        ("", 10, 3600, 3600),  # nobody ends a job on one machine
        ("1", 70, 3600, 3600),  # as the rule asks for
        ("1", 30, 3600, 1680),  # a site's limit: the graph ends two minutes before its job
        ("1", 2, 3600, 60),
        ("1", 30, None, 1680),
    ],
)
def test_a_graph_ends_before_a_scheduler_ends_its_job(
    monkeypatch, scheduled, runtime, limit, seconds
):
    monkeypatch.setenv(workflow.SCHEDULED_VARIABLE, scheduled)
    settings = JobSettings(graph_seconds=limit)
    monkeypatch.setenv(workflow.VARIABLE, settings.model_dump_json())
    assert seconds_of_graph(runtime) == seconds


def test_a_job_that_does_not_know_its_tries_says_so(monkeypatch, capsys):
    monkeypatch.delenv(workflow.RETRIES_VARIABLE, raising=False)
    assert workflow.retries_left(1) == 0
    assert "qsub -V" in capsys.readouterr().err
