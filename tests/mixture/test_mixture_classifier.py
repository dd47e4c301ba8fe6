"""Mixture discriminant analysis: QDA as a special case, other densities, tensors."""

import warnings

import numpy as np
import pytest
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning

from pansophy.mixture import (
    BayesianGaussianMixture,
    GaussianMixture,
    Mixture,
    MixtureClassifier,
)
from pansophy.params import ParameterError


def fit(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


def classes(rng, n=300):
    y = rng.integers(3, size=n)
    C = np.array([[0.0, 0], [4, 0], [0, 4]])
    return C[y] + rng.normal(size=(n, 2)) @ np.array([[1, 0.3], [0, 0.8]]), y


def test_one_component_per_class_is_qda(rng):
    """With one component per class it is quadratic discriminant analysis."""
    X, y = classes(rng)
    model = MixtureClassifier(GaussianMixture(reg_covar=0.0)).fit(X, y)
    peer = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    for c, own in enumerate(model.estimators_):
        assert np.allclose(own.means_[0], peer.means_[c])
        gap = own.covariances_[0] - peer.covariance_[c]  # some divide by n - 1
        assert np.abs(gap).max() < 0.02
    assert (model.predict(X) == peer.predict(X)).mean() > 0.99
    assert np.allclose(model.class_prior_, peer.priors_)


def test_mixtures_bend_where_one_normal_cannot(rng):
    z = rng.integers(4, size=600)
    X = np.array([[0.0, 0], [12, 0], [6, 0], [18, 0]])[z] + rng.normal(size=(600, 2))
    y = np.where(z < 2, "first", "second")  # in turns along a line
    one = MixtureClassifier().fit(X, y).score(X, y)
    two = MixtureClassifier(GaussianMixture(2, n_init=3, random_state=0)).fit(X, y)
    assert two.score(X, y) > 0.97 > one
    L = two.predict_joint_log_proba(X)
    assert np.allclose(np.exp(L).sum(1), np.exp(two.score_samples(X)))
    assert np.allclose(np.exp(two.predict_log_proba(X)), two.predict_proba(X))


def test_classifier_with_other_densities_priors_and_gaps(rng):
    X, y = classes(rng)
    bayes = BayesianGaussianMixture(n_components=2, random_state=0)
    per_class = {0: GaussianMixture(2, random_state=0), 1: Mixture(1), 2: bayes}
    model = fit(MixtureClassifier(per_class, priors=[0.2, 0.3, 0.5]), X, y)
    assert model.score(X, y) > 0.9
    assert model.class_prior_.tolist() == [0.2, 0.3, 0.5]
    gaps = X.copy()
    gaps[::5, 1] = np.nan
    gapped = MixtureClassifier().fit(gaps, y)
    assert gapped.score(gaps, y) > 0.85
    w = rng.integers(1, 4, len(X))
    a = MixtureClassifier().fit(X, y, sample_weight=w)
    b = MixtureClassifier().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert np.allclose(a.predict_proba(X), b.predict_proba(X))
    with pytest.raises(ParameterError, match="no density for class 2"):
        MixtureClassifier({0: Mixture(), 1: Mixture()}).fit(X, y)
    with pytest.raises(ParameterError, match="priors"):
        MixtureClassifier(priors=[0.5, 0.4, 0.3]).fit(X, y)


def test_classifier_takes_tensors(rng):
    torch = pytest.importorskip("torch")
    X, y = classes(rng)
    a = MixtureClassifier().fit(X, y)
    T, u = torch.asarray(X), torch.asarray(y)
    b = MixtureClassifier().fit(T, u)
    assert np.allclose(a.predict_proba(X), b.predict_proba(T))
    assert np.array_equal(a.predict(X), np.asarray(b.predict(T)))


def test_densities_for_labels_that_are_objects(rng):
    X, y = classes(rng)
    names = np.array(["a", "b", "c"], dtype=object)[y]
    densities = {name: GaussianMixture(random_state=0) for name in "abc"}
    assert fit(MixtureClassifier(densities), X, names).score(X, names) > 0.8
    with pytest.raises(ValueError, match="every row of class 'c' has sample_weight 0"):
        MixtureClassifier().fit(X, names, sample_weight=(y < 2) * 1.0)
