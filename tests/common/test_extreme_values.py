"""Huge, tiny and mixed-scale values: a defined answer or one sentence, and no hang.

Every estimator of these packages is fitted to tables that overflow when squared, that
underflow, or whose columns differ by hundreds of decades. It must answer with finite
numbers or raise an error that says what to do; a raw error of LAPACK, a NaN or a fit
that does not end is none.
"""

import signal
import warnings

import numpy as np
import pytest

from pansophy.testing import all_estimators, quick_instance

PACKAGES = {
    "active",
    "covariance",
    "discriminant_analysis",
    "feature_extraction",
    "feature_selection",
    "naive_bayes",
    "recommend",
    "semi_supervised",
}
FOUND = [
    (name, cls)
    for name, cls in all_estimators()
    if cls.__module__.split(".")[1] in PACKAGES
]
RAW = ("did not converge", "must not contain infs", "leading minor", "out of bounds")
METHODS = ("predict", "predict_proba", "transform", "decision_function", "mahalanobis")
SECONDS = 60


def tables():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    one = X.copy()
    one[3, 1] = 1e300
    return X, {
        "huge": 1e300 * X,
        "one huge": one,
        "tiny": 1e-300 * X,
        "mixed": X * np.array([1e150, 1.0, 1e-150]),
        "constant": np.ones_like(X),
    }


def too_long(*_):
    raise TimeoutError


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no alarm on this system")
@pytest.mark.parametrize("name, cls", FOUND, ids=[name for name, _ in FOUND])
def test_an_answer_or_a_sentence(name, cls):
    X, every = tables()
    for kind, A in every.items():
        model = quick_instance(cls)
        tags = model.__sklearn_tags__()
        A = np.abs(A) if tags.input_tags.positive_only else A
        y = 2 * X[:, 0] if tags.estimator_type == "regressor" else (X[:, 0] > 0) * 1
        before = signal.signal(signal.SIGALRM, too_long)
        signal.alarm(SECONDS)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(A, y)
                for method in METHODS:
                    if hasattr(model, method):
                        out = np.asarray(getattr(model, method)(A))
                        finite = out.dtype.kind != "f" or np.isfinite(out).all()
                        assert finite, f"{method} on {kind} values"
        except (ValueError, np.linalg.LinAlgError) as error:
            assert not any(part in str(error) for part in RAW), f"{kind}: {error}"
            assert len(str(error)) > 20, kind
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
