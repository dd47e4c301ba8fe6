"""The verdict of a comparison in sentences, from standings and reasons."""

import pytest

from pansophy.compare.evaluation.paired_tests import DUMMY
from pansophy.compare.evaluation.ranking import (
    KeepReason,
    KeptMethod,
    RankedMethod,
    Standing,
)
from pansophy.compare.report.verdict import (
    KEPT_BECAUSE,
    headline_of,
    kept_clause,
    verdict_parts,
    verdict_sentence,
)


def ranked(*entries):
    """Rows of a leaderboard from (method, standing, p value, seconds of a fit)."""
    return [
        RankedMethod(i, name, {}, None, p, standing, seconds, 1.0)
        for i, (name, standing, p, seconds) in enumerate(entries, 1)
    ]


BEST, TIED, OPEN, WORSE = (
    Standing.BEST,
    Standing.TIED,
    Standing.UNDECIDED,
    Standing.WORSE,
)
TOP = KeepReason.TOP_SCORER


def test_better_than_all_others():
    rows = ranked(
        ("forest", BEST, 1, 9), ("ridge", WORSE, 0.01, 1), (DUMMY, WORSE, 0, 1)
    )
    text = verdict_sentence(rows, KeptMethod("forest", TOP))
    assert text == "forest is better than every other method."
    many = ranked(("nearest neighbours", BEST, 1, 9), ("ridge", WORSE, 0.01, 1))
    text = verdict_sentence(many, KeptMethod("nearest neighbours", TOP))
    assert text == "nearest neighbours are better than every other method."


def test_nothing_is_as_good_though_one_p_value_is_large():
    rows = ranked(("forest", BEST, 1, 9), ("ridge", WORSE, 0.05, 1))
    text = verdict_sentence(rows, KeptMethod("forest", TOP))
    assert text == "forest scores best; nothing above the dummy is as good."


def test_equal_and_undecided_methods_are_named():
    rows = ranked(
        ("forest", BEST, 1, 9),
        ("ridge", TIED, 0.5, 1),
        ("boosting", OPEN, 0.3, 9),
        ("tree", OPEN, 0.2, 1),
        ("naive Bayes", WORSE, 0.01, 1),
    )
    headline, qualification = headline_of(rows, ["ridge"], ["boosting", "tree"])
    assert headline == (
        "forest scores best; practically equal: ridge; not enough rows to tell it from "
        "boosting and tree"
    )
    assert qualification == ""
    plural = ranked(("random trees", BEST, 1, 9), ("ridge", OPEN, 0.5, 1))
    assert headline_of(plural, [], ["ridge"])[0] == (
        "random trees score best; not enough rows to tell them from ridge"
    )
    five = headline_of(rows, list("abcde"), [])[0]
    assert five.endswith("practically equal: a, b, c and 2 more")


def test_a_simpler_method_is_kept():
    rows = ranked(("forest", BEST, 1, 9.0), ("ridge", TIED, 0.5, 1.0))
    kept = KeptMethod("ridge", KeepReason.SIMPLER_EQUAL)
    assert verdict_sentence(rows, kept) == (
        "forest scores best; practically equal: ridge; ridge is kept as the simpler "
        "one that is almost certainly practically equal (9 times faster to fit)."
    )


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(4.5, " (2 times faster to fit)"), (4.6, ""), (0.0, ""), (20.0, "")],
)
def test_how_much_faster_it_is(seconds, words):
    rows = ranked(("forest", BEST, 1, 9.0), ("ridge", TIED, 0.5, seconds))
    clause = kept_clause(rows, KeptMethod("ridge", KeepReason.REQUESTED))
    assert clause == f"ridge is kept, as asked for{words}"


def test_nothing_is_said_of_a_kept_best_method_that_stands_alone():
    rows = ranked(("forest", BEST, 1, 9), ("ridge", WORSE, 0.01, 1))
    kept = KeptMethod("forest", KeepReason.UNDECIDED_BEST)
    assert verdict_parts(rows, kept)[2] == ""
    near = ranked(("forest", BEST, 1, 9), ("ridge", OPEN, 0.3, 1))
    assert verdict_parts(near, kept)[2] == "forest is kept as the better one"
    assert kept_clause(near, KeptMethod("forest", TOP)) == ""


@pytest.mark.parametrize("standing", [TIED, OPEN])
def test_a_doubt_about_the_dummy_is_a_sentence_of_its_own(standing):
    rows = ranked(("forest", BEST, 1, 9), (DUMMY, standing, 0.4, 1))
    text = verdict_sentence(rows, KeptMethod("forest", KeepReason.UNDECIDED_BEST))
    assert text.endswith(
        ". Nothing here beats the dummy, which ignores all columns, beyond doubt."
    )
    sure = ranked(("forest", BEST, 1, 9), (DUMMY, WORSE, 0.04, 1))
    assert verdict_parts(sure, KeptMethod("forest", TOP))[3] == ""


def test_the_dummy_scores_best():
    rows = ranked((DUMMY, BEST, 1, 1), ("forest", TIED, 0.4, 9))
    parts = verdict_parts(rows, KeptMethod(DUMMY, KeepReason.DUMMY_BEST))
    assert parts == [
        "Nothing here beats the dummy, which ignores all columns: it scores best",
        "", "", "",
    ]  # fmt: skip


def test_one_method_alone():
    rows = ranked(("support vectors", BEST, 1, 1))
    text = verdict_sentence(rows, KeptMethod("support vectors", TOP))
    assert text == "support vectors are the only method that finished."


def test_every_reason_has_its_words():
    assert set(KEPT_BECAUSE) == set(KeepReason)
