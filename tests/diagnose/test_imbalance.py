"""Unequal classes, resampling, concentration of distances, repeated errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy import optim
from pansophy.diagnose import (
    balance_classes,
    balanced_rates,
    concentration_path,
    data_report,
    distance_concentration,
    group_errors,
    imbalance,
    risk_by_class,
)

Y = np.r_[np.ones(10, int), np.zeros(90, int)]
H1 = np.zeros(100, int)
H2 = np.r_[np.ones(9, int), 0, np.ones(14, int), np.zeros(76, int)]


def test_a_constant_answer_does_not_win_unwarned():
    found = imbalance(Y, {"h1": H1, "h2": H2})
    first, second = found.answers
    assert (first.name, first.accuracy, first.recalls["1"]) == ("h1", 0.9, 0.0)
    assert (second.name, second.accuracy, second.recalls["1"]) == ("h2", 0.85, 0.9)
    assert found.misleading == (("h1", "h2"),)
    assert "ranks h1 above h2, which is misleading" in str(found)
    assert found.baseline == 0.9 and found.majority == "0"
    assert any("never finds 1" in f.text for f in found.findings)


def test_one_against_all_of_a_thousand():
    found = imbalance(np.repeat(np.arange(1000), 3))
    assert found.odds == 999 and "1 : 999" in str(found)
    assert not imbalance(np.arange(60) % 3).findings


@given(st.integers(0, 10**6))
def test_risk_is_the_sum_of_its_parts(seed):
    rng = np.random.default_rng(seed)
    y, losses = rng.integers(0, 4, 50), rng.exponential(size=50)
    parts = risk_by_class(losses, y)
    assert sum(parts.values()) == pytest.approx(losses.mean())
    assert imbalance(y, losses=losses).risks == parts


def test_imbalance_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="'h' has shape"):
        imbalance([0, 1], {"h": [0]})
    with pytest.raises(ValueError, match="labels of some rows"):
        imbalance([])


@given(st.integers(0, 10**6), st.sampled_from(["up", "down"]))
def test_resampling_makes_classes_equal(seed, how):
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], 60, p=[0.7, 0.2, 0.1])
    X = rng.normal(size=(60, 2))
    train = np.sort(rng.permutation(60)[:45])
    _, counts = np.unique(y[train], return_counts=True)
    out = balance_classes(X, y, how, train=train, random_state=seed)
    _, equal = np.unique(out.y, return_counts=True)
    assert set(equal) == {counts.max() if how == "up" else counts.min()}
    assert set(out.rows) <= set(train) and len(out.held) == 15
    assert not set(out.rows) & set(out.held)
    np.testing.assert_array_equal(out.X, X[out.rows])
    if how == "up":
        assert set(train) <= set(out.rows)
        np.testing.assert_array_equal(out.rows[:45], train)
    else:
        assert len(set(out.rows)) == len(out.rows)


def test_jitter_moves_repeated_rows_alone(rng):
    X = rng.normal(size=(100, 3))
    before = X.copy()
    out = balance_classes(X, Y, jitter=0.1)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(out.X[:100], X)
    moved = out.X[100:] - X[out.rows[100:]]
    assert len(moved) == 80 and 0.05 < moved.std() / X[:10].std() < 0.2
    assert len(out.y) <= 2 * 100  # at most doubles two classes
    with pytest.raises(ValueError, match="jitter"):
        balance_classes(X, Y, "down", jitter=0.1)
    with pytest.raises(ValueError, match="how must be"):
        balance_classes(X, Y, "sideways")


def test_balanced_descent_draws_the_minority_as_often():
    drawn = []

    def f(x, rows):
        drawn.extend(rows)
        return float((x - Y[rows].mean()) ** 2), 2 * (x - Y[rows].mean())

    how = {"max_iter": 60, "tol": 0.0, "random_state": 0, "batch_size": 10}
    optim.sgd(f, np.zeros(()), 100, optim.scale_by_schedule(0.05), **how,
              sample_weight="balanced", y=Y)  # fmt: skip
    assert np.mean(Y[drawn]) == pytest.approx(0.5, abs=0.03)
    drawn.clear()
    rates = balanced_rates(Y, {0: 0.8, 1: 0.2})
    optim.sgd(
        f, np.zeros(()), 100, optim.scale_by_schedule(0.05), **how, sample_weight=rates
    )
    assert np.mean(Y[drawn]) == pytest.approx(0.2, abs=0.03)
    drawn.clear()
    optim.sgd(f, np.zeros(()), 100, optim.scale_by_schedule(0.05), **how)
    assert np.mean(Y[drawn]) == pytest.approx(0.1, abs=1e-12)
    with pytest.raises(ValueError, match="'balanced' together with y"):
        optim.sgd(f, np.zeros(()), 100, sample_weight="balanced")


def test_distances_concentrate():
    flat, ten, hundred, thousand = concentration_path()
    assert flat.mean == pytest.approx(0.526, abs=0.02)
    assert (ten.min, ten.mean, ten.max) == pytest.approx((0.265, 1.26, 2.34), abs=0.07)
    assert ten.ratio == pytest.approx(8.8, abs=2)
    assert (hundred.mean, hundred.ratio) == pytest.approx((4.07, 1.71), abs=0.06)
    assert (thousand.mean, thousand.ratio) == pytest.approx((12.91, 1.20), abs=0.03)
    for c in (ten, hundred, thousand):
        assert 1.9 < c.gap < 2.5
    for c in concentration_path((10, 100, 1000), law="normal"):
        assert c.radius == pytest.approx(np.sqrt(c.dimension), rel=0.04)
        assert c.radius_sd == pytest.approx(0.7, abs=0.05)
    assert "about equally far" in str(thousand) and "equally" not in str(flat)


def test_concentration_of_tables_and_coverage(rng):
    X = rng.integers(0, 2, (200, 3))
    assert distance_concentration(X).coverage == 1.0
    assert distance_concentration(rng.integers(0, 2, (200, 20))).coverage < 2e-4
    low = rng.normal(size=(500, 2)) @ rng.normal(size=(2, 300))
    assert distance_concentration(low).directions < 6
    found = distance_concentration({"a": ["u", "v"] * 20, "b": ["x"] * 30 + ["y"] * 10})
    assert found.coverage == 1.0


def test_a_repeated_error_is_one_group(rng):
    table = {"size": rng.normal(size=800), "kind": rng.choice(list("abc"), 800)}
    table |= {"noise": rng.normal(size=800)}
    planted = (table["kind"] == "b") & (table["size"] > 1)
    wrong = planted | (rng.random(800) < 0.03)
    found = group_errors(table, wrong)
    (group,) = found.groups
    assert np.mean(planted[group.rows]) > 0.85
    assert len(group.rows) > 0.7 * planted.sum()
    assert group.rate > 0.6 and group.elsewhere < 0.1
    assert any("'kind' is 'b'" in a for a in group.about)
    residual = np.where(planted, 3.0, 0.1) * rng.choice([-1, 1], 800)
    (again,) = group_errors(table, residual, share=planted.mean()).groups
    assert planted[again.rows].all()


def test_errors_by_luck_form_no_group():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(500, 4)) * (1 + 3 * (rng.random((500, 1)) < 0.3))
        assert group_errors(X, rng.random(500) < 0.1).groups == ()
    assert "none repeat" in str(group_errors(X, np.zeros(500, bool)))


def test_data_report_lists_what_is_wrong(rng):
    y, x = rng.normal(size=200), rng.normal(size=200)
    table = {
        "one": ["EUR"] * 200,
        "x": x,
        "again": x,
        "holes": np.where(rng.random(200) < 0.2, np.nan, 1.0 * rng.normal(size=200)),
        "cents": 100 * y,
        "big": 1e9 * rng.normal(size=200),
        "z": rng.normal(size=200),
        "y": y,
    }
    report = data_report(table, "y")
    assert report.constant == ["one"] and report.duplicate == [("again", "x")]
    assert list(report.missing) == ["holes"] and report.leaking == ["cents"]
    assert report.odd_scale == ["big"] and report.repeated_rows == 0
    assert "leaking the target: cents" in str(report)
    assert report.to_dict()["constant"] == ["one"]
