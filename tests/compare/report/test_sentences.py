"""Sentences about what a comparison found."""

from dataclasses import replace

from pansophy.compare.evaluation.ranking import (
    Standing,
)
from pansophy.compare.report.sentences import (
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
