"""MultiTaskRidge: separate, pooled and coupled tasks."""

import numpy as np
import pytest

from pansophy.linear_model import (
    MultiTaskRidge,
    Ridge,
)


def tasks_of(rng, n=90, d=4, k=3):
    X, t = rng.standard_normal((n, d)) + 1, rng.integers(0, k, n)
    B = rng.standard_normal(d) + 0.3 * rng.standard_normal((k, d))
    return X, np.sum(X * B[t], axis=1) + t + rng.standard_normal(n), t


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_no_coupling_is_separate_and_infinite_is_pooled(intercept, alpha, rng):
    X, y, t = tasks_of(rng)
    make = lambda c: MultiTaskRidge(
        alpha, coupling=c, fit_intercept=intercept
    ).fit(X, y, tasks=t)  # fmt: skip
    for c in (0.0, 1e-12):
        for j in range(3):
            at = t == j
            one = Ridge(alpha, fit_intercept=intercept).fit(X[at], y[at])
            np.testing.assert_allclose(make(c).coef_[j], one.coef_, rtol=1e-6)
            if intercept:
                assert make(c).intercept_[j] == pytest.approx(one.intercept_, rel=1e-6)
    pooled = Ridge(3 * alpha, fit_intercept=intercept).fit(X, y)
    for c in (1e10, float("inf")):
        for j in range(3):
            np.testing.assert_allclose(make(c).coef_[j], pooled.coef_, rtol=1e-6)
    np.testing.assert_allclose(
        make(np.inf).predict(X, tasks=t), pooled.predict(X), rtol=1e-6
    )


def test_coupled_objective_is_least_where_its_gradient_is_0(rng):
    X, y, t = tasks_of(rng)
    a, c, m = 0.3, 2.0, X.mean(axis=0)
    model = MultiTaskRidge(a, coupling=c).fit(X, y, tasks=t)
    B, b = model.coef_, model.intercept_ + model.coef_ @ m

    def J(B, b):
        r = y - b[t] - np.sum((X - m) * B[t], axis=1)
        apart = np.sum((B - B.mean(axis=0)) ** 2) + np.sum((b - b.mean()) ** 2)
        return r @ r + a * np.sum(B**2) + c * apart

    for _ in range(20):
        step = 1e-3 * rng.standard_normal(B.shape), 1e-3 * rng.standard_normal(b.shape)
        assert J(B + step[0], b + step[1]) > J(B, b)


def test_columns_of_y_as_tasks_and_repetition(rng):
    X, _, _ = tasks_of(rng)
    Y = X @ rng.standard_normal((4, 2)) + rng.standard_normal((90, 2))
    by_column = MultiTaskRidge(0.5, coupling=3.0).fit(X, Y)
    rows = MultiTaskRidge(0.5, coupling=3.0).fit(
        np.vstack([X, X]), Y.T.ravel(), tasks=np.repeat(["a", "b"], 90)
    )
    np.testing.assert_allclose(by_column.coef_, rows.coef_, rtol=1e-9)
    np.testing.assert_allclose(by_column.predict(X), rows.predict(X), rtol=1e-9)
    k = rng.integers(0, 3, 90)
    a = MultiTaskRidge(0.5).fit(X, Y, sample_weight=k)
    b = MultiTaskRidge(0.5).fit(np.repeat(X, k, axis=0), np.repeat(Y, k, axis=0))
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-9)
    with pytest.raises(ValueError, match="name a known task"):
        rows.predict(X, tasks=["c"] * 90)
    with pytest.raises(ValueError, match=r"tasks must have shape \(90,\)"):
        MultiTaskRidge().fit(X, Y[:, 0], tasks=[1, 2])
    with pytest.raises(ValueError, match="one column"):
        MultiTaskRidge().fit(X, Y, tasks=np.zeros(90))


def test_sharing_helps_a_task_of_few_rows():
    gain = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        B = rng.standard_normal(8) + 0.1 * rng.standard_normal((2, 8))
        X, t = rng.standard_normal((110, 8)), np.repeat([0, 1], [100, 10])
        y = np.sum(X * B[t], axis=1) + rng.standard_normal(110)
        error = [
            np.sum((MultiTaskRidge(0.1, coupling=c).fit(X, y, tasks=t).coef_ - B) ** 2)
            for c in (0.0, 20.0)
        ]
        gain.append(error[0] - error[1])
    assert np.mean(np.array(gain) > 0) > 0.9
