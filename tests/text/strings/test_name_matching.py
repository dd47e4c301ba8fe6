"""Matching of names: all pairs as the oracle, one to one, repeated names."""

import numpy as np
import pytest

from pansophy.text import edit_distance, jaro_winkler_similarity, match_names
from pansophy.text.strings.name_matching import comparable_name

FIRST = ["anna", "maria", "john", "peter", "louise", "miguel", "chen", "fatima"]
LAST = ["smith", "garcia", "muller", "rossi", "tanaka", "johnson", "dubois"]


def misspelt(name, rng):
    letters = list(name)
    at = int(rng.integers(1, len(letters) - 1))
    kind = rng.integers(3)
    if kind == 0:
        letters[at] = str(rng.choice(list("aeiourst")))
    elif kind == 1:
        del letters[at]
    else:
        letters.insert(at, str(rng.choice(list("aeiourst"))))
    return "".join(letters)


def similarity_of(a, b, kind):
    if kind == "jaro_winkler":
        return jaro_winkler_similarity(a, b)
    d = edit_distance(a, b, kind)
    return 1 - d / (max(len(a), len(b)) if kind == "levenshtein" else len(a) + len(b))


@pytest.mark.parametrize("kind", ["levenshtein", "indel", "jaro_winkler"])
def test_all_pairs_are_the_oracle(kind, rng):
    right = [f"{f} {s}" for f in FIRST for s in LAST]
    left = [misspelt(name, rng) for name in rng.permutation(right)[:30]]
    found = match_names(left, right, similarity=kind, threshold=0.7, n_candidates=60)
    assert found.left.tolist() == list(range(30))
    for i, j, s in zip(*found):
        everything = [similarity_of(left[i], name, kind) for name in right]
        assert s == pytest.approx(everything[j])
        assert s == pytest.approx(max(everything))


def test_one_to_one_and_repeated_names():
    left = ["anna smith", "ana smith", "peter"]
    right = ["Anna Smith", "anna smith", "pete", "other"]
    free = match_names(left, right, threshold=0.7)
    assert free.right.tolist() == [0, 0, 2]
    single = match_names(left, right, threshold=0.7, one_to_one=True)
    assert sorted(zip(single.left.tolist(), single.right.tolist())) == [
        (0, 0),
        (1, 1),
        (2, 2),
    ]
    assert len(set(single.right.tolist())) == len(single.right)
    few = match_names(["anna", "anna", "anna"], ["anna", "ANNA"], one_to_one=True)
    assert few.left.tolist() == [0, 1]
    assert few.right.tolist() == [0, 1]


def test_order_of_rows_does_not_matter(rng):
    right = [f"{f} {s}" for f in FIRST for s in LAST]
    left = [misspelt(name, rng) for name in right]
    for one_to_one in (False, True):
        found = match_names(left, right, one_to_one=one_to_one, threshold=0.5)
        order = rng.permutation(len(left))
        moved = match_names(
            [left[i] for i in order], right, one_to_one=one_to_one, threshold=0.5
        )
        pairs = {(left[i], s) for i, s in zip(found.left, found.similarity)}
        again = {(left[order[i]], s) for i, s in zip(moved.left, moved.similarity)}
        assert len(pairs ^ again) <= 4  # of equal similarities another may be taken


def test_words_in_another_order():
    assert comparable_name("Doe, Jané", True) == "doe jane"
    assert len(match_names(["Doe, Jane"], ["jane doe"]).left) == 0
    found = match_names(["Doe, Jane"], ["jane doe"], sort_words=True)
    assert found.similarity.tolist() == [1.0]


def test_empty_names_and_bad_input():
    for left, right in ([], ["a"]), (["a"], []), ([None, ""], ["a", None, ""]):
        assert len(match_names(left, right, threshold=0).left) == 0
    found = match_names(["x", "日本"], ["日本", "y"], threshold=0)
    assert found.left.tolist() == [1]
    with pytest.raises(ValueError, match="threshold"):
        match_names(["a"], ["a"], threshold=2)
    with pytest.raises(ValueError, match="similarity"):
        match_names(["a"], ["a"], similarity="soundex")
    with pytest.raises(ValueError, match="not one text"):
        match_names("a", ["a"])


def test_few_pairs_are_compared(rng, monkeypatch):
    from pansophy.text.strings import name_matching

    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    names = ["".join(rng.choice(letters, 12)) for _ in range(2000)]
    seen = []
    compare = name_matching.pair_similarities

    def record(left, right, i, j, similarity):
        seen.append(len(i))
        return compare(left, right, i, j, similarity)

    monkeypatch.setattr(name_matching, "pair_similarities", record)
    found = match_names([misspelt(n, rng) for n in names], names, threshold=0.75)
    assert (found.left == found.right).mean() > 0.99
    assert len(found.left) > 1990
    assert sum(seen) <= 20 * 2000
