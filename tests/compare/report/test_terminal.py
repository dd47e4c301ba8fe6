"""A comparison as text, on a terminal and elsewhere."""

import io
from dataclasses import replace

import pytest

from pansophy.compare import Interval
from pansophy.compare.metrics import metrics_for
from pansophy.compare.report.formatting import (
    format_mean,
)
from pansophy.compare.report.terminal import print_comparison, render_text
from pansophy.diagnose import make_finding
from tests.compare.comparisons import made, ready


@pytest.fixture(scope="module")
def result():
    return made("classification")


def test_intervals_end_where_the_metric_does():
    accuracy, loss = (
        metrics_for("classification", m)[0] for m in ("accuracy", "log loss")
    )
    wide = accuracy.clip(Interval(0.94, 0.77, 1.11, 0.05))
    assert wide.high == 1.0 and wide.low == 0.77
    assert loss.clip(Interval(0.06, -0.1, 0.2, 0.1)).low == 0.0
    r2 = metrics_for("regression", "r2")[0]
    found = r2.clip(Interval(0.4, -1.6, 2.4, 1.0))
    assert found.high == 1.0 and found.low < -1
    assert format_mean(wide) == "0.94 ± 0.17"  # the side that is whole
    c = ready("classification")
    rows = [r._replace(scores={**r.scores, "accuracy": wide}) for r in c.leaderboard]
    assert "would leave what the metric can be (accuracy) it is cut" in render_text(
        replace(c, leaderboard=rows)
    )
    assert "would leave" not in render_text(c)


def test_words_say_it(result):
    text = str(result)
    assert "better than the dummy by" in text and "Less is better" in text
    assert "on new rows expect a log loss of" in text
    assert "Against the runner-up alone" in text
    assert "Disqualified: broken (fold 1 failed)." in text
    assert "Not run: 2, of which 1 not asked for" in text
    assert text.index(result.verdict[5:]) < text.index("method 1  ")  # verdict first
    assert repr(result).startswith("<Comparison of 4 methods for 'y': ")
    assert "\n" not in repr(result)


def test_text_fits_the_screen_and_the_terminal_gets_a_drawn_table(result, monkeypatch):
    result.findings.append(
        make_finding("leak", "alarm", "'x1' is the target.", column="x1")
    )
    narrow = render_text(result, 72)
    assert max(map(len, narrow.splitlines())) <= 72
    assert "brier score" not in narrow and "brier score" in str(result)

    class Screen(io.StringIO):
        def isatty(self):
            return True

    plain, drawn = io.StringIO(), Screen()
    print_comparison(result, plain)
    assert plain.getvalue() == str(result) + "\n"
    monkeypatch.setenv("COLUMNS", "90")
    print_comparison(result, drawn)
    text = drawn.getvalue()
    assert "method 1" in text and "Alarm: 'x1' is the target." in text
    result.findings.clear()


def test_markup_in_names_is_only_text_on_a_terminal():
    c = made("regression", methods=2)
    c.leaderboard[0] = c.leaderboard[0]._replace(warnings={"[red]odd[/nothing]": 1})
    out = type("Screen", (io.StringIO,), {"isatty": lambda self: True})()
    print_comparison(c, out)
    assert "[red]" in out.getvalue()
