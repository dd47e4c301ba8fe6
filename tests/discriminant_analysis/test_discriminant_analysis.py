"""Linear and quadratic discriminants: worked numbers, peers, identities, accuracy."""

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
    fisher_direction,
)
from pansophy.distributions import Normal
from pansophy.linear_model import LogisticRegression
from pansophy.naive_bayes import GaussianNB
from pansophy.params import ParameterError
from tests.oracles import generative as slow

ONE = [[1, 2], [2, 3], [3, 3], [2, 1]]
TWO = [[6, 5], [7, 8], [8, 6], [7, 7], [9, 8]]
X2, Y2 = np.array(ONE + TWO, dtype=float), np.array([1] * 4 + [0] * 5)


def rows(rng, k=3, n=300, d=5, offset=5.0):
    y = rng.integers(0, k, n)
    mix = rng.standard_normal((d, d))
    X = rng.standard_normal((n, d)) @ mix + y[:, None] * rng.standard_normal(d)
    return X + offset, y


def close(a, b, tol=1e-9):
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol)


def exact(mean, cov, n=8):
    """Rows with exactly this mean and covariance."""
    d = len(mean)
    B = np.vstack([np.eye(d), -np.eye(d)]) * np.sqrt(d)
    return np.asarray(mean) + np.tile(B, (n, 1)) @ np.linalg.cholesky(cov).T


# --- worked numbers ---------------------------------------------------------------


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
    X = np.vstack([exact([-1, 1], S), exact([2, 0], S)])
    y = np.repeat([-1, 1], len(X) // 2)
    model = LinearDiscriminantAnalysis().fit(X, y)
    close(model.coef_, [[7 / 3, -5 / 3]])
    close(model.intercept_, [-1 / 3])
    close(model.decision_function([[1, 1]]), [1 / 3])
    quad = QuadraticDiscriminantAnalysis().fit(X, y)
    close(quad.decision_function([[1, 1]]), [1 / 3])
    assert abs(np.exp(quad.distribution_.log_prob([[1, 1]])[0, 1]) - 0.0338038) < 1e-7


def test_own_covariances_by_hand():
    X = np.vstack(
        [exact([-1, 1], np.diag([1.0, 4.0])), exact([2, 0], [[2, 1], [1, 2]])]
    )
    y = np.repeat([-1, 1], len(X) // 2)
    model = QuadraticDiscriminantAnalysis(priors=[0.7, 0.3]).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function([[1, 1]]), [0.2965432], atol=1e-7
    )


def test_fisher_by_hand():
    best = fisher_direction(X2, 1 - Y2)
    np.testing.assert_allclose(best.direction, [0.961639, 0.274319], atol=1e-6)
    assert abs(best.criterion - 4.277733) < 1e-6
    mean = fisher_direction(X2, 1 - Y2, whiten=False)
    np.testing.assert_allclose(mean.direction, [0.764728, 0.644354], atol=1e-6)
    assert abs(mean.criterion - 3.985192) < 1e-6
    model = LinearDiscriminantAnalysis().fit(X2, Y2)
    w = model.coef_[0] / np.linalg.norm(model.coef_[0])
    close(w, -best.direction)  # the same direction as the classifier's
    scaling = model.scalings_[:, 0] / np.linalg.norm(model.scalings_[:, 0])
    close(scaling, best.direction)
    cut = X2 @ best.direction > best.threshold
    np.testing.assert_array_equal(cut, Y2 == 0)
    w = np.repeat([1.0, 2.0, 0.5], 3)
    heavy = fisher_direction(X2, Y2, w * 2)
    close(heavy.direction, fisher_direction(X2, Y2, w).direction)
    with pytest.raises(ValueError, match="two classes"):
        fisher_direction(X2, np.arange(9))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_no_direction_beats_fisher(seed):
    rng = np.random.default_rng(seed)
    X, y = rows(rng, k=2, n=40, d=3)
    best = fisher_direction(X, y)
    gap = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    S = slow.class_scatters(X, y, 2).sum(axis=0)
    for v in (*rng.standard_normal((10, 3)), gap):
        assert (v @ gap) ** 2 / (v @ S @ v) <= best.criterion * (1 + 1e-9)


# --- peers ------------------------------------------------------------------------

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
QUADRATIC = [
    {},
    {"priors": "given"},
    {"reg_param": 0.3, "store_covariance": True},
    {"solver": "eigen"},
    {"solver": "eigen", "shrinkage": "auto", "store_covariance": True},
    {"solver": "eigen", "shrinkage": 0.2},
    {"solver": "eigen", "covariance_estimator": OAS()},
]


def settled(options, k):
    priors = {"priors": PRIORS[k]} if "priors" in options else {}
    return {**options, **priors}


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("options", LINEAR, ids=str)
def test_linear_equals_scikit_learn(options, k, rng):
    X, y = rows(rng, k)
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


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("options", QUADRATIC, ids=str)
def test_quadratic_equals_scikit_learn(options, k, rng):
    X, y = rows(rng, k)
    options = settled(options, k)
    a = QuadraticDiscriminantAnalysis(**options).fit(X, y)
    b = peers.QuadraticDiscriminantAnalysis(**options).fit(X, y)
    close(a.decision_function(X), b.decision_function(X))
    close(a.predict_proba(X), b.predict_proba(X))
    close(a.predict_log_proba(X), b.predict_log_proba(X))
    close(a.means_, b.means_)
    close(a.priors_, b.priors_)
    for u, v in zip(a.scalings_, b.scalings_, strict=True):
        close(u, v)
    for u, v in zip(a.rotations_, b.rotations_, strict=True):
        close(np.abs(np.sum(u * v, axis=0)), 1)
    if options.get("store_covariance"):
        for u, v in zip(a.covariance_, b.covariance_, strict=True):
            close(u, v)


# --- identities -------------------------------------------------------------------


def test_linear_posterior_is_direct_bayes_and_logistic(rng):
    X, y = rows(rng, 3)
    model = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
    density = [
        [slow.normal_density(x, m, model.covariance_) for m in model.means_]
        for x in X[:30]
    ]
    close(model.predict_proba(X[:30]), slow.posterior(model.priors_, density))
    X, y = rows(rng, 2)
    model = LinearDiscriminantAnalysis().fit(X, y)
    f = X @ model.coef_[0] + model.intercept_[0]
    close(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-f)))


def test_logistic_regression_learns_the_same_line(rng):
    y = rng.integers(0, 2, 40_000)
    X = rng.standard_normal((40_000, 2)) + 1.5 * y[:, None]
    lda = LinearDiscriminantAnalysis().fit(X, y)
    logistic = LogisticRegression(C=np.inf).fit(X, y)
    np.testing.assert_allclose(lda.coef_, logistic.coef_, rtol=0.05)


@pytest.mark.parametrize("k", [2, 3])
def test_tied_quadratic_is_linear(k, rng):
    X, y = rows(rng, k)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    tied = QuadraticDiscriminantAnalysis(covariance_type="tied").fit(X, y)
    close(tied.predict_proba(X), lda.predict_proba(X))
    S = np.array([[2.0, 0.5], [0.5, 1.0]])
    A = np.vstack([exact([0, 0], S), exact([3, 1], S), exact([0, 4], S)])
    z = np.repeat([0, 1, 2], len(A) // 3)  # the same covariance in every class
    close(
        QuadraticDiscriminantAnalysis().fit(A, z).predict_proba(A),
        LinearDiscriminantAnalysis().fit(A, z).predict_proba(A),
    )


def test_diagonal_is_gaussian_naive_bayes(rng):
    X, y = rows(rng)
    diag = QuadraticDiscriminantAnalysis(covariance_type="diag").fit(X, y)
    nb = GaussianNB(var_smoothing=0).fit(X, y)
    close(diag.predict_proba(X), nb.predict_proba(X))
    shared = GaussianNB(var_smoothing=0, shared_variance=True).fit(X, y)
    f = np.diff(shared.predict_joint_log_proba(X))
    A = np.column_stack([X, np.ones(len(X))])
    for column in f.T:  # linear in x, without remainder
        assert np.linalg.lstsq(A, column)[1][0] < 1e-15 * len(X) * np.abs(f).max() ** 2


def test_spherical_goes_by_distance(rng):
    X, y = rows(rng)
    model = QuadraticDiscriminantAnalysis(covariance_type="spherical").fit(X, y)
    for c in range(3):
        own = X[y == c]
        close(model.distribution_.cov[c], np.mean((own - own.mean(axis=0)) ** 2))
    assert [s.shape for s in model.scalings_] == [(5,)] * 3


@pytest.mark.parametrize(
    ("shape", "free"), [("full", 3 * 15), ("tied", 15), ("diag", 15), ("spherical", 3)]
)
def test_parameters_and_samples(shape, free, rng):
    X, y = rows(rng, n=3000)
    model = QuadraticDiscriminantAnalysis(covariance_type=shape).fit(X, y)
    assert isinstance(model.distribution_, Normal)
    assert model.distribution_.free == 3 * 5 + free
    S, z = model.sample(6000, random_state=0)
    again = clone(model).fit(S, z)
    spread = np.sqrt(model.distribution_.variance.max())
    np.testing.assert_allclose(again.means_, model.means_, atol=0.15 * spread)
    close(model.score_samples(X[:5]), np.log(
        np.exp(model.predict_joint_log_proba(X[:5])).sum(axis=1)
    ))  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_invertible_maps_change_nothing(seed):
    rng = np.random.default_rng(seed)
    X, y = rows(rng, n=60, d=3, offset=0.0)
    A = rng.standard_normal((3, 3)) + 3 * np.eye(3)
    order = rng.permutation(len(X))
    for model in (
        LinearDiscriminantAnalysis(tol=0),
        QuadraticDiscriminantAnalysis(tol=0),
    ):
        p = clone(model).fit(X, y).predict_proba(X)
        close(clone(model).fit(X @ A + 7, y).predict_proba(X @ A + 7), p, 1e-6)
        close(clone(model).fit(X[order], y[order]).predict_proba(X), p, 1e-8)


# --- weights and wherever the rows are --------------------------------------------

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
    X, y = rows(rng)
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
    X, y = rows(rng)
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
    X, y = rows(rng)
    model = LinearDiscriminantAnalysis().fit(X, y)
    Z = model.transform(X)
    there = LinearDiscriminantAnalysis().fit(torch.asarray(X), torch.asarray(y))
    close(there.transform(torch.asarray(X)).numpy(), Z)
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({f"c{j}": X[:, j] for j in range(5)}), path)
    close(model.transform(str(path)), Z)


# --- accuracy and bad data --------------------------------------------------------


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


def test_far_from_zero(rng):
    X, y = rows(rng, offset=0.0)
    near = QuadraticDiscriminantAnalysis().fit(X, y)
    far = QuadraticDiscriminantAnalysis().fit(X + 1e7, y)
    np.testing.assert_allclose(
        far.predict_proba(X + 1e7), near.predict_proba(X), atol=1e-5
    )


def test_singular_classes_are_refused_in_one_sentence(rng):
    X, y = rows(rng)
    A = np.column_stack([X, X[:, 0]])
    with pytest.raises(np.linalg.LinAlgError, match="class 0 is not full rank"):
        QuadraticDiscriminantAnalysis().fit(A, y)
    assert QuadraticDiscriminantAnalysis(reg_param=0.1).fit(A, y).score(A, y) > 0.3
    with pytest.raises(np.linalg.LinAlgError, match="solver='eigen' with shrinkage"):
        QuadraticDiscriminantAnalysis().fit(X[:9], np.arange(9) % 3)
    constant = np.column_stack([X, np.full(len(X), 0.1)])
    close(
        QuadraticDiscriminantAnalysis().fit(constant, y).predict_proba(constant),
        QuadraticDiscriminantAnalysis().fit(X, y).predict_proba(X),
    )
    with pytest.raises(ValueError, match="only 1 sample in class"):
        QuadraticDiscriminantAnalysis().fit(X[:5], [0, 0, 0, 0, 1])


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
        model.fit(*rows(rng))


def test_other_refusals(rng):
    X, y = rows(rng)
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
