"""Query strategies of active learning."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from pansophy import active
from pansophy.active import (
    ExpectedEntropyReduction,
    QueryByCommittee,
    UncertaintySampler,
    run_active_learning,
)
from pansophy.linear_model import LogisticRegression


def pool(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] + 0.5 * X[:, 1] > 0.3).astype(int), rng


def fitted(X, y, known):
    return LogisticRegression().fit(X[known], y[known])


def test_uncertainty_picks_the_row_nearest_to_a_half():
    X, y, rng = pool()
    known = np.zeros(len(y), bool)
    known[:10] = True
    model = fitted(X, y, known)
    p = model.predict_proba(X)[:, 1]
    free = np.flatnonzero(~known)
    best = free[np.argmin(np.abs(0.5 - p[free]))]
    for measure in ("least_confidence", "margin", "entropy"):
        got = UncertaintySampler(measure).query(model, X, known, y, rng)
        assert got.tolist() == [best]


def test_expected_reduction_is_that_of_enumeration():
    X, y, rng = pool(20)
    known = np.zeros(20, bool)
    known[:6] = True
    model = fitted(X, y, known)
    P = model.predict_proba(X)
    left = {}
    for i in np.flatnonzero(~known):
        rest = [j for j in np.flatnonzero(~known) if j != i]
        total = 0.0
        for k, label in enumerate(model.classes_):
            at = [*np.flatnonzero(known), i]
            labels = [*y[known], label]
            Q = clone(model).fit(X[at], labels).predict_proba(X[rest])
            total += P[i, k] * np.mean(-np.sum(Q * np.log(Q), axis=1))
        left[i] = total
    got = ExpectedEntropyReduction().query(model, X, known, y, rng)
    assert got.tolist() == [min(left, key=left.__getitem__)]


def test_measures_by_hand():
    P = np.array([[0.5, 0.3, 0.2], [0.9, 0.1, 0.0]])
    np.testing.assert_allclose(active.least_confidence(P), [0.5, 0.1])
    np.testing.assert_allclose(active.margin(P), [-0.2, -0.8])
    np.testing.assert_allclose(
        active.predictive_entropy(P), [1.0296530140645737, 0.3250829733914482]
    )


def test_crowded_rows_are_worth_more():
    X = np.vstack((np.random.default_rng(0).normal(size=(30, 2)), [[50.0, 50.0]]))
    density = active.information_density(X)
    assert density.argmin() == 30
    model = LogisticRegression().fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    known = np.zeros(31, bool)
    heavy = UncertaintySampler(beta=5.0)
    got = heavy.query(model, X, known, np.zeros(31), np.random.default_rng(0), k=31)
    assert got[-1] == 30


def test_a_committee_may_be_of_ensembles():
    from sklearn.ensemble import RandomForestClassifier

    X, y, _ = pool()
    committee = QueryByCommittee(2, estimator=RandomForestClassifier(3, random_state=0))
    model = LogisticRegression()
    report = run_active_learning(
        model, X, y, budget=6, sampler=committee, random_state=0
    )
    assert len(set(report.queried.tolist())) == 6


def test_equals_are_drawn_not_taken_in_order():
    @dataclass
    class Indifferent(active.QueryStrategy):
        def score(self, model, X, known, y, rng):
            return np.where(np.arange(len(known)) == 7, 1.0, 0.0)

    known, rng = np.zeros(500, bool), np.random.default_rng(0)
    rows = Indifferent().query(None, None, known, None, rng, 9)
    assert rows[0] == 7 and len(set(rows)) == 9 and rows.max() > 250
    assert len(Indifferent().query(None, None, known, None, rng, 600)) == 500


def test_density_of_rows_by_the_usual_kernel():
    """Mean of exp(-gamma |x - z|^2) with gamma = 1 / (2 d mean variance)."""
    X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 6.0]])
    gamma = 1 / (2 * 2 * (2.0 + 8.0) / 2)
    squared = np.array([[0, 9, 36], [9, 0, 45], [36, 45, 0]])
    expected = np.exp(-gamma * squared).mean(axis=1)
    np.testing.assert_allclose(active.information_density(X), expected, rtol=1e-12)
