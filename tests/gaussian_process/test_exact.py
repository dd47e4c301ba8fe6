"""Exact inference: tensors, precision, jitter, and the traps of Gaussian processes."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from pansophy.gaussian_process import ExactSolver, GaussianProcessRegressor
from pansophy.gaussian_process.exact import GPData, exact_evidence
from pansophy.kernels import RBF, Matern, White

KERNEL = 1.5 * RBF([0.8, 1.2]) + 0.3 * Matern(1.0, nu=2.5) + White(0.05)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (60, 2))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=60)
    return X, np.column_stack([y, y**2])


@pytest.mark.parametrize("tile", [None, 50])
@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_other_array_libraries(library, tile, table, monkeypatch):
    xp = pytest.importorskip(library)
    if tile is not None:  # several tiles of the matrix, blocks of the inverse
        monkeypatch.setattr("pansophy.kernels.base.ON_DEVICE", tile)
        monkeypatch.setattr("pansophy.kernels.base.DEVICE", tile)
        monkeypatch.setattr("pansophy.core.linalg.linalg.INVERSE_BLOCK", tile)
        monkeypatch.setattr("pansophy.gaussian_process.exact.BLOCK", tile)
    X, Y = table
    data = GPData(X, Y, np.full(60, 0.01))
    other = GPData(*(xp.asarray(v) for v in data[:3]))
    expected, found = exact_evidence(KERNEL, data), exact_evidence(KERNEL, other)
    assert found.value == pytest.approx(expected.value, abs=1e-8)
    assert np.allclose(found.gradient, expected.gradient, atol=1e-8)
    one = ExactSolver().condition(KERNEL, data, None)
    two = ExactSolver().condition(KERNEL, other, None)
    new = X[:9] + 0.1
    for name in ("mean", "variance", "covariance"):
        values = getattr(two, name)(xp.asarray(new))
        assert type(values) is type(other.X)
        assert np.allclose(np.asarray(values), getattr(one, name)(new), atol=1e-9)


def test_float32_tensors_stay(table):
    torch = pytest.importorskip("torch")
    X, Y = (torch.asarray(v, dtype=torch.float32) for v in table)
    data = GPData(X, Y, torch.full((60,), 0.01))
    found = exact_evidence(KERNEL, data)
    expected = exact_evidence(KERNEL, GPData(*table, np.full(60, 0.01)))
    assert found.value == pytest.approx(expected.value, rel=1e-4)
    assert np.allclose(found.gradient, expected.gradient, rtol=1e-2, atol=1e-2)
    posterior = ExactSolver().condition(KERNEL, data, None)
    assert posterior.mean(X).dtype == torch.float32
    assert posterior.L.dtype == torch.float32


@pytest.mark.parametrize("normalize_y", [False, True])
def test_regressor_of_tensors(normalize_y, table):
    torch = pytest.importorskip("torch")
    X, Y = table
    options = {"normalize_y": normalize_y, "alpha": 0.01, "random_state": 0}
    plain = GaussianProcessRegressor(KERNEL, **options).fit(X, Y)
    model = GaussianProcessRegressor(KERNEL, **options)
    model.fit(torch.asarray(X), torch.asarray(Y))
    assert model.solver_ == "exact"
    assert "X is a tensor" in model.solver_reason_
    # both are at the optimum: values agree, parameters nearly
    assert model.log_marginal_likelihood_value_ == pytest.approx(
        plain.log_marginal_likelihood_value_, abs=1e-3
    )
    model = GaussianProcessRegressor(plain.kernel_, optimizer=None, **options)
    model.fit(torch.asarray(X), torch.asarray(Y))
    new = torch.asarray(X[:7] + 0.1)
    for how in ("return_std", "return_cov"):
        found = model.predict(new, **{how: True})
        expected = plain.predict(X[:7] + 0.1, **{how: True})
        for a, b in zip(found, expected, strict=True):
            assert isinstance(a, torch.Tensor)
            assert np.allclose(a.numpy(), b, atol=1e-7)
    noiseless = model.predict(new, return_std=True, noise=False)[1]
    expected = plain.predict(X[:7] + 0.1, return_std=True, noise=False)[1]
    assert np.allclose(noiseless.numpy(), expected, atol=1e-7)
    assert isinstance(model.predict(new), torch.Tensor)
    assert np.allclose(model.leave_one_out().mean, plain.leave_one_out().mean)
    assert model.sample_y(new, 3).shape == (7, 2, 3)
    with pytest.raises(ValueError, match="computes with NumPy, but X is a tensor"):
        model.set_params(solver="neighbors").fit(torch.asarray(X), torch.asarray(Y))


def test_negative_variances_never(table):
    """Training rows, no noise, long length scale: std at least 0 and tiny."""
    X = np.linspace(0, 1, 200)[:, None]
    model = GaussianProcessRegressor(RBF(5.0), alpha=0.0, optimizer=None)
    _, std = model.fit(X, np.sin(X[:, 0])).predict(X, return_std=True)
    assert std.min() >= 0
    assert std.max() < 1e-4
    assert model.jitter_ < 1e-10


def test_small_variances_keep_their_digits():
    """Of an ill-conditioned matrix: an explicit inverse would have none left."""
    x = np.linspace(0, 1, 40).astype(np.longdouble)
    new = x[:-1] + np.diff(x) / 2
    k = lambda a, b: np.exp(-((a[:, None] - b[None, :]) ** 2) / 2)
    C = k(x, x) + 1e-8 * np.eye(40, dtype=np.longdouble)
    L = np.zeros_like(C)
    V = k(x, new)
    for i in range(40):  # Cholesky and forward substitution in extended precision
        for j in range(i):
            L[i, j] = (C[i, j] - L[i, :j] @ L[j, :j]) / L[j, j]
        L[i, i] = np.sqrt(C[i, i] - L[i, :i] @ L[i, :i])
        V[i] = (V[i] - L[i, :i] @ V[:i]) / L[i, i]
    expected = 1 - (V * V).sum(axis=0)
    model = GaussianProcessRegressor(RBF(1.0), alpha=1e-8, optimizer=None)
    model.fit(x.astype(float)[:, None], np.sin(x.astype(float)))
    _, std = model.predict(new.astype(float)[:, None], return_std=True)
    assert expected.max() < 1e-7
    np.testing.assert_allclose(std**2, expected.astype(float), rtol=1e-3)


@pytest.mark.parametrize("scale", [1e6, 1e-6])
def test_units_scale_exactly(scale, table):
    X, Y = table
    one = GaussianProcessRegressor(1.0 * RBF(), alpha=0.1, optimizer=None)
    other = GaussianProcessRegressor(
        scale**2 * RBF(), alpha=0.1 * scale**2, optimizer=None
    )
    small = one.fit(X, Y).predict(X + 0.1, return_std=True)
    large = other.fit(X, scale * Y).predict(X + 0.1, return_std=True)
    for a, b in zip(small, large, strict=True):
        assert np.allclose(b / scale, a, rtol=1e-9)
    shift = np.log(scale) * Y.size
    assert other.log_marginal_likelihood_value_ == pytest.approx(
        one.log_marginal_likelihood_value_ - shift, abs=1e-6
    )


def test_two_parametrisations_of_one_likelihood(table):
    """A constant times a kernel may be split in two ways: values, not parameters."""
    X, Y = table
    one = GaussianProcessRegressor(2.0 * (1.0 * RBF()) + White(0.1), prior=None)
    two = GaussianProcessRegressor(2.0 * RBF() + White(0.1), prior=None)
    values = [m.fit(X, Y[:, 0]).log_marginal_likelihood_value_ for m in (one, two)]
    assert values[0] == pytest.approx(values[1], abs=1e-3)


def test_equal_rows_with_other_values_and_odd_tables():
    X = np.array([[0.0], [0.0], [1.0]])
    y = np.array([1.0, 3.0, 0.0])
    model = GaussianProcessRegressor(RBF(), alpha=0.5, optimizer=None).fit(X, y)
    C = RBF()(X) + 0.5 * np.eye(3)
    assert model.predict([[0.0]])[0] == pytest.approx(
        (RBF()([[0.0]], X) @ np.linalg.solve(C, y))[0]
    )
    assert model.log_marginal_likelihood_value_ == pytest.approx(
        multivariate_normal(np.zeros(3), C).logpdf(y)
    )
    constant = np.column_stack([np.ones(6), np.arange(6.0)])
    fitted = GaussianProcessRegressor("auto").fit(constant, np.arange(6.0))
    assert np.all(np.isfinite(fitted.predict(constant)))
    with pytest.raises(ValueError, match="0 feature"):
        GaussianProcessRegressor().fit(np.ones((4, 0)), np.arange(4.0))


def test_no_matrix_of_all_pairs_in_prediction(table):
    """Mean and std of many rows by blocks: far less memory than m x m."""
    import tracemalloc

    X, Y = table
    model = GaussianProcessRegressor(KERNEL, alpha=0.01, optimizer=None).fit(X, Y)
    new = np.random.default_rng(1).uniform(-2, 2, (20_000, 2))
    tracemalloc.start()
    model.predict(new, return_std=True)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 0.1 * 8 * len(new) ** 2


@pytest.mark.parametrize("power", [20, -20])
def test_a_change_of_units_by_a_power_of_two_changes_no_bit(power):
    """Jitter included: it is a share of the diagonal of the matrix."""
    X = np.linspace(0, 1, 60)[:, None]
    y = np.sin(5 * X[:, 0])
    scale = 2.0**power
    kernels = 1.0 * RBF(1.0), scale**2 * RBF(1.0)
    one, other = (
        GaussianProcessRegressor(k, alpha=0.0, optimizer=None) for k in kernels
    )
    small = one.fit(X, y).predict(X[::7] + 0.01, return_std=True)
    large = other.fit(X, scale * y).predict(X[::7] + 0.01, return_std=True)
    assert one.jitter_ > 0
    assert other.jitter_ == scale**2 * one.jitter_
    np.testing.assert_array_equal(large[0], scale * small[0])
    np.testing.assert_array_equal(large[1], scale * small[1])


@pytest.mark.parametrize("seed", range(3))
def test_equal_rows_that_contradict_each_other(seed):
    """A process without noise cannot have two values in one place: the means."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(15, 2)), 6, axis=0)
    y = rng.normal(size=90)
    with pytest.warns(UserWarning, match="equal rows of X have different y"):
        model = GaussianProcessRegressor().fit(X, y)
    means = y.reshape(15, 6).mean(axis=1)
    assert np.abs(model.predict(X[::6]) - means).max() < 1e-3
    assert np.abs(model.kernel_.theta).max() == 0  # as it was given
    # noise explains it, and equal rows that agree are no contradiction
    noisy = GaussianProcessRegressor(1.0 * RBF() + White(1.0)).fit(X, y)
    assert np.isfinite(noisy.log_marginal_likelihood_value_)
    GaussianProcessRegressor().fit(X, np.sin(X[:, 0]))
