"""BM25 on disk: the scores of BM25 in memory, whatever runs, merges and deletions."""

import json
import subprocess
import sys

import numpy as np
import pytest

from pansophy.text import BM25, BM25Index, CountVectorizer
from pansophy.text.search import bm25_index
from pansophy.text.search.bm25_formulas import METHODS
from pansophy.text.search.bm25_index import kth_largest
from pansophy.text.search.search_words import indexed_words

DOCUMENTS = ["the cat sat on the mat", "the dog sat", "cats and dogs"]


@pytest.fixture
def small_runs(monkeypatch):
    """Runs and merges of a few dozen tokens, so that there are many."""
    monkeypatch.setattr(bm25_index, "RUN_TOKENS", 30)
    monkeypatch.setattr(bm25_index, "MERGED_POSTINGS", 40)
    monkeypatch.setattr("pansophy.text.search.bm25_runs.BLOCK", 150)
    monkeypatch.setattr("pansophy.text.search.bm25_runs.COPIED_TOKENS", 7)


def random_documents(rng, n=120):
    words = np.array([f"w{i}" for i in range(60)] + ["naïve", "мир", "éa", "zz"])
    p = 1 / np.arange(1, len(words) + 1)
    return [
        " ".join(rng.choice(words, rng.integers(0, 12), p=p / p.sum()))
        for _ in range(n)
    ]


def assert_same_results(found, expected, atol=1e-5):
    """Scores agree; documents do where no tie is near."""
    np.testing.assert_allclose(found.scores, expected.scores, atol=atol)
    sure = np.ones(found.scores.shape, bool)
    gaps = np.abs(np.diff(expected.scores, axis=1)) > 10 * atol
    sure[:, 1:] &= gaps | np.isnan(expected.scores[:, 1:])
    sure[:, :-1] &= gaps | np.isnan(expected.scores[:, 1:])
    sure[:, -1] = False
    np.testing.assert_array_equal(found.documents[sure], expected.documents[sure])


@pytest.mark.parametrize("method", list(METHODS))
def test_scores_of_bm25(method, rng, tmp_path, small_runs):
    documents = random_documents(rng)
    index = BM25Index.create(tmp_path / "i", method=method, k1=1.2, b=0.6)
    assert index.add(documents, merge=False) == range(120)
    assert len(index._segments) > 5
    model = BM25(1.2, 0.6, method=method).fit(documents)
    queries = ["w0 w1 w30", "w0", "w5 w5 naïve", "unknown", "", "мир w2 w3 w0 w1"]
    for k in (3, 200):
        assert_same_results(index.search(queries, k), model.search(queries, k))
    index.merge_segments(2)
    assert len(index._segments) == 2
    assert_same_results(index.search(queries, 7), model.search(queries, 7))
    again = BM25Index(tmp_path / "i")
    assert again.n_documents == 120
    assert_same_results(again.search(queries, 7), model.search(queries, 7))


def test_worked_example(tmp_path):
    index = BM25Index.create(tmp_path / "i")
    index.add(DOCUMENTS)
    found = index.search("cat sat", 3)
    np.testing.assert_allclose(found.scores[0, :2], [1.184353, 0.529582], atol=1e-6)
    assert found.documents.tolist() == [[0, 1, -1]]
    assert np.isnan(found.scores[0, 2])


def test_added_and_deleted_is_never_added(rng, tmp_path, small_runs):
    documents = random_documents(rng)
    index = BM25Index.create(tmp_path / "i")
    index.add(documents[:70])
    gone = rng.choice(70, 30, replace=False)
    index.delete(gone[:20])
    index.add(documents[70:])
    index.delete(gone[20:])
    kept = np.setdiff1d(np.arange(120), gone)
    model = BM25().fit([documents[i] for i in kept])
    queries = ["w0 w1 w30", "w7 w0", '"w0 w1"', "w3 w4 w5 w6 w0"]
    expected = BM25(positions=True).fit([documents[i] for i in kept]).search(queries, 9)
    numbers = np.where(
        expected.documents < 0, -1, kept[np.maximum(expected.documents, 0)]
    )
    expected = expected._replace(documents=numbers)
    for current in (index, BM25Index(tmp_path / "i")):
        assert current.n_documents == model.n_documents_ == 90
        assert_same_results(current.search(queries, 9), expected)
    index.merge_segments(1)
    assert not np.isin(index._segments[0].documents, gone).any()
    assert_same_results(index.search(queries, 9), expected)
    assert not index._has_dead_postings()
    index.merge_segments(1)
    with pytest.raises(ValueError, match=rf"numbers \[{gone[0]}\]"):
        index.delete([gone[0]])
    with pytest.raises(ValueError, match="no documents"):
        index.delete([120])
    with pytest.raises(ValueError, match="no documents"):
        index.delete([-1])
    names = {p.name for p in (tmp_path / "i").iterdir()}
    assert len(names) == 4  # index.json, deleted.bin, .lock, one segment


def test_phrases_and_fields(rng, tmp_path, small_runs):
    texts = ["new york city", "york new city new york", "the city of new haven york"]
    index = BM25Index.create(tmp_path / "i")
    index.add(texts)
    model = BM25(positions=True).fit(texts)
    queries = ['"new york"', '"new york" city', '"york city"', '"haven new"', '""']
    assert_same_results(index.search(queries, 3), model.search(queries, 3))
    fields = [
        {"title": t, "body": b} for t, b in zip(texts, random_documents(rng, 3))
    ] * 20
    weights = {"title": 2.5, "body": 1.0}
    index = BM25Index.create(tmp_path / "f", field_weights=weights)
    index.add(fields)
    model = BM25(field_weights=weights).fit(fields)
    for query in ("new w0", "york w1 w2"):
        assert_same_results(index.search(query, 60), model.search(query, 60))
    # a phrase does not go on from one field to the next
    index = BM25Index.create(tmp_path / "g", field_weights=weights)
    index.add([{"title": "red green", "body": "blue"}] * 2, merge=False)
    index.merge_segments(1)
    assert (index.search('"green blue"').documents < 0).all()
    assert index.search('"red green"').documents[0, 0] == 0


@pytest.mark.parametrize("dense_share", [1e-3, 1e9])
def test_words_by_their_first_letters(
    rng, tmp_path, small_runs, monkeypatch, dense_share
):
    monkeypatch.setattr(bm25_index, "DENSE_SHARE", dense_share)
    words = ["computer", "computing", "compute", "comp", "com", "naïveté", "naïves"]
    documents = [" ".join(rng.choice(words, rng.integers(1, 9))) for _ in range(60)]
    cut = lambda text: " ".join(w[:5] for w in text.split())
    index = BM25Index.create(tmp_path / "i", method="lucene")
    index.add(documents)
    model = BM25(method="lucene").fit(map(cut, documents))
    for query in ("computation", "comp com", "naïve computers computers", "naï"):
        found = index.search(query, 60, prefix=5)
        assert_same_results(found, model.search(cut(query), 60))
    index.delete(range(20))
    model.delete(range(20))
    assert_same_results(
        index.search("computer", 60, prefix=5), model.search("compu", 60)
    )
    with pytest.raises(ValueError, match="prefix"):
        index.search("a", prefix=0)


def test_frequent_terms_are_looked_up_for_candidates_only(tmp_path, monkeypatch):
    index = BM25Index.create(tmp_path / "i")
    index.add(["common " * (i % 5 + 1) + ("rare" if i < 4 else "") for i in range(500)])
    looked = []
    restrict = bm25_index.Candidates.restrict

    def record(self, term):
        looked.append((len(term.documents), len(self.documents)))
        return restrict(self, term)

    monkeypatch.setattr(bm25_index.Candidates, "restrict", record)
    found = index.search("rare common", 3)
    ((n, candidates),) = looked
    assert n == 500
    assert 3 <= candidates <= 4
    model = BM25().fit(
        ["common " * (i % 5 + 1) + ("rare" if i < 4 else "") for i in range(500)]
    )
    assert_same_results(found, model.search("rare common", 3))


def test_plain_words_are_those_of_count_vectorizer(rng):
    analyze = CountVectorizer(token_pattern=r"(?u)\b\w+\b").build_analyzer()
    pool = "aB_9 .-'éßΣж\t\n\ud800"
    for _ in range(200):
        text = "".join(rng.choice(list(pool), 20))
        assert indexed_words(text) == analyze(text)


@pytest.mark.parametrize("size", [1, 3, 50, 900, 30_000, 40_000])
def test_kth_largest(rng, size):
    for values in (rng.normal(size=size), rng.integers(0, 3, size).astype(float)):
        for k in (1, 2, 100, 1000, 35_000):
            expected = np.sort(values)[-k] if k <= size else -np.inf
            assert kth_largest(values, k) == expected
    values = rng.normal(size=size)
    values[::16] += 10  # the sample is not like the rest
    for k in (1, 20, 100, 500):
        if k <= size:
            assert kth_largest(values, k) == np.sort(values)[-k]


def test_an_interruption_leaves_the_runs_that_were_done(tmp_path, small_runs):
    index = BM25Index.create(tmp_path / "i")
    index.add(DOCUMENTS)

    def broken():
        yield from ["other words here and there"] * 100
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.add(broken(), merge=False)
    again = BM25Index(tmp_path / "i")
    assert again.n_documents == again.size == index.size >= 3
    assert again.search("cat sat", 2).documents.tolist() == [[0, 1]]
    assert again.add(["one more cat"]) == range(again.size - 1, again.size)
    assert again.search("one more", 1).documents[0, 0] == again.size - 1


def test_bad_input(tmp_path):
    with pytest.raises(FileNotFoundError, match="not an index"):
        BM25Index(tmp_path)
    (tmp_path / "x").write_text("")
    with pytest.raises(FileExistsError, match="not empty"):
        BM25Index.create(tmp_path)
    with pytest.raises(ValueError, match="method must be"):
        BM25Index.create(tmp_path / "a", method="bm26")
    with pytest.raises(ValueError, match="b must be"):
        BM25Index.create(tmp_path / "a", b=2)
    index = BM25Index.create(tmp_path / "i", positions=False)
    with pytest.raises(ValueError, match="not one text"):
        index.add("text")
    with pytest.raises(ValueError, match="must be texts, got 3"):
        index.add([3])
    with pytest.raises(ValueError, match="field_weights"):
        index.add([{"a": "b"}])
    assert index.search("x").documents.tolist() == [[-1]]
    assert index.add([]) == range(0)
    index.add(["a text"])
    with pytest.raises(ValueError, match="positions=True"):
        index.search('"a text"')
    with pytest.raises(ValueError, match="must be text"):
        index.search([3])
    content = json.loads((tmp_path / "i" / "index.json").read_text())
    content["format"] = 99
    (tmp_path / "i" / "index.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match="format 99"):
        BM25Index(tmp_path / "i")


def test_searching_needs_neither_compiler_nor_solvers(tmp_path):
    index = BM25Index.create(tmp_path / "i")
    index.add(DOCUMENTS)
    code = (
        "import sys; from pansophy.text import BM25Index;"
        f"found = BM25Index({str(tmp_path / 'i')!r}).search('cat sat');"
        "heavy = {'numba', 'scipy', 'sklearn', 'torch', 'pandas'} & set(sys.modules);"
        "print(found.documents[0, 0], sorted(heavy))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "0 []"


def test_interrupted_deletion_is_none(tmp_path, monkeypatch):
    index = BM25Index.create(tmp_path / "i")
    index.add(DOCUMENTS)
    expected = index.search("cat sat dog", 3)
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):  # noqa: PT012
        patch.setattr(BM25Index, "_write", lambda self: 1 / 0)
        index.delete([1])
    again = BM25Index(tmp_path / "i")
    assert again.is_live.all()
    assert_same_results(again.search("cat sat dog", 3), expected)
    again.delete([0])
    assert BM25Index(tmp_path / "i").is_live.tolist() == [False, True, True]


def test_two_writers_and_a_reader(tmp_path):
    first = BM25Index.create(tmp_path / "i")
    first.add(DOCUMENTS)
    second = BM25Index(tmp_path / "i")
    reader = BM25Index(tmp_path / "i")
    assert second.add(["a zebra"]) == range(3, 4)
    # it sees what the other has done, and no segment is written twice
    assert first.add(["a giraffe"]) == range(4, 5)
    assert second.delete([0]).n_documents == 4
    first.merge_segments(1)
    assert reader.search("dog").documents[0, 0] == 1
    for index in (first, BM25Index(tmp_path / "i")):
        assert index.n_documents == 4
        assert index.search("zebra").documents[0, 0] == 3
        assert index.search("giraffe").documents[0, 0] == 4
        assert index.search("mat").documents[0, 0] == -1
    (tmp_path / "i" / "index.json").write_text("not JSON")
    with pytest.raises(ValueError, match="is damaged; make the index anew"):
        BM25Index(tmp_path / "i")
