"""Classification by least squares on the labels."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold

from pansophy.linear_model import (
    LeastSquaresClassifier,
    RidgeClassifier,
    RidgeClassifierCV,
)

ALPHAS = np.logspace(-2, 2, 7)


def problem(rng, n=120, d=5, k=3):
    y = rng.integers(0, k, n)
    X = rng.standard_normal((n, d)) + 1.5 * rng.standard_normal((k, d))[y]
    return X, np.array(["a", "b", "c", "d"])[y]


def boundary(model):
    return -float(model.intercept_[0]) / float(model.coef_[0])


# --- worked numbers ---------------------------------------------------------------


@pytest.mark.parametrize("model", [LeastSquaresClassifier(), RidgeClassifier(alpha=0)])
def test_worked_example_pulled_by_a_far_row(model):
    x, y = [0.0, 1, 2, 4, 5, 6], [0, 0, 0, 1, 1, 1]
    for far, right in {None: 3.0, 20.0: 3.946237, 40.0: 4.359477}.items():
        xs = np.array([*x, *([far] if far else [])])[:, None]
        ys = [*y, *([1] if far else [])]
        model.fit(xs, ys)
        assert boundary(model) == pytest.approx(right, abs=1e-6)
        assert (model.predict([[4.0]])[0] == 1) == (far != 40.0)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_outputs_are_the_fit_to_one_hot_targets_and_sum_to_1(k, rng):
    X, y = problem(rng, k=k)
    model = LeastSquaresClassifier().fit(X, y)
    P = model.outputs(X)
    hot = (y[:, None] == model.classes_).astype(float)
    right = peer.LinearRegression().fit(X, hot)
    np.testing.assert_allclose(P, right.predict(X), atol=1e-10)
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
    assert right.intercept_.sum() == pytest.approx(1)  # bias row 1, slope rows 0
    np.testing.assert_allclose(right.coef_.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))


def test_more_columns_than_rows_gives_the_smallest_norm(rng):
    X, y = problem(rng, 10, 40, 2)
    with pytest.warns(np.exceptions.RankWarning):
        model = LeastSquaresClassifier().fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    close = peer.RidgeClassifier(1e-9).fit(X, y)
    np.testing.assert_allclose(model.coef_, close.coef_, rtol=1e-5, atol=1e-8)


# --- parity -----------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("weight", [None, "balanced", {"a": 3.0}])
@pytest.mark.parametrize("solver", ["auto", "svd", "lsqr", "sparse_cg", "saga"])
def test_same_as_scikit_learn(k, weight, solver, rng):
    X, y = problem(rng, k=k)
    w = None if weight == "balanced" else rng.uniform(0.5, 2, len(y))
    options = {"alpha": 0.7, "class_weight": weight}
    ours = RidgeClassifier(solver=solver, tol=1e-12, **options).fit(X, y, w)
    theirs = peer.RidgeClassifier(solver="svd", **options).fit(X, y, w)
    assert ours.coef_.shape == theirs.coef_.shape == ((5,) if k == 2 else (k, 5))
    assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), rtol=1e-5, atol=1e-7
    )


def test_positive(rng):
    X, y = problem(rng, k=2)
    ours = RidgeClassifier(positive=True).fit(X, y)
    theirs = peer.RidgeClassifier(positive=True, tol=1e-10).fit(X, y)
    assert (ours.coef_ >= 0).all()
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("weight", [None, "balanced"])
def test_choice_of_alpha_is_that_of_scikit_learn(k, weight, rng):
    X, y = problem(rng, 60, 8, k)
    for options in (
        {"store_cv_results": True},
        {"cv": 4},
        {"scoring": "accuracy"},
        {"cv": 3, "scoring": "f1_macro"},
    ):
        ours = RidgeClassifierCV(ALPHAS, class_weight=weight, **options).fit(X, y)
        theirs = peer.RidgeClassifierCV(ALPHAS, class_weight=weight, **options)
        theirs.fit(X, y)
        np.testing.assert_array_equal(ours.predict(X).shape, y.shape)
        same = "store_cv_results" in options or ("cv" in options and weight is None)
        if same:  # with cv, held-out rows count by their weights here, there not
            assert ours.alpha_ == pytest.approx(theirs.alpha_)
        if "store_cv_results" in options:
            np.testing.assert_allclose(
                ours.cv_results_, theirs.cv_results_.reshape(ours.cv_results_.shape)
            )
            np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)


def test_several_labels_per_row(rng):
    X = rng.standard_normal((80, 4))
    Y = (X[:, :3] + 0.5 * rng.standard_normal((80, 3)) > 0).astype(int)
    ours, theirs = RidgeClassifier().fit(X, Y), peer.RidgeClassifier().fit(X, Y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)
    for options in ({}, {"cv": 3}, {"scoring": "f1_micro"}):
        model = RidgeClassifierCV(**options).fit(X, Y)
        same = RidgeClassifier(model.alpha_).fit(X, Y)
        np.testing.assert_array_equal(model.predict(X), same.predict(X))
    held = [
        RidgeClassifier(1.0).fit(X[a], Y[a]).score(X[b], Y[b])
        for a, b in KFold(3).split(X)
    ]
    alone = RidgeClassifierCV([1.0], cv=KFold(3)).fit(X, Y)
    assert alone.best_score_ == pytest.approx(np.mean(held))  # subset accuracy
    with pytest.raises(ValueError, match="one label per row"):
        RidgeClassifier(class_weight="balanced").fit(X, Y)


# --- contracts --------------------------------------------------------------------


@given(seed=st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_weight_is_repetition(seed):
    rng = np.random.default_rng(seed)
    X, y = problem(rng, 60)
    m = rng.integers(0, 4, 60)
    for model in (RidgeClassifier(class_weight="balanced"), LeastSquaresClassifier()):
        a = model.fit(X, y, m).coef_
        b = model.fit(np.repeat(X, m, axis=0), np.repeat(y, m)).coef_
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("how", ["sparse", "torch", "float32", "parquet"])
@pytest.mark.parametrize("cls", [RidgeClassifier, RidgeClassifierCV])
def test_every_kind_of_rows(how, cls, rng, tmp_path):
    X, y = problem(rng)
    right = cls().fit(X, y)
    A, labels, rtol = X, y, 1e-8
    if how == "sparse":
        A = sp.csr_array(X)
    elif how == "float32":
        A, rtol = X.astype(np.float32), 1e-3
    elif how == "torch":
        torch = pytest.importorskip("torch")
        codes = np.searchsorted(right.classes_, y)
        A, labels = torch.tensor(X), torch.tensor(codes)
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        A = tmp_path / "x.parquet"
        pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(5)}), A)
    model = cls().fit(A, labels)
    np.testing.assert_allclose(
        np.asarray(model.coef_), right.coef_, rtol=rtol, atol=1e-6
    )
    got = np.asarray(model.predict(A))
    expected = right.predict(X)
    if how == "torch":
        expected = np.searchsorted(right.classes_, expected)
    assert np.mean(got == expected) > 0.99


@pytest.mark.parametrize(
    "model", [RidgeClassifier, RidgeClassifierCV, LeastSquaresClassifier]
)
def test_a_single_class_is_predicted(model, rng):
    X = rng.normal(size=(20, 3))
    found = model().fit(X, np.full(20, "a"))
    assert found.classes_.tolist() == ["a"]
    assert set(found.predict(X)) == {"a"}
    np.testing.assert_allclose(found.coef_, 0, atol=1e-12)


@pytest.mark.parametrize("model", [RidgeClassifier(), RidgeClassifierCV()], ids=repr)
def test_several_labels_as_tensors(model, rng):
    torch = pytest.importorskip("torch")
    X = rng.normal(size=(40, 3))
    Y = (X[:, :2] + 0.2 * rng.normal(size=(40, 2)) > 0).astype(int)
    want = model.fit(X, Y).predict(X)
    got = model.fit(torch.asarray(X), torch.asarray(Y)).predict(torch.asarray(X))
    assert torch.is_tensor(got) and torch.is_tensor(model.classes_)
    np.testing.assert_array_equal(got.numpy(), want)
