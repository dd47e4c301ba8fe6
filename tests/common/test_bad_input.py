"""Bad input by battery: a clear error or a defined answer, for every estimator."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import get_tags

from pansophy.testing import all_estimators, role_names

N, D = 40, 3
ESTIMATORS = [pytest.param(cls, id=name) for name, cls in all_estimators()]


def those(keep):
    """Estimators whose tags satisfy `keep`."""
    return [p for p in ESTIMATORS if keep(get_tags(p.values[0]()))]


SUPERVISED = those(lambda tags: tags.target_tags.required)
NUMERIC = those(lambda tags: not tags.input_tags.categorical)

ANSWERS = ("predict", "score_samples", "transform")  # others have labels_ only
INDUCTIVE = [p for p in ESTIMATORS if any(hasattr(p.values[0](), m) for m in ANSWERS)]
INFINITE = {"HDBSCAN": "gives rows with infinite entries a label of their own"}

# what an error may be, and the words one of which it must contain
ERRORS = (ValueError, TypeError)


def table(estimator, rng):
    """Good data of the kind the estimator takes."""
    if get_tags(estimator).input_tags.categorical:
        X = rng.integers(0, 3, size=(N, 1))
    else:
        X = rng.standard_normal((N, D))
    if get_tags(estimator).input_tags.positive_only:
        X = np.abs(X)
    if "classifier" in role_names(type(estimator)):
        y = np.arange(N) % 3
    else:
        y = X[:, 0] + 0.1 * rng.standard_normal(N)
        if get_tags(estimator).target_tags.positive_only:
            y = np.abs(y) + 0.1
        if not get_tags(estimator).target_tags.single_output:
            y = np.column_stack([y, -y])
    return X, y


def fit(estimator, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, y)


def answer(model, X):
    """Whatever the model says about X."""
    for method in ANSWERS:
        if hasattr(model, method):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                out = getattr(model, method)(X)
                return out.toarray() if sp.issparse(out) else np.asarray(out)
    for fitted in ("labels_", "negative_outlier_factor_", "embedding_"):
        if hasattr(model, fitted):
            return np.asarray(getattr(model, fitted))
    raise AssertionError(f"{type(model).__name__} says nothing about X.")


def defined(model, X):
    """The model answers for each row, without NaN."""
    out = answer(model, X)
    assert len(out) == X.shape[0]
    assert out.dtype.kind in "OUS" or np.isfinite(out).all()


@pytest.mark.parametrize("cls", ESTIMATORS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite(cls, bad, rng):
    est = cls()
    X, y = table(est, rng)
    X = X.astype(float)
    X[3, 0] = bad
    taken = np.isnan(bad) and get_tags(est).input_tags.allow_nan
    if taken or cls.__name__ in INFINITE:
        defined(fit(est, X, y), X)
        return
    with pytest.raises(ERRORS, match=r"(?i)nan|inf"):
        fit(est, X, y)


@pytest.mark.parametrize("cls", SUPERVISED)
def test_not_finite_target(cls, rng):
    est = cls()
    X, y = table(est, rng)
    y = y.astype(float)
    y[2] = np.nan
    with pytest.raises(ERRORS, match=r"(?i)nan"):
        fit(est, X, y)


@pytest.mark.parametrize("cls", ESTIMATORS)
@pytest.mark.parametrize("shape", [(0, D), (N, 0)])
def test_empty(cls, shape):
    with pytest.raises(ERRORS, match=r"(?i)0 (sample|feature)|at least|minimum"):
        fit(cls(), np.empty(shape), np.zeros(shape[0]))


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_one_row(cls, rng):
    est = cls()
    X, y = table(est, rng)
    try:
        model = fit(est, X[:1], y[:1])
    except ERRORS as error:
        assert any(w in str(error).lower() for w in ("sample", "class", "row"))
    else:
        defined(model, X[:1])


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_one_class_or_constant_target(cls, rng):
    est = cls()
    X, y = table(est, rng)
    try:
        model = fit(est, X, np.full_like(y, y[0]))
    except ERRORS as error:
        assert "class" in str(error).lower()
    else:
        out = answer(model, X)
        if get_tags(est).target_tags.required and hasattr(model, "predict"):
            np.testing.assert_allclose(out, np.full_like(y, y[0]), rtol=0.2, atol=0.2)
        else:
            defined(model, X)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_constant_columns(cls, rng):
    est = cls()
    X, y = table(est, rng)
    X = X.copy()
    X[:, -1] = 1
    if cls.__name__ == "QuadraticDiscriminantAnalysis":  # no density, as scikit-learn
        with pytest.raises(np.linalg.LinAlgError, match="not vary in column 2"):
            fit(est, X, y)
        return
    defined(fit(est, X, y), X)


@pytest.mark.parametrize("cls", NUMERIC)
@pytest.mark.parametrize("scale", [1e150, 1e300])
def test_huge_values(cls, scale, rng):
    est = cls()
    X, y = table(est, rng)
    try:
        model = fit(est, X * scale, y)
    except ERRORS as error:
        assert len(str(error)) > 20
    else:
        defined(model, X * scale)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_strings(cls, rng):
    X = np.array([["a", "b", "c"]] * N, dtype=object)
    if get_tags(cls()).input_tags.string:
        defined(fit(cls(), X, np.arange(N) % 2), X)
        return
    with pytest.raises(ERRORS):
        fit(cls(), X, np.arange(N) % 2)


@pytest.mark.parametrize("cls", INDUCTIVE)
def test_wrong_width(cls, rng):
    est = cls()
    X, y = table(est, rng)
    model = fit(est, X, y)
    with pytest.raises(ERRORS, match=r"(?i)feature|column"):
        answer(model, np.hstack([X, X]))


@pytest.mark.parametrize("cls", SUPERVISED)
def test_wrong_length(cls, rng):
    est = cls()
    X, y = table(est, rng)
    with pytest.raises(ERRORS, match=r"(?i)inconsistent|length|rows|samples"):
        fit(est, X, y[:-1])


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_sparse(cls, rng):
    est = cls()
    X, y = table(est, rng)
    S = sp.csr_array(X.astype(float))
    if get_tags(est).input_tags.sparse:
        defined(fit(est, S, y), S)
        return
    with pytest.raises(ERRORS, match=r"(?i)sparse"):
        fit(est, S, y)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_parameter_errors_are_one_sentence(cls, rng):
    est = cls()
    X, y = table(est, rng)
    for name in est.get_params():
        bad = clone(est).set_params(**{name: object()})
        try:
            fit(bad, X, y)
        except ERRORS as error:
            assert str(error).startswith(f"{name} of {cls.__name__} must be")
            assert "\n" not in str(error)
        else:
            raise AssertionError(f"{name} takes anything")


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_failed_fit_keeps_the_old_model(cls, rng):
    """Nothing is lost: a refused fit leaves the fitted model as it was."""
    est = cls()
    X, y = table(est, rng)
    model = fit(est, X, y)
    before = answer(model, X)
    with pytest.raises(ERRORS):
        fit(model, X[:0], y[:0])
    np.testing.assert_array_equal(answer(model, X), before)
