"""Group and sparse-group lasso: optimality, ends of the mix, peers, edges."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy.linear_model import GroupLasso, Lasso
from pansophy.params import ParameterError
from tests.oracles import coordinate as oracle


def problem(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 1
    w = np.zeros(d)
    w[:4] = 2 * rng.normal(size=4)
    return X, X @ w + rng.normal(size=n)


@pytest.mark.parametrize("shape", [(60, 20), (60, 400)])
@pytest.mark.parametrize("mix", [0.0, 0.5])
def test_optimality_conditions(shape, mix):
    X, y = problem(*shape)
    rng = np.random.default_rng(1)
    labels = rng.permutation(np.arange(shape[1]) // 4)
    alpha = 0.15
    model = GroupLasso(labels, alpha=alpha, l1_ratio=mix, tol=1e-12).fit(X, y)
    c = (y - model.predict(X)) @ (X - X.mean(axis=0)) / shape[0]
    soft = np.sign(c) * np.maximum(np.abs(c) - alpha * mix, 0)
    for g in np.unique(labels):
        w, m = model.coef_[labels == g], 2 * alpha * (1 - mix)
        if w.any():
            assert g in model.groups_
            some = w != 0
            pull = m * w / np.linalg.norm(w) + alpha * mix * np.sign(w)
            np.testing.assert_allclose(c[labels == g][some], pull[some], atol=1e-5)
        else:
            assert np.linalg.norm(soft[labels == g]) <= m + 1e-5
    assert model.dual_gap_ <= 1e-12 * y.var()


def test_ends_of_the_mix():
    X, y = problem(50, 30)
    lasso = Lasso(alpha=0.2, tol=1e-12).fit(X, y).coef_
    for model in (
        GroupLasso(alpha=0.2, tol=1e-12),
        GroupLasso(5, alpha=0.2, l1_ratio=1.0, tol=1e-12),
    ):
        np.testing.assert_allclose(model.fit(X, y).coef_, lasso, atol=1e-7)
    none = GroupLasso(5, alpha=0.0, tol=1e-10).fit(X, y)
    best = np.linalg.lstsq(X - X.mean(axis=0), y - y.mean(), rcond=None)[0]
    np.testing.assert_allclose(none.coef_, best, atol=1e-4)


def test_all_zero_from_the_largest_strength_on():
    X, y = problem(50, 12)
    c = (y - y.mean()) @ (X - X.mean(axis=0)) / 50
    top = max(np.linalg.norm(c[g : g + 3]) / 3**0.5 for g in range(0, 12, 3))
    assert not GroupLasso(3, alpha=1.0001 * top).fit(X, y).coef_.any()
    assert GroupLasso(3, alpha=0.999 * top).fit(X, y).groups_.size == 1


def test_matches_the_oracle_and_a_peer():
    X, y = problem(40, 12)
    C, z = X - X.mean(axis=0), y - y.mean()
    labels = np.repeat([0, 1, 2], 4)
    model = GroupLasso(labels, alpha=0.2, weights=[1.0, 2.0, 0.5], tol=1e-12)
    model.fit(X, y)
    slow = oracle.group_lasso(C, z[:, None], labels, 40 * 0.2, 0.0, [1.0, 2.0, 0.5])
    np.testing.assert_allclose(model.coef_, slow[0], atol=1e-7)
    celer = pytest.importorskip("celer")
    theirs = celer.GroupLasso(groups=4, alpha=0.2, tol=1e-12)
    theirs.fit(np.asfortranarray(X), y)
    model = GroupLasso(4, alpha=0.2, weights=[1.0, 1.0, 1.0], tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-6)


def test_sparse_weights_and_order():
    X, y = problem(50, 300)
    dense = GroupLasso(3, alpha=0.2, tol=1e-10).fit(X, y)
    sparse = GroupLasso(3, alpha=0.2, tol=1e-10).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-6)
    w = np.random.default_rng(0).integers(0, 3, size=50)
    once = GroupLasso(3, alpha=0.2, tol=1e-10).fit(X, y, sample_weight=w)
    again = GroupLasso(3, alpha=0.2, tol=1e-10)
    again.fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(once.coef_, again.coef_, atol=1e-5)
    order = np.random.default_rng(0).permutation(300)
    labels = (np.arange(300) // 3)[order]
    other = GroupLasso(labels, alpha=0.2, tol=1e-10).fit(X[:, order], y)
    np.testing.assert_allclose(other.coef_, dense.coef_[order], atol=1e-6)


def test_refusals():
    X, y = problem(20, 6)
    with pytest.raises(ParameterError, match="one label for each of the 6"):
        GroupLasso([0, 1]).fit(X, y)
    with pytest.raises(ParameterError, match="each of the 2 groups"):
        GroupLasso(3, weights=[1.0]).fit(X, y)
