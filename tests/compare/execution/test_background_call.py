"""Calls in the background: the same answer, whatever happens over there."""

import os
import signal
import statistics

import pytest

from pansophy.compare.execution import background_call, process_handles
from pansophy.compare.execution.background_call import call_in_background
from pansophy.compare.execution.process_handles import fork_server_ahead, server_ahead
from tests.compare.faulty_estimators import Case, same

needs_fork = pytest.mark.skipif(
    not process_handles.CAN_FORK, reason="workers are forked on Linux only"
)


@pytest.fixture(scope="module")
def server():
    with fork_server_ahead():
        yield server_ahead()


def test_without_a_fork_server_the_call_is_made_here():
    assert server_ahead() is None
    call = call_in_background(os.getpid)
    assert call.process is None
    assert call.result() == os.getpid()


@needs_fork
def test_a_call_runs_in_another_process(server):
    assert call_in_background(os.getpid).result() not in (
        os.getpid(),
        server.process.pid,
    )
    assert call_in_background(statistics.median, [3, 1, 2]).result() == 2


@needs_fork
def test_an_error_is_raised_where_the_result_is_asked_for(server):
    call = call_in_background(statistics.median, [])
    with pytest.raises(statistics.StatisticsError, match="no median"):
        call.result()


def killed_unless_in(home, values):
    """Mean of values; a process other than `home` kills itself before it answers."""
    if os.getpid() != home:
        os.kill(os.getpid(), signal.SIGKILL)
    return statistics.fmean(values)


@needs_fork
def test_a_killed_process_costs_only_time(server):
    call = call_in_background(killed_unless_in, os.getpid(), range(4))
    process = call.process
    assert call.result() == 1.5
    assert process.code == -signal.SIGKILL


@needs_fork
def test_arguments_that_cannot_be_sent_stay_here(server, monkeypatch):
    call = call_in_background(len, [open(os.devnull, "rb")])  # noqa: SIM115
    assert call.process is None
    call.arguments[0][0].close()
    assert call.result() == 1
    monkeypatch.setattr(background_call, "MAX_ARGUMENT_BYTES", 10)
    assert call_in_background(len, "x" * 100).process is None


@needs_fork
def test_pools_use_the_server_that_is_there_and_leave_it(server):
    case = Case(["ridge"], repeats=1, folds=2)
    alone = case.run(workers=0)
    children = len(server.children)
    assert same(alone, case.run(workers=2))
    assert len(server.children) > children
    assert server_ahead() is server and not server.closed
