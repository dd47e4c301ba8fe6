"""The headline: what is kept, what to expect, against what, what next."""

from dataclasses import replace

import numpy as np
import pytest

from pansophy.compare.evaluation.ranking import KeepReason, Standing
from pansophy.compare.methods.excluded import SkipKind, SkippedMethod
from pansophy.compare.report.headline import (
    few_events_sentence,
    gain_clause,
    headline_sentences,
)
from pansophy.compare.report.html import with_code
from pansophy.compare.report.terminal import render_text, skipped_lines
from pansophy.diagnose import make_finding
from tests.compare.comparisons import TASKS, made, ready


@pytest.mark.parametrize("task", TASKS)
def test_says_what_is_kept_what_to_expect_against_what_and_what_next(task):
    c = ready(task)
    kept, gain, what_next = headline_sentences(c)
    score = c.row(c.winner).scores[c.metric]
    low, high = kept.split("interval ")[1].split(")")[0].split(" to ")
    assert kept.startswith(f"Keep {c.winner}: on new rows expect a")
    assert float(low) == pytest.approx(score.low, abs=0.005 * abs(score.low) + 0.01)
    assert float(high) == pytest.approx(score.high, abs=0.005 * abs(score.high) + 0.01)
    assert "the dummy" in gain and "95 % interval" in gain
    assert what_next.startswith("Next: ") and "new rows" in what_next
    assert str(c).index(kept) < str(c).index("against best")


def test_the_expectation_is_free_of_the_luck_of_being_picked():
    plain = replace(ready("regression"), selection_bias=0.0)
    lucky = replace(plain, selection_bias=7.0)
    seen, expected = plain.expected_score, lucky.expected_score
    for a, b in zip(seen[:3], expected[:3], strict=True):
        assert b - a == pytest.approx(7.0)
    assert f"of {expected.mean:.2f}" in headline_sentences(lucky)[0]
    second = lucky.leaderboard[1]
    other = replace(lucky, winner=second.method)  # not picked for its score
    assert other.expected_score == second.scores[lucky.metric]


@pytest.mark.parametrize("task", ["classification", "regression", "count"])
def test_the_number_to_expect_lies_inside_its_interval(task):
    c = ready(task)
    for bias in (0.0, 0.01, 1.0):
        score = replace(c, selection_bias=bias).expected_score
        assert score.low <= score.mean <= score.high


def test_a_familiar_measure_stands_beside_a_proper_score():
    c = ready("classification")
    right = 100 * c.row(c.winner).scores["accuracy"].mean
    dummy = 100 * c.row("dummy").scores["accuracy"].mean
    told = headline_sentences(c)[0]
    assert f"right in {right:.0f} % of rows (the dummy in {dummy:.0f} %)" in told
    assert "off by" in headline_sentences(ready("regression"))[0]


def test_a_dummy_is_not_recommended():
    c = ready("classification")
    kept = replace(c, winner="dummy", keep_reason=KeepReason.DUMMY_BEST)
    told = headline_sentences(kept)
    assert told[0].startswith("Nothing beats the dummy, which ignores all columns")
    assert "do not use a model" in told[-1] and len(told) == 2
    equal = replace(kept, keep_reason=KeepReason.DUMMY_EQUAL)
    assert "practically better than the dummy" in headline_sentences(equal)[0]


def test_a_model_not_surely_better_than_the_dummy_is_not_for_use():
    c = ready("classification")
    doubtful = c.estimates._replace(covariance=c.estimates.covariance * 1e6)
    told = headline_sentences(replace(c, estimates=doubtful))
    assert "not surely better than the dummy" in told[1]
    assert "do not rely on it yet" in told[-1] and "predict" not in told[-1]


def test_alarms_and_interruptions_come_before_use():
    c = made("classification")
    c.findings = [make_finding("leak", "alarm", "'x1' is the target.", column="x1")]
    assert "only if the alarm about the table" in headline_sentences(c)[0]
    assert "look into this alarm" in headline_sentences(c)[-1]
    c.complete = False
    assert "--resume" in headline_sentences(c)[-1]


def test_what_cannot_be_told_apart_is_named_with_what_would_help():
    c = made("classification")
    c.leaderboard[1] = c.leaderboard[1]._replace(standing=Standing.UNDECIDED)
    c.keep_reason = KeepReason.UNDECIDED_BEST
    told = headline_sentences(c)[-1]
    assert f"more rows would tell whether {c.leaderboard[1].method}" in told


def test_a_gain_that_may_be_chance_is_not_called_better():
    c = made("classification", n=30, seed=3)
    b = c.baselines[0]
    assert b.significant == ("not surely better" not in headline_sentences(c)[1])


@pytest.mark.parametrize("error", [0.05, 0.15, 0.17, 0.19, 0.22, 0.3])
def test_words_and_intervals_agree(error):
    """What is called better has an interval above 0, what is not says why."""
    c = ready("classification")
    e = c.estimates
    names = list(e.names)
    means = e.means.copy()
    means[names.index("dummy")] = means[names.index(c.winner)] + 0.4
    wide = e._replace(
        means=means, covariance=error**2 * np.eye(len(names)), training=0 * e.training
    )
    clause = gain_clause(
        *(lambda one: (one, one.baselines[0]))(replace(c, estimates=wide))
    )
    low = float(clause.split("interval ")[1].split(" to ")[0])
    if clause.startswith("better"):
        assert low > 0
    else:
        assert low <= 0 or "methods were tried" in clause


def test_methods_that_were_not_run_take_one_line():
    c = made("classification")
    c.skipped = [
        *(
            SkippedMethod(f"m{i}", "another task", SkipKind.OTHER_TASK)
            for i in range(90)
        ),
        *(SkippedMethod(f"k{i}", f"like {i}", SkipKind.UNSUITED) for i in range(12)),
        SkippedMethod("XGBoost", "pip install xgboost", SkipKind.NOT_INSTALLED),
        SkippedMethod("slow one", "would take 90 s", SkipKind.OVER_LIMITS),
    ]
    (line,) = skipped_lines(c)
    assert line.startswith("Not run: 104, of which 1 too slow or too large (slow one)")
    assert "1 not installed (XGBoost)" in line and "90 for other tasks" in line
    assert "m7" not in line and line in render_text(c)


def test_commands_of_the_headline_are_code_and_names_stay_text():
    assert with_code("Next: `a <b>` works.") == "Next: <code>a &lt;b&gt;</code> works."
    assert with_code("a lone ` and <i>") == "a lone ` and &lt;i&gt;"
    assert with_code("<script>") == "&lt;script&gt;"


def test_a_dummy_that_alone_has_finished_says_nothing_about_the_others():
    c = ready("classification")
    row = c.row("dummy")._replace(rank=1, difference=None, standing=Standing.BEST)
    alone = replace(
        c,
        winner="dummy",
        leaderboard=[row],
        keep_reason=KeepReason.DUMMY_BEST,
        complete=False,
    )
    told = headline_sentences(alone)
    assert told[0].startswith("Only the dummy, which ignores all columns, has finished")
    assert "Nothing beats" not in " ".join(told) and "--resume" in told[-1]


def test_a_few_rows_that_decide_the_score_are_named():
    c = ready("regression")
    assert not any("too narrow" in text for text in headline_sentences(c))
    trial = replace(c.trial(c.winner))
    trial.losses = np.r_[1e4, np.ones(len(c.data) - 1)]
    heavy = replace(
        c, trials=[trial, *(t for t in c.trials if t.method != trial.method)]
    )
    text = next(text for text in headline_sentences(heavy) if "too narrow" in text)
    assert "of the squared errors" in text and "--metric mae" in text


@pytest.mark.parametrize(
    ("events", "columns", "words"),
    [
        (5, 8, "5 of 120 rows are 'k0', 0.62 for each of 8 columns: too few for more"),
        (1, 1, "1 of 120 rows is 'k0', for one column: too few for more than a hint"),
        (40, 8, "40 of 120 rows are 'k0', 5 for each of 8 columns: fewer than the 10"),
        (50, 5, ""),
    ],
)
def test_few_events_are_counted(events, columns, words):
    c = made("classification", n=120, columns=columns)
    y = (np.arange(120) >= events).astype(int)
    c = replace(c, dataset=c.dataset._replace(data=replace(c.data, y=y)))
    text = few_events_sentence(c)
    assert text.startswith(words) and (text == "") == (words == "")
    assert few_events_sentence(made("regression", n=30)) == ""
