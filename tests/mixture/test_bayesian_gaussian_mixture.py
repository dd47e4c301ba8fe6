"""BayesianGaussianMixture: parity with scikit-learn, the bound, gaps, other rows."""

import warnings

import numpy as np
import pytest
import sklearn.mixture
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma
from sklearn.exceptions import ConvergenceWarning

from pansophy.distributions.gaussian.normal import moments
from pansophy.mixture import (
    BayesianGaussianMixture,
)
from pansophy.mixture import bayesian_gaussian_mixture as module
from pansophy.mixture.gaussian_em import prepare_em_data
from pansophy.params import ParameterError

SHAPES = ["full", "tied", "diag", "spherical"]
KINDS = ["dirichlet_process", "dirichlet_distribution"]
each_shape = pytest.mark.parametrize("shape", SHAPES)


def fit(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


def blobs(rng, n=300, d=3, k=3):
    C = rng.normal(size=(k, d)) * 4
    return C[rng.integers(k, size=n)] + rng.normal(size=(n, d)) @ rng.normal(
        size=(d, d)
    )


def from_memberships(monkeypatch, R):
    """Makes both estimators start from the memberships R."""
    peer = sklearn.mixture.BayesianGaussianMixture
    first = peer._initialize
    monkeypatch.setattr(peer, "_initialize", lambda self, X, r: first(self, X, R))
    monkeypatch.setattr(
        module,
        "initial_moments",
        lambda X, t, w, k, s, *_: moments(X, R, s),
    )


@each_shape
@pytest.mark.parametrize("kind", KINDS)
def test_parity_with_scikit_learn(shape, kind, rng, monkeypatch):
    X = blobs(rng)
    from_memberships(monkeypatch, rng.dirichlet(np.ones(4), size=len(X)))
    psi = {"diag": np.ones(3), "spherical": 2.0}.get(shape, np.eye(3))
    for more in (
        {},
        {
            "weight_concentration_prior": 0.3,
            "mean_precision_prior": 0.5,
            "mean_prior": np.ones(3),
            "degrees_of_freedom_prior": 4.5,
            "covariance_prior": psi,
        },
    ):
        how = {"n_components": 4, "covariance_type": shape, "max_iter": 20, "tol": 0.0,
               "weight_concentration_prior_type": kind, "random_state": 0,
               **more}  # fmt: skip
        a = fit(BayesianGaussianMixture(**how), X)
        peer = sklearn.mixture.BayesianGaussianMixture(init_params="random", **how)
        b = fit(peer, X)
        for name in ("weights_", "means_", "covariances_", "precisions_",
                     "precisions_cholesky_", "mean_precision_", "degrees_of_freedom_",
                     "weight_concentration_", "mean_prior_",
                     "covariance_prior_"):  # fmt: skip
            x, y = np.asarray(getattr(a, name)), np.asarray(getattr(b, name))
            assert x.shape == y.shape
            assert np.allclose(x, y, rtol=1e-7, atol=1e-9), name
        theirs = np.ravel(b.lower_bounds_[1:])
        n = len(a.lower_bounds_) - 1  # ours ends where the bound stands still
        assert np.allclose(a.lower_bounds_[:-1], theirs[:n], rtol=1e-9)
        assert np.allclose(a.lower_bounds_[-1], theirs[n:], rtol=1e-9)
        assert np.allclose(a.score_samples(X), b.score_samples(X), rtol=1e-8)
        assert np.allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-8)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 1000),
    kind=st.sampled_from(KINDS),
    missing=st.booleans(),
    weighted=st.booleans(),
)
def test_the_bound_never_falls(seed, kind, missing, weighted):
    rng = np.random.default_rng(seed)
    X = blobs(rng, n=80, d=2)
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    w = rng.uniform(0.5, 2, 80) if weighted else None
    model = BayesianGaussianMixture(
        n_components=4, weight_concentration_prior_type=kind, reg_covar=0.0,
        max_iter=15, tol=0.0, random_state=0,
    )  # fmt: skip
    fit(model, X, sample_weight=w)
    trace = np.array(model.lower_bounds_)
    assert np.all(np.diff(trace) >= -1e-9 * np.abs(trace[1:]))


def test_offsets_are_expectations(rng):
    """Eq. (3) against draws from the Wishart and the Normal."""
    from scipy.stats import wishart

    X = blobs(rng, n=60, d=2)
    model = fit(BayesianGaussianMixture(n_components=2, random_state=0), X)
    q, x, j = model._posterior(), X[0], 0
    S = q.v[j] * q.normal.cov[j]
    L = wishart(q.v[j], np.linalg.inv(S)).rvs(40_000, random_state=1)
    E = rng.standard_normal((40_000, 2, 1))
    factor = np.linalg.cholesky(np.linalg.inv(L) / q.beta[j])
    D = x - (q.normal.mean[j] + (factor @ E)[..., 0])
    logs = 0.5 * np.linalg.slogdet(L)[1] - np.log(2 * np.pi)
    logs -= 0.5 * np.einsum("na,nab,nb->n", D, L, D)
    weight = module.expected_log_weights(q)[j]
    a, b = model.weight_concentration_
    assert weight == pytest.approx(digamma(a[0]) - digamma(a[0] + b[0]))
    got = module.expected_log_offsets(q)[j] + q.normal.log_prob(x[None])[0, j] - weight
    assert got == pytest.approx(logs.mean(), abs=5 * logs.std() / 200)


def test_surplus_components_get_little_weight():
    rng = np.random.default_rng(0)
    X = np.array([[0.0, 0], [9, 9]])[np.arange(400) % 2] + rng.normal(size=(400, 2))
    model = BayesianGaussianMixture(
        n_components=8, weight_concentration_prior=1e-3, max_iter=500, random_state=0
    )
    fit(model, X)
    assert (model.weights_ > 0.01).sum() == 2


@each_shape
def test_weights_are_repetitions(shape, rng):
    X, w = blobs(rng, n=100), rng.integers(0, 4, 100)
    how = {"n_components": 3, "covariance_type": shape, "random_state": 0}
    a = fit(BayesianGaussianMixture(**how), X, sample_weight=w)
    b = fit(BayesianGaussianMixture(**how), np.repeat(X, w, axis=0))
    assert np.allclose(a.means_, b.means_, rtol=1e-7)
    assert np.allclose(a.covariances_, b.covariances_, rtol=1e-6, atol=1e-8)


def test_other_rows_give_the_same(rng, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    torch = pytest.importorskip("torch")
    X = blobs(rng, n=2000)
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(3)}), path)
    how = {"n_components": 3, "random_state": 0, "max_iter": 20}
    a, b = (fit(BayesianGaussianMixture(**how), Z) for Z in (X, path))
    assert np.allclose(a.means_, b.means_, rtol=1e-8)
    assert np.allclose(a.score_samples(X), b.score_samples(path))
    c = fit(BayesianGaussianMixture(**how), torch.asarray(X))
    assert isinstance(c.means_, torch.Tensor)
    order = lambda m: np.argsort(np.asarray(m.means_)[:, 0])
    found = np.asarray(c.means_)[order(c)]
    assert np.allclose(a.means_[order(a)], found, atol=1e-2)
    small = fit(BayesianGaussianMixture(**how), X.astype(np.float32))
    assert small.means_.dtype == np.float32


def test_warm_start_sample_and_verbose(rng, capsys):
    X = blobs(rng, n=200)
    how = {"n_components": 3, "tol": 0.0, "random_state": 0}
    whole = fit(BayesianGaussianMixture(max_iter=8, **how), X)
    model = BayesianGaussianMixture(max_iter=4, warm_start=True, **how)
    fit(fit(model, X), X)
    assert np.allclose(model.means_, whole.means_, rtol=1e-8)
    draws, z = whole.sample(5000)
    assert np.allclose(np.bincount(z) / 5000, whole.weights_, atol=0.03)
    assert draws.shape == (5000, 3)
    fit(BayesianGaussianMixture(max_iter=3, verbose=2, verbose_interval=1, **how), X)
    assert "iteration 2: bound" in capsys.readouterr().out
    t = prepare_em_data(X, None, "full")
    assert module.variational_e_step(t, whole._posterior(), whole._prior(t), 1e-6)[
        1
    ] == (pytest.approx(whole.lower_bound_))


def test_bad_priors_are_named(rng):
    X = blobs(rng, n=30)
    for params, match in [
        ({"degrees_of_freedom_prior": 1.5}, "greater than 2, but got 1.5"),
        ({"mean_prior": [1.0]}, "mean_prior"),
        ({"covariance_prior": -np.eye(3)}, "covariance_prior"),
        ({"n_components": 99}, "n_components = 99"),
    ]:
        with pytest.raises((ParameterError, ValueError), match=match):
            BayesianGaussianMixture(**params).fit(X)


@each_shape
@pytest.mark.parametrize("reg_covar", [0.0, 1e-6])
def test_dependent_columns_have_an_answer_at_any_scale(shape, reg_covar):
    rng = np.random.default_rng(0)
    line = np.outer(rng.normal(size=30), [1.0, 2.0, 3.0])
    tables = {
        "line": 1e6 * line,
        "single precision": (1e4 * line).astype(np.float32),
        "repeated rows": np.repeat(1e6 * line[:4], 5, axis=0),
        "constant column": np.column_stack([np.ones(30), 1e8 * line]),
        "more columns than rows": 1e7 * rng.normal(size=(6, 20)),
    }
    for name, X in tables.items():
        model = BayesianGaussianMixture(
            n_components=2, covariance_type=shape, reg_covar=reg_covar, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X)
        assert np.isfinite(model.score_samples(X)).all(), name
        assert np.isfinite(model.lower_bound_), name


def test_rows_that_are_all_the_same_need_reg_covar():
    for shape in SHAPES:
        model = BayesianGaussianMixture(covariance_type=shape, reg_covar=0.0)
        with pytest.raises(ValueError, match="not positive definite"):
            model.fit(np.ones((9, 2)))
        assert model.set_params(reg_covar=1e-6).fit(np.ones((9, 2))).converged_
