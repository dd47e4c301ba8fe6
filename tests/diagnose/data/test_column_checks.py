"""Checks of single columns: planted faults are named, clean columns raise nothing."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from pansophy.diagnose import explore
from pansophy.diagnose.data.column_checks import check_columns
from pansophy.diagnose.data.columns import table_view
from pansophy.diagnose.data.related_columns import (
    check_related,
)

N = 600


LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.random(n),
    "lognormal": lambda rng, n: np.exp(rng.normal(size=n)),
    "poisson": lambda rng, n: rng.poisson(3, n),
    "percent": lambda rng, n: rng.integers(0, 100, n),
    "two humps": lambda rng, n: rng.normal(size=n) + 9 * (rng.random(n) < 0.3),
}


def kinds(table):
    return {(f.column, f.kind) for f in check_columns(table_view(table))}


def test_clean_columns_raise_nothing(rng):
    table = {name: law(rng, N) for name, law in LAWS.items()}
    table |= {"kind": rng.choice(list("abc"), N), "yes": rng.random(N) < 0.3}
    seen = table_view(table)
    found = [(f.column, f.kind) for f in check_columns(seen)]
    assert found == [("lognormal", "skewed")] and check_related(seen) == []


SKEWED = {
    "exponential": lambda rng, n: rng.exponential(size=n) ** 1.5,
    "lognormal": lambda rng, n: np.exp(rng.normal(size=n)),
    "mirrored": lambda rng, n: 5 - np.exp(rng.normal(size=n)),
    "mostly zero": lambda rng, n: np.where(rng.random(n) < 0.8, 0, rng.random(n) ** -1),
    "counts": lambda rng, n: rng.negative_binomial(0.3, 0.02, n),
    "one giant": lambda rng, n: np.r_[rng.normal(size=n - 1), 1e6],
}


@pytest.mark.parametrize("name", SKEWED)
def test_very_skewed_columns_are_mentioned(name, rng):
    x = SKEWED[name](rng, N)
    (found,) = (f for f in check_columns(table_view({"x": x})) if f.kind == "skewed")
    assert found.severity == "note" and "very skewed" in found.text
    assert ("below" if name == "mirrored" else "above") in found.text
    assert ("logarithm" in found.text) == (name in ("exponential", "lognormal"))
    assert any(f.kind == "skewed" for f in explore({"x": x}, whole=False).findings)


def test_rare_events_and_codes_for_missing_are_not_skewed(rng):
    code = np.r_[rng.normal(40, 9, N - 20), np.full(20, 99999)]
    for x in (rng.random(N) < 0.01, rng.integers(0, 3, N) ** 4, code):
        assert not any(kind == "skewed" for _, kind in kinds({"x": x}))


def test_planted_oddities_are_named(rng):
    age = rng.integers(18, 80, N)
    age[:30] = -999
    table = {
        "one": [7] * N,
        "nearly": np.r_[1, np.zeros(N - 1)],
        "gone": pa.nulls(N),
        "holes": np.where(rng.random(N) < 0.7, np.nan, rng.normal(size=N)),
        "age": age,
        "town": rng.choice(["Rome", "rome ", "Oslo"], N),
        "reply": rng.choice(["good", "bad", "unknown"], N),
        "price": [f"{i}.5" if i % 5 else "on request" for i in range(N)],
        "inf": np.r_[np.inf, 1e200, rng.normal(size=N - 2)],
        "tiny": 1e-9 * rng.normal(size=N),
        "street": rng.choice([f"street {i}" for i in range(150)], N),
        "a": rng.normal(size=N),
        "b": rng.normal(size=N),
        "list": pa.array([[i] for i in range(N)]),
    }
    found = kinds(table)
    assert found >= {
        ("one", "constant"),
        ("nearly", "nearly constant"),
        ("gone", "empty"),
        ("holes", "mostly missing"),
        ("age", "code for missing"),
        ("town", "spelling variants"),
        ("reply", "hidden missing"),
        ("price", "mixed types"),
        ("inf", "infinite"),
        ("tiny", "odd scale"),
        ("street", "many levels"),
        ("list", "other type"),
    }
    assert not {c for c, _ in found} & {"a", "b"}
    (text,) = [f.text for f in check_columns(table_view(table)) if f.column == "age"]
    assert "-999 in 30 rows" in text and "18 to 79" in text


def test_dates_in_the_future_and_far_away(rng):
    today = datetime.date.today()
    days = lambda k: today + datetime.timedelta(int(k))
    soon = [days(k) for k in rng.integers(-300, 30, N)]
    ends = [days(k) for k in rng.integers(-300, -1, N)]
    ends[:20] = [datetime.date(9999, 12, 31)] * 20
    past = [days(k) for k in rng.integers(-300, -1, N)]
    found = kinds({"soon": soon, "ends": ends, "past": past})
    assert found == {("soon", "future dates"), ("ends", "code for missing")}
