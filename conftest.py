"""Set-up of tests and doctests alike: seeds, quiet plots, no figure left open.

With `--listed-skips` a run fails in which a test is skipped for a reason that is not in
`LISTED_SKIPS`: a peer that is not installed, for example, compares nothing.
"""

import gc
import importlib.util
import itertools
import os
import re
import sys

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")

pytest_plugins = ["tests.seed_shift"]

# kernels of Triton, which is not on every machine
collect_ignore_glob = []
if importlib.util.find_spec("triton") is None:
    collect_ignore_glob.append("src/pansophy/*/*_triton.py")

# Reasons of skips, and why nothing is lost where all extras are installed.
LISTED_SKIPS = {
    r"Triton": "its kernels need a GPU; their loops on a CPU are tested beside them",
    r"workers are forked on Linux only|needs fork|no locks on this system": "no Linux",
    r"no alarm on this system|signals of POSIX|are of POSIX systems": "no POSIX system",
    r"could not import 'resource'": "no POSIX system",
    r"does not have a (decision_function|predict_proba) method": "a check of that",
    r"a row is left out of the fit that judges it": "the method has no such property",
    r"chance of a single world comes from Gymnasium": "there are no draws to compare",
    r"SAG, which alone starts with no gradients": "the peer has no such problem",
    r"left out: the time is over": "asked for, see tools/time_limit.py",
    r"no Chromium here": "its pages are tested without a browser beside it",
}

# A worker keeps millions of objects of pytest and the compiler, and a full collection
# visits all of them. Here it comes after so many tests, and visits only what is newer
# than the one before.
TESTS_BETWEEN_COLLECTIONS = 2_000
gc.set_threshold(50_000, 20, 1_000_000)
finished_tests = itertools.count(1)


def pytest_addoption(parser):
    text = "fail if a test is skipped for a reason that is not listed in conftest.py"
    parser.addoption("--listed-skips", action="store_true", help=text)


def unlisted_skips(config):
    """(file, reason) of tests that were skipped for a reason that is not listed."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    reports = reporter.stats.get("skipped", []) if reporter else []
    for report in reports:
        if isinstance(report.longrepr, tuple):  # an expected failure has another form
            reason = report.longrepr[2]
            if not any(re.search(listed, reason) for listed in LISTED_SKIPS):
                yield report.nodeid, reason


def pytest_terminal_summary(terminalreporter, config):
    if config.getoption("--listed-skips"):
        for test, reason in unlisted_skips(config):
            terminalreporter.write_line(f"UNLISTED SKIP {test}: {reason}", red=True)


def pytest_collection_finish():
    """Modules and tests stay until the end."""
    collect_and_keep()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown():
    if next(finished_tests) % TESTS_BETWEEN_COLLECTIONS == 0:
        collect_and_keep()


def collect_and_keep():
    """Free what is not in use; what is, later collections leave alone."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """Collect once; pytest's own five collections at the end then find nothing."""
    collect_and_keep()
    if session.config.getoption("--listed-skips") and any(
        unlisted_skips(session.config)
    ):
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True)
def no_figure_left_open():
    """A figure that a test leaves behind would be drawn on by the next."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
