"""One problem under four constraints, and the methods it turns into."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.cluster import KMeans
from pansophy.decomposition import PCA, MatrixFactorization
from pansophy.decomposition.matrix_factorization import HALVES

KINDS = [None, "orthogonal", "one_hot", "nonnegative"]


def rows(seed=0, n=40, d=6):
    return np.random.default_rng(seed).random((n, d)) * np.arange(1, d + 1)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 9999), k=st.integers(1, 4))
def test_no_half_step_raises_the_cost(kind, seed, k):
    X = rows(seed, 20, 4)
    model = MatrixFactorization(k, constraint=kind, random_state=seed, tol=1e-6)
    model.fit(X)
    J = np.column_stack([model.history_["half"], model.history_["objective"]]).ravel()
    assert (np.diff(J) <= 1e-9 * J[0] + 1e-20 * np.sum(X**2)).all()


@pytest.mark.parametrize("kind", [None, "orthogonal"])
def test_unconstrained_is_the_truncated_svd(kind):
    X = rows()
    model = MatrixFactorization(2, constraint=kind, random_state=0, tol=1e-15)
    Z = model.fit_transform(X)
    s = np.linalg.svd(X)[1]
    assert model.objective_ == pytest.approx(np.sum(s[2:] ** 2), rel=1e-6)
    U, S, Vt = np.linalg.svd(X, full_matrices=False)
    best = (U[:, :2] * S[:2]) @ Vt[:2]
    np.testing.assert_allclose(model.inverse_transform(Z), best, atol=1e-3)
    if kind == "orthogonal":
        B = model.components_
        np.testing.assert_allclose(B @ B.T, np.eye(2), atol=1e-10)
    centred = X - X.mean(axis=0)
    pca = MatrixFactorization(2, constraint=kind, random_state=0, tol=1e-15)
    error = pca.fit(centred).objective_ / len(X)
    assert error == pytest.approx(PCA(2).fit(X).reconstruction_error(X), rel=1e-6)


def test_one_hot_codes_are_k_means():
    X = rows(n=60)
    model = MatrixFactorization(3, constraint="one_hot", n_init=10, random_state=0)
    Z = model.fit_transform(X)
    assert set(np.unique(Z)) == {0.0, 1.0} and (Z.sum(axis=1) == 1).all()
    known = KMeans(3, init=model.components_).fit(X)
    assert known.inertia_ == pytest.approx(model.objective_)
    np.testing.assert_array_equal(known.labels_, Z.argmax(axis=1))


@given(st.integers(0, 9999), st.integers(1, 3))
def test_k_axes_beat_k_plus_one_centres(seed, k):
    X = rows(seed, 30, 5)
    Xc = X - X.mean(axis=0)
    centres = MatrixFactorization(k + 1, constraint="one_hot", n_init=3, random_state=0)
    axes = PCA(k).fit(Xc).reconstruction_error(Xc) * len(X)
    assert axes <= centres.fit(Xc).objective_ + 1e-9


def test_nonnegative_parts():
    rng = np.random.default_rng(0)
    X = rng.random((40, 2)) @ rng.random((2, 6))
    model = MatrixFactorization(2, constraint="nonnegative", random_state=0)
    Z = model.fit_transform(X)
    assert (Z >= 0).all() and (model.components_ >= 0).all()
    assert model.objective_ < 1e-4 * np.sum(X**2)
    np.testing.assert_allclose(model.transform(X), Z)
    with pytest.raises(ValueError, match="Negative"):
        model.fit(-X)


def test_an_empty_cell_takes_the_worst_row():
    X = np.array([[0.0], [1.0], [10.0]])
    Z = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    B = HALVES["one_hot"][1](X, Z, np.array([[0.0], [5.0]]))
    np.testing.assert_allclose(B, [[11 / 3], [10.0]])


def test_too_many_components():
    with pytest.raises(ValueError, match="at most 6"):
        MatrixFactorization(7).fit(rows())
    with pytest.raises(ValueError, match="at most 40"):
        MatrixFactorization(41, constraint="one_hot").fit(rows())
