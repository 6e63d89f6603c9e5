"""The cells of a job: each in its own process, none takes another along, none is done twice."""

import faulthandler
import multiprocessing
import os
import signal
import threading
import time
from types import SimpleNamespace

import pytest

from tabpet import cells, workflow
from tabpet.cells import Bundle
from tabpet.errors import TabpetError
from tabpet.interrupt import Interrupted
from tabpet.plan import Cell
from tabpet.runs import Run, make_provenance, write_runs
from tabpet.state import describe_log, last_error

CELLS = [Cell("wine", 7, "linear", "default", seed) for seed in (1, 2, 3)]


class Output(SimpleNamespace):
    def items(self):
        return vars(self).items()


@pytest.fixture
def job(tmp_path, monkeypatch):
    """What a script gets of Snakemake, with a try left unless the test says otherwise."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(workflow.RETRIES_VARIABLE, "1")
    monkeypatch.setenv(workflow.SCHEDULED_VARIABLE, "")
    return SimpleNamespace(
        rule="fit_references",
        output=Output(run=[str(cell.run) for cell in CELLS]),
        log=[f"{cell.seed}.log" for cell in CELLS],
        resources=SimpleNamespace(attempt=1, runtime=60),
    )


def run_cells(job, cells, work, lost):
    Bundle(job, {"linear": {}}).run(cells, work, lost)


def do(cell, attempt):
    cell.run.parent.mkdir(parents=True, exist_ok=True)
    cell.run.write_text(f"{os.getpid()} {attempt.retries_left}")


def die_of(number):
    faulthandler.disable()  # pytest's report of a crash
    os.kill(os.getpid(), number)


def no_row(*lost):
    pytest.fail(f"a row that should not be: {lost}")


def finished():
    return [cell.seed for cell in CELLS if cell.run.is_file()]


def test_every_cell_has_a_process_and_a_log_of_its_own(job):
    run_cells(job, CELLS, do, no_row)
    pids = {cell.run.read_text() for cell in CELLS}
    assert len(pids) == 3 and not any(text.startswith(f"{os.getpid()} ") for text in pids)
    assert all("done" in workflow.Path(log).read_text() for log in job.log)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_cell_that_is_killed_takes_no_other_along(job, number):
    def second_dies(cell, attempt):
        if cell.seed == 2:
            die_of(number)
        do(cell, attempt)

    with pytest.raises(SystemExit) as ended:
        run_cells(job, CELLS, second_dies, no_row)
    assert ended.value.code == 1
    assert finished() == [1, 3]
    assert f"its process was ended by {number.name}" in describe_log(workflow.Path("2.log"))


def test_a_crash_or_a_kill_in_the_last_try_is_a_row(job):
    job.resources.attempt = 2
    rows = []

    def dies(cell, attempt):
        die_of({1: signal.SIGKILL, 2: signal.SIGSEGV, 3: signal.SIGUSR2}[cell.seed])

    with pytest.raises(SystemExit):  # for the third: a signal that says nothing of the cell
        run_cells(job, CELLS, dies, lambda *lost: rows.append(lost))
    killed = "its process was ended by SIGKILL; the likely cause is that memory ran out"
    assert rows == [
        (CELLS[0], "oom", killed),
        (CELLS[1], "error", "its process was ended by SIGSEGV"),
    ]


def test_a_kill_after_a_request_to_end_is_no_row(job):
    job.resources.attempt = 2

    def is_asked_and_killed(cell, attempt):
        os.kill(os.getppid(), signal.SIGTERM)
        while not attempt.interrupt.requested:
            time.sleep(0.01)
        die_of(signal.SIGKILL)

    with pytest.raises(SystemExit) as ended:
        run_cells(job, CELLS, is_asked_and_killed, no_row)
    assert ended.value.code == workflow.INTERRUPTED


def test_an_error_of_one_cell_fails_the_job_after_the_others(job):
    def first_fails(cell, attempt):
        if cell.seed == 1:
            raise TabpetError("the disk is full")
        do(cell, attempt)

    with pytest.raises(SystemExit) as ended:
        run_cells(job, CELLS, first_fails, no_row)
    assert ended.value.code == 1 and finished() == [2, 3]
    assert last_error(workflow.Path("1.log").read_text()) == "the disk is full"


def wait_for_the_end(cell, attempt):
    """Like training: looks after every step whether it was asked to end."""
    workflow.Path(f"{cell.seed}.began").touch()
    while not attempt.interrupt.requested:
        time.sleep(0.01)
    if attempt.interrupt.must_stop:
        raise Interrupted
    do(cell, attempt)


def interrupt_when_begun(number=signal.SIGTERM):
    def send():
        while not workflow.Path("1.began").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    threading.Thread(target=send).start()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_a_signal_reaches_the_cell_and_ends_the_job(job, number):
    before = signal.getsignal(number)
    interrupt_when_begun(number)
    with pytest.raises(SystemExit) as ended:
        run_cells(job, CELLS, wait_for_the_end, no_row)
    assert ended.value.code == workflow.INTERRUPTED
    assert finished() == [] and not workflow.Path("2.began").exists()
    assert "was asked to end" in describe_log(workflow.Path("1.log"))
    assert signal.getsignal(number) == before


def test_when_the_time_of_a_last_try_is_over_every_cell_has_its_rows(job, monkeypatch):
    monkeypatch.setenv(workflow.SCHEDULED_VARIABLE, "1")
    job.resources.attempt, job.resources.runtime = 2, 1
    interrupt_when_begun()
    rows = []
    run_cells(job, CELLS, wait_for_the_end, lambda *lost: rows.append(lost))
    assert finished() == [1]
    reason = "not begun: the 1 min that the job had asked for were over"
    assert rows == [(cell, "timeout", reason) for cell in CELLS[1:]]


def test_a_warning_that_came_too_early_to_be_heard_is_made_up_for_by_the_clock(job, monkeypatch):
    monkeypatch.setenv(workflow.SCHEDULED_VARIABLE, "1")
    job.resources.attempt, job.resources.runtime = 2, 10
    # The job began nine minutes ago: most of that was its start.
    monkeypatch.setenv(workflow.STARTED_VARIABLE, str(time.time() - 9 * 60))
    rows = []
    run_cells(job, CELLS[:1], wait_for_the_end, lambda *lost: rows.append(lost))
    assert rows == [
        (CELLS[0], "timeout", "not begun: the 10 min that the job had asked for were over")
    ]


def test_a_cell_that_does_not_stop_in_time_is_ended_and_a_row(job, monkeypatch):
    monkeypatch.setenv(workflow.SCHEDULED_VARIABLE, "1")
    monkeypatch.setattr(cells, "GRACE_SECONDS", 0.2)
    job.resources.attempt, job.resources.runtime = 2, 1
    interrupt_when_begun()
    rows = []

    def hears_nothing(cell, attempt):
        workflow.Path(f"{cell.seed}.began").touch()
        time.sleep(60)

    run_cells(job, CELLS[:1], hears_nothing, lambda *lost: rows.append(lost))
    over = (
        "the 1 min that the job had asked for were over, and it did not stop when it was asked to"
    )
    assert rows == [(CELLS[0], "timeout", over)]


def test_only_what_is_missing_or_of_other_settings_is_done(job):
    settings = {"linear": {"balanced": True}}
    assert Bundle(job, settings).unfinished() == CELLS
    for cell in CELLS[:2]:
        made = make_provenance(settings["linear"], cell.inputs)
        row = Run(**cell.identity, task="regression", val_score=1, test_score=1, provenance=made)
        write_runs([row], cell.run)
    assert Bundle(job, settings).unfinished() == CELLS[2:]
    assert Bundle(job, {"linear": {"balanced": False}}).unfinished() == CELLS
    assert Bundle(job, settings, [0.0]).unfinished() == CELLS  # rows of other alphas
    job.output.trials = [f"{cell.seed}.trials" for cell in CELLS]
    workflow.Path("2.trials").touch()
    assert Bundle(job, settings).unfinished() == [CELLS[0], CELLS[2]]
    # Another content of an input is another result.
    split = CELLS[1].inputs["split"]
    split.parent.mkdir(parents=True)
    split.write_text("changed")
    assert Bundle(job, settings).unfinished() == CELLS
    CELLS[1].run.write_text("half a file")
    assert Bundle(job, settings).unfinished() == CELLS


def test_a_cell_waits_for_another_process_that_does_it(job):
    """What outlives a killed snakemake is waited for, so that nothing is written by two."""
    order = workflow.Path("order.txt")

    def slow(cell, attempt):
        with order.open("a") as log:
            log.write("begin ")
        time.sleep(0.5)
        with order.open("a") as log:
            log.write("end ")

    def one_job():
        run_cells(job, CELLS[:1], slow, no_row)

    processes = [multiprocessing.get_context("fork").Process(target=one_job) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert order.read_text() == "begin end " * 3


def test_a_cell_that_another_process_did_meanwhile_is_not_done_again(job):
    """What outlived a killed snakemake has written its file when it is this one's turn."""
    cell, made = CELLS[0], make_provenance({}, CELLS[0].inputs)

    def slow(cell, attempt):
        time.sleep(0.5)
        assert not cell.run.is_file(), "done again"
        row = Run(**cell.identity, task="regression", val_score=1, test_score=1, provenance=made)
        write_runs([row], cell.run)

    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=run_cells, args=(job, [cell], slow, no_row)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
