"""Roles of columns, and roles that the user changes."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pansophy.serve.row_reader import value_reader
from pansophy.tables import Schema, TableError, infer_schema
from pansophy.tables.roles import find_role

N = 60


RNG = np.random.default_rng(0)


def schema_of(columns, **more):
    n = len(next(iter(columns.values())))
    return infer_schema(pa.table({**columns, "y": np.arange(n) % 2}), "y", **more)


def cycle(*values):
    return [values[i % len(values)] for i in range(N)]


ROLES = {
    "number": (RNG.normal(size=N), "number"),
    "whole": (RNG.integers(0, 9, N), "number"),
    "flag": (RNG.random(N) < 0.5, "number"),
    "word": (cycle("a", "b"), "category"),
    "many": ([f"city {i % 20}" for i in range(N)], "category"),
    "newsletter": (cycle("yes", "no"), "category"),
    "store_id": (RNG.integers(0, 9, N), "category"),
    "zip": (cycle("02134", "90210", "10001"), "category"),
    "constant": (["k"] * N, "constant"),
    "constant_number": ([1.0] * N, "constant"),
    "empty": (pa.nulls(N), "constant"),
    "never finite": ([np.inf, np.nan] * (N // 2), "constant"),
    "once": ([None] * 30 + ["k"] * 30, "category"),
    "row": (np.arange(N), "id"),
    "row as float": (np.arange(N) + 5.0, "id"),
    "order_id": (RNG.permutation(N) + 1000, "id"),
    "code": ([f"c{i}" for i in range(N)], "id"),
    "text": ([f"the quick brown fox {i} jumps" for i in range(N)], "text"),
    "date": (pa.array((np.arange(N) * 3).astype("M8[D]")), "date"),
    "when": (pa.array((np.arange(N) * 999).astype("M8[ms]")), "date"),
    "iso": ([f"2024-01-{i % 28 + 1:02d} 10:00" for i in range(N)], "date"),
    "zoned": ([f"2024-01-{i % 28 + 1:02d}T10:00:00Z" for i in range(N)], "date"),
    "order date": ([20240100 + i % 28 + 1 for i in range(N)], "date"),
    "clock": (pa.array([dt.time(i % 24, 30) for i in range(N)]), "angle"),
    "lists": ([[1, 2]] * N, "other"),
    "bytes": (pa.array([b"x", b"y"] * (N // 2)), "other"),
    "level": (pd.Categorical(cycle("u", "v")), "category"),
    "numbered": (pd.Categorical(cycle(1, 2, 10)), "category"),
    "start": (cycle("9:30", "14:05:10", "23:59"), "angle"),
    "wind_direction": (RNG.integers(0, 360, N), "angle"),
    "Heading": (RNG.uniform(-np.pi, np.pi, N), "angle"),
    "slope angle": (RNG.uniform(0, 45, N), "number"),
    "hour": (cycle(*range(24)), "angle"),
    "working hours": (cycle(*range(24)), "number"),
    "month": (cycle(*range(1, 13)), "angle"),
    "weekday": (cycle(*range(7)), "angle"),
    "size": (cycle("small", "large", "medium"), "ordinal"),
    "Income level": (cycle("LOW", "High", "medium"), "ordinal"),
    "grade": (cycle("B", "A+", "C", "F"), "ordinal"),
    "blood": (cycle("A", "B", "O"), "category"),
    "age group": (cycle("18-25", "60+", "26-35", "<18"), "ordinal"),
    "rating": (cycle(1, 2, 3, 4, 5), "ordinal"),
    "price": ([f"${1000 + i:,}.50" for i in range(N)], "number"),
    "share": ([f"{i}%" for i in range(N)], "number"),
    "comma": ([f"{i},5" for i in range(N)], "number"),
    "gaps": ([str(i / 8) for i in range(N - 1)] + ["unknown"], "number"),
    "digits": (cycle("1", "2"), "category"),
    "weight": ([f"{i / 4} kg" for i in range(N)], "number"),
    "speed": ([f"{i}km/h" for i in range(N)], "number"),
    "house": (cycle("12a", "7a", "9a"), "category"),
    "units": ([f"{i} {'kg' if i % 2 else 'g'}" for i in range(N)], "id"),
    "year": (np.arange(N) + 1960, "number"),
    "created_at": (1_700_000_000 + 3600 * np.arange(N), "date"),
    "timestamp": (1.7e12 + 1800.5 * np.arange(N), "date"),
}


def test_roles_of_columns():
    schema = schema_of({k: v for k, (v, _) in ROLES.items()})
    found = {c.name: c.role for c in schema.columns}
    assert found == {k: role for k, (_, role) in ROLES.items()}
    assert all(c.why for c in schema.columns)
    assert schema["size"].levels == ("small", "medium", "large")
    assert schema["Income level"].levels == ("LOW", "medium", "High")
    assert schema["grade"].levels == ("F", "C", "B", "A+")
    assert schema["age group"].levels == ("<18", "18-25", "26-35", "60+")
    periods = [schema[n].period for n in ("wind_direction", "Heading", "hour", "clock")]
    assert periods == [360, 2 * np.pi, 24, 86400]
    assert schema["numbered"].levels == ("1", "2", "10")
    assert schema["gaps"].missing == ("unknown",)
    assert "'unknown' counted as missing" in schema["gaps"].why


def test_values_of_a_frame():
    n = 40
    columns = {k: v[:n] for k, (v, _) in ROLES.items()}
    table = pa.table({**columns, "y": np.arange(n) % 2})
    schema = infer_schema(table, "y")
    frame = schema.frame(table)
    plain = [c.name for c in schema.used if c.role != "text"]
    value = lambda name, i: frame.values[i, plain.index(name)]
    assert value("date", 2) == 6 * 86400 and value("when", 2) == 1.998
    assert value("iso", 1) == pd.Timestamp("2024-01-02 10:00").timestamp()
    assert value("zoned", 1) == value("iso", 1)
    assert value("order date", 1) == pd.Timestamp("2024-01-02").timestamp()
    assert value("clock", 3) == 3.5 * 3600 and value("size", 0) == 0
    assert value("price", 7) == 1007.5 and value("comma", 3) == 3.5
    assert value("start", 1) == 14 * 3600 + 310 and value("start", 0) == 9.5 * 3600
    assert value("share", 3) == 3.0 and len(frame.texts) == 1
    assert value("weight", 3) == 0.75 and value("speed", 3) == 3.0
    assert value("created_at", 1) == 1_700_003_600
    assert value("timestamp", 2) == 1_700_000_003.601
    late = {n: ["3 lb"] * n for n in (1, 40)}  # row by row, and column by column
    for n, bad in late.items():
        rows = pa.table({**{k: v[:n] for k, v in columns.items()}, "weight": bad})
        with pytest.raises(TableError, match=r"written like 1\.5 kg, but has '3 lb'"):
            schema.frame(rows)


def test_roles_can_be_changed():
    columns = {
        "code": cycle(1, 2, 3), "d": cycle("03/04/2024", "05/06/2024", "01/01/2023"),
        "word": cycle("b", "a", "c"), "turn": cycle(10.0, 350.0, 20.0), "x": range(N),
    }  # fmt: skip
    columns = {k: list(v) for k, v in columns.items()}
    asked = {"code": "category", "word": "ordinal", "turn": "angle", "d": "date"}
    schema = schema_of(columns, roles={**asked, "x": "number"}, ignore=["d"])
    assert schema["code"].levels == ("1", "2", "3") and schema["d"].role == "ignore"
    assert schema["word"].levels == ("a", "b", "c") and schema["turn"].period == 360
    assert schema["x"].role == "number" and schema["x"].why == "as asked"
    levels = schema_of(columns, roles={"word": ["c", "a", "b"]})["word"].levels
    assert levels == ("c", "a", "b")
    assert schema_of(columns, roles={"d": "date"})["d"].form == "%m/%d/%Y"
    table = pa.table({**columns, "y": np.arange(N) % 2})
    assert schema.with_roles(table, {"code": "number"})["code"].role == "number"
    for roles, says in (
        ({"word": "number"}, "'word' should hold numbers, but has 'b'"),
        ({"word": "numbr"}, "'numbr' is not a role of column 'word'"),
        ({"wrod": "number"}, "no column 'wrod'; did you mean 'word'"),
        ({"y": "number"}, "'y' is the target"),
    ):
        with pytest.raises(TableError, match=says):
            schema_of(columns, roles=roles)


def test_lengths_of_time_are_numbers_of_seconds():
    span = [dt.timedelta(seconds=s) for s in (1.5, 60, 3600)]
    table = pa.table({"x": span * 20, "y": [1.0, 2.0, 4.0] * 20})
    schema = infer_schema(table, "y")
    assert schema["x"].role == "number"
    for part in (table, table.slice(0, 3)):
        assert schema.frame(part).values[:3, 0].tolist() == [1.5, 60.0, 3600.0]


def test_names_whose_words_inform_are_texts_and_not_ids():
    rng = np.random.default_rng(0)
    makes = rng.choice(["ford", "toyota", "vw", "opel"], 200)
    models = [f"{m} {''.join(rng.choice(list('abcdefgh'), 5))}" for m in makes]
    role_of = lambda values: find_role(pa.chunked_array([values]), "k")
    found = role_of(models)
    assert found.role == "text" and "words" in found.why
    codes = [f"{rng.integers(1e9):x} {rng.integers(1e9):x}" for _ in range(200)]
    assert find_role(pa.chunked_array([codes]), "code").role == "id"
    assert (
        find_role(pa.chunked_array([[f"k{i}" for i in range(200)]]), "k").role == "id"
    )


@pytest.mark.parametrize("role", ["number", "category"])
def test_booleans_stay_booleans_whatever_the_reason_of_their_role(role, tmp_path):
    """What the server takes for the column does not rest on the words of `why`."""
    table = pa.table({"flag": [True, False] * 20, "y": [1.0, 2.0, 4.0, 3.0] * 10})
    path = tmp_path / "schema.toml"
    for schema in (infer_schema(table, "y", roles={"flag": role}), None):
        if schema is None:  # another person's words in the file
            path.write_text(path.read_text().replace("as asked", "as we agreed"))
            schema = Schema.read(path)
        schema.write(path)
        assert schema["flag"].role == role
        assert schema["flag"].boolean or role == "category"
        assert value_reader(schema["flag"])(True) in (1.0, "True")


def test_words_among_numbers_are_missing_where_numbers_are_asked_for():
    ages = [str(20 + i % 50) for i in range(N - 2)] + ["3a", "old"]
    table = pa.table({"age": ages, "y": np.arange(N) % 2})
    assert find_role(table.column("age"), "age").role != "number"
    asked = infer_schema(table, "y", roles={"age": "number"})
    assert asked["age"].missing == ("3a", "old")
    assert asked["age"].why == "as asked; '3a', 'old' counted as missing"
    x = asked.frame(table).values[:, 0]
    assert np.isnan(x).sum() == 2 and x[0] == 20
    comma = pa.table({"x": ["1,5", "2,5", "b"] * 20, "y": np.arange(60) % 2})
    x = infer_schema(comma, "y", roles={"x": "number"}).frame(comma).values[:, 0]
    assert x[0] == 1.5 and np.isnan(x[2])
