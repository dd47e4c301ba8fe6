"""The test table: rows that were learned from, groups and times, empty labels."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.naive_bayes import GaussianNB

from pansophy.compare import TableError, compare
from pansophy.compare.holdout import load_holdout
from pansophy.compare.loading import load_dataset
from pansophy.compare.options import Options
from tests.compare.comparisons import rows
from tests.compare.small_tables import table_of_noise

QUICK = {"workers": 0, "repeats": 1, "progress": False}


def test_rows_of_the_test_table_that_were_learned_from_are_counted():
    table = table_of_noise()
    new = {
        k: np.r_[v[:10], w[:20]]
        for (k, v), w in zip(table.items(), table_of_noise(seed=5).values())
    }
    found = compare(table, "y", methods={"nb": GaussianNB()}, test=new, **QUICK)
    assert any(n.startswith("10 of 30 rows of the test table") for n in found.notes)
    assert found.holdout.n == 30
    with pytest.raises(TableError, match=r"test table: .*unknown class 'maybe'"):
        load_holdout(found.schema, {**new, "y": ["maybe"] * 30})


NB = {"nb": GaussianNB()}


def load(table, **options):
    return load_dataset(table, Options.checked(**options))


def test_groups_and_times_go_along_to_the_test_table(monkeypatch):
    from pansophy.compare import holdout

    seen = {}

    def run(methods, data, schema, metrics, split, *_):
        seen["data"] = data
        raise InterruptedError

    monkeypatch.setattr(holdout, "run_trials", run)
    table = {**rows(), "t": np.arange(60)}
    with pytest.raises(InterruptedError):
        compare(table, "y", methods=NB, group="g", time="t", test=table, **QUICK)
    data = seen["data"]
    assert (data.group[:60] == table["g"]).all() and (data.group[60:] == -1).all()
    assert (data.time[:60] == table["t"]).all() and len(data) == 120


def test_an_empty_cell_among_lists_of_labels_is_no_label():
    tags = pa.array(["a;b", None, "b", "a", "", "a;b"] * 5)
    table = pa.table({"x": np.sin(np.arange(30)), "tags": tags})
    found = load(table, target="tags", task="multilabel")
    assert len(found.data) == 30 and found.data.y[1].tolist() == [0, 0]
    assert found.notes == ["5 rows with an empty 'tags': taken as no label."]
    rest = load_holdout(found.schema, table)
    assert (rest.y == found.data.y).all()
    lists = pa.table({"x": np.sin(np.arange(6)), "tags": [["a"], None, ["a", "b"]] * 2})
    assert len(load(lists, target="tags").data) == 4  # a missing list is not known
