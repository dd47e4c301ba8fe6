"""Independent components: sources found again, parity, every contrast and way."""

import numpy as np
import pytest
import sklearn.decomposition as peer
from hypothesis import given
from hypothesis import strategies as st

from pansophy.decomposition import FastICA
from pansophy.decomposition.fast_ica import (
    cube_contrast,
    exp_contrast,
    logcosh_contrast,
    newton_sums,
    symmetric_orthogonalization,
)


def mixed(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 40, n)
    S = np.column_stack([np.sin(2 * t), np.sign(np.sin(3 * t)), rng.laplace(size=n)])
    S = (S - S.mean(axis=0)) / S.std(axis=0)
    A = np.array([[1.0, 1.0, 1.0], [0.5, 2.0, 1.0], [1.5, 1.0, 2.0]])
    return S, S @ A.T + [1.0, 2.0, 3.0]


def match(S, found):
    """The best correlation of each source with a component."""
    k = S.shape[1]
    return np.abs(np.corrcoef(S.T, found.T))[:k, k:].max(axis=1)


@pytest.mark.parametrize("algorithm", ["parallel", "deflation"])
@pytest.mark.parametrize("fun", ["logcosh", "exp", "cube"])
@pytest.mark.parametrize("solver", ["svd", "eigh"])
def test_sources_are_found(algorithm, fun, solver):
    S, X = mixed()
    how = {"algorithm": algorithm, "fun": fun, "whiten_solver": solver}
    model = FastICA(random_state=0, **how)
    found = model.fit_transform(X)
    assert (match(S, found) > 0.98).all()
    np.testing.assert_allclose(found.std(axis=0), 1)
    np.testing.assert_allclose(model.transform(X), found)
    np.testing.assert_allclose(model.inverse_transform(found), X, atol=1e-9)
    np.testing.assert_allclose(np.cov(found.T, bias=True), np.eye(3), atol=1e-9)


def test_the_same_start_gives_scikit_learns_answer():
    _, X = mixed()
    W = np.random.default_rng(1).standard_normal((3, 3))
    for whiten in ("unit-variance", "arbitrary-variance"):
        how = {"w_init": W, "whiten": whiten, "tol": 1e-10}
        ours, right = FastICA(**how).fit(X), peer.FastICA(**how).fit(X)
        agree = np.abs(ours.components_ @ right.mixing_)
        np.testing.assert_allclose(agree.max(axis=1), 1, atol=1e-3)
        np.testing.assert_allclose(np.sort(agree.ravel())[:6], 0, atol=1e-3)


def test_a_function_of_ones_own_and_white_rows():
    S, X = mixed()
    own = FastICA(fun=lambda u: (np.tanh(u), (1 - np.tanh(u) ** 2).mean(axis=-1)))
    known = FastICA(random_state=0)
    own.random_state = 0
    np.testing.assert_allclose(own.fit_transform(X), known.fit_transform(X), atol=1e-6)
    Z = FastICA(random_state=0, whiten="arbitrary-variance").fit(X).whitening_
    white = (X - X.mean(axis=0)) @ Z.T * np.sqrt(len(X))
    plain = FastICA(whiten=False, random_state=0).fit(white)
    assert (match(S, plain.transform(white)) > 0.98).all()
    assert not hasattr(plain, "whitening_")
    np.testing.assert_allclose(
        plain.inverse_transform(plain.transform(white)), white, atol=1e-9
    )


@given(st.integers(0, 9999))
def test_sums_are_those_of_the_slow_formula(seed):
    rng = np.random.default_rng(seed)
    Z, W = rng.standard_normal((30, 3)), rng.standard_normal((2, 3))
    U = Z @ W.T
    slow = {
        logcosh_contrast: (np.tanh(U), 1 - np.tanh(U) ** 2),
        exp_contrast: (U * np.exp(-(U**2) / 2), (1 - U**2) * np.exp(-(U**2) / 2)),
        cube_contrast: (U**3, 3 * U**2),
    }
    for g, (value, slope) in slow.items():
        first, mean = newton_sums(Z, W, g)
        np.testing.assert_allclose(first, value.T @ Z / 30, atol=1e-12)
        np.testing.assert_allclose(mean, slope.mean(axis=0), atol=1e-12)
    Q = symmetric_orthogonalization(W)
    np.testing.assert_allclose(Q @ Q.T, np.eye(2), atol=1e-9)


def test_fewer_components_signs_and_single_precision():
    _, X = mixed()
    model = FastICA(2, random_state=0, sign_flip=True).fit(X)
    assert model.components_.shape == (2, 3) and model.mixing_.shape == (3, 2)
    V = model.components_
    assert (np.abs(V).max(axis=1) == V.max(axis=1)).all()
    small = FastICA(random_state=0, tol=1e-3).fit(X.astype(np.float32))
    assert small.components_.dtype == small.transform(X.astype("f4")).dtype == "f4"


def test_bad_requests():
    _, X = mixed(50)
    for model, words in [
        (FastICA(fun_args={"alpha": 3.0}), "from 1 to 2"),
        (FastICA(w_init=np.ones((2, 2))), "w_init must have shape"),
    ]:
        with pytest.raises(ValueError, match=words):
            model.fit(X)


def test_without_whitening_all_components_are_found():
    X = np.random.default_rng(0).normal(size=(60, 4))
    with pytest.warns(UserWarning, match="Ignoring n_components with whiten=False"):
        model = FastICA(2, whiten=False, random_state=0, tol=1.0).fit(X)
    assert model.components_.shape == (4, 4)
