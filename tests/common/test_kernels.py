"""One battery for every kernel in the list: joining it is how a kernel is tested."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise as svm

from pansophy import typing
from pansophy.core.arrays.arrays import to_numpy
from pansophy.kernels import (
    HISTOGRAM_KERNELS,
    KERNELS,
    RBF,
    STRING_KERNELS,
    AbstractKernel,
    Constant,
    Linear,
    Polynomial,
    check_psd,
    get_kernel,
)

LIBRARIES = ["torch", "array_api_strict"]
PACKAGE = "pansophy.kernels."
EVERY = pytest.mark.parametrize("k", KERNELS, ids=str)


@pytest.fixture
def points(rng):
    return rng.standard_normal((30, 3)), rng.standard_normal((20, 3))


def entry(k, x, z):
    """k of two rows, alone."""
    return k(x[None, :], z[None, :])[0, 0]


def test_every_kernel_class_is_listed():
    def classes(cls):
        return {cls}.union(*(classes(c) for c in cls.__subclasses__()))

    def parts(k):
        held = [v if isinstance(v, tuple) else (v,) for v in vars(k).values()]
        inside = [v for group in held for v in group if isinstance(v, AbstractKernel)]
        return {type(k)}.union(*(parts(v) for v in inside))

    every = [*KERNELS, *HISTOGRAM_KERNELS, *STRING_KERNELS]
    listed = set().union(*(parts(k) for k in every))
    ours = {c for c in classes(AbstractKernel) if c.__module__.startswith(PACKAGE)}
    missing = {c.__name__ for c in ours - listed}
    abstract = {"AbstractKernel", "KernelPair", "WrappedKernel", "RadialKernel"}
    abstract |= {"KernelBlocks", "SequenceKernel"}
    # these have tests of their own: functions and matrices, and what is no kernel
    given = {"TransformedInput", "FunctionKernel", "Precomputed", "SklearnKernel"}
    assert missing == abstract | given | {"Sigmoid", "AdditiveChiSquared"}
    assert all(isinstance(k, typing.Kernel) for k in every)


@EVERY
def test_symmetric_psd_and_diagonal(k, points):
    X, Z = points
    K = k(X)
    np.testing.assert_array_equal(K, K.T)
    assert check_psd(K).psd
    np.testing.assert_allclose(k.diag(X), np.diagonal(K))
    other = k(X, X)
    if k.has_white_noise:  # a row with itself is not two equal rows
        assert (np.diagonal(other) < np.diagonal(K)).all()
        np.fill_diagonal(other, k.diag(X))
    np.testing.assert_allclose(K, other, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(k(X, Z), k(Z, X).T, rtol=1e-10)
    single = [[entry(k, x, z) for z in Z[:4]] for x in X[:4]]
    np.testing.assert_allclose(k(X, Z)[:4, :4], single, rtol=1e-10)


@EVERY
def test_tiles_agree(k, points, monkeypatch):
    from pansophy.distances import pairwise_metrics
    from pansophy.kernels import base

    X, Z = points
    K, cross = k(X), k(X, Z)
    for module in (pairwise_metrics, base):
        monkeypatch.setattr(module, "TILE", 7)
    np.testing.assert_allclose(k(X), K, rtol=1e-12)
    np.testing.assert_array_equal(k(X), k(X).T)
    np.testing.assert_allclose(k(X, Z), cross, rtol=1e-12)


@EVERY
def test_gradient_against_differences(k, points):
    X, Z = points
    theta = k.theta
    found = k.gradient(X, Z)
    assert found.shape == (len(theta), 30, 20)
    for i in range(len(theta)):
        step = 1e-5 * np.eye(len(theta))[i]
        up, down = k.with_theta(theta + step)(X, Z), k.with_theta(theta - step)(X, Z)
        size = np.abs(found[i]).max()
        np.testing.assert_allclose(
            found[i], (up - down) / 2e-5, rtol=1e-6, atol=1e-8 * size
        )


@EVERY
def test_theta_goes_in_and_out(k, points):
    theta = k.theta + 0.1
    other = k.with_theta(theta)
    np.testing.assert_allclose(other.theta, theta)
    assert type(other) is type(k) and (other != k or len(theta) == 0)
    assert len(k.theta_names) == len(set(k.theta_names)) == len(theta)
    if len(theta):
        with pytest.raises((ValueError, IndexError)):
            k.with_theta([])
    assert k.with_theta(k.theta)(points[0]) == pytest.approx(k(points[0]))


@EVERY
def test_matmul_is_the_product_by_tiles(k, points, rng, monkeypatch):
    from pansophy.kernels import base

    X, Z = points
    V = rng.standard_normal((20, 2))
    U = rng.standard_normal(30)
    for tile in (512, 7):
        monkeypatch.setattr(base, "WIDE", tile)
        np.testing.assert_allclose(k.matmul(X, Z, V), k(X, Z) @ V, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(k.matmul(X, None, U), k(X) @ U, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(k.matmul(X, X, U), k(X, X) @ U, rtol=1e-9, atol=1e-9)


@EVERY
def test_contract_is_the_gradient_summed(k, points, rng, monkeypatch):
    from pansophy.kernels import base

    X, Z = points
    left, right = rng.standard_normal((30, 2)), rng.standard_normal((20, 2))
    W = rng.standard_normal((30, 30))
    for tile in (512, 7):
        monkeypatch.setattr(base, "WIDE", tile)
        for found, weights, G in (
            (k.contract(X, Z, (left, right)), left @ right.T, k.gradient(X, Z)),
            (k.contract(X, Z, left @ right.T), left @ right.T, k.gradient(X, Z)),
            (k.contract(X, None, W), W, k.gradient(X)),
        ):
            assert found.shape == (len(k.theta),) == (len(k.theta_names),)
            size = np.abs(weights * G).sum(axis=(1, 2))
            gap = np.abs(found - (weights * G).sum(axis=(1, 2)))
            assert (gap <= 1e-12 * (size + 1)).all()


@EVERY
def test_gradient_of_the_gram_matrix(k, points):
    """Against differences of k(X): the diagonal of white noise counts."""
    X = points[0][:6]
    theta = k.theta
    found = k.gradient(X)
    for i in range(len(theta)):
        step = 1e-5 * np.eye(len(theta))[i]
        up, down = k.with_theta(theta + step)(X), k.with_theta(theta - step)(X)
        size = np.abs(found[i]).max()
        np.testing.assert_allclose(
            found[i], (up - down) / 2e-5, rtol=1e-6, atol=1e-8 * size
        )


@EVERY
def test_input_gradients_against_differences(k, points, rng, monkeypatch):
    from pansophy.kernels import base

    X, Z = points
    W = rng.standard_normal((30, 20))
    h = 1e-5
    expected = [
        np.sum(W * (k(X + h * e, Z) - k(X - h * e, Z)), axis=1) / (2 * h)
        for e in np.eye(3)
    ]
    monkeypatch.setattr(base, "WIDE", 7)
    found = k.contract_inputs(X, Z, W)
    np.testing.assert_allclose(found, np.transpose(expected), rtol=1e-5, atol=1e-7)


@EVERY
@pytest.mark.parametrize("library", LIBRARIES)
def test_array_libraries_agree(k, library, points):
    xp = pytest.importorskip(library)
    X, Z = (xp.asarray(a) for a in points)
    for found, right in (
        (k(X, Z), k(*points)),
        (k(X), k(points[0])),
        (k.diag(X), k.diag(points[0])),
        (k.gradient(X, Z), k.gradient(*points)),
        (k.matmul(X, Z, Z), k.matmul(*points, points[1])),
        (k.matmul(X, None, X[:, 0]), k.matmul(points[0], None, points[0][:, 0])),
    ):
        assert type(found) is type(X)
        np.testing.assert_allclose(to_numpy(found), right, rtol=1e-9, atol=1e-11)
    W = xp.asarray(points[0] @ points[1].T)
    np.testing.assert_allclose(
        k.contract(X, Z, W), k.contract(*points, to_numpy(W)), rtol=1e-9, atol=1e-9
    )
    moved = k.contract_inputs(X, Z, W)
    np.testing.assert_allclose(
        to_numpy(moved), k.contract_inputs(*points, to_numpy(W)), rtol=1e-7, atol=1e-9
    )
    np.testing.assert_allclose(
        k.contract(X, None, (X, X)),
        k.contract(points[0], None, (points[0], points[0])),
        rtol=1e-9,
        atol=1e-9,
    )


@EVERY
def test_float32_stays(k, points):
    X, Z = (a.astype(np.float32) for a in points)
    assert k(X, Z).dtype == k(X).dtype == k.diag(X).dtype == np.float32
    np.testing.assert_allclose(k(X, Z), k(*points), rtol=1e-3, atol=1e-5)


@given(seed=st.integers(0, 10**6), i=st.integers(0, 10), j=st.integers(0, 10))
def test_algebra_is_elementwise(seed, i, j):
    rng = np.random.default_rng(seed)
    X, Z = rng.standard_normal((6, 3)), rng.standard_normal((5, 3))
    k, m = KERNELS[i % len(KERNELS)], KERNELS[j % len(KERNELS)]
    K, M = k(X, Z), m(X, Z)
    np.testing.assert_allclose((k + m)(X, Z), K + M, rtol=1e-9)
    np.testing.assert_allclose((k * m)(X, Z), K * M, rtol=1e-9)
    np.testing.assert_allclose((k**3)(X, Z), K**3, rtol=1e-9)
    np.testing.assert_allclose((2 * k + 0.5)(X, Z), 2 * K + 0.5, rtol=1e-9)
    np.testing.assert_allclose((1 + k * 3)(X, Z), 1 + 3 * K, rtol=1e-9)
    np.testing.assert_allclose((0.01 * k).exp()(X, Z), np.exp(0.01 * K), rtol=1e-9)
    assert check_psd(k * m + k, X).psd


# --- worked numbers and conventions -----------------------------------------------


def test_worked_numbers():
    x, z = np.array([[1.0, 2.0]]), np.array([[3.0, -1.0]])
    value = lambda k, a=x, b=z: k(a, b).item()
    assert value(Linear()) == 1
    assert value(Polynomial(2)) == 4
    assert value(RBF(1.0)) == pytest.approx(0.00150344, abs=5e-9)
    assert value(RBF(gamma=0.1)) == pytest.approx(0.272532, abs=5e-7)
    y = np.array([[3.0, 4.0]])
    assert value(Polynomial(2, coef0=0.0), x, y) == 121
    assert value(Polynomial(3), x, y) == 1728
    assert value(Polynomial(2), x, y) == 144
    a = np.zeros((1, 1))
    assert value(RBF(width=2.0), a, a + 2) == pytest.approx(0.367879, abs=5e-7)
    assert value(RBF(width=2.0), a, a + 4) == pytest.approx(0.018316, abs=5e-7)
    assert value(RBF(width=2**0.5), a, a + 2**0.5) == pytest.approx(0.367879, abs=5e-7)


def test_scikit_learns_two_conventions(points):
    X, Z = points
    np.testing.assert_allclose(RBF(0.7)(X, Z), gp.RBF(0.7)(X, Z))
    np.testing.assert_allclose(RBF([1, 2, 3.0])(X, Z), gp.RBF([1, 2, 3.0])(X, Z))
    np.testing.assert_allclose(RBF(gamma=0.3)(X, Z), svm.rbf_kernel(X, Z, gamma=0.3))
    np.testing.assert_allclose((Linear() + 4.0)(X, Z), gp.DotProduct(2.0)(X, Z))
    np.testing.assert_allclose(
        get_kernel("poly", gamma=0.5, degree=3, coef0=2.0)(X, Z),
        svm.polynomial_kernel(X, Z, degree=3, gamma=0.5, coef0=2.0),
    )
    mixed = gp.ConstantKernel(2.0) * gp.RBF(0.7) + gp.DotProduct(1.0)
    ours = 2.0 * RBF(0.7) + Linear()
    K, G = mixed(X, eval_gradient=True)
    np.testing.assert_allclose(ours(X), K - 1, atol=1e-12)
    np.testing.assert_allclose(ours.theta[:2], mixed.theta[:2])
    np.testing.assert_allclose(
        np.moveaxis(ours.gradient(X), 0, 2)[..., :2], G[..., :2], atol=1e-12
    )


# --- refusals ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RBF(0.0), "length_scale of RBF must be above 0"),
        (lambda: RBF([1.0, -1.0]), "length_scale of RBF must be above 0"),
        (lambda: RBF(gamma=-1.0), "gamma of RBF must be above 0"),
        (lambda: RBF(1.0, gamma=1.0), "one of length_scale, gamma and width"),
        (lambda: Linear(-1.0), "scale of Linear must be above 0"),
        (lambda: Polynomial(0), "degree of Polynomial must be a whole number"),
        (lambda: Polynomial(2, 1.0, -1.0), "coef0 of Polynomial must be at least 0"),
        (lambda: Constant(-2.0), "value of Constant must be at least 0"),
        (lambda: RBF() * -1.0, "value of Constant must be at least 0"),
        (lambda: RBF() ** 0.5, "power of a kernel must be a whole number"),
        (lambda: RBF([1.0, 1.0])(np.ones((2, 3))), "2 length scales for 3 columns"),
        (lambda: get_kernel("tanh"), "kernel must be a kernel or one of"),
        (lambda: check_psd(np.ones((2, 3))), "must be square"),
        (lambda: check_psd(np.array([[1.0, 2], [0, 1]])), "must be symmetric"),
    ],
)
def test_refusals(make, words):
    with pytest.raises(ValueError, match=words):
        make()
