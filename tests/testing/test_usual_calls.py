"""The usual calls cover every estimator and each kind of table it takes."""

import signal

import numpy as np
import pytest
from scipy import sparse

from pansophy.base import Estimator, Regressor
from pansophy.testing import (
    all_estimators,
    run_usual_calls,
    usual_calls,
    usual_fits,
    usual_names,
    usual_table,
)

ESTIMATORS = dict(all_estimators())


def test_every_estimator_has_a_name():
    names = usual_names()
    assert len(names) == len(set(names))
    for name, cls in ESTIMATORS.items():
        assert f"{usual_calls.public_module(cls)}.{name}" in names


def test_fits_cover_dtypes_sparse_rows_weights_and_words():
    fits = usual_fits(ESTIMATORS["LogisticRegression"])
    assert {f.X.dtype for f in fits} == {np.dtype("f8"), np.dtype("f4")}
    assert any(sparse.issparse(f.X) for f in fits)
    assert any("sample_weight" in f.arguments for f in fits)
    assert {len(np.unique(f.y)) for f in fits} == {2, 3}
    solvers = {f.estimator.solver for f in fits}
    assert {"lbfgs", "newton-cholesky", "coordinate", "saga", "liblinear"} <= solvers


def test_no_sparse_rows_where_they_are_refused():
    assert not any(
        sparse.issparse(f.X) for f in usual_fits(ESTIMATORS["PolynomialRegression"])
    )


@pytest.mark.parametrize(
    "name", ["PoissonRegressor", "MultiTaskLasso", "CategoricalNB"]
)
def test_table_is_of_the_kind_an_estimator_takes(name):
    estimator = ESTIMATORS[name]()
    X, y = usual_table(estimator)
    assert estimator.fit(X, y).predict(X).shape == y.shape


def test_words_of_hints():
    from typing import Annotated, Literal

    hint = Literal["a", "b"] | Annotated[float, "above 0"] | None
    assert usual_calls.literal_values(hint) == ["a", "b"]
    assert usual_calls.literal_values(bool) == [True, False]


class Refuses(Regressor, Estimator):
    def fit(self, X, y):
        raise ValueError("no.")


def test_call_that_is_refused_is_passed_over():
    fit = usual_calls.UsualFit(Refuses(), np.ones((2, 1)), np.ones(2), {})
    assert usual_calls.run_fit(fit) is None


def test_second_run_compiles_nothing():
    name = "pansophy.linear_model.Lasso"
    run_usual_calls(name)
    assert run_usual_calls(name).compiled == 0


def test_functions_are_covered_by_their_examples():
    report = run_usual_calls("pansophy.metrics_of_nothing.function")
    assert report.compiled == 0  # a name that is not there is passed over


@pytest.mark.skipif(not hasattr(signal, "SIGTERM"), reason="no such signal")
def test_a_signal_during_an_example_ends_the_process(monkeypatch):
    # doctest swallows SystemExit, which the handler of the shell raises
    def leave(number, frame):
        raise SystemExit(128 + number)

    def example():
        """Examples.

        >>> import signal
        >>> signal.raise_signal(signal.SIGTERM)
        """

    monkeypatch.setattr(usual_calls, "example", example, raising=False)
    before = signal.signal(signal.SIGTERM, leave)
    try:
        with pytest.raises(SystemExit):
            usual_calls.run_examples("pansophy.testing.usual_calls.example")
    finally:
        signal.signal(signal.SIGTERM, before)
