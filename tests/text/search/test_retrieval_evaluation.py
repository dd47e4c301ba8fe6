"""Evaluation of searches: worked measures, intervals, no leak of titles."""

import numpy as np
import pytest

from pansophy.text import (
    EvaluationSet,
    evaluate_retrieval,
    retrieval_difference,
    title_questions,
)


def test_titles_do_not_leak():
    entries = [
        ("lime", "Lime. A lime is a limestone-free fruit of many kinds."),
        ("LIME", "Another entry with the same title in capitals here."),
        ("plum (fruit)", "plum (fruit): a plum (fruit) is purple and sweet and so on."),
        ("short", "too few"),
        ("", "no title at all but enough words to be asked for"),
    ]
    made = title_questions(entries)
    assert made.questions == ["plum (fruit)"]
    assert made.relevant == [{2}]
    assert len(made.documents) == 5
    assert "(fruit)" not in made.documents[2]
    assert made.documents[0] == ". A is a limestone-free fruit of many kinds."
    many = [(f"title{i}", "five words are in here") for i in range(30)]
    drawn = title_questions(many, max_questions=7, random_state=1)
    assert len(drawn.questions) == 7
    assert drawn == title_questions(many, max_questions=7, random_state=1)


def test_worked_measures():
    made = EvaluationSet(["a", "b", "c", "d"], [""] * 9, [{0}, {1}, {2}, {3, 4}])
    ranked = {"a": [0, 5], "b": [5, 1], "c": [5, 6], "d": [5, 3, 4]}
    report = evaluate_retrieval(lambda q, k: ranked[q][:k], made, 3)
    log2 = np.log2
    ideal = 1 + 1 / log2(3)
    ndcg = [1, 1 / log2(3), 0, (1 / log2(3) + 1 / log2(4)) / ideal]
    np.testing.assert_allclose(report.values["ndcg"], ndcg)
    assert report.ndcg.mean == pytest.approx(np.mean(ndcg))
    assert report.reciprocal_rank.mean == pytest.approx((1 + 0.5 + 0 + 0.5) / 4)
    assert report.recall.mean == pytest.approx(3 / 4)
    assert report.recall.low <= report.recall.mean <= report.recall.high
    assert "4 questions" in str(report)


def test_intervals_cover_and_differences_are_paired(rng):
    n = 400
    made = EvaluationSet([str(i) for i in range(n)], [""] * 3, [{0}] * n)
    good = rng.random(n) < 0.8
    a = evaluate_retrieval(lambda q, k: [0] if good[int(q)] else [1], made, 1)
    width = a.recall.high - a.recall.low
    assert width == pytest.approx(2 * 1.96 * np.sqrt(0.8 * 0.2 / n), rel=0.25)
    same = retrieval_difference(a, a)["recall"]
    assert same == (0.0, 0.0, 0.0)
    worse = evaluate_retrieval(lambda q, k: [1, 0] if good[int(q)] else [1], made, 2)
    difference = retrieval_difference(a, worse)["reciprocal_rank"]
    assert difference.mean == pytest.approx(0.5 * good.mean())
    assert difference.low > 0
    small = EvaluationSet(["a"], [""], [{0}])
    with pytest.raises(ValueError, match="same questions"):
        retrieval_difference(a, evaluate_retrieval(lambda q, k: [0], small))
    with pytest.raises(ValueError, match="no questions"):
        evaluate_retrieval(lambda q, k: [], EvaluationSet([], [], []))


def test_a_document_that_is_found_twice_counts_once():
    made = EvaluationSet(["a"], [""] * 9, [{3, 4}])
    report = evaluate_retrieval(lambda q, k: [3, 3, 3], made, 3)
    assert report.recall.mean == 0.5
    assert report.ndcg.mean == pytest.approx(1 / (1 + 1 / np.log2(3)))
