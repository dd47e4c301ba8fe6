"""Rows of a comparison: sliced together; empty cells among lists of labels."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa

from pansophy.compare.samples import Samples, fill_empty_labels
from pansophy.tables import MixedFrame


def test_all_parts_are_sliced_together():
    frame = MixedFrame(np.arange(6.0).reshape(3, 2))
    w, t = np.array([1.0, 2, 3]), np.array([5.0, 4, 3])
    rows = Samples(frame, np.array([7, 8, 9]), weight=w, time=t)
    part = rows[np.array([2, 0])]
    assert len(part) == 2 and part.y.tolist() == [9, 7]
    assert part.frame.values[:, 0].tolist() == [4, 0]
    assert part.weight.tolist() == [3, 1] and part.time.tolist() == [3, 5]
    assert part.group is None


def test_an_empty_cell_is_a_row_without_labels():
    table = pa.table({"x": [1, 2], "y": ["a;b", None]})
    made = lambda task, form: SimpleNamespace(task=task, form=form, target="y")
    filled = fill_empty_labels(table, made("multilabel", ";"))
    assert filled.column("y").to_pylist() == ["a;b", ""]
    coded = table.set_column(1, "y", table.column("y").dictionary_encode())
    found = fill_empty_labels(coded, made("multilabel", ";")).column("y")
    assert found.to_pylist() == ["a;b", ""]
    for other in (made("classification", ";"), made("multilabel", "list")):
        assert fill_empty_labels(table, other) is table
