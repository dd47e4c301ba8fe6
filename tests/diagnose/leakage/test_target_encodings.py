"""Columns made from mean targets are found; honest encodings are not flagged."""

import numpy as np
import pytest

from pansophy.diagnose import find_leaks

N = 800


def number(table, rng):
    return table["x0"] + table["k"] / 3 + rng.normal(size=N)


def classes(table, rng):
    return np.where(number(table, rng) > 1, "yes", "no")


def alarms(table, target="y", **how):
    found = find_leaks(table, target, **how)
    return {f.column: f.kind for f in found if f.severity == "alarm"}


def means(group, t, smooth=0.0, leave_out=False):
    z = np.unique(group, return_inverse=True)[1]
    total, count = np.bincount(z, t)[z], np.bincount(z)[z]
    if leave_out:
        return (total - t) / (count - 1)
    return (total + smooth * t.mean()) / (count + smooth)


@pytest.mark.parametrize("how", [{}, {"smooth": 10.0}], ids=["mean", "smooth"])
@pytest.mark.parametrize("kind", [number, classes])
@pytest.mark.parametrize("seed", range(3))
def test_target_encoded_column(honest, kind, how, seed):
    rng = np.random.default_rng(100 + seed)
    y = kind(honest, rng)
    t = y if kind is number else (y == "yes").astype(float)
    town = rng.integers(0, 35, N)
    made = means(town, t, **how)
    assert alarms(honest | {"enc": made, "y": y}) == {"enc": "target encoding"}


def test_leave_one_out_encoding_beside_its_group(honest, rng):
    y = number(honest, rng)
    made = means(honest["kind"], y, leave_out=True)
    (found,) = find_leaks(honest | {"enc": made, "y": y}, "y")
    assert found.kind == "target encoding" and "'kind'" in found.text


def test_encoding_learned_elsewhere_is_no_leak(honest, rng):
    town = rng.integers(0, 35, N)
    level = rng.normal(size=35)[town]  # of the town, known beforehand
    y = 2 * level + rng.normal(size=N)
    assert alarms(honest | {"level": level, "y": y}) == {}


def test_matched_rows_are_no_encoding(rng):
    """Two controls for each case, matched by age: the share is the same by design."""
    age = np.repeat(rng.integers(20, 60, 80), 3)
    case = np.tile([1, 0, 0], 80)
    table = {"age": age, "x": rng.normal(size=240), "case": case}
    found = {f.kind: f for f in find_leaks(table, "case") if f.column == "age"}
    assert set(found) == {"matched design"}
    assert found["matched design"].severity == "note"
