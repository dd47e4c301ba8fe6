"""The page: one sound file for every task, whatever the names in the table are."""

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression

from pansophy.compare import compare
from pansophy.compare.methods.excluded import SkipKind, SkippedMethod
from pansophy.compare.report import decisions, sections
from pansophy.compare.report.html import (
    render_exploration,
    render_report,
    write_exploration,
)
from pansophy.compare.report.methodology import commands_to_repeat
from pansophy.diagnose import explore, make_finding
from pansophy.diagnose.data.overview import overview
from tests.compare.comparisons import EVIL, TASKS, made, ready
from tests.compare.report.pages import parsed

SECTIONS = (
    "leaderboard",
    "data",
    "winner",
    "decision",
    "methods",
    "not-run",
    "how",
    "repeat",
)


@pytest.mark.parametrize("task", TASKS)
def test_a_sound_page_for_every_task(task):
    c = ready(task)
    text = render_report(c)
    page = parsed(text)
    assert set(SECTIONS) <= set(page.names)
    assert "could not be drawn" not in text
    assert page.count["svg"] >= 6
    for words in (
        "kept",
        "Not ranked:",
        "broken",
        "paired test of held-out rows",
        "a note",
    ):
        assert words in text
    assert c.verdict[1:].split("<")[0][:40] in text
    assert f"Keep {c.winner}: on new rows expect" in text
    assert {
        "classification": "A threshold",
        "multiclass": "Sets that hold",
        "regression": "Intervals that hold",
        "count": "Intervals that hold",
        "multilabel": "A threshold for each label",
    }[task] in text


def real(tmp_path, name):
    """A comparison whose clock is stopped."""
    x = [i / 60 for i in range(60)]
    table = {"x": x, "z": x[::-1], "y": [3 * v + (i % 7) / 7 for i, v in enumerate(x)]}
    c = compare(table, "y", methods={"line": LinearRegression()}, repeats=1)
    c.leaderboard = [
        r._replace(fit_seconds=0.01, predict_micros=2.0) for r in c.leaderboard
    ]
    for t in c.trials:
        t.fit_seconds = [0.01] * len(t.fit_seconds)
    c.settings |= {"seconds": 1.0, "finished": "now"}
    return c.report(tmp_path / "new" / name).read_text("utf-8")


def test_the_same_seed_gives_the_same_report_with_every_stage_recorded(tmp_path):
    text = real(tmp_path, "a.html")
    parsed(text)
    assert text == real(tmp_path, "b.html")
    assert "could not be drawn" not in text and "Would more rows help?" in text
    assert "LinearRegression()" in text and "scikit-learn" in text
    for stage in (
        "1 × 5 plain folds",
        "seed",
        "data (SHA-256)",
        "versions",
        "Licences",
        "random_state=0",
        "used as",
    ):
        assert stage in text


def test_hostile_names_stay_text():
    names = [EVIL, "w</svg><b>", "=cmd()|' /C calc'!A0", "_x $\\frac{1}{0}$"]
    c = made("classification", names=names)
    c.findings = [make_finding("leak", "alarm", f"{EVIL} is the target.", column=EVIL)]
    c.skipped = [SkippedMethod(EVIL, "no <i>reason</i>", SkipKind.UNSUITED)]
    c.leaderboard[0] = c.leaderboard[0]._replace(warnings={"<i>odd</i>": 1})
    c.overview = overview(pa.table({name: [1.0, 2.0, None] * 30 for name in names}))
    text = render_report(c)
    page = parsed(text)
    assert "b" not in page.count and "i" not in page.count
    assert "&lt;script&gt;" in text and "$x^2$" in text
    assert "Before you trust these numbers" in text


def test_same_result_same_bytes():
    c = ready("multiclass")
    first = render_report(c)
    c._views.clear()
    assert render_report(c) == first


def test_forty_methods_and_two_hundred_columns_stay_small():
    names = [f"a column with a long name, number {j}" for j in range(200)]
    c = made("multiclass", n=400, methods=40, columns=200, folds=2, names=names)
    c.skipped += [
        SkippedMethod(f"pansophy.thing_{i}", f"reason {i % 30}", SkipKind.OTHER_TASK)
        for i in range(150)
    ]
    text = render_report(c)
    parsed(text)
    assert len(text.encode()) < 3_000_000
    assert text.count("<details>") >= 40


def test_exploration_page(tmp_path):
    rows = {EVIL: list(range(60)), "b": ["u", "v", None] * 20, "c": [1.5, None] * 30}
    rows["y"] = [2 * v for v in rows[EVIL]]
    later = {**rows, EVIL: [v + 100 for v in rows[EVIL]]}
    seen = explore(pa.table(rows), "y", other=pa.table(later))
    path = write_exploration(seen, tmp_path / "e" / "explore.html", "<b>name</b>")
    text = path.read_text("utf-8")
    page = parsed(text)
    assert "b" not in page.count and "Look at this first" in text
    assert {"findings", "drift", "view", "columns"} <= set(page.names)
    assert "could not be drawn" not in text
    bare = explore(pa.table(rows), whole=False)
    page = parsed(write_exploration(bare, tmp_path / "bare.html").read_text("utf-8"))
    assert "view" not in page.names


def test_a_long_target_and_a_long_verdict_do_not_fill_a_phone(monkeypatch):
    monkeypatch.setattr(sections, "weak_subgroups", lambda c: [])
    monkeypatch.setattr(sections, "has_learning_curve", lambda c: False)
    monkeypatch.setattr(sections, "figure_tasks", lambda c: [])
    monkeypatch.setattr(sections, "method_blocks", lambda c, figures: [])
    monkeypatch.setattr(decisions, "decision_sections", lambda c: [])
    c, name = ready("classification"), "the answer to a question " * 12
    schema = replace(c.schema, target=name, why=f"{name} holds text")
    long = replace(c, dataset=c.dataset._replace(schema=schema))
    text = render_report(long)
    heading = re.search(r"<h1.*?</h1>", text)[0]
    assert f'title="{name}"' in heading and heading.endswith("…</h1>")
    assert text.count(name) == 1 + sum(
        name in line for line in commands_to_repeat(long)
    )
    first = re.search(r'aria-label="Verdict">\s*<p>(.*?)</p>', text)[1]
    assert first.startswith("Keep method 1: ") and first.endswith(".")
    assert (
        'class="names name one"' in text and ".board .name { position: sticky" in text
    )


@pytest.fixture(scope="module")
def page_text():
    return render_report(ready("classification"))


def test_the_leaderboard_can_be_sorted_and_every_cell_has_its_value(page_text):
    board = re.search(r'<table class="board sortable">.*?</table>', page_text, re.S)[0]
    rows = re.findall(r"<tr.*?</tr>", board, re.S)
    heads = len(re.findall(r"<th ", rows[0]))
    assert len(rows) == 5 and heads >= 7
    for row in rows[1:]:
        values = re.findall(r'data-v="([^"]*)"', row)
        assert len(values) == heads
        assert sum(re.fullmatch(r"-?[\d.e-]+", v) is not None for v in values) > 5


def test_points_say_their_values_under_the_pointer(page_text):
    titles = re.findall(r"<title>(.*?)</title>", page_text)[1:]
    c = ready("classification")
    for row in c.leaderboard:  # in the scores and against time
        assert sum(t.startswith(f"{row.method}: log loss") for t in titles) == 1
        named = f"{row.rank}. {row.method}: log loss"
        assert sum(t.startswith(named) for t in titles) == 1
    assert any("when shuffled" in t for t in titles)
    assert any(t.startswith("x0 to ") and "rows" in t for t in titles)


def test_every_method_has_pictures_and_every_column_a_view(page_text):
    c = ready("classification")
    for row in c.leaderboard:
        pictures = page_text.count(f'aria-label="ROC of {row.method}"')
        assert pictures == (row.method not in (c.winner, "dummy"))
    for k in c.schema.used:
        assert f'aria-label="y by {k.name}"' in page_text


def test_the_style_knows_dark_screens_phones_and_paper(page_text):
    style = re.search(r"<style>(.*?)</style>", page_text, re.S)[1]
    dark = style.index("prefers-color-scheme: dark")
    assert "invert" in style[dark : dark + 700]
    phone = style[style.index("(max-width: 40rem)") :]
    assert ".board .more" in phone.split("@media print")[0]
    paper = style[style.index("@media print") :]
    assert "details" in paper and "filter: none" in paper
    assert 'name="color-scheme"' in page_text


def test_a_page_of_many_methods_stays_small():
    c = made("regression", n=2000, methods=24, columns=14)
    text = render_report(c)
    parsed(text)
    assert len(text.encode()) < 3_000_000
    drawn = text.count('aria-label="Residuals of')
    assert 18 <= drawn <= 20  # of the first 20, not the kept one nor the dummy


def test_nothing_that_a_terminal_obeys_is_in_the_page():
    c = made("classification")
    bad = "\x1b[31mred\x1b[0m\x07\x9b2J \u202eturned"
    c.trials[-1].failure = bad
    c.notes = [bad]
    c.findings = [make_finding("odd", "alarm", bad, column="x0")]
    c.skipped = [SkippedMethod(bad, bad, SkipKind.UNSUITED)]
    c.leaderboard[0] = c.leaderboard[0]._replace(warnings={bad: 1})
    for text in (render_report(c), c._repr_html_(), str(c), repr(c)):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)
        assert "[31m" not in text
    assert "red" in render_report(c) and "red" in str(c)


def test_associations_are_written_into_the_picture():
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    table = {"a": x, "b": x + rng.normal(size=80), "c": rng.normal(size=80)}
    seen = explore(pa.table(table))
    text = render_exploration(seen)
    A = np.abs(np.asarray(seen.overview.association["matrix"], dtype=float))
    assert f">{A[0, 1]:.2f}</text>".replace(">0.", ">.") in text
    assert f"<title>a and b: {A[0, 1]:.2f}</title>" in text


def test_a_page_of_very_many_columns_lists_the_first_ones(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 310)).round(3)
    wide = {f"a long name of a measured column {j}": X[:, j] for j in range(310)}
    wide["y"] = X[:, 0] + 0.1 * rng.normal(size=60)
    r = compare(wide, "y", methods=["linear regression"], folds=2, repeats=1, workers=0)
    page = r.report(tmp_path / "report.html").read_text("utf-8")
    assert len(page) < 3_000_000
    assert "All 310 columns" in page and "The first 300 of 310" in page
    assert "a long name of a measured column 0" in page
