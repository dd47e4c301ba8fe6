"""Thresholds and costs as decisions of their own; dominance of curves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.model_selection import cross_val_predict

from pansophy.compare import (
    choose_threshold,
    cost_curve,
    decide_by_cost,
)
from pansophy.compare.evaluation.decision_threshold import (
    advise_threshold,
    objective_of_decisions,
    row_influences,
)
from pansophy.linear_model import CostSensitiveClassifier, LogisticRegression

SCORES = np.array([0.9, 0.8, 0.7, 0.6, 0.55, 0.54, 0.53, 0.52, 0.51, 0.505])
LABELS = np.array([1, 1, 0, 1, 1, 1, 0, 0, 1, 0])


def test_worked_numbers():
    t = choose_threshold(LABELS, SCORES)
    assert (t.threshold, round(t.value, 7)) == (0.54, 0.8333333)
    assert t.share == 0.6
    assert t.plain == pytest.approx(0.75)  # all are at least one half
    assert t.apply(SCORES).tolist() == [1] * 6 + [0] * 4
    assert "at least 0.54" in str(t)


def table(rng, n=200):
    y = (rng.random(n) < 0.3).astype(int)
    p = 1 / (1 + np.exp(-(2 * y - 1.5 + rng.normal(size=n))))
    return y, p.round(2)  # with ties


PEERS = {
    "f1": lambda y, d: sk.f1_score(y, d, zero_division=0),
    "accuracy": sk.accuracy_score,
    "balanced": sk.balanced_accuracy_score,
    "cost": lambda y, d: -np.mean(d * (1 - y) + 5 * y * (1 - d)),
}


@pytest.mark.parametrize("objective", list(PEERS))
def test_best_of_all_thresholds(rng, objective):
    y, p = table(rng)
    found = choose_threshold(y, p, objective, costs=(1, 5))
    slow = max(PEERS[objective](y, (p >= t) * 1) for t in [*np.unique(p), 2.0])
    assert abs(found.value) == pytest.approx(abs(slow))
    at = PEERS[objective](y, (p >= found.threshold) * 1)
    assert abs(found.value) == pytest.approx(abs(at))
    function = choose_threshold(y, p, PEERS[objective], folds=2)
    assert function.threshold == found.threshold
    k = np.random.default_rng(1).integers(1, 4, len(y))
    weighted = choose_threshold(y, p, objective, costs=(1, 5), weights=k)
    repeated = choose_threshold(
        np.repeat(y, k), np.repeat(p, k), objective, costs=(1, 5)
    )
    assert weighted.threshold == repeated.threshold
    assert weighted.value == pytest.approx(repeated.value)


def test_recall_at_a_precision(rng):
    y, p = table(rng)
    t = choose_threshold(y, p, "recall", precision=0.8)
    precision, recall, _ = sk.precision_recall_curve(y, p)
    assert t.value == pytest.approx(recall[precision >= 0.8].max())
    hopeless = choose_threshold([1, 0, 0], [0.1, 0.2, 0.3], "recall", precision=0.9)
    assert hopeless.threshold == 0.1  # the most precise there is


def test_costs_of_calibrated_probabilities_need_no_search():
    rng = np.random.default_rng(0)
    p = rng.random(20_000)
    y = (rng.random(20_000) < p).astype(int)
    pair = choose_threshold(y, p, "cost", costs={"fp": 1.0, "fn": 4.0})
    assert pair.threshold == pytest.approx(1 / 5, abs=0.05)
    square = choose_threshold(y, p, "cost", costs=[[0, 1], [4, 0]])
    assert square == pair
    assert (
        decide_by_cost(np.c_[1 - p, p], [[0, 1], [4, 0]]).tolist()
        == ((p > 0.2) * 1).tolist()
    )


def test_expected_value_is_less_flattered():
    """Noise has no best threshold: what was gained on the rows is not to be had."""
    rng = np.random.default_rng(0)
    rows = [(rng.integers(0, 2, 40), rng.random(40)) for _ in range(100)]
    found = [choose_threshold(y, p, "balanced", random_state=1) for y, p in rows]
    assert np.mean([t.value for t in found]) > 0.57
    assert np.mean([t.expected for t in found]) == pytest.approx(0.5, abs=0.03)


def right_probabilities(rng, n, centre=0.0):
    p = 1 / (1 + np.exp(-(rng.normal(size=n) + centre)))
    return (rng.random(n) < p).astype(int), p


@pytest.mark.parametrize(
    ("objective", "costs", "usual"), [("accuracy", None, 0.5), ("cost", (1, 5), 1 / 6)]
)
def test_right_probabilities_are_left_at_the_usual_threshold(objective, costs, usual):
    """Wrong advice in 2.5 % of tables: more than 17 of 200 in 1 of 100,000 tests."""
    rng = np.random.default_rng(0)
    advised = [
        advise_threshold(*right_probabilities(rng, 250), objective, costs=costs)
        for _ in range(200)
    ]
    assert sum(t.threshold != pytest.approx(usual) for t in advised) <= 17
    searched = choose_threshold(*right_probabilities(rng, 250), "accuracy")
    assert searched.threshold != 0.5  # a search always finds something


def test_a_better_threshold_is_advised():
    rng = np.random.default_rng(0)
    for power, objective, costs in (
        (1, "balanced", None),
        (1, "f1", None),
        (3, "accuracy", None),  # probabilities that are wrong
        (3, "cost", (1, 5)),
    ):
        y, p = right_probabilities(rng, 4000, centre=2.0 if power == 3 else -2.0)
        t = advise_threshold(y, p**power, objective, costs=costs)
        assert t == choose_threshold(y, p**power, objective, costs=costs)
        better = (t.plain - t.expected) if costs else t.expected - t.plain
        assert better > 0


def test_advice_takes_weights_as_rows():
    rng = np.random.default_rng(0)
    for _ in range(20):
        y, p = right_probabilities(rng, 60)
        k = rng.integers(1, 4, len(y))
        once = advise_threshold(y, p, "f1", weights=k)
        assert once.share == pytest.approx(np.average(p >= once.threshold, weights=k))
        scaled = advise_threshold(y, p, "f1", weights=np.full(len(y), 0.25))
        bare = advise_threshold(y, p, "f1")
        assert scaled.threshold == bare.threshold
    one_class = advise_threshold([0, 0, 0], [0.1, 0.9, 0.2], "accuracy")
    assert one_class.threshold == 0.5


@pytest.mark.parametrize("objective", ["accuracy", "balanced", "f1", "cost"])
def test_influences_are_derivatives(rng, objective):
    """Against the change of the objective when a row gains a little weight."""
    y, p = table(rng, 50)
    d, w = (p >= 0.4).astype(float), rng.random(50) + 0.5
    rule = (objective, (1.0, 5.0))
    value = lambda weights: objective_of_decisions(y, d, weights, *rule, 0.0)
    influence = row_influences(y, d, w, *rule)
    influence -= np.average(influence, weights=w)
    for i in range(0, 50, 7):
        nudged = w.copy()
        nudged[i] += 1e-6 * w.sum()
        slope = (value(nudged) - value(w)) / 1e-6
        assert influence[i] == pytest.approx(slope, rel=1e-3, abs=1e-4)


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1, max_size=30))
def test_positives_never_grow_with_the_threshold(rows):
    y, p = (np.array(c, dtype=float) for c in zip(*rows))
    points = cost_curve(y, p)
    taus = np.array([q.threshold for q in points])  # falls as misses grow dearer
    assert np.all(np.diff(taus) <= 0)
    assert np.all(np.diff([q.recall for q in points]) >= -1e-12)
    counts = [(p >= t).sum() for t in taus]
    assert np.all(np.diff(counts) >= 0)


def test_one_half_is_the_sign_of_the_score(rng):
    X = rng.normal(size=(100, 3))
    y = (X[:, 0] + rng.normal(size=100) > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    said = model.predict_proba(X)[:, 1] >= 0.5
    assert np.array_equal(said, X @ model.coef_[0] + model.intercept_[0] >= 0)


def test_family_of_models_refitted_for_each_ratio(rng):
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + rng.normal(size=300) > 0.5).astype(int)

    def family(ratio):
        model = LogisticRegression(class_weight={0: 1.0, 1: ratio})
        return cross_val_predict(model, X, y, method="predict_proba")

    points = cost_curve(y, family, [0.25, 1, 4, 16])
    recall = [q.recall for q in points]
    assert recall == sorted(recall) and recall[-1] > recall[0] + 0.3
    assert all(q.threshold == 0.5 for q in points)


def test_decide_by_cost_is_the_cost_sensitive_classifier(rng):
    X = rng.normal(size=(90, 2))
    y = rng.integers(0, 3, 90)
    costs = rng.random((3, 3)) * (1 - np.eye(3))
    model = CostSensitiveClassifier(cost_matrix=costs).fit(X, y)
    ours = decide_by_cost(model.predict_proba(X), costs)
    assert np.array_equal(ours, model.predict(X))


def test_edges_and_bad_input():
    one = choose_threshold([1], [0.7], "accuracy")
    assert one.value == 1.0 and one.threshold == 0.7
    never = choose_threshold([0, 0, 0], [0.1, 0.9, 1.0], "accuracy")
    assert never.apply([1.0]).tolist() == [0] and "Never" in str(never)
    for wrong, words in [
        (lambda: choose_threshold([0, 1], [0.1, np.nan]), "finite"),
        (lambda: choose_threshold([0, 2], [0.1, 0.2]), "0 and 1 only"),
        (lambda: choose_threshold([0, 1], [0.1]), "y has 2 entries"),
        (lambda: choose_threshold([0], np.ones((1, 3))), "decide_by_cost"),
        (lambda: choose_threshold([0, 1], [0.1, 0.2], "auc"), "objective must be"),
        (lambda: choose_threshold([0, 1], [0.1, 0.2], "cost"), "needs costs"),
        (lambda: choose_threshold([0], [0.1], "cost", costs=(1, -1)), "costs must be"),
        (lambda: choose_threshold([0], [0.1], "cost", costs={"a": 1}), "keys"),
        (lambda: cost_curve([0, 1], [0.1, 0.2], [0.0]), "ratios must be above 0"),
        (lambda: decide_by_cost([[0.5, 0.5]], [[1, 0]]), "a row for each class"),
    ]:
        with pytest.raises(ValueError, match=words):
            wrong()
