"""Factor analysis against scikit-learn, and rotations."""

import numpy as np
import pytest
import sklearn.decomposition as peer

from pansophy.decomposition import FactorAnalysis
from pansophy.decomposition.factor_analysis import rotate_factors
from tests.decomposition.factor_rows import factor_rows


@pytest.mark.parametrize("method", ["lapack", "randomized"])
@pytest.mark.parametrize("shape", [(300, 12), (15, 30)], ids=str)
def test_factor_analysis_matches_scikit_learn(method, shape):
    X = factor_rows(*shape, k=3)
    options = {"svd_method": method, "tol": 1e-8, "max_iter": 30}
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = FactorAnalysis(3, **options).fit(X)
        right = peer.FactorAnalysis(3, **options).fit(X)
    # scikit-learn's numbers belong to the noise before each iteration's last step
    assert ours.loglike_[0] > right.loglike_[0]
    assert abs(ours.loglike_[-1] / right.loglike_[-1] - 1) < 1e-3
    assert (np.diff(ours.loglike_) >= -1e-6).all()
    np.testing.assert_allclose(
        ours.get_covariance(), right.get_covariance(), rtol=0.02, atol=0.02
    )
    np.testing.assert_allclose(
        ours.get_precision() @ ours.get_covariance(), np.eye(shape[1]), atol=1e-6
    )


@pytest.mark.parametrize("kind", ["varimax", "quartimax"])
def test_rotation(kind):
    X = factor_rows(500, 8, 3)
    plain = FactorAnalysis(3).fit(X)
    turned = FactorAnalysis(3, rotation=kind).fit(X)
    np.testing.assert_allclose(
        plain.get_covariance(), turned.get_covariance(), rtol=1e-8, atol=1e-8
    )
    g = 1.0 if kind == "varimax" else 0.0

    def simple(W):
        return np.sum(W**4) - g / W.shape[1] * np.sum(np.sum(W**2, axis=1) ** 2)

    best = simple(turned.components_)
    rng = np.random.default_rng(0)
    for _ in range(100):
        Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        assert simple(Q @ plain.components_) <= best + 1e-6
    np.testing.assert_allclose(rotate_factors(np.eye(2), kind), np.eye(2), atol=1e-12)


@pytest.mark.parametrize("max_iter", [1, 3, 1000])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_last_likelihood_is_that_of_the_model(max_iter):
    """Also after few iterations, in either shape, with missing values and rotated."""
    missing = factor_rows(60, 6)
    missing[::7, 2] = np.nan
    for X in (factor_rows(200, 6), factor_rows(15, 30, k=3), missing):
        for how in ({"svd_method": "lapack"}, {}, {"rotation": "varimax"}):
            model = FactorAnalysis(2, max_iter=max_iter, **how).fit(X)
            total = model.score_samples(X).sum()
            assert model.loglike_[-1] == pytest.approx(total, rel=1e-9)
            assert len(model.loglike_) == model.n_iter_
            assert (np.diff(model.loglike_) > -1e-9 * abs(total)).all()
