"""TF-IDF: the variants' numbers, scikit-learn's results, mutual information."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer as PeerTransformer
from sklearn.feature_extraction.text import TfidfVectorizer as Peer

import pansophy
from pansophy.text import (
    TfidfTransformer,
    TfidfVectorizer,
    inverse_document_frequency,
    term_frequency,
)

DOCUMENTS = ["the cat sat on the mat", "the dog sat", "cats and dogs", ""]


def test_worked_example():
    # 3 of 100 words; 1,000 of 10,000,000 documents have the term
    tf = term_frequency(np.array([[3, 97]]))[0, 0]
    assert tf == pytest.approx(0.03)
    rows = np.zeros(1000, dtype=np.int64)
    counts = sparse.csr_array(
        (np.ones(1000), (np.arange(1000), rows)), shape=(10_000_000, 1)
    )
    idf = inverse_document_frequency(counts)[0]
    assert idf == pytest.approx(9.210340, abs=1e-6)
    assert tf * idf == pytest.approx(0.276310, abs=1e-6)
    assert inverse_document_frequency(counts, base=10)[0] == pytest.approx(4)


def test_term_frequencies():
    counts = np.array([[3, 1, 0], [0, 2, 2]])
    expected = {
        "raw": counts,
        "relative": [[0.75, 0.25, 0], [0, 0.5, 0.5]],
        "boolean": [[1, 1, 0], [0, 1, 1]],
        "log": np.log1p(counts),
        "sublinear": [[1 + np.log(3), 1, 0], [0, 1 + np.log(2), 1 + np.log(2)]],
        "augmented": [[1, 0.5 + 0.5 / 3, 0], [0, 1, 1]],
    }
    for kind, values in expected.items():
        np.testing.assert_allclose(term_frequency(counts, kind), values)
        sparse_values = term_frequency(sparse.csr_array(counts), kind)
        np.testing.assert_allclose(sparse_values.toarray(), values)
    with pytest.raises(ValueError, match="kind must be one of"):
        term_frequency(counts, "double")


def test_inverse_document_frequencies():
    counts = np.array([[1, 1, 0], [0, 2, 0], [0, 1, 0], [1, 1, 0]])
    of = lambda kind: inverse_document_frequency(counts, kind)
    np.testing.assert_allclose(of("plain"), [np.log(2), 0, np.inf])
    np.testing.assert_allclose(of("smooth"), np.log([5 / 3, 1, 5]))
    np.testing.assert_allclose(of("probabilistic"), np.log([1, 0.5 / 4.5, 9]))
    np.testing.assert_allclose(of("sklearn_smooth"), 1 + np.log([5 / 3, 1, 5]))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"norm": "l1"},
        {"norm": None, "smooth_idf": False},
        {"use_idf": False},
        {"sublinear_tf": True, "ngram_range": (1, 2)},
        {"dtype": np.float32},
    ],
    ids=str,
)
def test_equal_to_scikit_learn(options):
    ours = TfidfVectorizer(**options)
    theirs = Peer(**options)
    A = ours.fit_transform(DOCUMENTS)
    B = theirs.fit_transform(DOCUMENTS)
    assert A.dtype == B.dtype
    np.testing.assert_allclose(A.toarray(), B.toarray(), rtol=1e-15, atol=0)
    new = ["the dog and the cat", "none"]
    np.testing.assert_allclose(
        ours.transform(new).toarray(), theirs.transform(new).toarray(), rtol=1e-15
    )


def test_transformer_leaves_the_counts_alone():
    X = sparse.csr_matrix(np.array([[3.0, 1.0], [0.0, 2.0]]))
    before = X.copy()
    ours = TfidfTransformer().fit(X)
    theirs = PeerTransformer().fit(X)
    np.testing.assert_array_equal(
        ours.transform(X).toarray(), theirs.transform(X).toarray()
    )
    assert abs(X - before).nnz == 0


def test_sum_is_mutual_information():
    # documents are equally likely, and a term has the same share in each of its own
    counts = np.array([[2, 2, 0, 0], [2, 0, 2, 0], [0, 0, 0, 4]])
    X = TfidfTransformer(tf="relative", idf="plain", norm=None).fit_transform(counts)
    p = counts / counts.sum()
    q = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    inside = p > 0
    information = np.sum(p[inside] * np.log(p[inside] / q[inside]))
    assert X.sum(axis=1).mean() == pytest.approx(information)


def test_weights_can_be_set(tmp_path):
    model = TfidfVectorizer(vocabulary=["cat", "dog"], norm=None)
    model.idf_ = [2.0, 3.0]
    assert model.transform(["cat dog dog"]).toarray().tolist() == [[2.0, 6.0]]
    pansophy.save(model, tmp_path / "model.pansophy")
    again = pansophy.load(tmp_path / "model.pansophy")
    assert again.transform(["dog"]).toarray().tolist() == [[0.0, 3.0]]
