"""Sentences about what a comparison found."""

from dataclasses import replace

from pansophy.compare import Interval
from pansophy.compare.evaluation.ranking import (
    Standing,
)
from pansophy.compare.evaluation.row_level import RowLevelTest
from pansophy.compare.report.formatting import (
    format_difference_interval,
)
from pansophy.compare.report.sentences import (
    baseline_sentence,
    selection_bias_sentence,
    tradeoff_sentence,
)
from tests.compare.comparisons import made, ready


def test_the_answer_tells_what_the_top_scorer_would_gain():
    c = ready("classification")
    best, second = c.leaderboard[:2]
    told = tradeoff_sentence(replace(c, winner=second.method))
    assert told.startswith(
        f"Keeping {best.method} instead of {second.method} would be expected to gain "
        f"{second.difference.mean:.3g} of log loss (95 % interval "
    )
    assert (
        "--keep best" in told
        and tradeoff_sentence(replace(c, winner=best.method)) == ""
    )
    assert c.to_dict()["tradeoff"] is None
    other = replace(c, winner=second.method).to_dict()["tradeoff"]
    assert other["method"] == best.method and other["gain"]["mean"] > 0


def test_doubt_about_the_dummy_is_said_in_one_voice():
    """Tied when picking is allowed for, though apart if the two are looked at alone."""
    c = made("classification")
    rows = [
        r._replace(standing=Standing.TIED) if r.method == "dummy" else r
        for r in c.leaderboard
    ]
    told = baseline_sentence(replace(c, leaderboard=rows))
    assert "but not when allowing for the best having been picked from 4" in told
    wide = Interval(-0.08, -0.165, 0.006, 0.04)
    assert format_difference_interval(wide) == "0.165 lower to 0.006 higher"


def test_luck_is_not_called_small_beside_a_tie():
    c = made("classification")
    seen = c.leaderboard[0].scores[c.metric].mean
    apart = [
        c.leaderboard[0],
        *(r._replace(standing=Standing.WORSE, p=0.0) for r in c.leaderboard[1:]),
    ]
    clear = selection_bias_sentence(replace(c, expected=seen, leaderboard=apart))
    assert "it was clear enough" in clear
    rows = [
        r._replace(standing=Standing.TIED) if r.method == "dummy" else r for r in apart
    ]
    told = selection_bias_sentence(replace(c, expected=seen, leaderboard=rows))
    assert "clear enough" not in told and "says nothing about the ties" in told


def test_rows_have_a_say_about_the_dummy_where_folds_are_few():
    c = made("classification")
    rows = [
        r._replace(standing=Standing.TIED) if r.method == "dummy" else r
        for r in c.leaderboard
    ]
    test = RowLevelTest(3, 200, 3, {c.winner: 1e-5})
    told = baseline_sentence(replace(c, leaderboard=rows, row_test=test))
    assert "row by row (paired bootstrap of 200 held-out rows, p < 0.001" in told
    assert "not beyond doubt over 3 folds" in told and "picked from" not in told
    kept = replace(c, row_test=test).to_dict()["row_level_test"]
    assert kept == {"folds": 3, "rows": 200, "ranked": 3, "p": {c.winner: 1e-5}}
