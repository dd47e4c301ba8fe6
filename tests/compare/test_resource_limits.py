"""Limits of time and memory, in words and numbers."""

import os

import pytest
from sklearn.linear_model import Ridge

from pansophy.compare import resource_limits
from tests.compare.faulty_estimators import Case


def test_processes_are_wanted_unless_there_are_to_be_none(monkeypatch):
    assert not resource_limits.worker_processes_wanted()  # said by PANSOPHY_WORKERS
    assert not resource_limits.worker_processes_wanted(0)
    assert resource_limits.worker_processes_wanted(2)
    monkeypatch.delenv("PANSOPHY_WORKERS")
    assert resource_limits.worker_processes_wanted()


def test_limits_in_words_and_numbers():
    assert (
        resource_limits.private_memory(os.getpid()) > 1e6
        and resource_limits.private_memory(2**22 + 5) == 0
    )
    assert resource_limits.default_memory(2) > 0 and resource_limits.free_memory() > 1e8
    assert (
        resource_limits.describe_exit_code(-11)
        == "its process died with signal 11 (SIGSEGV)"
    )
    assert resource_limits.describe_exit_code(-9).endswith(
        "killed it, or memory ran out)"
    )
    assert resource_limits.describe_exit_code(3) == "its process ended with exit code 3"
    assert (
        resource_limits.format_bytes(5e8) == "500 MB"
        and resource_limits.format_bytes(2e9) == "2 GB"
    )
    with pytest.raises(ValueError, match="memory_limit must be at least 256 MB"):
        Case({"ridge": Ridge()}).run(workers=1, memory_limit=1e6)
