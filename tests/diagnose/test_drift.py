"""Two tables: form, drift, extrapolation, selection; and one that turns round."""

import json

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from pansophy.diagnose import (
    Reference,
    classifier_two_sample_test,
    drift,
    extrapolation,
    mmd,
    reference_of,
    selection_bias,
    simpson,
)
from pansophy.diagnose.two_sample import auc_with_limits
from pansophy.tables import TableError


def people(seed, n=500):
    rng = np.random.default_rng(seed)
    return {
        "age": rng.normal(45, 12, n),
        "height": rng.normal(170, 9, n),
        "heat": rng.normal(15, 8, n),
        "town": rng.choice(["Rome", "Oslo", "Bern"], n, p=[0.5, 0.3, 0.2]),
        "gap": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
        "visits": rng.poisson(3, n),
    }


def test_same_law_is_at_chance_level():
    found = [drift(people(s), people(s + 100), random_state=s) for s in range(3)]
    assert sum(f.found for f in found) <= 1
    assert np.mean([f.auc.mean for f in found]) == pytest.approx(0.5, abs=0.05)
    assert np.mean([f.discrepancy.p < 0.05 for f in found]) <= 0.25


def test_same_rows_are_exactly_at_chance():
    table = people(0)
    found = drift(table, table)
    assert not found.found and found.auc.mean == 0.5
    X = np.random.default_rng(0).normal(size=(100, 3))
    assert mmd(X, X).value == 0 and mmd(X, X).p == 1
    assert "No drift" in str(found)


def test_columns_that_moved_are_named():
    new = people(1)
    new["age"] = new["age"] + 8
    new["town"] = np.where(np.arange(500) % 2, "Oslo", new["town"])
    new["gap"][:200] = np.nan
    found = drift(people(0), new)
    assert set(found.drifted) == {"age", "town", "gap"}
    assert found.auc.low > 0.6 and found.discrepancy.p < 0.01
    (age,) = [f for f in found.findings if f.column == "age"]
    assert "median 44.3976 became 52.98" in age.text
    json.dumps(found.to_dict(), allow_nan=False)


def test_form_and_units():
    new = people(1)
    new["height"] = new["height"] / 100
    new["heat"] = 1.8 * new["heat"] + 32
    new["town"] = np.where(np.arange(500) < 100, "Linz", new["town"])
    new["visits"] = [str(v) + " times" for v in new["visits"]]
    new["more"] = new["age"]
    del new["age"]
    found = {(f.column, f.kind): f for f in drift(people(0), new, whole=False).form}
    assert set(found) == {
        ("age", "column gone"),
        ("height", "unit changed"),
        ("heat", "unit changed"),
        ("town", "new levels"),
        ("visits", "type changed"),
        ("more", "new column"),
    }
    assert "0.01001 times" in found["height", "unit changed"].text
    assert "Fahrenheit" in found["heat", "unit changed"].text
    assert "'Linz', in 20.0%" in found["town", "new levels"].text


def test_a_kept_reference_says_the_same():
    kept = json.loads(json.dumps(reference_of(people(0, 5000)).to_dict()))
    kept = Reference.from_dict(kept)
    assert not drift(kept, people(2, 3000)).found
    moved = people(2, 3000)
    moved["visits"] = moved["visits"] + 1
    assert drift(kept, moved).drifted == ["visits"]


def test_area_is_that_of_scikit_learn(rng):
    y, s = rng.integers(0, 2, 80), rng.integers(0, 9, 80)
    assert auc_with_limits(s[y == 0], s[y == 1]).mean == pytest.approx(
        roc_auc_score(y, s)
    )
    cover = 0
    for seed in range(200):
        r = np.random.default_rng(seed)
        a = auc_with_limits(r.normal(size=60), r.normal(1, size=80))
        cover += a.low <= 0.76025 <= a.high
    assert 182 <= cover <= 199


def test_separation_sees_what_margins_hide(rng):
    X = rng.normal(size=(400, 2))
    Z = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 400)
    assert classifier_two_sample_test(X, Z).low > 0.55 and mmd(X, Z).p < 0.01


def test_training_rows_are_inside_and_far_rows_are_not(rng):
    train = people(0)
    assert not extrapolation(train, train).flags.any()
    big = rng.normal(size=(7000, 3))
    assert not extrapolation(big, big).flags.any()
    far = {k: v[:4].copy() for k, v in people(3).items()}
    far["age"][0] = 140.0
    far["town"] = far["town"].astype("<U5")
    far["town"][1] = "Turin"
    found = extrapolation(train, far)
    assert found.flags.tolist() == [True, True, False, False]
    assert found.why(0).startswith("'age'") and found.why(1).startswith("'town'")
    assert "2 of 4 rows" in str(found)


def test_a_hole_within_the_range_is_outside(rng):
    angle = rng.uniform(0, 2 * np.pi, 500)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    found = extrapolation(ring, [[0.0, 0.0], [1.0, 0.0]])
    assert found.flags.tolist() == [True, False] and not found.outside


def test_selection_bias_against_known_numbers():
    sample = people(1)
    known = {"age": {"mean": 45, "sd": 12}, "height": 170}
    known["town"] = {"Rome": 0.5, "Oslo": 0.3, "Bern": 0.2}
    assert selection_bias(sample, known).biased == []
    known["age"] = {"mean": 39, "sd": 12}
    known["town"] = {"Rome": 0.3, "Oslo": 0.4, "Bern": 0.2, "Linz": 0.1}
    found = selection_bias(sample, known)
    assert set(found.biased) == {"age", "town"}
    assert "'Rome' in" in str(found) and "30.0% in the reference" in str(found)
    assert selection_bias(sample, people(5)).biased == []
    with pytest.raises(TableError, match="did you mean 'age'"):
        selection_bias(sample, {"agee": 3.0})
    with pytest.raises(TableError, match="shares"):
        selection_bias(sample, {"town": 3.0})


STONES = [
    ("A", "small", 1, 81), ("A", "small", 0, 6), ("A", "large", 1, 192),
    ("A", "large", 0, 71), ("B", "small", 1, 234), ("B", "small", 0, 36),
    ("B", "large", 1, 55), ("B", "large", 0, 25),
]  # fmt: skip


def test_simpson_on_the_stones():
    rows = [r[:3] for r in STONES for _ in range(r[3])]
    table = dict(zip(["how", "stone", "cured"], map(list, zip(*rows))))
    found = simpson(table, "cured", "how", "stone")
    assert found.reversed
    assert found.overall.mean == pytest.approx(289 / 350 - 273 / 350)
    small, large = found.strata
    assert small.means == pytest.approx((81 / 87, 234 / 270))
    assert large.means == pytest.approx((192 / 263, 55 / 80))
    adjusted = (357 * small.difference + 343 * large.difference) / 700
    assert found.adjusted.mean == pytest.approx(adjusted)
    assert "turns round" in str(found) and "'small'" in str(found)
    weighted = dict(zip(["how", "stone", "cured", "n"], map(list, zip(*STONES))))
    same = simpson(weighted, "cured", "how", "stone", weight="n")
    assert same.adjusted.mean == pytest.approx(found.adjusted.mean)
    (turned,) = [s for s in simpson(table, "cured", "how") if s.reversed]
    assert turned.context == "stone"


def test_no_reversal_without_confounding():
    turned = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        c, a = rng.integers(0, 4, 400), rng.integers(0, 2, 400)
        y = 0.3 * c + 0.1 * a * (seed % 2) + rng.normal(size=400)
        turned += simpson({"y": y, "a": a, "c": c}, "y", "a", "c").reversed
    assert turned <= 3
    with pytest.raises(TableError, match="a treatment has two"):
        simpson({"y": [1.0, 2, 3], "a": ["u", "v", "w"], "c": [1, 1, 2]}, "y", "a", "c")
