"""The first screen: the answer in plain words, how sure it is, what to do next."""

import re

import pytest

from pansophy.compare.report.first_screen import dot_rows, first_screen
from pansophy.compare.report.html import render_report
from pansophy.diagnose import make_finding
from tests.compare.comparisons import TASKS, made, ready


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_an_answer_a_number_and_a_next_step(task):
    c = ready(task)
    first = first_screen(c)
    assert first.answer == f"Use {c.winner}."
    assert first.sure[0] == "That it is better than a guess is more than chance."
    assert first.next and not first.next[0].startswith("Next")
    if task in ("regression", "count"):
        assert first.dots is None and "off on average" in first.explanation
    else:
        right = re.fullmatch(r"(\d+) of 100", first.figure)
        assert right and int(right[1]) == first.dots[1] >= first.dots[0]
        assert "are answered rightly; always giving the commonest" in first.explanation
    assert float(first.low) <= float(first.high)


def test_an_alarm_is_told_on_the_first_screen():
    c = made("classification")
    c.findings = [make_finding("copy", "alarm", "A column copies the target.")]
    first = first_screen(c)
    assert first.sure[-1].startswith("All of it holds only if an alarm about the table")
    assert "look into this alarm" in first.next[0].lower()


def test_dots_are_a_hundred_in_four_kinds():
    for guess, right in ((65, 71), (60, 55), (0, 100), (50, 50)):
        kinds = [kind for line in dot_rows((guess, right)) for kind in line]
        assert len(kinds) == 100
        assert kinds.count("guess") == min(guess, right)
        assert kinds.count("gain") == max(right - guess, 0)
        assert kinds.count("lost") == max(guess - right, 0)


def test_the_page_says_it_before_anything_else():
    c = ready("classification")
    text = render_report(c)
    first = first_screen(c)
    order = [text.index(words) for words in (
        first.figure, "How sure", "What to do next", "In the terms of the metric",
        "Leaderboard</h2>", "How the numbers were made", "Model card</h2>",
    )]  # fmt: skip
    assert order == sorted(order)
    label = f"Of 100 new rows a guess answers {first.dots[0]} rightly"
    assert label in text and text.count("<circle class=") == 100
