"""Entities: people and things with several rows each, by what repeats with them.

Chance of a false one: (1) asks for 1e-10 a column, far below what the sizes here try.
"""

import numpy as np
import pytest

from pansophy.diagnose.data.columns import table_view
from pansophy.diagnose.data.entities import (
    entities_by_target,
    find_entities,
    is_determined,
    repeats_of,
)


def people(rng, count=60, visits=4, name="Nummer"):
    who = np.repeat(rng.permutation(count) + 100, visits)
    person = who - 100
    return {
        name: who,
        "Gewicht": rng.normal(70, 10, count)[person],
        "Geschlecht": rng.integers(0, 2, count)[person],
        "Wert": rng.normal(size=count * visits),
        "y": rng.integers(0, 2, count * visits),
    }


def found(table, target=None):
    return [(e.columns, e.certain) for e in find_entities(table_view(table), target)]


@pytest.mark.parametrize("name", ["id", "Nummer", "x7"])
@pytest.mark.parametrize("as_text", [False, True])
def test_people_are_found_whatever_they_are_called(rng, name, as_text):
    table = people(rng, name=name)
    if as_text:
        table[name] = np.array([f"P-{k}" for k in table[name]])
    (entity,) = find_entities(table_view(table), "y")
    assert entity.columns == (name,) and entity.certain and entity.count == 60
    assert set(entity.determined) == {"Gewicht", "Geschlecht"}
    mixed = rng.permutation(len(table["y"]))
    assert found({k: v[mixed] for k, v in table.items()}, "y") == [((name,), True)]


def test_few_people_come_twice(rng):
    twice = people(rng, count=200, visits=2)
    keep = np.sort(
        np.r_[np.arange(0, 400, 2), rng.choice(np.arange(1, 400, 2), 80, False)]
    )
    assert found({k: v[keep] for k, v in twice.items()}, "y") == [(("Nummer",), True)]


def test_people_numbered_within_each_site(rng):
    site, number = (
        np.repeat(np.arange(20), 30),
        np.tile(np.repeat(np.arange(10), 3), 20),
    )
    person = site * 10 + number
    table = {
        "site": site,
        "number": number,
        "weight": rng.normal(size=200)[person],
        "sex": rng.integers(0, 2, 200)[person],
        "y": rng.normal(size=600),
    }
    assert found(table, "y") == [(("site", "number"), True)]


def test_what_is_made_from_a_column_says_nothing(rng):
    age = rng.integers(18, 90, 600)
    table = {
        "age": age,
        "decade": age // 10,
        "adult": age > 30,
        "squared": age**2,
        "log": np.log(age),
        "x": rng.normal(size=600),
    }
    assert found(table) == []


def test_independent_rows_have_no_entities():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(60, 800))
        table = {f"c{j}": rng.integers(0, rng.integers(2, 60), n) for j in range(8)}
        table["rare"] = rng.random(n) < 0.01
        table["gaps"] = np.where(rng.random(n) < 0.7, np.nan, rng.integers(0, 50, n))
        assert found(table) == []


def test_a_state_with_many_rows_is_for_the_user_to_say(rng):
    state = rng.integers(0, 15, 3_000)
    table = {
        "state": np.array([f"s{k}" for k in state]),
        "income": rng.normal(size=15)[state],
        "area": rng.normal(size=15)[state],
        "x": rng.normal(size=3_000),
    }
    assert found(table) == [(("state",), False)]


def test_the_finer_of_two_keys_is_the_entity(rng):
    pupil = np.repeat(np.arange(200), 3)
    school = rng.integers(0, 20, 200)
    table = {
        "school": school[pupil],
        "size": rng.integers(100, 900, 20)[school[pupil]],
        "pupil": pupil,
        "sex": rng.integers(0, 2, 200)[pupil],
        "y": rng.normal(size=600),
    }
    assert found(table, "y")[0] == (("pupil",), True)


def test_determined_is_more_than_chance(rng):
    key = np.repeat(np.arange(30), 2)
    pairs = repeats_of(key)
    assert is_determined(pairs, key // 3)
    assert not is_determined(pairs, rng.integers(0, 2, 60))
    rare = (np.repeat(np.arange(30), 2) == 3).astype(int)  # one pair differs
    assert not is_determined(pairs, rare)  # as it does by chance


def by_target(table, y):
    view = table_view(table)
    known = find_entities(view)
    return [(e.columns, e.certain) for e in entities_by_target(view, y, known)]


def test_numbers_whose_answers_jump_name_things(rng):
    fish = np.repeat(np.arange(150) + 100, 4)
    y = 2 * rng.normal(size=150)[fish - 100] + rng.normal(size=600)
    table = {"ryba": fish, "depth": rng.normal(size=600)}
    assert by_target(table, y) == [(("ryba",), True)]
    assert by_target(table, rng.normal(size=600)) == []
    # the answer follows an age, it does not jump from year to year
    age = rng.integers(20, 70, 600)
    smooth = np.sin(age / 12) * 3 + rng.normal(size=600)
    assert by_target({"wiek": age, "depth": table["depth"]}, smooth) == []


def test_the_same_growth_of_all_hides_no_animals(rng):
    pig = np.repeat(np.arange(100), 6)
    week = np.tile(np.arange(6), 100)
    y = 6 * week + 3 * rng.normal(size=100)[pig] + rng.normal(size=600)
    assert by_target({"swinia": pig + 4000, "tydz": week}, y) == [(("swinia",), True)]


def test_texts_whose_rows_are_alike_are_likely_or_certain(rng):
    who = np.repeat(np.arange(50), 4)
    y = 2 * rng.normal(size=50)[who] + rng.normal(size=200)
    brand = np.array([f"brand {k}" for k in who])
    table = {"marka": brand, "x": rng.normal(size=200)}
    assert by_target(table, y) == [(("marka",), False)]  # new rows may be of known ones
    sex = rng.integers(0, 2, 50)[who]
    assert by_target({**table, "sex": sex}, y) == [(("marka",), True)]
    assert by_target({"patient": brand, "x": table["x"]}, y) == [(("patient",), True)]


def test_years_and_months_name_no_people(rng):
    year = np.repeat(np.arange(1990, 2020), 8)
    y = rng.normal(size=30)[year - 1990] * 2 + rng.normal(size=240)
    assert by_target({"rok": year, "x": rng.normal(size=240)}, y) == []


def test_noise_that_varies_makes_no_names(rng):
    certain = 0
    for _ in range(20):
        n = 600
        income = np.round(rng.lognormal(3, 1, n))
        y = (income > 20) * rng.normal(size=n) * 5 + rng.normal(size=n)
        certain += bool(by_target({"einkommen": income, "x": rng.normal(size=n)}, y))
    assert certain <= 1  # of 150 such tables 1
