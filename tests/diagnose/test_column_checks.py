"""Checks of single columns: planted faults are named, clean columns raise nothing."""

import datetime

import numpy as np
import pyarrow as pa

from pansophy.diagnose.column_checks import check_columns
from pansophy.diagnose.columns import table_view
from pansophy.diagnose.related_columns import (
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
    assert check_columns(seen) == [] and check_related(seen) == []


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
