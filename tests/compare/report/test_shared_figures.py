"""Figures are drawn once each, whoever draws them, and none is missing."""

from pansophy.compare.report import sections, shared_figures
from pansophy.compare.report.shared_figures import SharedFigures, draw_unclaimed

TASKS = [("overview", 0), ("methods", 0), ("methods", 1)]


def drawn_here(monkeypatch) -> list:
    """What is drawn, in order; a figure is the name of its task."""
    drawn = []

    def draw(comparison, task):
        drawn.append(task)
        return [str(task)]

    monkeypatch.setattr(sections, "figure_tasks", lambda c: list(TASKS))
    monkeypatch.setattr(shared_figures, "draw_task", draw)
    return drawn


def test_one_process_draws_all_in_their_order(monkeypatch):
    drawn = drawn_here(monkeypatch)
    figures = SharedFigures(None).drawn()
    assert drawn == list(figures) == TASKS


def test_a_claimed_task_is_drawn_by_nobody_else(monkeypatch, tmp_path):
    drawn = drawn_here(monkeypatch)
    first = draw_unclaimed(None, TASKS[:1], str(tmp_path))
    rest = draw_unclaimed(None, TASKS[::-1], str(tmp_path))
    assert list(first) == TASKS[:1] and list(rest) == TASKS[:0:-1]
    assert sorted(drawn) == sorted(TASKS)


def test_a_task_that_was_claimed_and_lost_is_drawn_here(monkeypatch):
    drawn = drawn_here(monkeypatch)
    shared = SharedFigures(None)
    assert shared_figures.claim_task(shared.claims, TASKS[1])  # by one that died
    assert list(shared.drawn()) == TASKS
    assert drawn == [TASKS[0], TASKS[2], TASKS[1]]


def test_without_a_temporary_folder_all_is_drawn_here(monkeypatch):
    drawn = drawn_here(monkeypatch)
    monkeypatch.setattr(shared_figures, "make_claims_folder", lambda: None)
    assert list(SharedFigures(None).drawn()) == TASKS == drawn
