"""Feature maps against the kernels that they approximate."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import kernel_approximation as theirs

from pansophy import kernels
from pansophy.feature_extraction import QuadraticMap
from pansophy.kernel_approximation import (
    Nystroem,
    PolynomialCountSketch,
    RBFSampler,
)
from pansophy.kernels import RBF, Polynomial
from pansophy.linear_model import LogisticRegression


@pytest.fixture
def X(rng):
    return rng.standard_normal((40, 3))


def test_all_rows_give_the_kernel(X):
    for kernel in ("rbf", "poly", "laplacian", RBF(0.8) + 1.0):
        phi = Nystroem(
            kernel, gamma=0.4, n_components=40, random_state=0
        ).fit_transform(X)
        K = kernels.get_kernel(kernel, gamma=0.4, coef0=1)(X)
        np.testing.assert_allclose(phi @ phi.T, K, atol=1e-7 * np.abs(K).max())


def test_exact_on_its_own_rows_and_like_scikit_learns(X):
    model = Nystroem(gamma=0.5, n_components=10, random_state=0).fit(X)
    at = model.component_indices_
    phi = model.transform(X)
    np.testing.assert_allclose(phi[at] @ phi[at].T, RBF(1.0)(X[at]), atol=1e-10)
    peer = theirs.Nystroem(gamma=0.5, n_components=10).fit(X[at])
    other = peer.transform(X)
    np.testing.assert_allclose(phi @ phi.T, other @ other.T, atol=1e-8)
    K = RBF(1.0)(X)
    given = Nystroem("precomputed", n_components=10, random_state=0).fit(K)
    np.testing.assert_allclose(given.transform(K), phi, atol=1e-10)
    rows = Nystroem(gamma=0.5, n_components=10, random_state=0)
    np.testing.assert_allclose(rows.fit_transform(sparse.csr_array(X)), phi, atol=1e-9)


def test_dependent_rows_are_no_harm():
    X = np.repeat(np.arange(3.0), 4)[:, None]
    phi = Nystroem(gamma=1.0, n_components=12).fit_transform(X)
    np.testing.assert_allclose(phi @ phi.T, RBF(gamma=1.0)(X), atol=1e-8)


@pytest.mark.parametrize("orthogonal", [False, True])
def test_random_fourier_features(orthogonal, X):
    K = RBF(gamma=0.3)(X)
    errors = []
    for D in (100, 10000):
        phi = RBFSampler(
            gamma=0.3, n_components=D, random_state=0, orthogonal=orthogonal
        ).fit_transform(X)
        errors.append(np.sqrt(np.mean((phi @ phi.T - K) ** 2)))
    assert errors[1] < 0.012 and errors[1] < 0.2 * errors[0]


def test_orthogonal_directions_vary_less(X):
    K = RBF(gamma=0.3)(X)

    def error(orthogonal):
        runs = []
        for seed in range(20):
            sampler = RBFSampler(
                gamma=0.3, n_components=30, random_state=seed, orthogonal=orthogonal
            )
            phi = sampler.fit_transform(X)
            runs.append(np.mean((phi @ phi.T - K) ** 2))
        return np.mean(runs)

    assert error(True) < error(False)


def test_gamma_scale_and_sparse(X):
    scale = 1 / (3 * X.var())
    one = RBFSampler(gamma="scale", random_state=0).fit_transform(X)
    two = RBFSampler(gamma=scale, random_state=0).fit_transform(X)
    three = RBFSampler(gamma="scale", random_state=0).fit_transform(sparse.csr_array(X))
    np.testing.assert_allclose(one, two)
    np.testing.assert_allclose(one, three, atol=1e-12)


def test_polynomial_sketch(X):
    for options in ({"degree": 2}, {"degree": 3, "gamma": 0.2, "coef0": 0.5}):
        right = Polynomial(
            options["degree"], options.get("gamma", 1.0), options.get("coef0", 0.0)
        )(X)
        sketch = PolynomialCountSketch(n_components=20000, random_state=0, **options)
        phi = sketch.fit_transform(X)
        assert np.abs(phi @ phi.T - right).max() < 0.05 * np.abs(right).max()
        np.testing.assert_allclose(
            sketch.transform(sparse.csr_array(X)), phi, atol=1e-10
        )


def test_quadratic_map_is_its_kernel(rng):
    x = np.array([[1.0, 2.0], [3.0, -1.0]])
    phi = QuadraticMap().fit_transform(x)
    np.testing.assert_allclose(
        phi[0], [1, 1.414214, 2.828427, 2.828427, 1, 4], atol=1e-6
    )
    assert phi[0] @ phi[1] == pytest.approx(4)
    y = np.array([[1.0, 2.0], [3.0, 4.0]])
    same = QuadraticMap(homogeneous=True).fit_transform(y)
    assert same[0] @ same[1] == pytest.approx(121)
    X = rng.standard_normal((10, 5))
    for homogeneous, c in ((True, 0.0), (False, 1.0)):
        model = QuadraticMap(homogeneous=homogeneous).fit(X)
        phi = model.transform(X)
        np.testing.assert_allclose(phi @ phi.T, Polynomial(2, 1.0, c)(X))
        assert len(model.get_feature_names_out()) == phi.shape[1]


def test_xor_becomes_separable():
    X = np.array([[-1.0, -1], [-1, 1], [1, -1], [1, 1]])
    y = [0, 1, 1, 0]
    phi = QuadraticMap().fit_transform(X)
    assert LogisticRegression(C=100.0).fit(phi, y).score(phi, y) == 1
