"""Linear discriminant analysis, and what it shares with the quadratic one."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import discriminant_analysis as peers
from sklearn.base import clone
from sklearn.covariance import OAS

from pansophy.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from pansophy.linear_model import LogisticRegression
from pansophy.params import ParameterError
from tests.discriminant_analysis.labelled_rows import (
    close,
    labelled_rows,
    rows_of_moments,
)
from tests.oracles import generative as slow

ONE = [[1, 2], [2, 3], [3, 3], [2, 1]]
TWO = [[6, 5], [7, 8], [8, 6], [7, 7], [9, 8]]
X2 = np.array(ONE + TWO, dtype=float)
Y2 = np.array([1] * 4 + [0] * 5)


def test_two_classes_by_hand():
    model = LinearDiscriminantAnalysis(store_covariance=True).fit(X2, Y2)
    np.testing.assert_allclose(model.coef_, [[-5.747976, -1.639676]], atol=1e-6)
    np.testing.assert_allclose(model.intercept_, [34.211877], atol=1e-6)
    np.testing.assert_allclose(model.priors_, [5 / 9, 4 / 9])
    np.testing.assert_allclose(model.means_, [[7.4, 6.8], [2, 2.25]])
    np.testing.assert_allclose(
        model.covariance_, [[0.8, 0.488889], [0.488889, 1.061111]], atol=1e-6
    )
    p = model.predict_proba([[4, 4], [4.5, 4.5], [5, 5]])[:, 1]
    np.testing.assert_allclose(p, [0.990634, 0.724610, 0.061434], atol=1e-6)
    middle = model.means_.mean(axis=0)
    np.testing.assert_allclose(model.predict_proba([middle])[0], model.priors_)


def test_shared_covariance_by_hand():
    S = np.array([[2.0, 1.0], [1.0, 2.0]])
    X = np.vstack([rows_of_moments([-1, 1], S), rows_of_moments([2, 0], S)])
    y = np.repeat([-1, 1], len(X) // 2)
    model = LinearDiscriminantAnalysis().fit(X, y)
    close(model.coef_, [[7 / 3, -5 / 3]])
    close(model.intercept_, [-1 / 3])
    close(model.decision_function([[1, 1]]), [1 / 3])
    quad = QuadraticDiscriminantAnalysis().fit(X, y)
    close(quad.decision_function([[1, 1]]), [1 / 3])
    assert abs(np.exp(quad.distribution_.log_prob([[1, 1]])[0, 1]) - 0.0338038) < 1e-7


PRIORS = {2: [0.3, 0.7], 3: [0.2, 0.3, 0.5]}


LINEAR = [
    {},
    {"store_covariance": True},
    {"priors": "given"},
    {"n_components": 1},
    *(
        {"solver": solver, **more}
        for solver in ("lsqr", "eigen")
        for more in (
            {},
            {"priors": "given"},
            {"shrinkage": 0.3},
            {"shrinkage": "auto"},
            {"shrinkage": "auto", "priors": "given"},
            {"covariance_estimator": OAS()},
        )
    ),
]


def settled(options, k):
    priors = {"priors": PRIORS[k]} if "priors" in options else {}
    return {**options, **priors}


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("options", LINEAR, ids=str)
def test_linear_equals_scikit_learn(options, k, rng):
    X, y = labelled_rows(rng, k)
    options = settled(options, k)
    a = LinearDiscriminantAnalysis(**options).fit(X, y)
    b = peers.LinearDiscriminantAnalysis(**options).fit(X, y)
    for name in ("coef_", "intercept_", "means_", "priors_"):
        close(getattr(a, name), getattr(b, name))
    close(a.predict_proba(X), b.predict_proba(X))
    close(a.decision_function(X), b.decision_function(X))
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    for name in ("covariance_", "xbar_", "explained_variance_ratio_"):
        assert hasattr(a, name) == hasattr(b, name)
        if hasattr(b, name):
            close(getattr(a, name), getattr(b, name))
    if options.get("solver") != "lsqr":
        close(np.abs(a.transform(X)), np.abs(b.transform(X)), 1e-8)
        assert a.get_feature_names_out().shape == (a.transform(X).shape[1],)


def test_linear_posterior_is_direct_bayes_and_logistic(rng):
    X, y = labelled_rows(rng, 3)
    model = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
    density = [
        [slow.normal_density(x, m, model.covariance_) for m in model.means_]
        for x in X[:30]
    ]
    close(model.predict_proba(X[:30]), slow.posterior(model.priors_, density))
    X, y = labelled_rows(rng, 2)
    model = LinearDiscriminantAnalysis().fit(X, y)
    f = X @ model.coef_[0] + model.intercept_[0]
    close(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-f)))


def test_logistic_regression_learns_the_same_line(rng):
    y = rng.integers(0, 2, 40_000)
    X = rng.standard_normal((40_000, 2)) + 1.5 * y[:, None]
    lda = LinearDiscriminantAnalysis().fit(X, y)
    logistic = LogisticRegression(C=np.inf).fit(X, y)
    np.testing.assert_allclose(lda.coef_, logistic.coef_, rtol=0.05)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_invertible_maps_change_nothing(seed):
    rng = np.random.default_rng(seed)
    X, y = labelled_rows(rng, n=60, d=3, offset=0.0)
    A = rng.standard_normal((3, 3)) + 3 * np.eye(3)
    order = rng.permutation(len(X))
    for model in (
        LinearDiscriminantAnalysis(tol=0),
        QuadraticDiscriminantAnalysis(tol=0),
    ):
        p = clone(model).fit(X, y).predict_proba(X)
        close(clone(model).fit(X @ A + 7, y).predict_proba(X @ A + 7), p, 1e-6)
        close(clone(model).fit(X[order], y[order]).predict_proba(X), p, 1e-8)


MODELS = [
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1),
    QuadraticDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    *(QuadraticDiscriminantAnalysis(covariance_type=s) for s in ("tied", "diag")),
]


each = pytest.mark.parametrize("model", MODELS, ids=str)


@each
def test_weights_are_repetitions(model, rng):
    X, y = labelled_rows(rng)
    w = rng.integers(0, 4, len(X))
    a = clone(model).fit(X, y, w)
    b = clone(model).fit(np.repeat(X, w, 0), np.repeat(y, w))
    close(a.predict_proba(X), b.predict_proba(X))


@each
def test_sparse_float32_files_and_tensors(model, rng, tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    torch = pytest.importorskip("torch")
    strict = pytest.importorskip("array_api_strict")
    X, y = labelled_rows(rng)
    full = clone(model).fit(X, y)
    S = sp.csr_array(X)
    close(clone(model).fit(S, y).predict_proba(X), full.predict_proba(X))
    small = X.astype(np.float32)
    np.testing.assert_allclose(
        clone(model).fit(small, y).predict_proba(small),
        full.predict_proba(X),
        atol=1e-4,
    )
    assert clone(model).fit(small, y).means_.dtype == np.float32
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({f"c{j}": X[:, j] for j in range(5)}), path)
    filed = clone(model).fit(str(path), y)
    close(filed.predict_proba(str(path)), full.predict_proba(X), 1e-12)
    close(filed.means_, full.means_, 1e-13)
    for xp in (torch, strict):
        T = xp.asarray(X)
        there = clone(model).fit(T, xp.asarray(y))
        assert type(there.means_) is type(T)
        close(np.asarray(there.predict_proba(T)), full.predict_proba(X))
        np.testing.assert_array_equal(np.asarray(there.predict(T)), full.predict(X))


def test_transform_of_tensors_and_files(rng, tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    torch = pytest.importorskip("torch")
    X, y = labelled_rows(rng)
    model = LinearDiscriminantAnalysis().fit(X, y)
    Z = model.transform(X)
    there = LinearDiscriminantAnalysis().fit(torch.asarray(X), torch.asarray(y))
    close(there.transform(torch.asarray(X)).numpy(), Z)
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({f"c{j}": X[:, j] for j in range(5)}), path)
    close(model.transform(str(path)), Z)


def test_collinear_columns_keep_their_digits(rng):
    X, y = rng.standard_normal((400, 6)), rng.integers(0, 3, 400)
    near = X[:, 0] + 1e-3 * rng.standard_normal(400)
    far = X[:, 1] + 1e-7 * rng.standard_normal(400)
    A = np.column_stack([X, near, far, X[:, 2], np.ones(400)]) + 100
    a = LinearDiscriminantAnalysis().fit(A, y)
    b = peers.LinearDiscriminantAnalysis().fit(A, y)
    size = np.abs(b.coef_).max()
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-10 * size)
    np.testing.assert_allclose(a.predict_proba(A), b.predict_proba(A), atol=1e-10)


def test_more_columns_than_rows(rng):
    X, y = rng.standard_normal((30, 80)), np.arange(30) % 3
    a = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
    b = peers.LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
    close(a.coef_, b.coef_)
    close(a.covariance_, b.covariance_)
    w = np.ones(30)
    w[:3] = 2
    c = LinearDiscriminantAnalysis().fit(X, y, w)
    d = LinearDiscriminantAnalysis().fit(np.vstack([X, X[:3]]), np.append(y, y[:3]))
    close(c.coef_, d.coef_)


@pytest.mark.parametrize(
    ("model", "word"),
    [
        (LinearDiscriminantAnalysis(shrinkage=0.1), "svd"),
        (LinearDiscriminantAnalysis(covariance_estimator=OAS()), "svd"),
        (
            LinearDiscriminantAnalysis("lsqr", 0.1, covariance_estimator=OAS()),
            "Only one",
        ),
        (LinearDiscriminantAnalysis(n_components=3), "n_components cannot be larger"),
        (LinearDiscriminantAnalysis(priors=[0.5, 0.5]), "one for each class"),
        (LinearDiscriminantAnalysis(priors=[1.5, -0.5, 0]), "non-negative"),
        (QuadraticDiscriminantAnalysis(shrinkage=0.1), "svd"),
        (QuadraticDiscriminantAnalysis(covariance_estimator=OAS()), "svd"),
        (QuadraticDiscriminantAnalysis(priors=[0.5, 0.6]), "Number of priors"),
        (
            QuadraticDiscriminantAnalysis(
                solver="eigen", shrinkage=0.1, covariance_type="diag"
            ),
            "covariance_type='full'",
        ),
    ],
)
def test_bad_parameters(model, word, rng):
    with pytest.raises(ParameterError, match=word):
        model.fit(*labelled_rows(rng))


def test_other_refusals(rng):
    X, y = labelled_rows(rng)
    with pytest.warns(UserWarning, match="Renormalizing"):
        model = LinearDiscriminantAnalysis(priors=[1.0, 1.0, 2.0]).fit(X, y)
    close(model.priors_, [0.25, 0.25, 0.5])
    lsqr = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    with pytest.raises(ParameterError, match="lsqr"):
        lsqr.transform(X)
    given = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=OAS())
    with pytest.raises(ValueError, match="sample_weight"):
        given.fit(X, y, np.ones(len(X)))
    with pytest.raises(ValueError, match="more than the number of classes"):
        LinearDiscriminantAnalysis().fit(X[:3], [0, 1, 2])


@pytest.mark.parametrize(
    "flat",
    [
        lambda X, y: np.full(len(X), 0.1),
        lambda X, y: 0.1 + 0.2 * y,
        lambda X, y: X[:, 0],
        lambda X, y: X[:, 1] - X[:, 2],
    ],
    ids=["constant", "constant in each class", "copy", "combination"],
)
def test_a_flat_column_is_left_out_or_refused(flat, rng):
    X, y = labelled_rows(rng)
    A = np.column_stack([X, flat(X, y)])
    plain = LinearDiscriminantAnalysis().fit(X, y).predict_proba(X)
    for solver in ("svd", "lsqr"):
        model = LinearDiscriminantAnalysis(solver=solver).fit(A, y)
        np.testing.assert_allclose(model.predict_proba(A), plain, atol=1e-6)
    with pytest.raises(np.linalg.LinAlgError, match="not full rank"):
        LinearDiscriminantAnalysis(solver="eigen").fit(A, y)
    LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1).fit(A, y)


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_a_large_offset_or_a_small_column_does_not_change_the_posterior(solver, rng):
    X, y = labelled_rows(rng, 2)
    model = LinearDiscriminantAnalysis(solver=solver)
    plain = model.fit(X, y).predict_proba(X)
    far = X + 1e8
    np.testing.assert_allclose(model.fit(far, y).predict_proba(far), plain, atol=1e-5)
    small = X * np.array([1.0, 1e-9, 1.0, 1e9, 1.0])
    np.testing.assert_allclose(
        model.fit(small, y).predict_proba(small), plain, atol=1e-8
    )


def test_an_estimator_with_nothing_but_fit_and_covariance(rng):
    class Identity:
        def fit(self, X):
            self.covariance_ = np.eye(X.shape[1])

    X, y = labelled_rows(rng)
    for model in (
        LinearDiscriminantAnalysis("lsqr", covariance_estimator=Identity()),
        QuadraticDiscriminantAnalysis(
            solver="eigen", covariance_estimator=Identity(), store_covariance=True
        ),
    ):
        C = np.atleast_2d(model.fit(X, y).covariance_)
        close(C if C.ndim == 2 else C[0], np.eye(5))
