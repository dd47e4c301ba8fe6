"""Ridge along many strengths, and the strength chosen."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import RidgeCV as Theirs
from sklearn.model_selection import KFold

from pansophy.linear_model import Ridge, RidgeCV, ridge_path
from pansophy.params import ParameterError

ALPHAS = np.logspace(-2, 3, 12)


def problem(rng, n=80, d=6, t=None):
    X = rng.standard_normal((n, d)) + 3
    Y = X @ rng.standard_normal((d, t or 1)) + 1 + 3 * rng.standard_normal((n, t or 1))
    return X, (Y if t else Y[:, 0])


# --- path -------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d"), [(80, 6), (15, 60), (20_000, 8)])
@pytest.mark.parametrize("t", [None, 2])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_path_is_every_separate_solve(n, d, t, intercept, weighted, rng):
    X, y = problem(rng, n, d, t)
    w = rng.uniform(0.1, 2, n) if weighted else None
    path = ridge_path(X, y, ALPHAS, fit_intercept=intercept, sample_weight=w)
    for k, a in enumerate(ALPHAS):
        one = Ridge(a, fit_intercept=intercept).fit(X, y, w)
        np.testing.assert_allclose(path.coefs[..., k], one.coef_, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(
            path.intercepts[..., k] + 1, one.intercept_ + 1, rtol=1e-7
        )


def test_training_error_never_falls_along_the_path(rng):
    X, y = problem(rng)
    path = ridge_path(X, y)
    assert len(path.alphas) == 100 and path.coefs.shape == (6, 100)
    error = ((y[:, None] - X @ path.coefs - path.intercepts) ** 2).mean(axis=0)
    assert (np.diff(error) >= -1e-12).all()
    assert (np.diff((path.coefs**2).sum(axis=0)) <= 1e-12).all()


def test_path_to_0_is_least_squares_of_smallest_norm():
    X = np.array([[1.0, 2, 3], [0, 1, 1]])
    path = ridge_path(X, np.array([6.0, 2]), [0.0, 1e-9], fit_intercept=False)
    np.testing.assert_allclose(path.coefs[:, 0], [2 / 3, 2 / 3, 4 / 3])
    np.testing.assert_allclose(path.coefs[:, 1], path.coefs[:, 0], rtol=1e-7)


def test_nearly_dependent_columns_keep_their_digits(rng):
    X, y = problem(rng, 400, 4)
    X[:, 3] = X[:, 2] + 1e-6 * X[:, 3]
    path = ridge_path(X, y, [1e-8, 1e-3])
    for k, a in enumerate((1e-8, 1e-3)):
        right = Ridge(a, solver="svd").fit(X, y).coef_
        np.testing.assert_allclose(path.coefs[:, k], right, rtol=1e-6)


@pytest.mark.parametrize("how", ["sparse", "torch", "strict", "float32", "parquet"])
@pytest.mark.parametrize(("n", "d"), [(120, 5), (12, 40)])
def test_path_and_choice_of_every_kind_of_rows(how, n, d, rng, tmp_path):
    X, y = problem(rng, n, d)
    X = np.round(X, 2)
    right = ridge_path(X, y, ALPHAS)
    choice = RidgeCV(ALPHAS).fit(X, y)
    A, b, rtol = X, y, 1e-6
    if how == "sparse":
        A = sp.csr_array(X)
    elif how == "float32":
        A, rtol = X.astype(np.float32), 1e-3
    elif how in ("torch", "strict"):
        xp = pytest.importorskip("torch" if how == "torch" else "array_api_strict")
        A, b = xp.asarray(X), xp.asarray(y)
    elif how == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        A = tmp_path / "x.parquet"
        pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(d)}), A)
    path = ridge_path(A, b, ALPHAS)
    close = lambda a, b: np.testing.assert_allclose(np.asarray(a), b, rtol, 1e-5)
    close(path.coefs, right.coefs)
    model = RidgeCV(ALPHAS).fit(A, b)
    assert model.alpha_ == choice.alpha_
    assert type(model.coef_) is type(b)
    close(model.coef_, choice.coef_)


# --- choice -----------------------------------------------------------------------


@pytest.mark.parametrize("mode", [None, "svd", "eigen"])
@pytest.mark.parametrize(("n", "d"), [(60, 5), (20, 50)])
@pytest.mark.parametrize("t", [None, 1, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_same_as_scikit_learn(mode, n, d, t, intercept, weighted, rng):
    X, y = problem(rng, n, d, t)
    w = rng.uniform(0.2, 2, n) if weighted else None
    options = {"fit_intercept": intercept, "store_cv_results": True}
    ours = RidgeCV(ALPHAS, gcv_mode=mode, **options).fit(X, y, w)
    theirs = Theirs(ALPHAS, **options).fit(X, y, w)
    assert ours.alpha_ == pytest.approx(theirs.alpha_)
    assert ours.best_score_ == pytest.approx(theirs.best_score_, rel=1e-8)
    np.testing.assert_allclose(ours.cv_results_, theirs.cv_results_, rtol=1e-6)
    assert np.shape(ours.coef_) == np.shape(theirs.coef_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-10)
    assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)


@pytest.mark.parametrize("weighted", [True, False])
def test_leaving_out_is_refitting(weighted, rng):
    X, y = problem(rng, 25, 3)
    w = rng.integers(1, 4, 25).astype(float) if weighted else np.ones(25)
    ours = RidgeCV(ALPHAS, store_cv_results=True).fit(X, y, w if weighted else None)
    for i in (0, 7, 24):
        rest = np.arange(25) != i
        for k, a in enumerate(ALPHAS):
            out = Ridge(a).fit(X[rest], y[rest], w[rest])
            error = w[i] * (y[i] - out.predict(X[i : i + 1])[0]) ** 2
            assert ours.cv_results_[i, k] == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize("scoring", ["neg_mean_absolute_error", "r2"])
@pytest.mark.parametrize("per_target", [True, False])
def test_scoring_and_alpha_per_target(scoring, per_target, rng):
    X, Y = problem(rng, 60, 5, 3)
    Y[:, 1] = rng.standard_normal(60)
    for score in (None, scoring):
        options = {"scoring": score, "alpha_per_target": per_target}
        ours = RidgeCV(ALPHAS, **options).fit(X, Y)
        theirs = Theirs(ALPHAS, **options).fit(X, Y)
        np.testing.assert_allclose(ours.alpha_, theirs.alpha_)
        np.testing.assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-9)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("cv", [4, KFold(3, shuffle=True, random_state=0)], ids=str)
@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error"])
def test_splits(cv, scoring, rng):
    X, y = problem(rng, 60, 5)
    ours = RidgeCV(ALPHAS, cv=cv, scoring=scoring).fit(X, y)
    theirs = Theirs(ALPHAS, cv=cv, scoring=scoring).fit(X, y)
    assert ours.alpha_ == theirs.alpha_
    assert ours.best_score_ == pytest.approx(theirs.best_score_, rel=1e-9)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)
    table = RidgeCV(ALPHAS, cv=cv, scoring=scoring).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(table.coef_, ours.coef_, rtol=1e-7)


@given(seed=st.integers(0, 10**6), wide=st.booleans())
@settings(max_examples=15, deadline=None)
def test_weight_is_repetition_of_groups_left_out_together(seed, wide):
    rng = np.random.default_rng(seed)
    X, y = problem(rng, 20, 30 if wide else 3)
    k = rng.integers(0, 3, 20)
    rows = np.repeat(np.arange(20), k)
    path = ridge_path(X, y, ALPHAS, sample_weight=k)
    again = ridge_path(X[rows], y[rows], ALPHAS)
    np.testing.assert_allclose(path.coefs, again.coefs, rtol=1e-7, atol=1e-9)
    splits = [(rows != i, rows == i) for i in range(20) if k[i]]
    splits = [(np.flatnonzero(a), np.flatnonzero(b)) for a, b in splits]
    loo = RidgeCV(ALPHAS).fit(X, y, sample_weight=k)
    errors = np.zeros(len(ALPHAS))
    for train, test in splits:
        p = ridge_path(X[rows[train]], y[rows[train]], ALPHAS)
        fit = X[rows[test]] @ p.coefs + p.intercepts
        errors += ((y[rows[test], None] - fit) ** 2).sum(axis=0)
    assert loo.alpha_ == ALPHAS[np.argmin(errors)]
    assert loo.best_score_ == pytest.approx(-errors.min() / 20, rel=1e-6)


def test_more_rows_want_less_penalty_for_each(rng):
    beta = rng.standard_normal(20)
    share = []
    for n in (40, 400, 4000):
        X = rng.standard_normal((n, 20))
        y = X @ beta + 5 * rng.standard_normal(n)
        share.append(RidgeCV(np.logspace(-2, 5, 60)).fit(X, y).alpha_ / n)
    assert share[0] > share[1] > share[2]


def test_what_does_not_go_together_is_said(rng, tmp_path):
    X, y = problem(rng)
    with pytest.raises(ParameterError, match=r"alphas\[0\] == 0.0, must be > 0.0"):
        RidgeCV([0.0, 1.0]).fit(X, y)
    assert RidgeCV([0.0, 1.0], cv=3).fit(X, y).alpha_ in (0.0, 1.0)
    for option in ("store_cv_results", "alpha_per_target"):
        with pytest.raises(ValueError, match="are incompatible"):
            RidgeCV(cv=3, **{option: True}).fit(X, y)
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="needs a NumPy array"):
        RidgeCV(cv=3).fit(torch.tensor(X), torch.tensor(y))
    with pytest.raises(ParameterError, match="cv of RidgeCV must be"):
        RidgeCV(cv=1).fit(X, y)


@pytest.mark.parametrize("shape", [(150_000, 40), (300, 20_000)])
def test_no_second_copy_of_x(shape, rng):
    import tracemalloc

    from pansophy.linear_model import LinearRegression

    X, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
    for model in (LinearRegression(), Ridge(), RidgeCV(ALPHAS)):
        with np.testing.suppress_warnings() as sup:
            sup.filter(np.exceptions.RankWarning)
            model.fit(X[:50, :50], y[:50])
            tracemalloc.start()
            model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.5 * X.nbytes


def test_sparse_rows_have_no_svd_mode_and_keep_their_digits(rng):
    X, y = problem(rng, 40, 40)
    X32 = sp.csr_array(X.astype(np.float32))
    with pytest.warns(FutureWarning, match="not supported for sparse X"):
        sparse = RidgeCV([1e-3], gcv_mode="svd").fit(X32, y)
    dense = RidgeCV([1e-3]).fit(X32.toarray().astype(np.float64), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-4, atol=1e-5)
