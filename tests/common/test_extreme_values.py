"""Huge, tiny and mixed-scale values: a defined answer or one sentence, and no hang.

Every estimator is fitted to tables that overflow when squared, that
underflow, or whose columns differ by hundreds of decades. It must answer with finite
numbers or raise an error that says what to do; a raw error of LAPACK, a NaN or a fit
that does not end is none.
"""

import signal
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from pansophy.testing import all_estimators, quick_instance

FOUND = [
    (name, cls)
    for name, cls in all_estimators()
    if not quick_instance(cls).__sklearn_tags__().input_tags.categorical
]
RAW = (
    "did not converge",
    "must not contain infs",
    "leading minor",
    "out of bounds",
    "illegal value",
    "math domain",
    "Singular matrix",
)
METHODS = ("predict", "predict_proba", "transform", "decision_function", "mahalanobis")
KINDS = ("huge", "large", "one huge", "tiny", "mixed", "constant")
TARGETS = ("huge target", "one huge target", "tiny target")
SECONDS = 60


def extreme_table(kind, tags):
    """X and y of one kind, for an estimator of these tags."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] > 0) * 1
    if tags.estimator_type == "regressor":
        y = 3 + 2 * X[:, 0] / np.abs(X[:, 0]).max()
        if kind in TARGETS:
            factor = {"huge target": 1e300, "tiny target": 1e-300}.get(kind, 1.0)
            y = y * factor
        if kind == "one huge target":
            y[3] = 1e300
        if not tags.target_tags.single_output and tags.target_tags.multi_output:
            y = np.column_stack([y, y])
    if kind == "one huge":
        X[3, 1] = 1e300
    scales = {
        "huge": 1e300,
        "large": 1e150,
        "tiny": 1e-300,
        "mixed": np.array([1e150, 1.0, 1e-150]),
        "constant": 0.0,
    }
    X = X * scales.get(kind, 1.0)
    X = X + 1.0 if kind == "constant" else X
    return np.abs(X) if tags.input_tags.positive_only else X, y


def too_long(*_):
    raise TimeoutError


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no alarm on this system")
@pytest.mark.parametrize(("name", "cls"), FOUND, ids=[name for name, _ in FOUND])
def test_an_answer_or_a_sentence(name, cls):
    tags = quick_instance(cls).__sklearn_tags__()
    regression = tags.estimator_type == "regressor"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quick_instance(cls).fit(*extreme_table("usual", tags))  # loops are compiled
    for kind in KINDS + TARGETS * regression:
        X, y = extreme_table(kind, tags)
        model = quick_instance(cls)
        before = signal.signal(signal.SIGALRM, too_long)
        signal.alarm(SECONDS)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X, y)
                for method in METHODS:
                    if hasattr(model, method):
                        out = getattr(model, method)(X)
                        out = out.toarray() if sp.issparse(out) else np.asarray(out)
                        finite = out.dtype.kind != "f" or np.isfinite(out).all()
                        assert finite, f"{method} on {kind} values"
        except (ValueError, np.linalg.LinAlgError) as error:
            assert not any(part in str(error) for part in RAW), f"{kind}: {error}"
            assert len(str(error)) > 20, kind
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)


# packages whose estimators take rows in C order whatever order they come in
SAME_BITS = {
    "active",
    "covariance",
    "discriminant_analysis",
    "feature_extraction",
    "feature_selection",
    "naive_bayes",
    "recommend",
    "semi_supervised",
}
ORDERED = [
    (name, cls)
    for name, cls in all_estimators()
    if cls.__module__.split(".")[1] in SAME_BITS
]
# their scores are those of a linear model, which has its own tests
LINEAR_INSIDE = {
    "AttributeClassifier",
    "CoTraining",
    "LinearDiscriminantAnalysis",
    "MultipleInstance",
    "SelfTrainingClassifier",
}


@pytest.mark.parametrize(("name", "cls"), ORDERED, ids=[name for name, _ in ORDERED])
@pytest.mark.filterwarnings("ignore")
def test_fortran_order_gives_the_same_bits(name, cls):
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(150, 7))) + 3
    model = quick_instance(cls)
    tags = model.__sklearn_tags__()
    X = np.floor(X) if tags.input_tags.categorical else X
    y = X[:, 0] if tags.estimator_type == "regressor" else (X[:, 0] > 3.7).astype(int)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    one = clone(model).fit(np.ascontiguousarray(X), y)
    two = clone(model).fit(np.asfortranarray(X), y)
    for key, value in vars(one).items():
        if key.endswith("_") and isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, getattr(two, key), err_msg=key)
    for method in () if name in LINEAR_INSIDE else METHODS:
        if hasattr(one, method):
            found = [getattr(one, method)(A) for A in (X, np.asfortranarray(X))]
            np.testing.assert_array_equal(*found, err_msg=method)
