"""Worker processes: same bits for any number, shared preparation, limits, fallback."""

import gc
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge

from tests.compare.faulty_estimators import Case, same, table
from tests.compare.small_tables import table_with_gaps


@pytest.mark.parametrize(
    "own",
    [
        ["logistic_regression", "naive_bayes"],
        pytest.param(None, marks=pytest.mark.slow),  # all there are
    ],
)
def test_any_number_of_workers_gives_the_same_bits(own):
    case = Case(own, repeats=2, folds=3, source=table_with_gaps())
    alone = case.run(workers=0)
    assert not any(t.failure for t in alone.values())
    three = case.run(workers=3)
    assert same(alone, three) and case.complete
    for name, t in three.items():  # models came over, and answer the same
        p, q = (m.predict_proba(case.data.frame) for m in (t.model, alone[name].model))
        assert np.array_equal(p, q), name


class Hoards(RegressorMixin, BaseEstimator):
    """Predicts how many fits its class remembers."""

    seen: list = []

    def fit(self, X, y):
        self.seen.append(y)
        self.many_ = len(self.seen)
        return self

    def predict(self, X):
        return np.full(len(X), float(self.many_))


def test_what_a_class_remembers_does_not_reach_the_next_fit():
    case = Case({"one": Hoards(), "ridge": Ridge(), "two": Hoards()}, folds=2)
    found = case.run(workers=1)
    for name in ("one", "two"):
        assert found[name].failure == ""
        assert set(found[name].predictions) == {1.0}
    assert same({"ridge": found["ridge"]}, {"ridge": case.run(workers=0)["ridge"]})


def test_without_processes_fits_run_here(monkeypatch):
    case = Case({"ridge": Ridge()})
    alone = case.run(workers=0)
    for wrong in (None, "/bin/false", "/nowhere/python"):
        monkeypatch.setattr(sys, "executable", wrong)
        with pytest.warns(UserWarning, match="Fits run in this process"):  # noqa: PT031
            assert same(case.run(workers=2), alone)
            gc.collect()  # a socket or a file left open would be told here


def test_table_helper_is_fixed():
    assert table().equals(table())
