"""Gaps of rates and errors between groups."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.diagnose import fairness, json_ready
from tests.diagnose.audits import assert_same_audit


def test_identical_groups_have_no_gap(rng):
    y, p = rng.integers(0, 2, 300), rng.random(300)
    group = np.repeat(["a", "b"], 300)
    audit = fairness(np.tile(y, 2), np.tile(p, 2), group, column="town")
    assert [g.gap.mean for g in audit.gaps] == [0, 0, 0, 0]
    assert audit.findings() == [] and "No clear difference" in str(audit)
    numbers = fairness(np.tile(p, 2) * 9, np.tile(y, 2) * 1.0, group)
    assert list(numbers.measures) == ["mean error", "mean absolute error"]
    assert all(g.gap.mean == 0 for g in numbers.gaps)


def test_planted_gaps_are_found(rng):
    n = 4000
    group = rng.choice(["x", "y", "z"], n)
    y = rng.integers(0, 2, n)
    p = np.where(y == 1, 0.8, 0.3)
    missed = (group == "y") & (y == 1) & (rng.random(n) < 0.3)
    alarm = (group == "z") & (y == 0) & (rng.random(n) < 0.2)
    p = np.where(missed, 0.4, np.where(alarm, 0.9, p))
    audit = fairness(y, np.column_stack([1 - p, p]), group, column="<b>side</b>")
    gaps = {g.measure: g for g in audit.gaps}
    tpr, fpr = gaps["true positive rate"], gaps["false positive rate"]
    assert tpr.low == "y" and tpr.gap.low < 0.3 < tpr.gap.high and tpr.clear
    assert fpr.high == "z" and fpr.gap.low < 0.2 < fpr.gap.high and fpr.clear
    calibration = gaps["calibration error"]
    assert calibration.clear and calibration.high == "y"
    assert audit.findings()[0].severity == "alarm"
    assert "'<b>side</b>'" in str(audit)
    json.dumps(json_ready(audit))
    truth = np.mean(p[(group == "y") & (y == 1)] >= 0.5)
    place = audit.groups.index("y")
    assert audit.measures["true positive rate"][place].mean == pytest.approx(truth)


def test_small_groups_are_named_not_judged(rng):
    group = np.array(["many"] * 100 + ["few"] * 3 + [None] * 50, object)
    audit = fairness(rng.integers(0, 2, 153), rng.random(153), group)
    assert audit.groups == ("many", "missing") and audit.left_out == ("few",)
    assert "few" in str(audit)
    alone = fairness([0, 1] * 20, np.full(40, 0.5), ["a"] * 40)
    assert alone.gaps == () and alone.groups == ("a",)
    with pytest.raises(ValueError, match="rows of y"):
        fairness([0, 1], [0.5], ["a", "b"])


def test_several_classes(rng):
    y, group = rng.integers(0, 3, 600), np.tile(["a", "b"], 300)
    p = np.eye(3)[np.where((group == "b") & (rng.random(600) < 0.5), (y + 1) % 3, y)]
    audit = fairness(y, p, group)
    accuracy = {g.measure: g for g in audit.gaps}["accuracy"]
    assert accuracy.high == "a" and accuracy.gap.low < 0.5 < accuracy.gap.high
    assert "selection rate" in fairness(y, p, group, positive=2).measures


def test_false_alarms_are_rare():
    wrong = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 400)
        group = rng.integers(0, 4, 400)
        wrong += bool(fairness(y, rng.random(400), group).findings())
    assert wrong <= 10


@given(st.integers(0, 10_000), st.sampled_from(["words", "numbers"]))
@settings(max_examples=30)
def test_whole_weights_are_repeated_rows(seed, kind):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, 200))
    group = rng.integers(0, 4, n).astype(str) if kind == "words" else rng.random(n)
    k = rng.integers(0, 6, n)
    y, p, q = rng.integers(0, 2, n), rng.random(n), rng.dirichlet([1, 1, 1], n)
    z = rng.integers(0, 3, n)
    for truth, said, task in ((y, p, None), (z, q, None), (p, q[:, 0], "regression")):
        many = [np.repeat(v, k, axis=0) for v in (truth, said, group)]
        one = fairness(truth, said, group, task=task, weights=k)
        assert_same_audit(one, fairness(*many, task=task))


def test_weights_that_are_no_counts_are_worth_the_rows_they_are(rng):
    n = 2000
    group, y, p = rng.choice(["a", "b"], n), rng.integers(0, 2, n), rng.random(n)
    bare = fairness(y, p, group)
    assert_same_audit(fairness(y, p, group, weights=np.full(n, 0.3)), bare)
    w = rng.exponential(size=n)
    one, tiny = (fairness(y, p, group, weights=v) for v in (w, w / w.sum()))
    assert_same_audit(one, tiny)
    assert one.counts == bare.counts
    for name, (a, _) in one.measures.items():
        assert a.error > bare.measures[name][0].error  # unequal weights waste rows
    mine = group == "a"
    rate = np.average(p[mine] >= 0.5, weights=w[mine])
    assert one.measures["selection rate"][0].mean == pytest.approx(rate)
    some = rng.random(n) < 0.5
    rest = fairness(y[some], p[some], group[some], weights=w[some])
    assert_same_audit(fairness(y, p, group, weights=np.where(some, w, 0)), rest)
    with pytest.raises(ValueError, match="weights must be"):
        fairness(y, p, group, weights=-w)


def test_false_alarms_of_weighted_rows_are_rare():
    wrong = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        y, group, w = rng.integers(0, 2, 400), rng.integers(0, 4, 400), rng.random(400)
        wrong += bool(fairness(y, rng.random(400), group, weights=w**2).findings())
    assert wrong <= 10
