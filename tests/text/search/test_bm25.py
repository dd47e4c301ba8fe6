"""BM25: worked numbers, variants, documents that come and go, phrases, fields."""

import numpy as np
import pytest

import pansophy
from pansophy.text import BM25, BM25Index, CountVectorizer

DOCUMENTS = ["the cat sat on the mat", "the dog sat", "cats and dogs"]
METHODS = ["bm25", "lucene", "robertson", "atire", "bm25l", "bm25+", "printed"]


def slow_scores(documents, query, method, k1=1.5, b=0.75, delta=0.5):
    """Eqs. (1) and (2) word by word."""
    documents = [d.split() for d in documents]
    N = len(documents)
    mean = sum(map(len, documents)) / N
    out = []
    for document in documents:
        s = 0.0
        for t in query.split():
            n = sum(t in d for d in documents)
            if n == 0:
                continue
            f = document.count(t)
            z = 1 - b + b * len(document) / mean
            odds = (N - n + 0.5) / (n + 0.5)
            idf = {
                "robertson": np.log(max(odds, 1)),
                "atire": np.log(N / n),
                "bm25l": np.log((N + 1) / (n + 0.5)),
                "bm25+": np.log((N + 1) / n),
                "printed": 1 + np.log(odds),
            }.get(method, np.log(1 + odds))
            c = f * (k1 + 1) / (f + k1 * z)
            if method in ("lucene", "robertson"):
                c = f / (f + k1 * z)
            elif method == "bm25l":
                c = (k1 + 1) * (f / z + delta) / (k1 + f / z + delta)
            elif method == "bm25+":
                c += delta
            s += idf * c
        out.append(s)
    return np.array(out)


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(60)])
    p = 1 / np.arange(1, 61)
    draw = lambda n: " ".join(rng.choice(words, n, p=p / p.sum()))
    return [draw(n) for n in rng.integers(0, 30, 80)], [draw(4) for _ in range(30)]


def test_worked_example():
    scores = BM25().fit(DOCUMENTS).scores("cat sat")
    np.testing.assert_allclose(scores, [1.184353, 0.529582, 0], atol=1e-6)
    scores = BM25(method="printed").fit(DOCUMENTS).scores("cat sat")
    np.testing.assert_allclose(scores, [1.632653, 0.551182, 0], atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_definition(method, corpus):
    documents, queries = corpus
    model = BM25(1.2, 0.6, method=method, delta=0.7).fit(documents)
    found = model.search(queries, k=5)
    for query, best, scores in zip(queries, *found):
        expected = slow_scores(documents, query, method, 1.2, 0.6, 0.7)
        np.testing.assert_allclose(model.scores(query), expected, atol=1e-6)
        shared = [
            d for d, t in enumerate(documents) if set(t.split()) & set(query.split())
        ]
        np.testing.assert_allclose(
            scores[: len(shared)],
            np.sort(expected[shared])[::-1][:5],
            atol=1e-6,
        )
        np.testing.assert_allclose(
            expected[best[best >= 0]], scores[best >= 0], atol=1e-6
        )


@pytest.mark.parametrize("method", ["robertson", "lucene", "atire", "bm25l", "bm25+"])
def test_equal_to_bm25s(method, corpus):
    bm25s = pytest.importorskip("bm25s")
    documents, queries = corpus
    documents = [d for d in documents if d]
    model = BM25(1.3, 0.6, method=method, delta=0.7).fit(documents)
    peer = bm25s.BM25(method=method, k1=1.3, b=0.6, delta=0.7)
    peer.index([d.split() for d in documents], show_progress=False)
    for query in queries:
        known = [w for w in query.split() if w in peer.vocab_dict]
        expected = peer.get_scores(known)
        np.testing.assert_allclose(model.scores(query), expected, atol=2e-5)


def test_limits():
    saturated = BM25().fit(["dog " * n for n in (1, 10, 1000)] + ["cat"] * 9)
    s = saturated.scores("dog")
    idf = np.log(1 + (12 - 3 + 0.5) / 3.5)
    assert s.max() < idf * 2.5
    lengths = BM25(b=0.0).fit(["cat", "cat " + "filler " * 50, "dog"])
    s = lengths.scores("cat")
    assert s[0] == pytest.approx(s[1])
    # b = 1: only the share of the words counts
    s = BM25(b=1.0).fit(["cat dog", "cat dog cat dog", "sun moon star"]).scores("cat")
    assert s[0] == pytest.approx(s[1])
    once = BM25(0.0).fit(["cat cat cat", "cat", "dog"]).scores("cat")
    assert once[0] == pytest.approx(once[1])


def test_added_and_deleted_is_never_added(corpus):
    documents, queries = corpus
    extra = ["w1 w2 w3 novel", "w5 novel novel"]
    fresh = BM25().fit(documents)
    model = BM25().fit(documents[:30])
    for at in range(30, 80, 5):  # more segments than are kept
        model.partial_fit(documents[at : at + 5])
    model.partial_fit(extra).delete([80, 81])
    assert model.n_documents_ == 80
    for query in [*queries, "novel"]:
        scores = model.scores(query)
        np.testing.assert_allclose(scores[:80], fresh.scores(query), atol=1e-6)
        assert np.isnan(scores[80:]).all()
    a, b = model.search(queries), fresh.search(queries)
    np.testing.assert_array_equal(a.documents, b.documents)


def test_most_documents_deleted():
    model = BM25().fit([f"word{i} common" for i in range(20)]).delete(range(15))
    assert model.search("common", k=20).documents[0, :5].tolist() == [
        15,
        16,
        17,
        18,
        19,
    ]
    assert (model.search("word3").documents == -1).all()
    with pytest.raises(ValueError, match=r"numbers \[3\]"):
        model.delete([3])


def test_ties_go_to_the_lower_number():
    model = BM25().fit(["xx yy"] * 6)
    assert model.search("xx", k=3).documents.tolist() == [[0, 1, 2]]


def test_repeated_and_unknown_words():
    model = BM25().fit(DOCUMENTS)
    np.testing.assert_allclose(model.scores("cat cat"), 2 * model.scores("cat"))
    assert (model.scores("zebra") == 0).all()
    assert (model.search(["zebra", ""]).documents == -1).all()


def test_phrases():
    documents = [
        "new york city",
        "york is not new",
        "a new city in york",
        "new york new york",
    ]
    model = BM25(positions=True).fit(documents)
    found = model.search('"new york"', k=4)
    assert set(found.documents[0, :2]) == {0, 3}
    assert (found.documents[0, 2:] == -1).all()
    both = model.scores('"new york" city')
    np.testing.assert_allclose(both, model.scores('"new york"') + model.scores("city"))
    model.partial_fit(["the new york times"])
    assert 4 in model.search('"new york times"').documents
    with pytest.raises(ValueError, match="positions=True"):
        BM25().fit(documents).scores('"new york"')


def test_fields():
    documents = [
        {"title": "cat", "body": "about a dog"},
        {"title": "dog", "body": "about a cat"},
    ]
    model = BM25(field_weights={"title": 3.0, "body": 1.0}).fit(documents)
    s = model.scores("cat")
    assert s[0] > s[1]
    plain = BM25().fit(documents)
    joined = BM25().fit(["cat about a dog", "dog about a cat"])
    np.testing.assert_allclose(plain.scores("cat"), joined.scores("cat"))
    with pytest.raises(ValueError, match="field_weights of BM25"):
        BM25(field_weights={"title": 1.0}).fit(DOCUMENTS)


def test_own_vectorizer():
    model = BM25(vectorizer=CountVectorizer(stop_words="english")).fit(DOCUMENTS)
    assert (model.scores("the on") == 0).all()
    chars = BM25(vectorizer=CountVectorizer(analyzer="char_wb", ngram_range=(3, 3)))
    assert set(chars.fit(DOCUMENTS).search("catz", k=2).documents[0]) == {0, 2}
    with pytest.raises(ValueError, match="vectorizer of BM25"):
        BM25(vectorizer=CountVectorizer(analyzer=str.split)).fit(DOCUMENTS)


@pytest.mark.parametrize("positions", [False, True])
def test_save_load_and_go_on(positions, tmp_path, corpus):
    documents, queries = corpus
    model = BM25(positions=positions).fit(documents[:50]).delete([3])
    pansophy.save(model, tmp_path / "index.pansophy")
    again = pansophy.load(tmp_path / "index.pansophy")
    np.testing.assert_array_equal(
        again.search(queries).documents, model.search(queries).documents
    )
    again.partial_fit(documents[50:])
    model.partial_fit(documents[50:])
    np.testing.assert_array_equal(
        again.search(queries).scores, model.search(queries).scores
    )


def test_bad_input():
    with pytest.raises(ValueError, match="string object received"):
        BM25().fit("one document")
    with pytest.raises(ValueError, match="a query must be text"):
        BM25().fit(DOCUMENTS).search([3])
    with pytest.raises(ValueError, match="k must be"):
        BM25().fit(DOCUMENTS).search("cat", k=0)
    assert BM25().fit([]).search("cat").documents.tolist() == [[-1]]


def test_every_script_in_memory_as_on_disk(tmp_path):
    """Scores of `BM25` are those of `BM25Index`, where single characters are too."""
    documents = [
        "日本語の文章です", "これは中国語", "C is a language", "R and C++ too",
        "東京都 京都 ภาษาไทย", "plain text about a cat", "한국어를 배운다", "नमस्ते",
    ]  # fmt: skip
    index = BM25Index.create(tmp_path / "index")
    index.add(documents)
    model = BM25().fit(documents)
    for query, first in [
        ("日本語", 0), ("語", 1), ("中国", 1), ("京", 4), ("C", 2), ("C++", 2),
        ("R", 3), ("a cat 京", 5), ("ไทย", 4), ("한국", 6), ("नमस्ते", 7),
    ]:  # fmt: skip
        expected = np.zeros(len(documents))
        found = index.search(query, k=len(documents))
        held = found.documents[0] >= 0
        expected[found.documents[0][held]] = found.scores[0][held]
        np.testing.assert_allclose(model.scores(query), expected, rtol=1e-5, atol=1e-6)
        assert model.search(query, k=1).documents[0, 0] == first
        numbers = np.arange(len(documents))
        np.testing.assert_allclose(index.scores(query, numbers), expected, rtol=1e-6)
