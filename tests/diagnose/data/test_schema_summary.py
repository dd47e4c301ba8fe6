"""How a table was read: roles, the task, names of rows, no inputs left."""

import pyarrow as pa

from pansophy.diagnose.data.schema_summary import as_read, role_counts_text, task_of

N = 60
TABLE = pa.table({
    "id": [f"K-{i:05d}" for i in range(N)],
    "x": [i * 1.37 % 7 for i in range(N)],
    "c": ["u", "v"] * (N // 2),
    "y": ["yes", "no", "no"] * (N // 3),
})  # fmt: skip


def test_roles_task_and_names_of_rows():
    found = as_read(TABLE, ["y"])
    assert found.task == "classification" and "y" not in found.roles
    assert found.roles["x"] == "number" and found.roles["c"] in ("category", "yes/no")
    text = " ".join(str(f) for f in found.findings)
    assert "'id' is taken for a name of the rows" in text
    known = as_read(TABLE, ["y"], given=["id"])
    assert not any("'id'" in str(f) for f in known.findings)


def test_a_table_without_inputs_is_an_alarm():
    found = as_read(TABLE.select(["id", "y"]), ["y"])
    assert any(f.severity == "alarm" for f in found.findings) or any(
        "No column besides the target" in str(f) for f in found.findings
    )


def test_tasks_of_no_one_and_several_targets():
    assert task_of(TABLE, []).task is None
    assert task_of(TABLE, ["x", "c"]).task == "multilabel"
    assert task_of(TABLE, ["x"]).task == "regression"


def test_counts_of_roles_in_words():
    roles = {"a": "number", "b": "number", "c": "category", "d": "date"}
    assert role_counts_text(roles) == "2 numbers, 1 category, 1 date"
    assert role_counts_text({"a": "category", "b": "category"}) == "2 categories"
