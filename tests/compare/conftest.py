"""Comparisons of these tests run in the test process unless they ask for workers."""

import pytest


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    monkeypatch.setenv("PANSOPHY_WORKERS", "0")
