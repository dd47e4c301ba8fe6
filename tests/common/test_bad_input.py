"""Bad input by battery: a clear error or a defined answer, for every estimator.

What is refused before a fit begins is tried with the defaults. Where a fit succeeds and
the amount of training does not matter, the estimator is a `quick_instance`, and tests
that only ask a fitted model share one.
"""

import copy
import functools
import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import get_tags

from pansophy.testing import (
    all_estimators,
    quick_instance,
    usual_table,
)

N, D = 40, 3
ESTIMATORS = [pytest.param(cls, id=name) for name, cls in all_estimators()]


def those(keep):
    """Estimators whose tags satisfy `keep`."""
    return [p for p in ESTIMATORS if keep(get_tags(p.values[0]()))]


SUPERVISED = those(lambda tags: tags.target_tags.required)

TAKES_SPARSE = those(lambda tags: tags.input_tags.sparse)

ANSWERS = ("predict", "score_samples", "transform")  # others have labels_ only
INDUCTIVE = [p for p in ESTIMATORS if any(hasattr(p.values[0](), m) for m in ANSWERS)]
INFINITE = {
    "HDBSCAN": "gives rows with infinite entries a label of their own",
    "HistGradientBoostingClassifier": "infinity is the extreme bin of its column",
    "HistGradientBoostingRegressor": "infinity is the extreme bin of its column",
}

# what an error may be, and the words one of which it must contain
ERRORS = (ValueError, TypeError)


def table(estimator, rng):
    """Good data of the kind the estimator takes."""
    return usual_table(estimator, n_rows=N, n_columns=D, seed=rng)


def fixed_seed(cls):
    """A seed, for an estimator that draws."""
    return {"random_state": 0} if "random_state" in cls().get_params() else {}


def fit(estimator, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, y)


@functools.cache
def fitted_once(cls, sparse=False):
    """A model fitted to the usual table, shared by tests that do not change it."""
    model = quick_instance(cls)
    X, y = table(model, np.random.default_rng(0))
    return fit(model, sp.csr_array(X.astype(float)) if sparse else X, y)


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
    est = quick_instance(cls)
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


def with_missing(y, kind):
    """The target in another container, its third entry missing."""
    if kind == "list":
        return with_missing(y, "None").tolist()
    if kind == "masked":
        return np.ma.masked_array(y, mask=np.arange(y.size).reshape(y.shape) == 2)
    if kind == "nullable":
        frame = pd.DataFrame(y.reshape(len(y), -1)).convert_dtypes()
        frame.iloc[2, 0] = pd.NA
        return frame.iloc[:, 0] if y.ndim == 1 else frame
    objects = y.astype(object)
    objects.reshape(-1)[2] = {"None": None, "NA": pd.NA, "nan": np.nan}[kind]
    return objects


@pytest.mark.parametrize("cls", SUPERVISED)
@pytest.mark.parametrize("kind", ["None", "NA", "nan", "list", "masked", "nullable"])
def test_missing_target_in_any_container(cls, kind, rng):
    est = cls()
    X, y = table(est, rng)
    with pytest.raises(ValueError, match=r"the target has . missing value"):
        fit(est, X, with_missing(y, kind))


@pytest.mark.parametrize("cls", SUPERVISED)
def test_target_of_objects_is_read_as_numbers(cls, rng):
    """Python numbers in an array of objects, or unmasked ones: the same model."""
    X, y = table(cls(), rng)
    X, y = X[:20], y[:20]
    models = [
        fit(quick_instance(cls).set_params(**fixed_seed(cls)), X, target)
        for target in (y, y.astype(object), np.ma.masked_array(y))
    ]
    expected = answer(models[0], X)
    for model in models[1:]:
        np.testing.assert_array_equal(answer(model, X), expected)


@pytest.mark.parametrize("cls", ESTIMATORS)
@pytest.mark.parametrize("shape", [(0, D), (N, 0)])
def test_empty(cls, shape):
    with pytest.raises(ERRORS, match=r"(?i)0 (sample|feature)|at least|minimum"):
        fit(cls(), np.empty(shape), np.zeros(shape[0]))


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_one_row(cls, rng):
    est = quick_instance(cls)
    X, y = table(est, rng)
    try:
        defined(fit(est, X[:1], y[:1]), X[:1])
    except ERRORS as error:
        assert any(w in str(error).lower() for w in ("sample", "class", "row"))


NO_INTERCEPT = {"KernelRidge"}  # shrinks to 0, as scikit-learn's does


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_one_class_or_constant_target(cls, rng):
    learns_target = get_tags(cls()).target_tags.required
    est = cls() if learns_target else quick_instance(cls)
    X, y = table(est, rng)
    try:
        model = fit(est, X, np.full_like(y, y[0]))
    except ERRORS as error:
        assert "class" in str(error).lower()
    else:
        out = answer(model, X)
        has_intercept = cls.__name__ not in NO_INTERCEPT
        if learns_target and hasattr(model, "predict") and has_intercept:
            np.testing.assert_allclose(out, np.full_like(y, y[0]), rtol=0.2, atol=0.2)
        else:
            defined(model, X)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_constant_columns(cls, rng):
    est = quick_instance(cls)
    X, y = table(est, rng)
    X = X.copy()
    X[:, -1] = 1
    if cls.__name__ == "QuadraticDiscriminantAnalysis":  # no density, as scikit-learn
        with pytest.raises(np.linalg.LinAlgError, match="not vary in column 2"):
            fit(est, X, y)
        return
    defined(fit(est, X, y), X)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_strings(cls, rng):
    X = np.array([["a", "b", "c"]] * N, dtype=object)
    takes_words = cls.__name__ in ("SequenceClassifier", "SequenceRegressor")
    if takes_words or get_tags(cls()).input_tags.string:
        defined(fit(cls(), X, np.arange(N) % 2), X)
        return
    with pytest.raises(ERRORS):
        fit(cls(), X, np.arange(N) % 2)


@pytest.mark.parametrize("cls", INDUCTIVE)
def test_wrong_width(cls, rng):
    model = fitted_once(cls)
    X, _ = table(model, rng)
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
    est = quick_instance(cls)
    X, y = table(est, rng)
    S = sp.csr_array(X.astype(float))
    if get_tags(est).input_tags.sparse:
        defined(fit(est, S, y), S)
        return
    with pytest.raises(ERRORS, match=r"(?i)sparse"):
        fit(est, S, y)


def malformed(S, kind):
    """A copy of a CSR matrix whose index arrays lead outside of it."""
    S = S.copy()
    if kind == "column too large":
        S.indices[4] = S.shape[1] + 10_000
    elif kind == "column below 0":
        S.indices[4] = -10_000
    elif kind == "rows overlap":
        S.indptr[5] = 0
    elif kind == "last row too long":
        S.indptr[-1] = 10**6
    elif kind == "first row before the start":
        S.indptr[0] = -5
    elif kind == "values missing":
        S.data = S.data[:10]
    return S


@pytest.mark.parametrize("cls", TAKES_SPARSE)
@pytest.mark.parametrize(
    "kind",
    [
        "column too large",
        "column below 0",
        "rows overlap",
        "last row too long",
        "first row before the start",
        "values missing",
    ],
)
def test_malformed_sparse(cls, kind, rng):
    """Compiled code would read outside of the arrays; in `fit` and in predictions."""
    est = quick_instance(cls)
    X, y = table(est, rng)
    S = sp.csr_array(X.astype(float))
    model = fitted_once(cls, sparse=True)
    with pytest.raises(ValueError, match="not a valid sparse"):
        fit(est, malformed(S, kind), y)
    if any(hasattr(model, m) for m in ANSWERS):
        with pytest.raises(ValueError, match="not a valid sparse"):
            answer(model, malformed(S, kind))


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
    model = copy.deepcopy(fitted_once(cls))
    X, y = table(model, rng)
    before = answer(model, X)
    with pytest.raises(ERRORS):
        fit(model, X[:0], y[:0])
    np.testing.assert_array_equal(answer(model, X), before)


TAKES_WEIGHTS = [
    p
    for p in ESTIMATORS
    if "sample_weight" in inspect.signature(p.values[0].fit).parameters
]


@pytest.mark.parametrize("cls", TAKES_WEIGHTS)
def test_weights_whose_sum_overflows_are_refused(cls, rng):
    estimator = quick_instance(cls)
    X, y = table(estimator, rng)
    given = {"sample_weight": np.full(len(X), 1e308)}
    if y is not None:
        given["y"] = y
    with pytest.raises(ValueError, match=r"weight.*(overflow|too large|sum)"):
        estimator.fit(X, **given)
