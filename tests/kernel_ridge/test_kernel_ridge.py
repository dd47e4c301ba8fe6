"""Kernel ridge regression: worked numbers, solvers, parity, weights, strings."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import LinAlgWarning
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge as Peer

from pansophy import kernels
from pansophy.core.linalg import mixed_precision
from pansophy.kernel_ridge import KernelRidge
from pansophy.kernels import RBF


@pytest.fixture
def table(rng):
    X = rng.standard_normal((60, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] ** 2


def test_worked_numbers_of_the_dual_form():
    X, y = np.array([[1.0, 1], [2, 1], [3, 1]]), np.array([1.0, 2, 2])
    model = KernelRidge(1.0, kernel="linear").fit(X, y)
    np.testing.assert_allclose(
        model.dual_coef_, [0.0416667, 0.4583333, -0.125], rtol=0, atol=5e-8
    )
    np.testing.assert_allclose(
        X.T @ model.dual_coef_, [0.5833333, 0.375], rtol=0, atol=5e-8
    )
    np.testing.assert_allclose(y - model.predict(X), model.dual_coef_)  # alpha a


@pytest.mark.parametrize("solver", ["cholesky", "cg", "descent"])
def test_worked_numbers_of_a_gaussian(solver):
    X, y = np.array([[0.0], [1], [2]]), np.array([0.0, 1, 0])
    model = KernelRidge(
        0.1, kernel="rbf", gamma=0.5, solver=solver, tol=1e-10, max_iter=5000
    ).fit(X, y)
    np.testing.assert_allclose(
        model.dual_coef_, [-0.973393, 1.982532, -0.973393], rtol=0, atol=5e-7
    )
    np.testing.assert_allclose(
        model.predict([[1.0], [0.5]]), [0.801747, 0.574548], rtol=0, atol=5e-7
    )


def test_descent_is_descent_on_the_primal_weights(table):
    X, y = table
    eta, alpha, w = 0.001, 0.5, np.zeros(3)
    for steps in range(1, 6):
        w = w - 2 * eta * (X.T @ (X @ w - y) + alpha * w)
        with pytest.warns(ConvergenceWarning):
            model = KernelRidge(alpha, solver="descent", eta=eta, max_iter=steps).fit(
                X, y
            )
        np.testing.assert_allclose(X.T @ model.dual_coef_, w, rtol=1e-12)


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "laplacian", "cosine"])
def test_scikit_learns_answers(kernel, solver, table, rng):
    X, y = table
    Y = np.column_stack([y, X[:, 2]])
    w = rng.integers(0, 3, 60).astype(float)
    options = {"kernel": kernel, "gamma": 0.4, "degree": 2, "coef0": 0.7}
    ours = KernelRidge(0.3, solver=solver, tol=1e-12, **options)
    theirs = Peer(0.3, **options)
    for target, weights in ((y, None), (Y, None), (Y, w)):
        ours.fit(X, target, sample_weight=weights)
        theirs.fit(X, target, sample_weight=weights)
        assert ours.solver_ == solver
        np.testing.assert_allclose(
            ours.predict(X[:9]), theirs.predict(X[:9]), rtol=1e-6, atol=1e-7
        )


def test_one_penalty_for_each_output(table):
    X, y = table
    Y = np.column_stack([y, 2 * y, X[:, 0]])
    alpha = np.array([0.5, 0.1, 0.5])
    ours = KernelRidge(alpha, kernel="rbf").fit(X, Y)
    np.testing.assert_allclose(
        ours.dual_coef_, Peer(alpha, kernel="rbf").fit(X, Y).dual_coef_, rtol=1e-7
    )
    with pytest.raises(ValueError, match="one alpha for all"):
        KernelRidge(alpha, solver="cg").fit(X, Y)


def test_a_factor_in_single_precision_is_refined(rng, monkeypatch):
    monkeypatch.setattr(mixed_precision, "ENOUGH", 10)
    X = rng.standard_normal((200, 4))
    y = rng.standard_normal((200, 2))
    K = RBF()(X)
    for shift in (1.0, 1e-3, rng.random(200) + 0.01):
        found = mixed_precision.solve_shifted(K, shift, y)
        right = np.linalg.solve(K + np.diag(np.broadcast_to(shift, 200)), y)
        np.testing.assert_allclose(
            found, right, rtol=1e-9, atol=1e-9 * abs(right).max()
        )
    scaled = mixed_precision.solve_shifted(1e12 * K, 1e12, y)
    np.testing.assert_allclose(1e12 * scaled, mixed_precision.solve_shifted(K, 1.0, y))
    # beyond single precision the answer is that of double
    x = np.linspace(0, 1, 200)[:, None]
    hard = RBF(0.5)(x)
    assert mixed_precision.refined_solution(hard, 1e-12, y, 1e-13) is None
    found = mixed_precision.solve_shifted(hard, 1e-8, y)
    np.testing.assert_allclose(hard @ found + 1e-8 * found, y, atol=1e-4)


def test_singular_without_a_penalty(rng):
    X = np.array([[0.0], [1.0], [1.0]])
    with pytest.warns(LinAlgWarning, match="Singular"):
        model = KernelRidge(0.0, kernel="rbf").fit(X, [0.0, 1.0, 3.0])
    np.testing.assert_allclose(model.predict(X), [0, 2, 2], atol=1e-8)
    np.testing.assert_allclose(  # no duplicates: interpolates
        KernelRidge(0.0, kernel="rbf").fit(X[:2], [5.0, 1.0]).predict(X[:2]), [5, 1]
    )


@pytest.mark.parametrize("solver", ["cholesky", "cg"])
def test_precomputed_sparse_and_kernel_objects(solver, table):
    X, y = table
    right = KernelRidge(0.2, kernel=RBF(0.8)).fit(X, y).predict(X[:7])
    K = RBF(0.8)(X)
    same = lambda model, rows: np.testing.assert_allclose(
        model.predict(rows), right, rtol=1e-6, atol=1e-7
    )
    options = {"solver": solver, "tol": 1e-12}
    same(KernelRidge(0.2, kernel="precomputed", **options).fit(K, y), K[:7])
    same(KernelRidge(0.2, kernel=gp.RBF(0.8), **options).fit(X, y), X[:7])
    same(
        KernelRidge(0.2, kernel=RBF(0.8), **options).fit(sparse.csr_array(X), y),
        sparse.csr_array(X[:7]),
    )
    own = lambda A, B: RBF(0.8)(A, B)
    same(KernelRidge(0.2, kernel=own, **options).fit(X, y), X[:7])
    with pytest.raises(ValueError, match="square matrix"):
        KernelRidge(kernel="precomputed").fit(K[:, :5], y)


def test_texts_as_rows():
    words = ["banana", "ananas", "bandana", "pear", "peach", "peanut"]
    y = np.array([1.0, 1, 1, 0, 0, 0])
    k = kernels.Spectrum(2)
    model = KernelRidge(0.1, kernel=k).fit(words, y)
    given = KernelRidge(0.1, kernel="precomputed").fit(k(words), y)
    np.testing.assert_allclose(
        model.predict(["panama"]), given.predict(k(["panama"], words))
    )
    assert model.predict(["banandana"])[0] > 0.5 > model.predict(["pea"])[0]


def test_an_additive_kernel_has_components(table):
    X, y = table
    k = kernels.Additive([RBF(0.7), RBF(0.7), RBF(0.7)])
    model = KernelRidge(0.01, kernel=k).fit(X, y)
    parts = k.components(X, model.X_fit_, model.dual_coef_)
    np.testing.assert_allclose(parts.sum(axis=1), model.predict(X))


def test_scaling_targets_and_kernel_scales_predictions(table):
    X, y = table
    base = KernelRidge(0.1, kernel=RBF()).fit(X, y).predict(X)
    for c in (1e6, 1e-6):
        scaled = KernelRidge(0.1 * c, kernel=c * RBF()).fit(X, c * y).predict(X)
        np.testing.assert_allclose(scaled / c, base, rtol=1e-8)


@pytest.mark.parametrize("solver", ["cholesky", "cg", "descent"])
def test_tensors_stay_tensors(solver, table):
    torch = pytest.importorskip("torch")
    X, y = table
    options = {"kernel": "rbf", "solver": solver, "max_iter": 50, "tol": 1e-4}
    Xt, yt = torch.asarray(X), torch.asarray(y)
    with pytest.warns(ConvergenceWarning) if solver == "descent" else no_warning():
        found = KernelRidge(0.2, **options).fit(Xt, yt).predict(Xt)
        right = KernelRidge(0.2, **options).fit(X, y).predict(X)
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), right, atol=1e-4)


def no_warning():
    from contextlib import nullcontext

    return nullcontext()


def test_the_size_of_the_matrix_is_told(table, monkeypatch):
    X, y = table
    model = KernelRidge(kernel="rbf").fit(X, y)
    assert model.solver_reason_ == "a matrix of 60 rows takes 0.0288 MB"
    asked = KernelRidge(kernel="rbf", solver="cholesky").fit(X, y)
    assert asked.solver_reason_ == f"it was asked for; {model.solver_reason_}"
    monkeypatch.setattr("pansophy.kernel_ridge.kernel_ridge.DENSE", 50)
    many = KernelRidge(kernel="rbf").fit(X, y)
    assert many.solver_ == "cg"
    assert many.solver_reason_ == "60 rows are more than the 50 of a factor"


def test_float32_stays(table):
    X, y = (a.astype(np.float32) for a in table)
    model = KernelRidge(0.2, kernel="rbf").fit(X, y)
    assert model.dual_coef_.dtype == model.predict(X).dtype == np.float32
