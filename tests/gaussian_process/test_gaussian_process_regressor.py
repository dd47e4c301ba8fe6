"""Gaussian-process regression: worked numbers, oracles, traps."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor as Theirs
from sklearn.gaussian_process import kernels as sk

from pansophy.gaussian_process import GaussianProcessRegressor, draw_normal_samples
from pansophy.kernel_ridge import KernelRidge
from pansophy.kernels import RBF, Constant, Linear, Matern, Periodic, White

X3 = np.array([[0.0], [1.0], [2.0]])
Y3 = np.array([0.0, 1.0, 0.0])
OURS = [
    1.5 * RBF(0.8) + White(0.1),
    RBF(0.7) * Periodic(1.3, 2.0) + 0.3 * Linear(1.0) + White(0.05),
    (0.5 * RBF(1.2)) ** 2 + White(0.2) + Constant(0.4),
    2.0 * Matern([0.5, 1.5], nu=2.5).on([0, 1]) + White(0.3),
]


def fixed(kernel, alpha=1e-10, **options):
    return GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None, **options)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (40, 2))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=40)


@pytest.mark.parametrize(
    ("alpha", "mean", "variance"),
    [(0.0, 0.675107, 0.017892), (0.1, 0.574548, 0.082395)],
)
def test_three_points(alpha, mean, variance):
    found, std = fixed(RBF(), alpha).fit(X3, Y3).predict([[0.5]], return_std=True)
    assert found.round(6) == mean
    assert (std**2).round(6) == variance


def test_two_points():
    model = fixed(RBF(width=1.0), 0.1).fit([[0.0], [1.0]], [0.0, 1.0])
    mean, std = model.predict([[0.5]], return_std=True)
    assert mean.round(6) == 0.530562
    assert (std**2).round(6) == 0.173596
    assert round(model.log_marginal_likelihood_value_, 6) == -2.385669


def test_mean_is_kernel_ridge(table):
    X, y = table
    model = fixed(RBF(0.9), 0.3).fit(X, y)
    ridge = KernelRidge(alpha=0.3, kernel=RBF(0.9)).fit(X, y)
    assert np.allclose(model.predict(X + 0.1), ridge.predict(X + 0.1), atol=1e-10)


def test_linear_kernel_is_bayesian_regression(table):
    X, y = table
    model = fixed(Linear(2.0), 0.5).fit(X, y)
    S = np.linalg.inv(X.T @ X / 0.5 + np.eye(2) / 2.0)
    mean, cov = model.predict(X[:5], return_cov=True)
    assert np.allclose(mean, X[:5] @ S @ X.T @ y / 0.5, atol=1e-10)
    assert np.allclose(cov, X[:5] @ S @ X[:5].T, atol=1e-10)


@pytest.mark.parametrize("kernel", OURS)
def test_likelihood_against_dense(kernel, table):
    X, y = table
    model = fixed(kernel, 0.01).fit(X, y)
    C = kernel(X) + 0.01 * np.eye(len(X))
    expected = multivariate_normal(np.zeros(len(X)), C).logpdf(y)
    value, gradient = model.log_marginal_likelihood(kernel.theta, eval_gradient=True)
    assert abs(value - expected) < 1e-8
    a = np.linalg.solve(C, y)
    W = np.outer(a, a) - np.linalg.inv(C)
    dense = 0.5 * np.einsum("kij,ij->k", kernel.gradient(X), W)
    assert np.allclose(gradient, dense, atol=1e-8)
    numeric = approx_fprime(kernel.theta, model.log_marginal_likelihood, 1e-6)
    assert np.allclose(gradient, numeric, rtol=1e-3, atol=1e-3)


THEIRS = [
    sk.ConstantKernel(2.0) * sk.RBF([1.0, 2.0]) + sk.WhiteKernel(0.1),
    sk.DotProduct(0.7) * sk.RationalQuadratic(1.1, 0.8) + sk.WhiteKernel(0.2),
    sk.Matern(0.8, length_scale_bounds="fixed") ** 2 + sk.WhiteKernel(0.3),
    sk.ExpSineSquared(1.1, 2.1) + sk.WhiteKernel(5.0),  # no counterpart: as it is
]


@pytest.mark.parametrize("kernel", THEIRS)
def test_likelihood_of_scikit_learn(kernel, table):
    X, y = table
    Y = np.column_stack([y, y**2])
    model = fixed(kernel).fit(X, Y)
    theirs = Theirs(kernel, optimizer=None).fit(X, Y)
    theta = kernel.theta + 0.1
    value, gradient = model.log_marginal_likelihood(theta, True)
    expected, slope = theirs.log_marginal_likelihood(theta, True)
    assert abs(value - expected) < 1e-8
    assert np.allclose(gradient, slope, atol=1e-8)
    for how in ({"return_std": True}, {"return_cov": True}):
        ours = model.predict(X[:7] + 0.05, **how)
        for a, b in zip(ours, theirs.predict(X[:7] + 0.05, **how), strict=True):
            assert np.allclose(a, b, atol=1e-8)


def test_optimum_of_scikit_learn(table):
    X, y = table
    kernel = THEIRS[0]
    model = GaussianProcessRegressor(kernel).fit(X, y)
    theirs = Theirs(kernel).fit(X, y)
    best = theirs.log_marginal_likelihood_value_
    assert model.log_marginal_likelihood_value_ > best - 1e-5
    assert type(model.kernel_) is type(theirs.kernel_)


def test_coarse_search_finds_the_optimum():
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, (1000, 1))
    y = np.sin(3 * X[:, 0]) + 0.2 * rng.normal(size=1000)
    kernel = 1.0 * RBF(1.0) + White(1.0)
    model = GaussianProcessRegressor(kernel, random_state=0, prior=None).fit(X, y)
    value, slope = model.log_marginal_likelihood(model.kernel_.theta, True)
    assert np.abs(slope).max() < 1e-2
    assert model.n_evaluations_ < 20
    assert value == pytest.approx(model.log_marginal_likelihood_value_, abs=1e-8)


def test_normalized_targets_in_original_units(table):
    X, y = table
    big = 1e4 + 300 * y
    model = fixed(RBF(0.9), 0.1, normalize_y=True).fit(X, big)
    location, scale = big.mean(), big.std()
    K = RBF(0.9)(X) + 0.1 * np.eye(len(X))
    k = RBF(0.9)(X[:6] + 0.2, X)
    mean = location + scale * k @ np.linalg.solve(K, (big - location) / scale)
    cov = scale**2 * (RBF(0.9)(X[:6] + 0.2) - k @ np.linalg.solve(K, k.T))
    found, std = model.predict(X[:6] + 0.2, return_std=True)
    assert np.allclose(found, mean)
    assert np.allclose(std, np.sqrt(np.diagonal(cov)))
    assert np.allclose(model.predict(X[:6] + 0.2, return_cov=True)[1], cov)


def test_each_output_has_its_std(table):
    X, y = table
    Y = np.column_stack([y, 100 * y + 5])
    mean, std = (
        fixed(RBF(), 0.1, normalize_y=True).fit(X, Y).predict(X[:3], return_std=True)
    )
    assert np.allclose(std[:, 1], 100 * std[:, 0])
    assert np.allclose(mean[:, 1], 100 * mean[:, 0] + 5)


def test_white_noise_is_of_new_values_and_alpha_is_not(table):
    X, y = table
    with_white = fixed(RBF() + White(0.2), 0.0).fit(X, y)
    with_alpha = fixed(RBF(), 0.2).fit(X, y)
    mean, std = with_white.predict(X, return_std=True)  # equal rows: no white noise
    _, latent = with_white.predict(X, return_std=True, noise=False)
    other, f_std = with_alpha.predict(X, return_std=True)
    assert np.allclose(mean, other)
    assert np.allclose(std**2, f_std**2 + 0.2)
    assert np.allclose(latent, f_std)
    cov = with_white.predict(X, return_cov=True, noise=False)[1]
    assert np.allclose(np.diagonal(cov), f_std**2)


@pytest.mark.parametrize("scale", [1e6, 1e-6])
def test_jitter_scales_with_the_kernel(scale):
    X = np.linspace(0, 1, 60)[:, None]
    y = np.sin(5 * X[:, 0])
    one = fixed(1.0 * RBF(1.0), 0.0).fit(X, y)
    other = fixed(scale**2 * RBF(1.0), 0.0).fit(X, scale * y)
    assert one.jitter_ > 0
    assert other.jitter_ == pytest.approx(scale**2 * one.jitter_)
    grid = np.linspace(0, 1, 11)[:, None]
    assert np.allclose(other.predict(grid) / scale, one.predict(grid), atol=1e-4)


def test_no_negative_variances():
    X = np.linspace(0, 1, 200)[:, None]
    model = fixed(RBF(5.0), 0.0).fit(X, np.sin(X[:, 0]))
    _, std = model.predict(X, return_std=True)
    assert np.all(std >= 0)
    assert std.max() < 1e-4


def test_a_failed_factor_is_an_infinite_objective():
    X = np.linspace(0, 1, 50)[:, None]
    model = GaussianProcessRegressor(RBF(1.0), alpha=0.0).fit(X, np.cos(9 * X[:, 0]))
    assert np.isfinite(model.log_marginal_likelihood_value_)
    assert np.abs(model.predict(X) - np.cos(9 * X[:, 0])).max() < 1e-3


def test_noise_of_each_row(table):
    X, y = table
    noise = np.linspace(0.01, 0.5, len(X))
    model = fixed(RBF(), noise).fit(X, y)
    expected = RBF()(X[:4], X) @ np.linalg.solve(RBF()(X) + np.diag(noise), y)
    assert np.allclose(model.predict(X[:4]), expected)


def test_leave_one_out(table):
    X, y = table
    kernel = RBF(0.9) + White(0.1)
    found = fixed(kernel, 0.05).fit(X, y).leave_one_out()
    for i in (0, 7, 39):
        rest = np.arange(len(X)) != i
        model = fixed(kernel, 0.05).fit(X[rest], y[rest])
        mean, std = model.predict(X[[i]], return_std=True)
        assert found.mean[i] == pytest.approx(mean[0])
        assert found.std[i] == pytest.approx(np.sqrt(std[0] ** 2 + 0.05))


def test_prior_centre_and_strength(table):
    X, y = table
    kernel = 1.0 * RBF(1.0) + White(0.1)
    free = GaussianProcessRegressor(kernel, prior=None).fit(X, y)
    weak = GaussianProcessRegressor(kernel).fit(X, y)
    strong = GaussianProcessRegressor(kernel, prior=0.01).fit(X, y)
    move = [np.abs(m.kernel_.theta - kernel.theta).max() for m in (free, weak, strong)]
    assert move[0] > move[1] > move[2]
    assert move[2] < 0.02
    best = free.log_marginal_likelihood_value_
    assert best >= weak.log_marginal_likelihood_value_ > best - 1.0


def test_restarts_never_lose(table):
    X, y = table
    kernel = 1.0 * Periodic(1.0, 0.3) + White(0.1)
    values = [
        GaussianProcessRegressor(
            kernel, n_restarts_optimizer=r, random_state=0, prior=None
        )
        .fit(X[:, :1], y)
        .log_marginal_likelihood_value_
        for r in (0, 4)
    ]
    assert values[1] >= values[0] - 1e-9


def test_data_scaled_kernel():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 2)) * [1e-4, 1e5]
    y = 1e3 * np.sin(X[:, 0] * 1e4) + rng.normal(size=80)
    model = GaussianProcessRegressor("auto", normalize_y=True).fit(X, y)
    assert model.score(X, y) > 0.99


def test_samples_have_the_covariance():
    X = np.linspace(0, 3, 4)[:, None]
    model = GaussianProcessRegressor(RBF())
    samples = model.sample_y(X, 40_000, random_state=1)
    assert np.abs(np.cov(samples) - RBF()(X)).max() < 0.03
    noisy = GaussianProcessRegressor(RBF() + White(0.5))
    raised = noisy.predict(X, return_cov=True)[1] - model.predict(X, return_cov=True)[1]
    assert np.array_equal(raised, 0.5 * np.eye(4))
    rng = np.random.default_rng(0)
    assert draw_normal_samples(np.zeros(9), RBF(50.0)(np.ones((9, 1))), rng, 2)[1] > 0


def test_components_add_up(table):
    X, y = table
    slow = 1.0 * RBF(3.0)
    fast = 0.3 * Matern(0.5)
    model = fixed(slow + fast + White(0.1), normalize_y=True).fit(X, y)
    parts = [model.predict_component(X[:5] + 0.1, k) for k in (slow, fast)]
    assert np.allclose(sum(parts) + y.mean(), model.predict(X[:5] + 0.1))
    C = model.kernel_(X)
    k = slow(X[:5], X)
    _, std = model.predict_component(X[:5], slow, return_std=True)
    expected = np.diagonal(slow(X[:5]) - k @ np.linalg.solve(C, k.T))
    assert np.allclose(std, y.std() * np.sqrt(expected))


def test_band_of_a_process():
    from pansophy import plot

    model = fixed(RBF(), 0.1).fit(X3, Y3)
    ax = plot.predictive_band(model, X3, Y3)
    drawn = ax.lines[0].get_xydata()
    assert np.allclose(drawn[:, 1], model.predict(drawn[:, :1]))
    low = ax.collections[0].get_paths()[0].vertices[:, 1].min()
    mean, std = model.predict(drawn[:, :1], return_std=True)
    assert low == pytest.approx((mean - 1.959964 * std).min(), abs=1e-5)


def test_degenerate_tables():
    same = np.zeros((4, 2))
    y = np.array([0.0, 1.0, 2.0, 3.0])
    mean, std = fixed(RBF(), 0.1).fit(same, y).predict(same[:1], return_std=True)
    assert mean[0] == pytest.approx(y.sum() / (4 + 0.1))
    assert std[0] ** 2 == pytest.approx(1 - 4 / 4.1)
    one = GaussianProcessRegressor(RBF()).fit([[1.0]], [3.0])
    assert one.predict([[1.0]])[0] == pytest.approx(3.0)
    assert one.predict([[100.0]])[0] == pytest.approx(0.0)
    constant = fixed(RBF(), normalize_y=True).fit([[1.0], [2.0]], [5.0, 5.0])
    assert np.allclose(constant.predict([[9.0]]), 5.0)


def test_prediction_by_blocks(monkeypatch, table):
    from pansophy.gaussian_process import exact

    X, y = table
    model = fixed(RBF(), 0.1).fit(X, y)
    _, whole = model.predict(X, return_std=True)
    monkeypatch.setattr(exact, "BLOCK", 7 * len(X))
    _, std = model.predict(X, return_std=True)
    assert np.allclose(std, whole)


def test_errors(table):
    X, y = table
    with pytest.raises(ValueError, match="alpha must be a scalar"):
        fixed(RBF(), np.ones(3)).fit(X, y)
    with pytest.raises(ValueError, match="solver of GaussianProcessRegressor must be"):
        fixed(RBF(), solver="none").fit(X, y)
    with pytest.raises(RuntimeError, match="At most one"):
        fixed(RBF()).fit(X, y).predict(X, return_std=True, return_cov=True)


def test_without_a_kernel_the_parameters_are_learnt_as_in_scikit_learn(rng):
    """scikit-learn 1.9 learns C() * RBF(); older versions kept both fixed."""
    X = rng.standard_normal((30, 2))
    y = np.sin(4 * X[:, 0]) + 0.1 * rng.standard_normal(30)
    ours = GaussianProcessRegressor(alpha=0.01, prior=None).fit(X, y)
    theirs = Theirs(alpha=0.01).fit(X, y)
    np.testing.assert_allclose(ours.kernel_.theta, theirs.kernel_.theta, atol=1e-3)
    value = theirs.log_marginal_likelihood_value_
    assert ours.log_marginal_likelihood_value_ == pytest.approx(value, abs=1e-5)
