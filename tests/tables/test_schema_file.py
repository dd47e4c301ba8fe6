"""Schemas survive a file that people edit."""

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.tables import Column, Schema, TableError, infer_schema
from pansophy.tables.roles import UNUSED, USED

NAMES = st.text(st.characters(codec="utf-8"), max_size=8)


TEXTS = st.lists(NAMES, min_size=2, max_size=4, unique=True).map(tuple)


@st.composite
def schemas(draw):
    names = draw(st.lists(NAMES, min_size=2, max_size=5, unique=True))
    target, names = names[0], names[1:]
    columns = []
    for i, name in enumerate(names):
        role = draw(st.sampled_from(USED if i == 0 else USED + UNUSED))
        levels = draw(TEXTS) if role in ("category", "ordinal") else ()
        period = draw(st.floats(0.5, 1e6)) if role == "angle" else 0.0
        form = "%d/%m/%Y" if role == "date" else draw(st.sampled_from(["", "1,234.5"]))
        form = form if role in ("number", "date") else ""
        columns.append(Column(name, role, draw(NAMES), levels, period, form))
    task = draw(
        st.sampled_from(["classification", "regression", "count", "multilabel"])
    )
    whole = st.lists(st.integers(-(10**9), 10**9), min_size=2, max_size=3, unique=True)
    kinds = st.one_of(
        TEXTS, whole.map(tuple), st.just((False, True)), st.just((0.5, 2.0))
    )
    classes = draw(kinds) if task == "classification" else ()
    labels, form = (("p", "q\n"), ";") if task == "multilabel" else ((), "")
    pick = lambda: draw(st.none() | st.sampled_from(names))
    return Schema(
        target, task, draw(NAMES), tuple(columns), classes, labels, pick(), pick(),
        pick(), form,
    )  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(schemas())
def test_schemas_survive_a_file(tmp_path_factory, schema):
    path = tmp_path_factory.getbasetemp() / "s.toml"
    schema.write(path)
    again = Schema.read(path)
    assert again == schema
    assert [type(c) for c in again.classes] == [type(c) for c in schema.classes]


def test_edited_schemas(tmp_path):
    path = tmp_path / "s.toml"
    table = pa.table({
        "a": [1, 2, 1, 3], "turn": [1.0, 300.0, 20.0, 5.0], "b": ["u", "v", "u", "u"],
        "d": ["03/04/2024", "05/06/2024", "01/01/2023", "01/01/2023"],
        "y": list("pqpq"),
    })  # fmt: skip
    infer_schema(table, "y").write(path)
    text = path.read_text()
    edited = text.replace(
        '[columns."a"]\nrole = "number"', '[columns."a"]\nrole = "category"'
    )
    edited = edited.replace('"turn"]\nrole = "number"', '"turn"]\nrole = "angle"')
    edited = edited.replace('["u", "v"]', '["v", "u"]').replace("%m/%d", "%d/%m")
    path.write_text(edited)
    schema = Schema.read(path, table)
    assert schema["a"].levels == ("1", "2", "3") and schema["b"].levels == ("v", "u")
    assert schema["turn"].period == 360
    assert schema.frame(table).values[0, 3] == pd.Timestamp("2024-04-03").timestamp()
    with pytest.raises(TableError, match="column 'a': category needs levels"):
        Schema.read(path)
    for old, new, says in (
        ('"category"', '"categry"', "'a': 'categry' is not a role; did you mean 'cate"),
        ('role = "angle"', "", "column 'turn': a role is missing"),
        ('role = "angle"', 'role = "angle"\nperiod = "x"', "'turn': period must be"),
        (
            'role = "angle"',
            'role = "angle"\nperod = 3',
            "no setting 'perod'; did you mean",
        ),
        ('["v", "u"]', "[1, 2]", "column 'b': levels must be a list"),
        ('"%d/%m/%Y"', '"day"', "column 'd': format 'day' is neither"),
        ('"classification"', '"klass"', "task must be one of"),
        ('["p", "q"]', '["p"]', "two or more classes"),
        ('target = "y"', 'target = "b"', "the target is among the columns"),
        (
            'target = "y"',
            'target = "y"\ngroup = "g"',
            "group column 'g' is not a column",
        ),
        ('target = "y"', "target = y", "not a schema file: .*line"),
        ('target = "y"', 'goal = "y"', "no setting 'goal'"),
    ):
        path.write_text(edited.replace(old, new, 1))
        with pytest.raises(TableError, match=says) as caught:
            Schema.read(path, table)
        assert "\n" not in str(caught.value)
    with pytest.raises(TableError, match="There is no file"):
        Schema.read(tmp_path / "absent.toml")


def test_boolean_columns_stay_so_in_a_file(tmp_path):
    path = tmp_path / "s.toml"
    table = pa.table({"flag": [True, False] * 4, "y": list("pqpqrsrs")})
    infer_schema(table, "y", roles={"flag": "number"}).write(path)
    assert Schema.read(path)["flag"].boolean
    path.write_text(path.read_text().replace("boolean = true", "boolean = 1"))
    with pytest.raises(TableError, match="boolean must be true or false"):
        Schema.read(path)
    path.write_text(path.read_text().replace("boolean = 1", ""))
    assert not Schema.read(path)["flag"].boolean
    assert Schema.read(path, table)["flag"].boolean
