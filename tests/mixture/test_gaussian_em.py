"""GaussianMixture: low rank, hard EM, priors, missing values, kept paths."""

import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.decomposition import FactorAnalysis
from sklearn.exceptions import ConvergenceWarning

from pansophy.cluster.centers.kmeans import lloyd
from pansophy.core.arrays.rows import DatasetRows, as_rows
from pansophy.distributions import NormalInverseWishart
from pansophy.distributions.gaussian.normal import Normal, moments
from pansophy.mixture import GaussianMixture, gaussian_em
from pansophy.mixture.gaussian_em import mean_imputed
from pansophy.params import ParameterError
from tests.oracles.mixture import em_turn_with_gaps

SHAPES = ["full", "tied", "diag", "spherical", "low_rank"]
each_shape = pytest.mark.parametrize("shape", SHAPES)


def fit(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


def blobs(rng, n=300, d=3, k=3, spread=4.0):
    C = rng.normal(size=(k, d)) * spread
    z = rng.integers(k, size=n)
    return C[z] + rng.normal(size=(n, d)) @ rng.normal(size=(d, d)), z


def with_gaps(X, rng, share=0.15):
    X = X.copy()
    X[rng.random(X.shape) < share] = np.nan
    return X


# -- low rank


def test_one_low_rank_component_is_factor_analysis(rng):
    X = rng.normal(size=(400, 2)) @ rng.normal(size=(2, 6))
    X += rng.normal(size=X.shape) * [0.3, 0.5, 1, 1, 1.5, 0.4]
    model = GaussianMixture(covariance_type="low_rank", rank=2, tol=1e-9, reg_covar=0)
    model = fit(model.set_params(max_iter=500), X)
    peer = FactorAnalysis(2, tol=1e-10, max_iter=9000, svd_method="lapack").fit(X)
    assert model.score(X) == pytest.approx(peer.score(X), abs=1e-5)
    assert np.allclose(model.noise_variance_[0], peer.noise_variance_, rtol=0.02)
    F = model.factors_[0]
    assert np.allclose(F @ F.T + np.diag(model.noise_variance_[0]), model.covariances_)
    assert model._n_parameters() == 6 + 6 + 12 - 1


def test_low_rank_lies_between_diagonal_and_full(rng):
    X, _ = blobs(rng, d=5)
    scores = [
        fit(
            GaussianMixture(2, covariance_type=s, rank=r, random_state=0, tol=1e-6), X
        ).lower_bound_
        for s, r in [("diag", 1), ("low_rank", 1), ("low_rank", 3), ("full", 1)]
    ]
    assert scores[0] < scores[1] < scores[2] < scores[3] + 1e-6
    with pytest.raises(ParameterError, match="rank must be at most 5"):
        GaussianMixture(2, covariance_type="low_rank", rank=6).fit(X)


def test_constraints_hold_after_every_iteration(rng):
    """The covariances of every iteration have the shape asked for."""
    X, _ = blobs(rng)
    for shape in SHAPES:
        how = {"covariance_type": shape, "random_state": 0, "max_iter": 6, "tol": 0.0}
        model = fit(GaussianMixture(2, keep_path=True, **how), X)
        C = model.history_["covariances"]
        # fewer than 6 iterations where one changes nothing at all
        assert 1 <= model.n_iter_ <= 6
        assert C.shape == (model.n_iter_ + 1, 2, 3, 3)
        assert len(model.history_["objective"]) == model.n_iter_
        off = C - np.einsum("...ii->...i", C)[..., None] * np.eye(3)
        if shape == "tied":
            assert np.array_equal(C[:, 0], C[:, 1])
        if shape in ("diag", "spherical"):
            assert not off.any()
        if shape == "spherical":
            assert np.allclose(C[..., 0, 0], C[..., 2, 2])
        assert np.linalg.eigvalsh(C).min() > 0
        dense = model._params().normal.dense
        assert np.allclose(C[-1], dense)
        assert np.allclose(model.history_["means"][-1], model.means_)


def test_kmeans_starts_need_fewer_iterations_than_random_ones():
    """Starts from k-means need fewer iterations than random memberships."""
    rng = np.random.default_rng(2)
    C = np.array([[0.0, 0], [12, 0], [0, 12], [12, 12]])
    X = C[np.arange(400) % 4] + rng.normal(size=(400, 2))
    how = {"tol": 1e-8, "max_iter": 500}  # random ones begin on a plateau
    turns = lambda init: np.mean(
        [
            fit(GaussianMixture(4, init_params=init, random_state=s, **how), X).n_iter_
            for s in range(5)
        ]
    )
    assert turns("kmeans") < turns("random")


# -- hard EM


def test_hard_em_with_equal_weights_and_one_variance_is_lloyd(rng):
    """Strong priors fix the weights and the variance; the means are Lloyd's."""
    X, _ = blobs(rng, n=200, d=2)
    big = 1e14
    for turns in (1, 2, 5):
        model = GaussianMixture(
            3,
            covariance_type="spherical",
            hard=True,
            means_init=X[:3],
            weights_init=np.full(3, 1 / 3),
            precisions_init=np.ones(3),
            weight_concentration_prior=big,
            covariance_prior=big,
            degrees_of_freedom_prior=big,
            max_iter=turns,
            tol=0.0,
            reg_covar=0.0,
        )
        fit(model, X)
        C = lloyd(X, np.ones(200), X[:3].copy(), max_iter=turns, tol=0.0).state.centers
        assert np.allclose(model.means_, C, atol=1e-9)


def test_hard_em_splits_one_gaussian_where_soft_em_does_not():
    """Hard memberships split one Gaussian into two; soft ones do not.

    The prior keeps both weights at 1/2, else one component may take all rows. The
    squared gap of the soft fit grows as the root of minus the kurtosis: a gap of 2 is
    6.5 deviations of the kurtosis of 4,000 rows away.
    """
    X = np.random.default_rng(0).normal(size=(4000, 1))
    start = {"means_init": [[-0.5], [0.5]], "precisions_init": [[1.0]],
             "weights_init": [0.5, 0.5], "covariance_type": "tied", "max_iter": 300,
             "tol": 1e-9, "weight_concentration_prior": 1e9}  # fmt: skip
    soft = fit(GaussianMixture(2, **start), X)
    hard = fit(GaussianMixture(2, hard=True, **start), X)
    gap = lambda m: np.abs(np.diff(m.means_[:, 0]))[0] / np.sqrt(m.covariances_.max())
    halves = np.sqrt(8 / np.pi) / np.sqrt(1 - 2 / np.pi)  # means of halves, deviation
    assert gap(hard) == pytest.approx(halves, abs=0.25)  # 2.59 to 2.73 in 16 seeds
    assert gap(soft) < 2  # their sum has one peak
    one = GaussianMixture().fit(X).score(X)
    assert abs(soft.score(X) - one) < 5e-3  # of a likelihood ratio: 40
    assert hard.score(X) < one - 0.02  # 0.037 to 0.051


def test_bound_of_hard_em_is_the_joint_likelihood(rng):
    X = rng.normal(size=(400, 1)) + np.where(np.arange(400) < 150, -3, 3)[:, None]
    start = {"means_init": [[-1.0], [1.0]], "covariance_type": "tied"}
    hard = fit(GaussianMixture(2, hard=True, **start), X)
    z = hard.predict(X)
    joint = [
        np.log(hard.weights_[j])
        + multivariate_normal(hard.means_[j], hard.covariances_).logpdf(X[z == j])
        for j in range(2)
    ]
    assert hard.lower_bound_ == pytest.approx(np.concatenate(joint).mean(), rel=1e-9)


def test_a_component_that_hard_em_leaves_empty_stays_where_it_was(rng):
    X = rng.normal(size=(50, 2))
    start = {"means_init": [[0.0, 0.0], [90.0, 90.0]], "weights_init": [0.5, 0.5]}
    start["precisions_init"] = np.stack([np.eye(2)] * 2)
    model = fit(GaussianMixture(2, hard=True, **start), X)
    assert np.array_equal(model.means_[1], [90, 90])
    assert np.isfinite(model.score(X))


# -- priors


def test_map_of_one_full_component_is_the_niw_mode(rng):
    X = rng.normal(size=(20, 2))
    prior = NormalInverseWishart([1.0, 2.0], 3.0, 2 * np.eye(2), 5.0)
    best = Normal.from_stats(moments(X), prior=prior)
    model = GaussianMixture(
        mean_prior=[1.0, 2.0],
        mean_precision_prior=3.0,
        covariance_prior=2 * np.eye(2),
        degrees_of_freedom_prior=5.0,
        reg_covar=0.0,
    )
    model.fit(X)
    assert np.allclose(model.means_[0], best.mean)
    assert np.allclose(model.covariances_[0], best.cov)


@each_shape
def test_no_small_step_raises_the_posterior(shape, rng):
    """At the end, likelihood plus log-prior is stationary in weights, means, scale."""
    X, _ = blobs(rng, n=120)
    psi = {"diag": np.ones(3), "spherical": 1.0}.get(shape, np.eye(3))
    data = gaussian_em.em_data_from_rows(as_rows(X), shape, len(X))
    prior = gaussian_em.GaussianMixturePrior(2.0, np.zeros(3), 1.5, psi, 5.0)
    first = fit(GaussianMixture(2, covariance_type=shape, random_state=0), X)._params()
    run = gaussian_em.run_gaussian_em(
        data, first, floor=0.0, prior=prior, max_iter=3000, tol=1e-14
    )
    p = run.state.params

    def value(W, M, scale):
        C = p.normal.cov * scale
        if shape == "low_rank":
            C = p.normal.cov * np.array([scale**0.5, scale])
        q = gaussian_em.GaussianMixtureParams(W, Normal(M, C, shape))
        return gaussian_em.e_step(data, q)[1] + gaussian_em.gaussian_mixture_log_prior(
            q, prior
        )

    W, M = p.weights, p.normal.mean
    best = value(W, M, 1.0)
    assert best == pytest.approx(-run.objective * len(X), rel=1e-9)
    h = 1e-3
    for sign in (-h, h):
        assert value(W, M + sign, 1.0) <= best + 1e-7
        assert value(W, M, 1 + sign) <= best + 1e-7
        assert value(W + np.array([sign, -sign]), M, 1.0) <= best + 1e-7


def test_a_prior_keeps_a_component_from_collapsing(rng):
    X = np.concatenate([rng.normal(size=(30, 2)), [[50.0, 50.0]]])
    model = GaussianMixture(
        2,
        means_init=[[0.0, 0.0], [50.0, 50.0]],
        covariance_prior=np.eye(2),
        degrees_of_freedom_prior=4.0,
        weight_concentration_prior=2.0,
        reg_covar=0.0,
    )
    fit(model, X)  # without a DegenerateWarning, which is an error here
    assert np.linalg.eigvalsh(model.covariances_[1]).min() > 0.1
    assert model.weights_[1] == pytest.approx(2 / 33)


def test_priors_have_defaults_from_the_rows_and_are_checked(rng):
    X, _ = blobs(rng)
    only = GaussianMixture(degrees_of_freedom_prior=50.0, reg_covar=0.0).fit(X)
    C, n, d = np.cov(X.T), 300, 3
    want = (C + (n - 1) * C) / (n + 50 + d + 1)
    assert np.allclose(only.covariances_[0], want)
    pulled = GaussianMixture(mean_prior=X.mean(0) + 1, mean_precision_prior=300.0)
    assert np.allclose(pulled.fit(X).means_[0], X.mean(0) + 0.5)
    for params, match in [
        ({"covariance_prior": -np.eye(3)}, "covariance_prior"),
        ({"covariance_prior": np.eye(2)}, r"shape \(3, 3\)"),
        ({"mean_prior": [1.0]}, "mean_prior"),
        ({"weight_concentration_prior": 0.5}, "at least 1"),
    ]:
        with pytest.raises(ParameterError, match=match):
            GaussianMixture(2, **params).fit(X)


# -- missing values


def marginal_score(model, X):
    """log p of what was seen, row by row by SciPy."""
    covs = model._params().normal.dense
    out = np.zeros(len(X))
    for i, x in enumerate(X):
        b = np.flatnonzero(~np.isnan(x))
        terms = [
            np.log(w)
            + (multivariate_normal(m[b], C[np.ix_(b, b)]).logpdf(x[b]) if len(b) else 0)
            for w, m, C in zip(model.weights_, model.means_, covs, strict=True)
        ]
        out[i] = logsumexp(terms)
    return out


@each_shape
def test_missing_values_are_integrated_out(shape, rng):
    X, _ = blobs(rng, n=120)
    X = with_gaps(X, rng)
    X[0] = np.nan  # a row of which nothing was seen
    model = fit(GaussianMixture(2, covariance_type=shape, random_state=0), X)
    assert np.allclose(model.score_samples(X), marginal_score(model, X))
    assert model.score_samples(X)[0] == pytest.approx(0.0)
    assert np.allclose(model.predict_proba(X)[0], model.weights_)
    assert model.lower_bound_ == pytest.approx(model.score(X), rel=1e-9)
    assert np.isfinite(model.bic(X))


def test_one_iteration_with_missing_values_equals_the_oracle(rng):
    X, _ = blobs(rng, n=40, d=3, k=2)
    X, w = with_gaps(X, rng, 0.3), rng.uniform(0.2, 2, 40)
    W, M = np.array([0.3, 0.7]), np.nan_to_num(X[:2])
    C = np.stack([np.eye(3) * 4, np.eye(3) * 3 + 0.5])
    how = {"weights_init": W, "means_init": M, "precisions_init": np.linalg.inv(C)}
    model = GaussianMixture(2, max_iter=1, reg_covar=0.0, **how)
    fit(model, X, sample_weight=w)
    W, M, C = em_turn_with_gaps(X, w, W, M, C)
    assert np.allclose(model.weights_, W)
    assert np.allclose(model.means_, M)
    assert np.allclose(model.covariances_, C)


@each_shape
def test_weights_are_repetitions_with_gaps_too(shape, rng):
    X, _ = blobs(rng, n=80)
    X, w = with_gaps(X, rng), rng.integers(0, 4, 80)
    how = {"covariance_type": shape, "random_state": 1, "max_iter": 8, "tol": 0.0}
    a = fit(GaussianMixture(2, **how), X, sample_weight=w)
    b = fit(GaussianMixture(2, **how), np.repeat(X, w, axis=0))
    assert np.allclose(a.means_, b.means_)
    assert np.allclose(a.covariances_, b.covariances_)


def test_gaps_hardly_move_what_is_well_determined(rng):
    C = np.array([[0.0, 0, 0], [8, 8, 8]])
    X = C[np.arange(2000) % 2] + rng.normal(size=(2000, 3))
    a = fit(GaussianMixture(2, random_state=0), X)
    b = fit(GaussianMixture(2, random_state=0), with_gaps(X, rng, 0.2))
    order = lambda m: np.argsort(m.means_[:, 0])
    assert np.allclose(a.means_[order(a)], b.means_[order(b)], atol=0.15)
    assert np.allclose(a.covariances_[order(a)], b.covariances_[order(b)], atol=0.2)


def test_gaps_in_a_table_on_disk(rng, tmp_path):
    X, _ = blobs(rng, n=3000)
    X = with_gaps(X, rng)
    path = tmp_path / "gaps.parquet"
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(3)}), path)
    how = {"random_state": 0, "max_iter": 15}
    a, b = fit(GaussianMixture(3, **how), X), fit(GaussianMixture(3, **how), path)
    assert np.allclose(a.means_, b.means_, rtol=1e-6)
    assert np.allclose(a.score_samples(X), b.score_samples(path), rtol=1e-6)


def test_a_column_never_seen_is_refused(rng):
    X = rng.normal(size=(10, 3))
    X[:, 1] = np.nan
    with pytest.raises(ValueError, match="column 1 of X has no value"):
        GaussianMixture().fit(X)
    with pytest.raises(ValueError, match="infinity"):
        GaussianMixture().fit(np.where(np.isnan(X), np.inf, X))


# -- labels, tensors


@each_shape
@pytest.mark.parametrize("hard", [False, True])
def test_torch_iterations_equal_numpy_iterations(shape, hard, rng):
    """Labels, hard memberships and every shape, on tensors as on arrays."""
    torch = pytest.importorskip("torch")
    X, z = blobs(rng, n=150)
    w, y = rng.random(150), np.where(rng.random(150) < 0.3, z, -1)
    p = fit(GaussianMixture(3, covariance_type=shape, max_iter=2, random_state=0), X)
    owner, p = np.array([2, 0, 1]), p._params()
    t = gaussian_em.prepare_em_data(X, w, shape, y)
    u = gaussian_em.prepare_em_data(torch.asarray(X), torch.asarray(w), shape, y)
    a = gaussian_em.e_step(t, p, component_class=owner, hard=hard)
    b = gaussian_em.e_step(u, p, component_class=owner, hard=hard)
    c = gaussian_em.e_step(t._replace(frame=None), p, component_class=owner, hard=hard)
    for other in (b, c):
        assert a[1] == pytest.approx(other[1], rel=1e-10)
        for name in ("weight", "mean", "scatter"):
            assert np.allclose(getattr(a[0], name), getattr(other[0], name), rtol=1e-8)


def test_weighted_gaps_in_a_table_on_disk(rng, tmp_path):
    X, _ = blobs(rng, n=400)
    X = with_gaps(X, rng)
    w = rng.uniform(0.1, 3, len(X))
    path = tmp_path / "gaps.parquet"
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(3)}), path)
    rows, kept = mean_imputed(DatasetRows(path), w, np.arange(3.0))
    np.testing.assert_array_equal(kept, w)
    np.testing.assert_array_equal(rows, np.where(np.isnan(X), np.arange(3.0), X))
    how = {"random_state": 0, "max_iter": 3}
    a = fit(GaussianMixture(3, **how), X, sample_weight=w)
    b = fit(GaussianMixture(3, **how), path, sample_weight=w)
    np.testing.assert_allclose(a.means_, b.means_, rtol=1e-6)
    np.testing.assert_allclose(a.weights_, b.weights_, rtol=1e-6)
