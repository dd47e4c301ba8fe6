"""NMF: the loops, objectives that never rise, parity, sparse rows, every divergence."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.decomposition as peer
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

from pansophy.core.loops import threads
from pansophy.decomposition import NMF, _nmf
from pansophy.decomposition import nmf_multiplicative as mu
from pansophy.decomposition.nmf import initial_nmf_factors
from tests.oracles import nmf as oracle


def parts(n=60, d=20, k=4, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    W = rng.random((n, k)) * (rng.random((n, k)) < 0.6)
    return W @ rng.random((k, d)) + noise * rng.random((n, d))


@given(st.integers(1, 6), st.integers(1, 5), st.integers(1, 4), st.integers(0, 9999))
def test_the_loop_is_its_oracle(n, k, most, seed):
    rng = np.random.default_rng(seed)
    A, W, C = rng.random((k + 2, k)), rng.random((n, k)), rng.standard_normal((n, k))
    W[rng.random((n, k)) < 0.3] = 0.0
    G, order = A.T @ A, rng.permutation(k)
    right, total = oracle.sweeps(W, G, C, 0.1, order, most, 0.1)
    found = W.copy()
    met = _nmf.coordinate_sweeps(found, G, C, 0.1, order, most, 0.1)
    np.testing.assert_allclose(found, right, atol=1e-10)
    assert met == pytest.approx(total)


def test_entries_of_a_product(rng):
    X = sp.random_array((9, 7), density=0.4, rng=rng, format="csr")
    W, H = rng.random((9, 3)), rng.random((7, 3))
    found = _nmf.product_at_entries(W, H, X.indptr, X.indices)
    np.testing.assert_allclose(found, oracle.at_entries(W, H, X))


@given(st.integers(0, 9999), st.sampled_from([0.0, 0.05]), st.sampled_from([0.0, 0.7]))
def test_coordinate_descent_never_rises(seed, alpha, ratio):
    X = parts(25, 8, 3, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = NMF(
            3, init="random", random_state=seed, alpha_W=alpha, l1_ratio=ratio, tol=1e-6
        )
        W = model.fit_transform(X)
    J = model.history_["objective"]
    assert (np.diff(J) <= 1e-10 * (1 + J[0])).all()
    assert (W >= 0).all() and (model.components_ >= 0).all()


# zeros of a start leave slowly: either may reach the last iteration
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("init", ["random", "nndsvd", "nndsvda", "nndsvdar"])
def test_as_good_as_scikit_learn(init):
    X = parts(200, 40, 5)
    options = {"init": init, "random_state": 0, "max_iter": 2000, "tol": 1e-5}
    ours, right = NMF(5, **options).fit(X), peer.NMF(5, **options).fit(X)
    slack = 1.15 if init == "random" else 1.01
    assert ours.reconstruction_err_ <= slack * right.reconstruction_err_
    W = ours.transform(X)
    again = np.linalg.norm(X - ours.inverse_transform(W))
    assert again == pytest.approx(ours.reconstruction_err_, rel=1e-3)


def test_new_rows_are_nonnegative_least_squares():
    X = parts()
    model = NMF(4, random_state=0, max_iter=2000, tol=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    new = parts(10, seed=5)
    W = model.transform(new)
    right = np.array([nnls(model.components_.T, x)[0] for x in new])
    np.testing.assert_allclose(W, right, atol=1e-5)


@pytest.mark.parametrize(
    "how", [{}, {"solver": "mu", "beta_loss": 1}, {"solver": "mu"}]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sparse_rows_give_what_dense_ones_give(how):
    X = parts(80, 30) * (np.random.default_rng(1).random((80, 30)) < 0.3)
    options = {"init": "random", "random_state": 0, "max_iter": 30, **how}
    dense = NMF(3, **options).fit(X)
    for kind in (sp.csr_array, sp.csc_array):
        thin = NMF(3, **options).fit(kind(X))
        if not how:  # sweeps are counted by stored entries, so the path is another
            ratio = thin.reconstruction_err_ / dense.reconstruction_err_
            assert ratio == pytest.approx(1, abs=0.02)
            continue
        np.testing.assert_allclose(
            thin.components_, dense.components_, rtol=1e-6, atol=1e-9
        )
        assert thin.reconstruction_err_ == pytest.approx(dense.reconstruction_err_)
        np.testing.assert_allclose(
            thin.transform(kind(X)), dense.transform(X), rtol=1e-5, atol=1e-8
        )


def test_starts_and_divergences():
    X = parts()
    for kind in ("random", "nndsvd", "nndsvda", "nndsvdar"):
        W, H = initial_nmf_factors(
            X.astype(np.float32), 4, kind, np.random.default_rng(0)
        )
        assert W.shape == (60, 4) and H.shape == (20, 4) and W.dtype == np.float32
        assert (W >= 0).all() and (H >= 0).all()
        assert ((W == 0).any() or (H == 0).any()) == (kind == "nndsvd")
    x, y = np.array([[1.0, 2.0]]), np.array([[2.0, 1.0]])
    assert mu.beta_divergence(x, y, 2) == 1
    assert mu.beta_divergence(x, y, 1) == pytest.approx(np.log(2))
    assert mu.beta_divergence(x, y, 0) == pytest.approx(0.5)
    for near, b in ((1.0001, 1), (0.0001, 0)):
        assert mu.beta_divergence(x, y, near) == pytest.approx(
            mu.beta_divergence(x, y, b), rel=1e-3
        )


def test_sparsity_by_l1_and_shuffle():
    X = parts()
    plain = NMF(4, random_state=0, tol=1e-2).fit(X)
    lean = NMF(4, random_state=0, alpha_W=0.02, l1_ratio=1.0, tol=2e-2).fit(X)
    assert (lean.transform(X) == 0).sum() > (plain.transform(X) == 0).sum()
    mixed = NMF(4, random_state=0, shuffle=True, tol=1e-2).fit(X)
    assert mixed.reconstruction_err_ < 1.2 * plain.reconstruction_err_


def test_bad_requests():
    X = parts()
    for model, words in [
        (NMF(3, beta_loss="kullback-leibler"), "solver='mu'"),
        (NMF(30, init="nndsvd"), "n_components <="),
        (NMF(3, init="custom"), "needs W and H"),
    ]:
        with pytest.raises(ValueError, match=words):
            model.fit(X)
    with pytest.raises(ValueError, match="Negative values"):
        NMF(2).fit(-X)
    with pytest.raises(ValueError, match="no zeros"):
        NMF(2, solver="mu", beta_loss=0).fit(np.eye(4))
    H = np.ones((3, 20))
    model = NMF(3, init="custom")
    for W, words in [
        (np.ones((60, 2)), r"wrong second dimension .*\(input W\). Expected 3"),
        (np.ones((59, 3)), r"wrong first dimension .*\(input W\). Expected 60"),
        (np.ones(60), "W of NMF must have shape"),
    ]:
        with pytest.raises(ValueError, match=words):
            model.fit_transform(X, W=W, H=H)
    with pytest.raises(TypeError, match="same dtype as X, float64, got float32 as W"):
        model.fit_transform(X, W=np.ones((60, 3), np.float32), H=H)
    with pytest.warns(UserWarning, match="stay zero"):
        NMF(3, init="nndsvd", solver="mu", tol=0.1).fit(X)
    with pytest.warns(RuntimeWarning, match="only with init"):
        NMF(3, tol=0.1).fit_transform(X, W=np.ones((60, 3)))


def test_penalised_updates_go_on_while_the_penalty_falls():
    """The divergence rises while a penalty shrinks W; the penalised J falls."""
    X = parts()
    how = {"solver": "mu", "alpha_W": 0.05, "l1_ratio": 1.0, "tol": 1e-4}
    model = NMF(4, **how, random_state=0, max_iter=2000).fit(X)
    longer = NMF(4, **how | {"tol": 1e-9}, random_state=0, max_iter=4000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        longer.fit(X)
    J = model.history_["objective"]
    assert (np.diff(J) <= 1e-9 * J[0]).all()
    assert J[-1] == pytest.approx(longer.history_["objective"][-1], rel=5e-3)


def test_only_a_tolerance_can_be_missed():
    X = parts()
    for solver in ("cd", "mu"):
        with pytest.warns(ConvergenceWarning, match="number of iterations 2 reached"):
            NMF(3, solver=solver, max_iter=2, tol=1e-9).fit(X)
        assert NMF(3, solver=solver, max_iter=2, tol=0).fit(X).n_iter_ == 2


def test_single_precision_nmf_stops_at_its_rounding(rng):
    X = rng.random((60, 6)) + 0.1
    small = NMF(1, random_state=0).fit(X.astype(np.float32))
    assert small.converged_
    known = NMF(1, random_state=0).fit(X).reconstruction_err_
    assert small.reconstruction_err_ == pytest.approx(known, rel=1e-5)


@pytest.mark.parametrize("rank", [None, 3], ids=["far", "near"])
def test_the_error_of_sparse_nmf_is_exact(rank, rng):
    X = rng.random((80, 30)) * (rng.random((80, 30)) < 0.3)
    if rank:
        X = rng.random((80, rank)) @ rng.random((rank, 30))
    model = NMF(3, random_state=0, max_iter=500, tol=1e-4)
    W = model.fit_transform(sp.csr_array(X))
    right = np.linalg.norm(X - W @ model.components_)
    assert model.reconstruction_err_ == pytest.approx(right, rel=1e-6, abs=1e-9)


def test_sparse_nmf_does_not_depend_on_threads(rng):
    X = sp.random_array((3000, 200), density=0.05, rng=0).tocsr()
    run = lambda: NMF(4, random_state=0, tol=1e-2).fit(X).components_
    with threads.limit_threads(1):
        one = run()
    np.testing.assert_array_equal(one, run())


def test_values_too_large_to_square_are_refused():
    X = np.abs(np.random.default_rng(0).normal(size=(20, 4)))
    for solver in ("cd", "mu"):
        with pytest.raises(ValueError, match="their squares overflow float64"):
            NMF(2, solver=solver).fit(np.full((20, 4), 1e300))
        X[3, 2] = 1e300
        with pytest.raises(ValueError, match="their squares overflow float64"):
            NMF(2, solver=solver).fit(X)
