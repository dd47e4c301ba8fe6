"""Nearest centroids: scikit-learn's numbers, weights, and worked examples."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import NearestCentroid as Peer

from pansophy.neighbors import NearestCentroid
from pansophy.params import ParameterError


def blobs(n=80, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.integers(0, 3, n)
    X[y == 1] += 1.5
    return X, y


OPTIONS = [
    {},
    {"shrink_threshold": 0.5},
    {"priors": "empirical"},
    {"priors": [0.2, 0.3, 0.5], "shrink_threshold": 1.0},
    {"metric": "manhattan"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_numbers_of_scikit_learn(options):
    X, y = blobs()
    names = ("centroids_", "class_prior_", "deviations_", "within_class_std_dev_")
    for A in (X, sparse.csr_matrix(X)):
        a, b = NearestCentroid(**options).fit(A, y), Peer(**options).fit(A, y)
        for name in names:
            np.testing.assert_allclose(getattr(a, name), getattr(b, name), err_msg=name)
        np.testing.assert_array_equal(a.predict(A), b.predict(A))
        if "metric" not in options:
            np.testing.assert_allclose(a.predict_proba(A), b.predict_proba(A))
            np.testing.assert_allclose(a.decision_function(A), b.decision_function(A))
        else:
            assert not hasattr(a, "predict_proba")


@pytest.mark.parametrize("options", OPTIONS[1:], ids=str)
def test_a_weight_is_as_many_copies(options):
    X, y = blobs()
    w = np.arange(80) % 3
    a = NearestCentroid(**options).fit(X, y, sample_weight=w)
    b = NearestCentroid(**options).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(a.centroids_, b.centroids_)
    np.testing.assert_allclose(a.deviations_, b.deviations_, atol=1e-12)


def test_two_classes_are_split_half_way():
    """The mean-difference rule: the border is the perpendicular bisector."""
    X, y = [[0.0, 0.0], [2.0, 1.0], [4.0, 4.0], [6.0, 5.0]], [0, 0, 1, 1]
    model = NearestCentroid().fit(X, y)
    m, gap = model.centroids_.mean(axis=0), np.diff(model.centroids_, axis=0)[0]
    assert list(model.predict([m - 0.01 * gap, m + 0.01 * gap])) == [0, 1]


def test_words_for_mistakes():
    X, y = blobs()
    with pytest.raises(ValueError, match="greater than one; got 1 class"):
        NearestCentroid().fit(X, np.zeros(80))
    with pytest.raises(ValueError, match="All features have zero variance"):
        NearestCentroid().fit(np.ones((80, 2)), y)
    with pytest.raises(ParameterError, match="priors must be non-negative"):
        NearestCentroid(priors=[1.0, -1.0, 1.0]).fit(X, y)
    with pytest.warns(UserWarning, match="do not sum to 1"):
        model = NearestCentroid(priors=[1.0, 1.0, 2.0]).fit(X, y)
    np.testing.assert_allclose(model.class_prior_, [0.25, 0.25, 0.5])
    with pytest.warns(UserWarning, match="zero standard deviation"):
        NearestCentroid().fit(np.column_stack([X, np.ones(80)]), y)
    with pytest.raises(ValueError, match="too large to square"):
        NearestCentroid().fit(X * 1e200, y)


def test_a_column_of_zeros_deviates_nowhere():
    X, y = blobs()
    X[:, 2] = 0.0
    with pytest.warns(UserWarning, match="column 2 of X is the same"):
        found = NearestCentroid(shrink_threshold=0.1).fit(X, y)
    np.testing.assert_array_equal(found.deviations_[:, 2], 0.0)
    np.testing.assert_array_equal(found.centroids_[:, 2], 0.0)
