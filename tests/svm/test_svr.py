"""Kernel support vector regression: worked lines, the tube, parity with libsvm."""

import numpy as np
import pytest
from sklearn import svm as libsvm
from sklearn.datasets import load_diabetes

from pansophy import kernels
from pansophy.svm import SVR, suggest_epsilon
from tests.svm.samples import wave

LINE = np.arange(4.0)[:, None]


def test_worked_line():
    model = SVR(kernel="linear", epsilon=0.5).fit(LINE, LINE[:, 0])
    np.testing.assert_allclose(model.coef_, [[2 / 3]], atol=1e-12)
    np.testing.assert_allclose(model.intercept_, [0.5], atol=1e-12)
    assert model.support_.tolist() == [0, 3]
    np.testing.assert_allclose(model.dual_coef_, [[-2 / 9, 2 / 9]], atol=1e-12)
    counts = [
        len(SVR(kernel="linear", epsilon=e).fit(LINE, LINE[:, 0]).support_)
        for e in (0.01, 0.1, 0.5, 1.0, 1.4, 1.6)
    ]
    assert (np.diff(counts) <= 0).all()
    flat = SVR(kernel="linear", epsilon=1.6).fit(LINE, LINE[:, 0])
    assert len(flat.support_) == 0
    np.testing.assert_allclose(flat.predict(LINE), 1.5)  # the middle of the range


def test_rows_inside_the_tube_have_no_multiplier():
    X, y = wave(200)
    model = SVR(C=5.0, epsilon=0.1).fit(X, y)
    a = np.zeros(200)
    a[model.support_] = model.dual_coef_[0]
    off = y - model.predict(X)
    assert (a[np.abs(off) < 0.1 - 1e-9] == 0).all()
    np.testing.assert_allclose(a[off > 0.1 + 1e-9], 5.0)
    np.testing.assert_allclose(a[off < -0.1 - 1e-9], -5.0)
    assert a.sum() == pytest.approx(0.0, abs=1e-9)
    primal = 0.5 * a @ kernels.RBF(gamma=model._gamma)(X) @ a
    primal += 5 * np.maximum(0, np.abs(off) - 0.1).sum()
    assert primal == pytest.approx(-model.dual_objective_, rel=1e-9)


@pytest.mark.parametrize(
    "options",
    [{}, {"C": 100.0, "epsilon": 0.5}, {"kernel": "linear"}, {"epsilon": 0.0}],
)
def test_svr_as_libsvm(options):
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:200] * 20, y[:200] / 50
    w = np.random.default_rng(0).uniform(0.5, 2, 200)
    ours = SVR(**options).fit(X, y)
    theirs = libsvm.SVR(tol=1e-7, **options).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)
    assert (ours.support_ == theirs.support_).all()
    ours = SVR(gamma=0.1, **options).fit(X, y, sample_weight=w)
    theirs = libsvm.SVR(gamma=0.1, tol=1e-7, **options).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)


def test_an_exact_tube_may_not_exist():
    with pytest.raises(ValueError, match="C=inf"):
        SVR(kernel="linear", C=np.inf).fit([[0.0], [0], [1]], [0.0, 1, 2])
    model = SVR(kernel="linear", C=np.inf, epsilon=0.2).fit(LINE, LINE[:, 0])
    np.testing.assert_allclose(np.abs(model.predict(LINE) - LINE[:, 0]).max(), 0.2)


def test_warm_start_of_a_regressor():
    X, y = wave(300, seed=3)
    warm = SVR(warm_start=True, gamma=0.5)
    steps = []
    for C in (1.0, 2.0, 1.5):
        warm.set_params(C=C).fit(X, y)
        cold = SVR(C=C, gamma=0.5).fit(X, y)
        np.testing.assert_allclose(warm.predict(X), cold.predict(X), atol=1e-7)
        steps.append((warm.n_iter_, cold.n_iter_))
    assert steps[1][0] < steps[1][1]


def test_cached_rows_of_a_regressor(monkeypatch):
    from pansophy.svm import kernel_machine

    X, y = wave(400, seed=4)
    exact = SVR().fit(X, y)
    monkeypatch.setattr(kernel_machine, "EXACT_ROWS", 50)
    cached = SVR(cache_size=0.2, tol=1e-5).fit(X, y)
    np.testing.assert_allclose(cached.predict(X), exact.predict(X), atol=1e-4)
    assert cached.dual_objective_ == pytest.approx(exact.dual_objective_, rel=1e-7)


def test_epsilon_from_the_noise():
    for noise in (0.05, 0.5):
        X, y = wave(1500, seed=6, noise=noise)
        known = suggest_epsilon(X, y, noise=noise)
        assert known == pytest.approx(3 * noise * np.sqrt(np.log(1500) / 1500))
        guess = suggest_epsilon(X, y, n_neighbors=3)
        assert guess == pytest.approx(known, rel=0.25)
    with pytest.raises(ValueError, match="at least two rows"):
        suggest_epsilon(X, y[:3])
    with pytest.raises(ValueError, match="noise"):
        suggest_epsilon(X, y, noise=-1.0)


def test_huge_targets_and_C_come_to_an_end():
    """Scores of 1e12 are not known to 1e-3: the fit ends at rounding error."""
    X, t = load_diabetes(return_X_y=True)
    ours = SVR(C=1e12).fit(X, t * 1e10)
    theirs = libsvm.SVR(C=1e12).fit(X, t * 1e10)
    loss = [np.abs(m.predict(X) / 1e10 - t).sum() for m in (ours, theirs)]
    assert loss[0] <= loss[1] * (1 + 1e-4) and ours.fit_status_ == 0
    larger = SVR(C=1e15).fit(X, t * 1e10)  # where sums of K b are known to 20 only
    assert np.abs(larger.predict(X) / 1e10 - t).sum() <= loss[0]
