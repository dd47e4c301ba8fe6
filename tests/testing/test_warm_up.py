"""Warm-up: processes share the calls, what is found is told, nothing stays behind."""

from pansophy.core.loops import loop_cache
from pansophy.core.loops.completed_warm_up import completed_mark, loops_are_missing
from pansophy.testing import warm_up

NAMES = ["pansophy.linear_model.LinearRegression", "pansophy.linear_model.Ridge"]


def test_every_name_is_reported():
    seen = []
    reports = warm_up(NAMES, n_jobs=1, report=seen.append)
    assert reports == seen
    assert [r.name for r in reports] == NAMES
    assert all(r.seconds > 0 for r in reports)


def test_processes_share_the_names():
    reports = warm_up(NAMES, n_jobs=2)
    assert sorted(r.name for r in reports) == sorted(NAMES)


def test_part_of_the_names_is_no_complete_warm_up(tmp_path, monkeypatch):
    monkeypatch.setenv("PANSOPHY_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(loop_cache, "shipped_levels", tuple)
    warm_up(NAMES[:1], n_jobs=1)
    assert not completed_mark().exists()
    assert loops_are_missing()
