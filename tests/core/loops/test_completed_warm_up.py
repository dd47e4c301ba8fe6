"""Marks of completed warm-ups: by part, and only for the loops as they are."""

import pytest

from pansophy.core.loops import completed_warm_up, loop_cache
from pansophy.core.loops.completed_warm_up import loops_are_missing, mark_completed


@pytest.fixture(autouse=True)
def nothing_shipped(tmp_path, monkeypatch):
    monkeypatch.setenv("PANSOPHY_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(loop_cache, "shipped_levels", tuple)


def test_a_part_has_a_mark_of_its_own():
    assert loops_are_missing() and loops_are_missing("regression")
    mark_completed("regression")
    assert not loops_are_missing("regression")
    assert loops_are_missing() and loops_are_missing("count")


def test_a_warm_up_of_all_loops_covers_every_part():
    mark_completed()
    assert not loops_are_missing() and not loops_are_missing("count")


def test_another_compiler_makes_the_mark_void(monkeypatch):
    mark_completed()
    monkeypatch.setattr(loop_cache, "target_name", lambda: "another")
    assert loops_are_missing()


def test_shipped_loops_need_no_mark(monkeypatch):
    monkeypatch.setattr(loop_cache, "shipped_levels", lambda: ("a level",))
    assert not loops_are_missing()


def test_a_folder_that_cannot_be_written_has_no_mark(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("PANSOPHY_CACHE_DIR", str(tmp_path / "file"))
    mark_completed()
    assert loops_are_missing()
    assert not completed_warm_up.completed_mark().exists()
