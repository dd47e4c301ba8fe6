"""`explore` on good, bad and impossible tables."""

import datetime
import json
import time

import numpy as np
import pyarrow as pa
import pytest

from pansophy.cluster.centers import lloyd_iteration
from pansophy.datasets import load, names
from pansophy.diagnose import Exploration, detect_task, explore
from pansophy.tables import TableError, infer_schema
from tests.diagnose.small_tables import mixed_columns


@pytest.mark.parametrize("name", names())
def test_bundled_tables_are_clean(name):
    data = load(name)
    found = explore(data.table, data.target, whole=False)
    assert {f.severity for f in found.findings} <= {"note"}
    schema = infer_schema(data.table, data.target)
    same = explore(data.table, schema=schema, whole=False)
    rest = [f for f in found.findings if f.kind not in ("id", "task")]
    assert same.findings == rest and same.task == found.task == schema.task
    assert set(found.roles) == {c.name for c in schema.columns}


def test_ctrl_c_ends_it_in_the_middle_of_a_fit(rng, monkeypatch):
    plain = lloyd_iteration.center_terms

    def pressed(*arguments):  # once: the fit itself goes on with what it has
        monkeypatch.setattr(lloyd_iteration, "center_terms", plain)
        raise KeyboardInterrupt

    monkeypatch.setattr(lloyd_iteration, "center_terms", pressed)
    with pytest.raises(KeyboardInterrupt):
        explore(mixed_columns(rng, 100), "y")


def test_clean_table_has_no_finding(rng):
    found = explore(mixed_columns(rng, 500), "y")
    assert found.findings == []
    assert "Nothing was found." in str(found)


def test_a_table_is_read_as_a_comparison_would(rng, tmp_path):
    n = 60
    path = tmp_path / "t.csv"
    # quantiles of a geometric law: a sample may lack a small count, as amounts do
    counts = np.floor(np.log((rng.permutation(n) + 0.5) / n) / np.log(0.9)).astype(int)
    lines = [f"{i},{rng.random():.3f},{counts[i]},ä" for i in range(n)]
    path.write_bytes("\n".join(["id,x,visits,k", *lines]).encode("latin-1"))
    found = explore(path, "visits", whole=False)
    assert found.task == "count" and not found.warnings
    assert found.roles == {"id": "id", "x": "number", "k": "constant"}
    assert "Read as 1 id, 1 number, 1 constant." in str(found)
    assert {f.kind for f in found.findings} >= {"id", "reading", "constant"}
    asked = explore(path, "visits", task="classification", whole=False)
    assert asked.task == "classification"
    none = explore({"id": range(n), "y": [0, 1] * (n // 2)}, "y")
    assert none.alarms[0].kind == "no inputs"
    with pytest.raises(ValueError, match="task must be one of"):
        explore(path, "visits", task="clas")
    odd = explore({"a": [[1, 2]] * n, "b": [{"u": "v" * 99}] * n, "c": range(n)})
    texts = [f.text for f in odd.findings]
    assert not any("copy" in t for t in texts) and max(map(len, texts)) < 150


def test_all_planted_faults_at_once(rng):
    n = 500
    table = mixed_columns(rng, n)
    town = rng.integers(0, 30, n)
    yes = table["y"] == "yes"
    table["encoded"] = (np.bincount(town, yes) / np.bincount(town))[town]
    table["code"] = np.where(yes, "p", "q")
    table["opened"] = np.datetime64("2022-01-01") + rng.integers(0, 300, n)
    table["closed"] = table["opened"] + rng.integers(1, 50, n)
    table["fixed"] = [1.0] * n
    rows = np.r_[np.arange(n), np.arange(60)]
    table = {k: np.asarray(v)[rows] for k, v in table.items()}
    splits = [(np.arange(n), np.arange(n, n + 60))]
    found = explore(table, "y", time="opened", splits=splits)
    assert {(f.column, f.kind) for f in found.alarms} == {
        ("encoded", "target encoding"),
        ("code", "target copy"),
        ("closed", "future dates"),
        (None, "duplicates across folds"),
    }
    assert found.about("fixed")[0].kind == "constant"
    order = ["alarm", "warning", "note"]
    ranks = [order.index(f.severity) for f in found.findings]
    assert ranks == sorted(ranks)
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert "target encoding" in text


def test_what_is_left_out_is_no_alarm(rng):
    table = mixed_columns(rng, 1200)
    order = np.argsort(table["y"])
    table = {k: v[order] for k, v in table.items()} | {"id": np.arange(1200)}
    alone, _ = explore(table, "y", whole=False).about("id")
    schema = infer_schema(pa.table(table), "y")
    (known,) = explore(table, schema=schema, whole=False).about("id")
    assert (alone.severity, known.severity) == ("alarm", "warning")
    assert known.text.endswith("It is left out of the inputs.")


def test_imbalance_constant_and_missing_targets(rng):
    table = mixed_columns(rng, 400)
    table["y"] = np.where(np.arange(400) < 12, "rare", "usual")
    (found,) = [f for f in explore(table, "y").findings if f.kind == "imbalance"]
    assert "12 of 400 rows (3.00%) are 'rare'" in found.text
    table["y"] = ["same"] * 400
    assert explore(table, "y", whole=False).alarms[0].kind == "constant target"
    table["y"] = [None] * 100 + list(rng.normal(size=300))
    found = explore(table, "y", whole=False).about("y")
    assert [f.kind for f in found] == ["missing target"]


def test_other_table_and_context(rng):
    old, new = mixed_columns(rng, 400), mixed_columns(rng, 400)
    new["x1"] = new["x1"] + 1
    found = explore(old, "y", other=new)
    assert found.drift.drifted == ["x1"] and found.about("x1")
    hard, n = rng.random(1000) < 0.5, 1000
    better = np.where(rng.random(n) < np.where(hard, 0.85, 0.15), "B", "A")
    cured = rng.random(n) < np.where(hard, 0.3, 0.9) + 0.08 * (better == "B")
    table = {"hospital": better, "hard": hard, "cured": cured}
    (turned,) = explore(table, "cured", by="hard", whole=False).about("hospital")
    assert turned.kind == "simpson reversal" and "'hard'" in turned.text


N = 40


MESSY = {
    "one column": {"a": [1.0, 2.0, 3.0]},
    "one row": {"a": [1], "b": ["x"]},
    "two rows": {"a": [1, 2], "b": ["x", "y"]},
    "all empty": {"a": pa.nulls(N), "b": pa.array([None] * N, pa.float64())},
    "constant": {"a": [1] * N, "b": ["x"] * N},
    "names": {"<b>&": list(range(N)), "=1+1": ["<i>", "$x$"] * 20, "ü😀": [0.5] * N},
    "huge": {"a": [1e300, -1e308] * 20, "b": [1e-300, 2e-300] * 20, "c": [*range(N)]},
    "infinite": {"a": [np.inf, -np.inf, np.nan, 1.0] * 10, "b": list(range(N))},
    "nested": {"a": [[i] for i in range(N)], "b": [{"k": i} for i in range(N)]},
    "bytes": {"a": [b"x", b"y"] * 20, "b": [True, None] * 20},
    "days": {
        "a": [datetime.date(2020, 1, 1), datetime.date(9999, 12, 31)] * 20,
        "b": [datetime.time(1, 2)] * N,
        "c": pa.array([datetime.timedelta(i) for i in range(N)]),
    },
    "texts": {"a": [f"some free words {i}" for i in range(N)], "b": ["a\0b", ""] * 20},
    "ids": {"id": list(range(N)), "key": [f"k{i}" for i in range(N)]},
    "written": {"a": ["1,5", "x"] * 20, "b": ["3%", "4%"] * 20, "c": ["1.2.2020"] * N},
    "large": {"a": [2**62 + i for i in range(N)], "b": [i % 2 for i in range(N)]},
    "wide": {f"c{j}": [(i * j) % 7 / 3 for i in range(6)] for j in range(60)},
}


@pytest.mark.parametrize("name", MESSY)
def test_no_table_is_too_messy(name):
    table = MESSY[name]
    for target in (None, *list(table)[:2]):
        found = explore(table, target, other=table, by=next(iter(table)))
        assert isinstance(found, Exploration) and str(found)
        json.dumps(found.to_dict(), allow_nan=False)


def test_bad_input_is_told_in_one_sentence(tmp_path):
    cases = [
        (({"left": [1, 2]}, "lefft"), "did you mean 'left'"),
        ((tmp_path / "none.csv",), "There is no file"),
        ((5,), "is not a table"),
        ((np.zeros(3),), "must have rows and columns"),
        (({"a": []},), "no rows"),
    ]
    for args, words in cases:
        with pytest.raises(TableError, match=words) as error:
            explore(*args)
        assert "\n" not in str(error.value)
    with pytest.raises(TableError, match="no column 'when'"):
        explore({"a": [1, 2]}, time="when")


def test_large_tables_are_sampled_and_say_so(rng):
    table = mixed_columns(rng, 5000, 3)
    splits = [(np.arange(2500), np.arange(2500, 5000))]
    found = explore(table, "y", max_rows=1000, splits=splits, whole=False)
    assert (found.rows, found.sampled) == (5000, 1000)
    assert "sample of 1000" in str(found)
    again = explore(table, "y", max_rows=1000, splits=splits, whole=False)
    assert again.findings == found.findings


def test_tasks_are_told():
    assert detect_task([0.5, 1.5, 2.7]).task == "regression"
    assert explore({"a": [1.0, 2.0]}).task is None


@pytest.mark.slow
def test_time_of_large_tables(rng):
    explore(mixed_columns(rng, 300), "y")  # loops are compiled
    for n, d, limit in ((10_000, 28, 3.0), (200_000, 48, 20.0)):
        table = pa.table(mixed_columns(rng, n, d))
        begun = time.process_time()
        explore(table, "y")
        assert time.process_time() - begun < 2 * limit  # of two cores


def test_an_empty_list_of_labels_is_not_missing():
    tags = ["red;big", "", "big", "", "red", "big;red"] * 10
    table = {"x": list(range(60)), "tags": tags}
    found = explore(table, "tags", task="multilabel", whole=False)
    assert "hidden missing" not in {f.kind for f in found.findings}
    plain = explore(table, "x", whole=False)
    assert "hidden missing" in {f.kind for f in plain.about("tags")}
