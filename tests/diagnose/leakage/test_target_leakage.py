"""Every planted leak is found and named; honest tables raise no alarm."""

import numpy as np
import pytest

from pansophy.datasets import load, names
from pansophy.diagnose import find_leaks

N = 800


def number(table, rng):
    return table["x0"] + table["k"] / 3 + rng.normal(size=N)


def classes(table, rng):
    return np.where(number(table, rng) > 1, "yes", "no")


def alarms(table, target="y", **how):
    found = find_leaks(table, target, **how)
    return {f.column: f.kind for f in found if f.severity == "alarm"}


@pytest.mark.parametrize("name", names())
def test_no_alarm_on_bundled_tables(name):
    data = load(name)
    grave = [f for f in find_leaks(data.table, data.target) if f.severity != "note"]
    assert grave == []


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [40, 1000])
def test_noise_is_never_flagged(seed, n):
    rng = np.random.default_rng(seed)
    table = {f"x{j}": rng.normal(size=n) for j in range(40)}
    table |= {f"c{j}": rng.choice(list("abcdefgh"), n) for j in range(20)}
    table |= {f"i{j}": rng.integers(0, n // 3, n) for j in range(10)}
    table |= {f"m{j}": np.where(rng.random(n) < 0.3, np.nan, 1.0) for j in range(5)}
    for y in (rng.normal(size=n), rng.integers(0, 2, n), rng.integers(0, 4, n)):
        assert find_leaks(table | {"y": y}, "y") == []


@pytest.mark.parametrize(
    "change",
    [lambda y: y, lambda y: 3 - 2 * y, np.exp, lambda y: -(y**3), lambda y: y.round(9)],
    ids=["same", "line", "exp", "falling", "rounded"],
)
def test_copies_of_a_number(honest, rng, change):
    y = number(honest, rng)
    assert alarms(honest | {"copy": change(y), "y": y}) == {"copy": "target copy"}


def test_noisy_copy_is_told_by_its_score(honest, rng):
    y = number(honest, rng)
    (found,) = find_leaks(honest | {"near": y + 0.03 * rng.normal(size=N), "y": y}, "y")
    assert found.column == "near" and found.kind == "near-perfect column"
    assert found.severity == "alarm" and "0.99" in found.text


def test_classes_by_other_names_and_split_levels(honest, rng):
    y = classes(honest, rng)
    renamed = np.where(y == "yes", "ja", "nein")
    split = np.char.add(renamed, rng.choice(["1", "2", "3"], N))
    found = alarms(honest | {"renamed": renamed, "split": split, "y": y})
    assert found == {"renamed": "target copy", "split": "near-perfect column"}


def test_missing_where_the_target_says_so(honest, rng):
    y = classes(honest, rng)
    gap = np.where(y == "yes", np.nan, rng.normal(size=N))
    assert alarms(honest | {"gap": gap, "y": y}) == {"gap": "missingness leak"}
    t = number(honest, rng)
    gap = np.where(t > 2, np.nan, rng.normal(size=N))
    assert alarms(honest | {"gap": gap, "y": t}) == {"gap": "missingness leak"}


def test_an_id_that_orders_the_target(honest, rng):
    y = np.sort(classes(honest, rng))
    found = find_leaks(honest | {"id": np.arange(N), "y": y}, "y")
    assert {(f.column, f.kind, f.severity) for f in found} == {
        ("id", "ordering id", "alarm"),
        ("y", "sorted rows", "note"),
    }


def test_group_that_decides_the_target(honest, rng):
    patient = rng.integers(0, 150, N)
    y = rng.integers(0, 2, 150)[patient]
    table = honest | {"patient": patient, "y": y}
    (found,) = find_leaks(table, "y")
    assert found.kind == "deciding group" and "group='patient'" in found.text
    assert find_leaks(table, "y", group="patient") == []


def test_sum_of_columns(honest):
    y = honest["x1"] + 3 * honest["x2"] - honest["k"]
    (found,) = find_leaks(honest | {"y": y}, "y")
    assert found.kind == "linear combination"
    assert set(found.facts["columns"]) == {"x1", "x2", "k"}


def test_several_labels_and_unknown_targets(honest, rng):
    y = classes(honest, rng)
    z = rng.choice(["u", "v"], N)
    found = alarms(honest | {"copy": y, "y": y, "z": z}, ["y", "z"])
    assert found == {"copy": "target copy"}
    with pytest.raises(ValueError, match="did you mean 'y'"):
        find_leaks({"y": [1, 2], "x": [1, 2]}, "Y")


def test_a_trend_along_the_declared_time_is_no_leak():
    day = np.arange(200.0)
    y = day**1.5 + 10 * np.sin(day)
    table = {"day": day, "x": np.cos(day), "y": np.sort(y)}
    assert [f.column for f in find_leaks(table, "y") if f.severity == "alarm"]
    assert not [f for f in find_leaks(table, "y", time="day") if f.column == "day"]


@pytest.mark.parametrize("n", [50, 500])
def test_a_cut_that_decides_the_answer_is_an_alarm(rng, n):
    weight = rng.normal(3000, 500, n).round()
    table = {"gramm": weight, "x": rng.normal(size=n), "klein": weight < 2700}
    (found,) = [f for f in find_leaks(table, "klein") if f.severity == "alarm"]
    assert found.kind == "separating column" and found.column == "gramm"
    below, above = weight[weight < 2700].max(), weight[weight >= 2700].min()
    assert below < found.facts["limit"] <= above
    table["klein"][np.argmin(weight)] = False  # one error
    assert not any(f.kind == "separating column" for f in find_leaks(table, "klein"))


def test_a_cut_by_chance_is_none():
    """One row of the rarer class is on an end of one of 20 columns: 2 * 20 / 60."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        table = {f"x{j}": rng.normal(size=60) for j in range(20)}
        table["y"] = np.arange(60) == 7
        found = find_leaks(table, "y")
        assert not any(f.kind == "separating column" for f in found)
