import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression as Theirs
from sklearn.utils.estimator_checks import check_estimator

from pansophy.linear_model import LinearRegression, LogisticRegression, Ridge
from tests.oracles.least_squares import digits, exact_least_squares

RankWarning = np.exceptions.RankWarning


def problem(rng, n=200, d=5, t=None):
    X = rng.standard_normal((n, d)) + 3
    Y = (
        X @ rng.standard_normal((d, t or 1))
        + 1
        + 0.1 * rng.standard_normal((n, t or 1))
    )
    return X, (Y if t else Y[:, 0])


# --- worked numbers ---------------------------------------------------------------


def test_worked_example():
    x = np.array([[0.0], [1], [2], [3]])
    y = np.array([1.0, 2, 2, 4])
    model = LinearRegression().fit(x, y)
    np.testing.assert_allclose([model.intercept_, *model.coef_], [0.9, 0.9])
    assert np.mean((y - model.predict(x)) ** 2) / 2 == pytest.approx(0.0875)
    ones = LinearRegression(fit_intercept=False).fit(np.hstack([x**0, x]), y)
    np.testing.assert_allclose(ones.coef_, [0.9, 0.9])
    assert ones.intercept_ == 0.0


def test_worked_example_weighted_by_noise_variance():
    X = np.array([[1.0, 1], [2, 1], [3, 1], [4, 1]])
    y = np.array([2.0, 3, 5, 4])
    model = LinearRegression(fit_intercept=False)
    np.testing.assert_allclose(model.fit(X, y).coef_, [0.8, 1.5])
    model.fit(X, y, sample_weight=1 / np.array([1, 1, 4, 0.25]))
    np.testing.assert_allclose(model.coef_, [0.615385, 1.615385], atol=1e-6)


def test_worked_example_of_two_targets():
    x, t = np.array([[1.0], [2], [3], [4]]), np.array([2.0, 3, 5, 6])
    model = LinearRegression().fit(x, np.column_stack([t, 2 * t]))
    np.testing.assert_allclose(model.intercept_, [0.5, 1.0])
    np.testing.assert_allclose(model.coef_, [[1.4], [2.8]])
    assert np.sum((t - model.predict(x)[:, 0]) ** 2) == pytest.approx(0.2)


def test_worked_example_smallest_norm():
    X = np.array([[1.0, 2, 3], [0, 1, 1]])
    with pytest.warns(RankWarning, match="2 rows cannot determine 3 columns"):
        model = LinearRegression(fit_intercept=False).fit(X, [6.0, 2])
    np.testing.assert_allclose(model.coef_, [2 / 3, 2 / 3, 4 / 3])


# --- digits: the NIST linear problems ---------------------------------------------


def test_wampler_polynomial_keeps_its_digits():
    x = np.arange(21.0)
    X = np.vander(x, 6, increasing=True)[:, 1:]
    y = X.sum(axis=1) + 1  # every coefficient is 1
    model = LinearRegression().fit(X, y)
    long = np.finfo(np.longdouble).eps < 1e-18  # extended precision, as on x86
    assert digits(model.coef_, np.ones(5)) > (13 if long else 8)
    assert digits(model.intercept_, 1.0) > (13 if long else 8)
    assert model.rank_ == 5
    assert digits(Theirs().fit(X, y).coef_, np.ones(5)) < 1


def test_longley_agrees_with_the_certified_values():
    longley = pytest.importorskip("statsmodels.datasets.longley")
    data = longley.load()
    model = LinearRegression().fit(data.exog, data.endog)
    certified = [
        15.0618722713733,
        -0.358191792925910e-01,
        -2.02022980381683,
        -1.03322686717359,
        -0.511041056535807e-01,
        1829.15146461355,
    ]
    assert digits(model.coef_, certified) > 12
    assert digits(model.intercept_, -3482258.63459582) > 12


def test_degree_ten_polynomial_keeps_digits(rng):
    x = np.round(np.linspace(-8.8, -3.1, 82), 6)  # the range of NIST's Filip
    X = np.vander(x, 11, increasing=True)[:, 1:]
    y = np.round(np.tanh(x + 6) + 0.003 * rng.standard_normal(82), 4)
    exact, b = exact_least_squares(X, y)
    model = LinearRegression().fit(X, y)
    assert digits(model.coef_, exact) > 5 and digits(model.intercept_, b) > 5
    assert digits(Theirs().fit(X, y).coef_, exact) < 1


def test_far_from_zero_is_as_good_as_near(rng):
    X, y = problem(rng, 5000, 30)
    whole = np.round(X * 1000)
    near = LinearRegression().fit(whole, y)
    far = LinearRegression().fit(whole + 1e9, y)
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-10)


# --- parity with scikit-learn -----------------------------------------------------


@pytest.mark.parametrize(("n", "d"), [(60, 4), (30_000, 8), (10, 30)])
@pytest.mark.parametrize("t", [None, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_same_as_scikit_learn(n, d, t, intercept, weighted, rng):
    X, y = problem(rng, n, d, t)
    w = rng.uniform(0.1, 2, n) if weighted else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        ours = LinearRegression(fit_intercept=intercept).fit(X, y, w)
    theirs = Theirs(fit_intercept=intercept, tol=1e-13).fit(X, y, w)
    for name in ("coef_", "intercept_", "singular_"):
        a, b = getattr(ours, name), getattr(theirs, name)
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10 * theirs.singular_[0])
    assert ours.rank_ == theirs.rank_
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8)


def test_number_as_tolerance_is_scikit_learns_rule(rng):
    X, y = problem(rng)
    X[:, 4] *= 1e-7
    with pytest.warns(RankWarning, match="below tol=1e-06"):
        ours = LinearRegression(tol=1e-6).fit(X, y)
    theirs = Theirs(tol=1e-6).fit(X, y)
    assert ours.rank_ == theirs.rank_ == 4
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-9)
    assert LinearRegression().fit(X, y).rank_ == 5


@pytest.mark.parametrize("t", [None, 2])
def test_positive(t, rng):
    X, y = problem(rng, t=t)
    ours = LinearRegression(positive=True).fit(X, y)
    theirs = Theirs(positive=True).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-9)
    assert (ours.coef_ >= 0).all() and (ours.coef_ == 0).any()


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("limit", [1000, 10])
def test_sparse(limit, weighted, rng, monkeypatch):
    monkeypatch.setattr("pansophy.predictors.abstract_linear.DENSE_WIDTH", limit)
    n, d = 300, 40
    X = sp.random_array((n, d), density=0.2, rng=rng, format="csr")
    y = X @ rng.standard_normal(d) + 2 + 0.1 * rng.standard_normal(n)
    w = rng.uniform(0.5, 2, n) if weighted else None
    ours = LinearRegression().fit(X, y, w)
    dense = LinearRegression().fit(X.toarray(), y, w)
    np.testing.assert_allclose(ours.coef_, dense.coef_, atol=1e-7)
    np.testing.assert_allclose(ours.intercept_, dense.intercept_, atol=1e-7)
    np.testing.assert_allclose(ours.predict(X), dense.predict(X.toarray()), atol=1e-6)
    if limit == 10:
        with pytest.raises(ValueError, match="positive=True takes a sparse X"):
            LinearRegression(positive=True).fit(X, y)


# --- contracts --------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [  # the common battery has the default
        LinearRegression(positive=True),
        LinearRegression(fit_intercept=False, n_jobs=1),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(model):
    check_estimator(model, on_fail="raise")


@given(seed=st.integers(0, 10**6), big=st.booleans())
def test_weight_is_repetition(seed, big):
    rng = np.random.default_rng(seed)
    X, y = problem(rng, 30_000 if big else 40, 4)
    k = rng.integers(0, 4, len(y))
    a = LinearRegression().fit(X, y, sample_weight=k)
    b = LinearRegression().fit(np.repeat(X, k, axis=0), np.repeat(y, k))
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=1e-10)
    np.testing.assert_allclose(a.singular_, b.singular_, rtol=1e-9)


@given(seed=st.integers(0, 10**6), scale=st.floats(1e-6, 1e6), shift=st.floats(-9, 9))
def test_scaling_moving_and_reordering(seed, scale, shift):
    rng = np.random.default_rng(seed)
    X, y = problem(rng, 50, 3)
    base = LinearRegression().fit(X, y)
    order = rng.permutation(50)
    other = LinearRegression().fit((X * scale + shift)[order], y[order])
    np.testing.assert_allclose(other.coef_ * scale, base.coef_, rtol=1e-7)
    np.testing.assert_allclose(
        other.predict(X * scale + shift), base.predict(X), rtol=1e-7, atol=1e-7
    )


def test_residuals_are_orthogonal_and_targets_separate(rng):
    X, Y = problem(rng, 20_000, 10, 3)
    model = LinearRegression().fit(X, Y)
    R = Y - model.predict(X)
    assert np.abs(X.T @ R).max() < 1e-9 * np.abs(X.T @ Y).max()
    for j in range(3):
        one = LinearRegression().fit(X, Y[:, j])
        np.testing.assert_allclose(one.coef_, model.coef_[j], rtol=1e-12)


def test_dropped_columns_are_named(rng):
    import pandas as pd

    X = pd.DataFrame(rng.standard_normal((300, 3)), columns=["a", "b", "c"])
    X["sum"] = X["a"] + X["b"] - X["c"]
    X["same"] = 7.0
    with pytest.warns(RankWarning, match=r"rank 3 with 5 columns: '\w+', 'same' are"):
        model = LinearRegression().fit(X, X["a"] * 2)
    assert model.rank_ == 3
    np.testing.assert_allclose(model.predict(X), X["a"] * 2, atol=1e-12)
    assert model.coef_[4] == 0
    Z = np.column_stack([rng.standard_normal((50, 4)), np.ones(50)])
    with pytest.warns(RankWarning, match="x4 is constant"):
        LinearRegression().fit(Z, rng.standard_normal(50))


def test_dummy_columns_and_intercept_on_many_rows(rng):
    X = np.eye(4)[rng.integers(0, 4, 40_000)]
    y = X @ [1.0, 2, 3, 4] + 0.01 * rng.standard_normal(40_000)
    with pytest.warns(RankWarning, match="is constant or a combination"):
        model = LinearRegression().fit(X, y)
    assert model.rank_ == 3
    np.testing.assert_allclose(model.coef_ + model.intercept_, [1, 2, 3, 4], atol=1e-3)
    assert model.coef_.sum() == pytest.approx(0, abs=1e-12)  # the smallest of many


def test_float32_stays_and_is_accurate(rng):
    X, y = problem(rng, 20_000, 6)
    X32, y32 = X.astype(np.float32), y.astype(np.float32)
    model = LinearRegression().fit(X32, y32)
    assert model.coef_.dtype == model.predict(X32).dtype == np.float32
    right = LinearRegression().fit(X32.astype(float), y32.astype(float))
    np.testing.assert_allclose(model.coef_, right.coef_, rtol=1e-6)


def test_table_on_disk(rng, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = problem(rng, 20_000, 6)
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({f"c{j}": X[:, j] for j in range(6)}), path)
    model = LinearRegression().fit(path, y)
    right = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, right.coef_, rtol=1e-11)
    np.testing.assert_allclose(model.predict(path), right.predict(X), 1e-11, 1e-10)
    assert list(model.feature_names_in_) == [f"c{j}" for j in range(6)]
    with pytest.raises(ValueError, match="20000 rows, but y has 5"):
        LinearRegression().fit(path, y[:5])
    with pytest.raises(ValueError, match="y contains NaN"):
        LinearRegression().fit(path, np.full(20_000, np.nan))
    X[7, 2] = np.nan
    pq.write_table(pa.table({f"c{j}": X[:, j] for j in range(6)}), path)
    with pytest.raises(ValueError, match=r"(?i)c2.*nan"):
        LinearRegression().fit(path, y)


def test_x_is_not_touched(rng):
    X, y = problem(rng, 30_000, 8)
    before = X.copy()
    LinearRegression(copy_X=False).fit(X, y, sample_weight=np.full(30_000, 2.0))
    np.testing.assert_array_equal(X, before)


def test_any_number_of_threads_gives_the_same(rng):
    X, y = problem(rng, 30_000, 8)
    one = LinearRegression(n_jobs=1).fit(X, y)
    two = LinearRegression(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_huge_and_tiny_values(rng):
    X, y = problem(rng, 50, 3)
    for scale in (1e-200, 1e150, 1e300):
        model = LinearRegression().fit(X * scale, y)
        np.testing.assert_allclose(
            model.predict(X * scale), LinearRegression().fit(X, y).predict(X), rtol=1e-9
        )


def test_unsupported_value_is_one_sentence(rng):
    with pytest.raises(ValueError, match="tol of LinearRegression must be"):
        LinearRegression(tol=-1.0).fit(*problem(rng))


def test_the_predictive_distribution_of_maximum_likelihood():
    X = np.arange(1.0, 5.0)[:, None]
    model = LinearRegression().fit(X, [2, 3, 5, 6])
    found = model.predict_dist([[5.0], [0.0]])
    np.testing.assert_allclose(found.mean, [7.5, 0.5])
    np.testing.assert_allclose(found.std**2, 0.05)
    total = model.predict_dist(X).log_prob([2, 3, 5, 6]).sum()
    assert total == pytest.approx(0.315710, abs=1e-6)
    assert total == pytest.approx(model.log_likelihood())
    both = LinearRegression().fit(X, np.c_[[2, 3, 5, 6], [0, 0, 0, 1]])
    assert both.predict_dist(X).sample(3, np.random.default_rng(0)).shape == (3, 4, 2)


@pytest.mark.parametrize("make", [LinearRegression, Ridge, LogisticRegression])
def test_fortran_order_changes_no_digit(make, rng):
    X = rng.normal(size=(200, 7)) * 10.0 ** np.arange(-3, 4)
    y = (X @ rng.normal(size=7) > 0).astype(int)
    expected = make().fit(X, y)
    found = make().fit(np.asfortranarray(X), y)
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_array_equal(found.intercept_, expected.intercept_)


def test_one_row_with_nonnegative_coefficients():
    for _ in range(5):
        np.full(64, 7e-310)  # memory that an uninitialised answer would show
        model = LinearRegression(positive=True).fit([[1.0, 2.0]], [3.0])
        assert model.coef_.tolist() == [0.0, 0.0] and model.intercept_ == 3.0
