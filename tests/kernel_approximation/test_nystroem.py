"""Nystroem features against the kernels that they approximate."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import kernel_approximation as theirs

from pansophy import kernels
from pansophy.kernel_approximation import Nystroem
from pansophy.kernels import RBF


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
