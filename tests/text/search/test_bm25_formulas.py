"""Formulas of BM25: worked numbers of each variant, bounds, what is no query."""

import numpy as np
import pytest

from pansophy.text.search.bm25_formulas import (
    METHODS,
    TermFormula,
    check_query,
    query_list,
)


@pytest.mark.parametrize(("method", "idf", "gain"), [
    ("bm25", np.log(1 + 7.5 / 3.5), 2 * 2.2 / (2 + 1.2 * 1.75)),
    ("lucene", np.log(1 + 7.5 / 3.5), 2 / (2 + 1.2 * 1.75)),
    ("robertson", np.log(7.5 / 3.5), 2 / (2 + 1.2 * 1.75)),
    ("atire", np.log(10 / 3), 2 * 2.2 / (2 + 1.2 * 1.75)),
    ("bm25l", np.log(11 / 3.5),
     2.2 * (2 / 1.75 + 0.5) / (1.2 + 2 / 1.75 + 0.5) - 2.2 * 0.5 / 1.7),
    ("bm25+", np.log(11 / 3), 2 * 2.2 / (2 + 1.2 * 1.75)),
    ("printed", 1 + np.log(7.5 / 3.5), 2 * 2.2 / (2 + 1.2 * 1.75)),
])  # fmt: skip
def test_ten_documents_three_with_the_term(method, idf, gain):
    """Twice in a document of double the mean length: z = 1/4 + 3/4 * 2 = 1.75."""
    formula = TermFormula(1.2, 0.75, method, 0.5)
    assert formula.idf(10, 3) == pytest.approx(idf)
    assert formula.gains(2.0, 20.0, 10.0) == pytest.approx(gain)


@pytest.mark.parametrize("method", METHODS)
def test_gains_rise_to_their_bound(method):
    formula = TermFormula(1.2, 0.75, method, 0.5)
    gains = formula.gains(np.array([1.0, 2.0, 10.0, 1e6]), 5.0, 10.0)
    assert (np.diff(gains) > 0).all() and gains[-1] < formula.largest_gain()
    assert gains[-1] == pytest.approx(formula.largest_gain(), rel=1e-4)


def test_common_terms_count_nothing_but_in_print():
    assert TermFormula(1.2, 0.75, "robertson", 0.0).idf(10, 9) == 0
    assert TermFormula(1.2, 0.75, "printed", 0.0).idf(100, 99) < 0
    assert TermFormula(1.2, 0.75, "bm25", 0.0).absent() == 0


def test_queries_are_texts():
    assert query_list("one two") == ["one two"] and query_list(("a", "b")) == ["a", "b"]
    assert check_query("a") == "a"
    with pytest.raises(ValueError, match="must be text, got 3"):
        check_query(query_list(3)[0])
