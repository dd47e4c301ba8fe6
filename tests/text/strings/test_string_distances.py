"""Edit distances: worked numbers, tables, metric properties, alignments."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.text import (
    Normalizer,
    edit_alignment,
    edit_distance,
    edit_distances,
    jaro_similarity,
    jaro_winkler_similarity,
    longest_common_subsequence,
)

WORDS = ["cat", "car", "cart", "care", "cards", "cast"]
short = st.text(alphabet="abc", max_size=9)


def slow_distance(a, b, *, substitute=1, transpose=False):
    """The recursion itself."""
    D = [[i + j for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else substitute
            D[i][j] = min(D[i - 1][j - 1] + cost, D[i - 1][j] + 1, D[i][j - 1] + 1)
            swapped = i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]
            if transpose and swapped:
                D[i][j] = min(D[i][j], D[i - 2][j - 2] + 1)
    return D[-1][-1]


def test_worked_example():
    assert edit_distances(["carr"], WORDS).tolist() == [[2, 1, 1, 1, 2, 2]]
    assert edit_distances(["carr"], WORDS, "indel").tolist() == [[3, 1, 2, 2, 3, 4]]
    assert edit_distance("carr", "cast", "indel") == 4 + 4 - 2 * 2


@settings(max_examples=60, deadline=None)
@given(short, short)
def test_kinds_against_the_recursion(a, b):
    assert edit_distance(a, b) == slow_distance(a, b)
    assert edit_distance(a, b, "indel") == slow_distance(a, b, substitute=2)
    assert edit_distance(a, b, "osa") == slow_distance(a, b, transpose=True)
    assert edit_distance(a, b, "damerau") <= edit_distance(a, b, "osa")
    assert edit_distance(a, b, substitute=2.0) == slow_distance(a, b, substitute=2)
    common = longest_common_subsequence(a, b)
    assert edit_distance(a, b, "indel") == len(a) + len(b) - 2 * len(common)


@settings(max_examples=60, deadline=None)
@given(short, short, short)
def test_metrics(a, b, c):
    for kind in ("levenshtein", "indel", "damerau"):
        D = edit_distances([a, b, c], kind=kind)
        assert (D == D.T).all()
        assert D[0, 2] <= D[0, 1] + D[1, 2]
        assert (D[0, 1] == 0) == (a == b)


def test_transpositions():
    # optimal string alignment never edits a swapped pair again, so it is no metric
    assert edit_distance("ca", "abc", "osa") == 3
    assert edit_distance("ca", "abc", "damerau") == 2
    assert edit_distance("ac", "ca", "osa") == 1


@pytest.mark.parametrize("length", [15, 16, 17, 32, 33, 63, 64, 65, 128, 129, 300])
def test_long_patterns(length, rng):
    a = "".join(rng.choice(list("abcd"), length))
    b = "".join(rng.choice(list("abcd"), 90))
    for kind, cost in (("levenshtein", 1), ("indel", 2)):
        expected = slow_distance(a, b, substitute=cost)
        assert edit_distance(a, b, kind) == expected
        assert edit_distance(b, a, kind) == expected


def test_matrix_of_many_lengths(rng):
    words = ["".join(rng.choice(list("xyz"), n)) for n in rng.integers(0, 90, 150)]
    D = edit_distances(words[:130], words[100:])
    for i, j in zip(rng.integers(0, 130, 40), rng.integers(0, 50, 40)):
        assert D[i, j] == slow_distance(words[i], words[100 + j])


def test_weighted_costs():
    near = {("a", "e"): 0.5}
    assert edit_distance("cat", "cet", substitute=near) == 0.5
    assert edit_distance("cet", "cat", substitute=near) == 1.0  # not symmetric
    assert edit_distance("", "ab", insert={"a": 3}) == 4.0
    assert edit_distance("ab", "", delete=0.25) == 0.5
    with pytest.raises(ValueError, match="costs of insert"):
        edit_distance("a", "b", insert=-1)
    with pytest.raises(ValueError, match="unit costs"):
        edit_distance("a", "b", "damerau", insert=2)


@settings(max_examples=40, deadline=None)
@given(short, short, st.sampled_from(["levenshtein", "indel", "osa"]))
def test_alignments_spell_both_and_cost_the_distance(a, b, kind):
    found = edit_alignment(a, b, kind)
    assert found.cost == edit_distance(a, b, kind)
    assert "".join("".join(e.a or "") for e in found.edits) == a
    assert "".join("".join(e.b or "") for e in found.edits) == b
    assert sum(e.operation != "keep" for e in found.edits) == found.cost


def test_sequences_of_words_and_other_scripts():
    assert edit_distance(["the", "cat"], ["the", "big", "cat"]) == 1
    assert longest_common_subsequence([1, 2, 3], [2, 3, 4]) == [2, 3]
    assert edit_distance("naïve", "naive") == 1
    assert edit_distance("日本", "日本語") == 1
    # a letter with a combining mark is two characters, until texts are normalised
    composed, combined = "caf\u00e9", "cafe\u0301"
    assert edit_distance(composed, combined) == 2
    assert edit_distance(*map(Normalizer(), [composed, combined])) == 0
    with pytest.raises(TypeError, match="hashable"):
        edit_distance([[1]], [[2]])
    with pytest.raises(ValueError, match="list of sequences"):
        edit_distances("abc")
    with pytest.raises(ValueError, match="kind must be"):
        edit_distance("a", "b", "hamming")


def test_jaro_worked_numbers():
    pairs = [("MARTHA", "MARHTA"), ("DIXON", "DICKSONX"), ("JELLYFISH", "SMELLYFISH")]
    jaro = [jaro_similarity(a, b) for a, b in pairs]
    np.testing.assert_allclose(jaro, [0.944444, 0.766667, 0.896296], atol=1e-6)
    winkler = [jaro_winkler_similarity(a, b) for a, b in pairs]
    np.testing.assert_allclose(winkler, [0.961111, 0.813333, 0.896296], atol=1e-6)
    assert jaro_similarity("", "") == 1.0
    assert jaro_similarity("a", "") == 0.0
