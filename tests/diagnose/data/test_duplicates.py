"""Copies of rows: exact, near, conflicting, across folds, and by chance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.datasets import load
from pansophy.diagnose import duplicates


def mixed(rng, n=400):
    return {
        "a": rng.normal(size=n),
        "b": rng.normal(size=n),
        "town": rng.choice(["Rome", "Oslo", "Bern"], n),
        "n": rng.integers(0, 50, n),
    }


def test_exact_copies_are_counted_and_shown(rng):
    table = mixed(rng)
    rows = np.r_[np.arange(400), 7, 8, 7]
    found = duplicates({k: v[rows] for k, v in table.items()})
    assert (found.exact, found.near) == (3, 0)
    assert found.examples[0] == (7, 400, 402)
    assert found.findings[0].severity == "warning"
    assert "3 of 403 rows repeat" in str(found)


def test_an_id_does_not_hide_copies(rng):
    table = mixed(rng)
    rows = np.r_[np.arange(400), np.arange(5)]
    again = {"id": np.arange(405), **{k: v[rows] for k, v in table.items()}}
    assert duplicates(again).exact == 5


def test_an_id_that_comes_again_is_part_of_the_row(rng):
    who = [f"u{i}" for i in rng.integers(0, 400, 500)]
    same = duplicates({"who": who, "x": [1.5] * 500})
    assert same.exact == 500 - len(set(who))


@pytest.mark.parametrize("d", [2, 6, 45])
def test_near_copies_of_numbers_and_spelling(rng, d):
    n, k = 3000, 40
    X = rng.normal(size=(n, d)) * np.geomspace(1e-3, 1e3, d)
    town = rng.choice(["Rome", "Oslo", "Bern"], n)
    town[:k] = np.char.upper(town[n - k :])
    X[:k] = X[n - k :] * (1 + 1e-6 * rng.normal(size=(k, d)))
    X[0] = X[n - k]  # case alone
    found = duplicates({**{f"x{j}": X[:, j] for j in range(d)}, "town": town})
    assert found.exact == 0
    assert found.near >= k - 1
    # two columns: half a pair is as near by chance, more than 8 once in 1e9
    assert found.near <= (k + 8 if d == 2 else k)
    assert np.all(found.groups[:k] == found.groups[n - k :]) or found.near == k - 1


@pytest.mark.parametrize("free", [1, 2, 3])
def test_rows_on_a_thin_sheet_are_not_near_copies(rng, free):
    X = rng.normal(size=(5000, free)) @ rng.normal(size=(free, 5))
    assert duplicates(X).near == 0


def test_copies_across_folds_are_an_alarm(rng):
    table = mixed(rng)
    rows = np.r_[np.arange(400), np.arange(40)]
    table = {k: v[rows] for k, v in table.items()}
    rows = np.arange(440)
    splits = [(rows[:400], rows[400:]), (rows[40:400], rows[:40])]
    found = duplicates(table, splits=splits)
    assert found.crossing == ((40, 40), (0, 40))
    (alarm,) = [f for f in found.findings if f.kind == "duplicates across folds"]
    assert alarm.severity == "alarm" and alarm.facts["copies"] == 40
    assert "40 of 80 test rows" in alarm.text


def test_conflicting_copies_bound_the_accuracy(rng):
    table = mixed(rng, 100)
    rows = np.r_[np.arange(100), np.arange(10)]
    table = {k: v[rows] for k, v in table.items()}
    y = np.array(["no"] * 100 + ["yes"] * 10)
    found = duplicates({**table, "y": y}, "y")
    assert found.exact == 0 and found.conflicting == 20
    assert found.ceiling == pytest.approx(100 / 110)
    assert "90.9%" in str(found)


def test_coarse_tables_repeat_by_chance(rng):
    few = {"a": rng.integers(0, 2, 200), "b": rng.integers(0, 3, 200)}
    found = duplicates(few)
    assert found.exact > 190 and found.by_chance > 0
    assert [f.severity for f in found.findings] == ["note"]
    for name in ("wine", "breast_cancer", "diabetes", "customers"):
        assert not duplicates(load(name).table).findings


@given(st.integers(0, 10**6))
def test_order_of_rows_and_columns_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    table = {k: v[rng.integers(0, 30, 60)] for k, v in mixed(rng, 30).items()}
    order = rng.permutation(60)
    turned = {k: v[order] for k, v in reversed(table.items())}
    a, b = duplicates(table), duplicates(turned)
    assert (a.exact, a.near) == (b.exact, b.near)


def test_missing_values_are_equal_and_zero_has_no_sign():
    table = {"a": [np.nan, np.nan, 0.0, -0.0], "b": ["x", "x", None, None]}
    assert duplicates(table).exact == 2
