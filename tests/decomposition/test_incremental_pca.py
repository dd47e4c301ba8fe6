"""PCA by batches: the answer of PCA, whatever the batches, and scikit-learn's."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.decomposition as peer

from pansophy.decomposition import PCA, IncrementalPCA


@pytest.fixture
def X(rng):
    return rng.normal(size=(230, 6)) @ np.diag([5.0, 3, 2, 1, 0.5, 0.1]) + 40.0


@pytest.mark.parametrize("batch_size", [7, 50, 230])
def test_all_components_are_those_of_pca(X, batch_size):
    ours = IncrementalPCA(batch_size=batch_size).fit(X)
    whole = PCA().fit(X)
    for name in ("components_", "explained_variance_", "mean_", "singular_values_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(whole, name), atol=1e-8)
    np.testing.assert_allclose(ours.var_, X.var(axis=0))


def test_equals_scikit_learn(X):
    ours = IncrementalPCA(3, batch_size=40).fit(X)
    theirs = peer.IncrementalPCA(3, batch_size=40).fit(X)
    np.testing.assert_allclose(ours.singular_values_, theirs.singular_values_)
    np.testing.assert_allclose(abs(ours.transform(X)), abs(theirs.transform(X)))
    np.testing.assert_allclose(
        ours.explained_variance_ratio_, theirs.explained_variance_ratio_
    )


def test_partial_fit_is_fit_by_hand(X):
    whole = IncrementalPCA(3, batch_size=50).fit(X)
    parts = IncrementalPCA(3)
    for start in range(0, 230, 50):
        parts.partial_fit(X[start : start + 50])
    np.testing.assert_allclose(parts.components_, whole.components_)
    assert parts.n_samples_seen_ == whole.n_samples_seen_ == 230
    sparse = IncrementalPCA(3, batch_size=50).fit(sp.csr_array(X))
    np.testing.assert_allclose(sparse.components_, whole.components_)


def test_too_many_components_for_the_first_batch(X):
    with pytest.raises(ValueError, match="first partial_fit call"):
        IncrementalPCA(5).partial_fit(X[:3])
    with pytest.raises(ValueError, match="at most 6 components"):
        IncrementalPCA(7).fit(X)


def test_the_number_of_components_may_not_change():
    X = np.random.default_rng(0).normal(size=(30, 5))
    model = IncrementalPCA(2).partial_fit(X)
    for k in (1, 3):
        with pytest.raises(ValueError, match="must stay the same"):
            model.set_params(n_components=k).partial_fit(X)
