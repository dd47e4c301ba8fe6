"""Sentences about what a comparison found."""

from dataclasses import replace

from pansophy.compare.evaluation.ranking import (
    Standing,
)
from pansophy.compare.report.formatting import format_differences
from pansophy.compare.report.sentences import (
    selection_bias_sentence,
    setting_sentence,
    shared_p_sentence,
    tradeoff_sentence,
)
from pansophy.compare.report.terminal import render_text
from tests.compare.comparisons import made, ready


def test_the_answer_tells_what_the_top_scorer_would_gain():
    c = ready("classification")
    best, second = c.leaderboard[:2]
    told = tradeoff_sentence(replace(c, winner=second.method))
    d = second.difference
    gain, *_ = format_differences(d.mean, abs(d.low), d.high)
    assert told.startswith(
        f"Keeping {best.method} instead of {second.method} would be expected to gain "
        f"{gain} of log loss (95 % interval "
    )
    assert (
        "--keep best" in told
        and tradeoff_sentence(replace(c, winner=best.method)) == ""
    )
    assert c.to_dict()["tradeoff"] is None
    other = replace(c, winner=second.method).to_dict()["tradeoff"]
    assert other["method"] == best.method and other["gain"]["mean"] > 0


def test_luck_is_not_called_small_beside_a_tie():
    c = made("classification")
    apart = [
        c.leaderboard[0],
        *(r._replace(standing=Standing.WORSE, p=0.0) for r in c.leaderboard[1:]),
    ]
    clear = selection_bias_sentence(replace(c, selection_bias=0.0, leaderboard=apart))
    assert "was clear enough" in clear
    rows = [
        r._replace(standing=Standing.TIED) if r.method == "dummy" else r for r in apart
    ]
    told = selection_bias_sentence(replace(c, selection_bias=0.0, leaderboard=rows))
    assert "clear enough" not in told and "says nothing about the ties" in told
    rows = [
        r._replace(standing=Standing.UNDECIDED) if r.method == "dummy" else r
        for r in apart
    ]
    told = selection_bias_sentence(replace(c, selection_bias=0.0, leaderboard=rows))
    assert "says nothing about those it is not told from" in told


def test_equal_p_values_are_explained():
    c = made("classification", methods=5)
    p = [1.0, 0.139, 0.139, 0.2, 0.3]
    rows = [r._replace(p=x) for r, x in zip(c.leaderboard, p, strict=False)]
    same = replace(c, leaderboard=rows)
    assert "adjusted together" in shared_p_sentence(same)
    assert "adjusted together" in render_text(same)
    apart = [r._replace(p=0.1 + 0.1 * i) for i, r in enumerate(rows)]
    apart = replace(c, leaderboard=apart)
    assert shared_p_sentence(apart) == ""


def test_the_positive_class_is_named():
    c = made("classification")
    assert setting_sentence(c).split(")")[0].endswith("; positive is 'k1'")
    assert "positive is" not in setting_sentence(made("multiclass"))
