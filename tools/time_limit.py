"""A plug-in of pytest: after some seconds, the tests that have not begun are left out.

    python -m pytest -p tools.time_limit --time-limit 90 tests/linear_model

The seconds count from the start of the command, in all processes of pytest-xdist. What
was left out is listed at the end, by file.
"""

import time
from collections import Counter

import pytest

LEFT_OUT = "left out: the time is over"


def pytest_addoption(parser):
    parser.addoption(
        "--time-limit", type=float, help="seconds until tests are left out"
    )


def pytest_configure(config):
    seconds = config.getoption("--time-limit")
    if seconds is not None and not hasattr(config, "workerinput"):
        config.time_is_over = time.time() + seconds
    elif seconds is not None:
        config.time_is_over = config.workerinput["time_is_over"]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Workers of pytest-xdist end when the process that started them ends."""
    if hasattr(node.config, "time_is_over"):
        node.workerinput["time_is_over"] = node.config.time_is_over


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if time.time() > getattr(item.config, "time_is_over", float("inf")):
        pytest.skip(LEFT_OUT)


def pytest_terminal_summary(terminalreporter):
    reports = terminalreporter.stats.get("skipped", [])
    files = Counter(r.location[0] for r in reports if LEFT_OUT in str(r.longrepr))
    if files:
        terminalreporter.section("left out for lack of time")
        for file, count in files.items():
            terminalreporter.write_line(f"{count:5d} tests of {file}")
