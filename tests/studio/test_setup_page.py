"""A table before anything runs: columns, questions, and the options of the choices."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from pansophy.studio.setup_page import (
    TableShelf,
    chosen_roles,
    compare_options,
    is_table_name,
    make_setup,
)


def setup_of(tmp_path, columns, **query):
    path = tmp_path / "t.csv"
    pyarrow.csv.write_csv(pa.table(columns), path)
    return make_setup(TableShelf(), path, "t.csv", query)


def people(n=60):
    rng = np.random.default_rng(0)
    return {
        "age": [str(v) for v in rng.integers(18, 80, n - 1)] + ["3a"],
        "code": [["a", "b", "1"][k % 3] for k in range(n)],
        "x": rng.normal(size=n).round(2).tolist(),
        "y": [["no", "yes"][v] for v in rng.integers(0, 2, n)],
    }


def test_words_among_numbers_are_asked_about(tmp_path):
    s = setup_of(tmp_path, people())
    asked = {c.name: c.words for c in s.columns if c.words}
    assert asked == {"age": ("3a",)} and s.target == "" and s.design is None
    age = s.columns[0]
    assert len(age.values) == 5 and age.missing == 0
    assert age.number_share == pytest.approx(59 / 60)
    chosen = setup_of(tmp_path, people(), **{"role.age": "number"})
    assert chosen.columns[0].role == "number" and "'3a'" in chosen.columns[0].why


def test_the_target_decides_what_is_asked(tmp_path):
    s = setup_of(tmp_path, people(), target="y")
    assert s.task == "classification" and not s.problem
    assert sum(share for _, share in s.classes) == pytest.approx(1)
    assert s.design.choice == "independent" and s.design.found == ""
    assert setup_of(tmp_path, people(), target="x").task == "regression"
    assert setup_of(tmp_path, people(), target="none").target == ""


def test_rows_of_the_same_person_are_found(tmp_path):
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(40), 4)
    columns = {
        "person": [f"p{k}" for k in person],
        "sex": [["f", "m"][k % 2] for k in person],
        "born": [1950 + int(k) for k in person],
        "x": rng.normal(size=160).round(3).tolist(),
        "y": (person / 10 + rng.normal(size=160)).round(3).tolist(),
    }
    s = setup_of(tmp_path, columns, target="y")
    assert (s.design.choice, s.design.column) == ("group", "person")
    other = setup_of(tmp_path, columns, target="y", rows="independent")
    assert other.design.choice == "independent" and other.design.found == "group"
    query = {"target": "y", "rows": "group", "group": "person"}
    found = {"found": "group", "found_column": "person"}
    assert compare_options(query | found) == {"target": "y"}  # `compare` finds it too
    assert compare_options(query)["group"] == "person"
    query = {"target": "y", "rows": "independent"} | found
    assert compare_options(query)["independent"] is True


def test_choices_are_options_of_the_command():
    query = {
        "target": "y",
        "task": "regression",
        "role.a": "category",
        "role.b": "ignore",
        "role.y": "number",
        "role.z": "nonsense",
        "rows": "time",
        "time": "day",
        "minutes": "1,5",
    }
    assert chosen_roles(query) == {"a": "category", "b": "ignore", "y": "number"}
    assert compare_options(query) == {
        "target": "y",
        "task": "regression",
        "roles": {"a": "category"},
        "ignore": ["b"],
        "time": "day",
        "stop_after": 90.0,
    }
    with pytest.raises(ValueError, match="number of minutes"):
        compare_options({"target": "y", "minutes": "soon"})


def test_columns_of_time_may_be_forecast(tmp_path):
    columns = {
        "month": [f"2020-{k % 12 + 1:02}-01" for k in range(24)],
        "shop": ["a"] * 12 + ["b"] * 12,
        "sales": [float(k) + 0.5 for k in range(24)],
    }
    s = setup_of(tmp_path, columns)
    assert s.times == ["month"] and s.numbers == ["sales"] and s.keys == ["shop"]


def test_tables_are_read_again_only_when_they_change(tmp_path):
    shelf, path = TableShelf(), tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    first, rows = shelf.table(path)
    assert shelf.table(path)[0] is first and rows == 2
    path.write_text("a,b\n1,2\n3,4\n5,6\n")
    assert shelf.table(path)[1] == 3
    path.write_text("a,b\n")
    with pytest.raises(ValueError, match="no rows"):
        shelf.table(path)


def test_tables_are_known_by_their_names():
    for name in ("a.csv", "A.TSV", "a.b.parquet", "a.jsonl.zst", "a.csv.gz"):
        assert is_table_name(name)
    for name in ("a.pkl", "a.py", "csv", "a.gz", "a.joblib.gz", ""):
        assert not is_table_name(name)
