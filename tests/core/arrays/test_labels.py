"""Class labels: codes among given classes, labels that are unknown or missing."""

import numpy as np
import pytest

from pansophy.core.arrays import labels
from pansophy.core.arrays.rows import DatasetRows


def test_codes_among_given_classes():
    names = np.array(["a", "c"])
    _, codes = labels.class_codes(np.array(["c", "a", "c"]), classes=names)
    assert codes.tolist() == [1, 0, 1]
    for wrong in ("b", "z"):  # between two classes, and behind the last
        with pytest.raises(ValueError, match=rf"\['{wrong}'\] in y do not exist"):
            labels.class_codes(np.array(["a", wrong]), classes=names)


def test_codes_lie_next_to_tensors():
    torch = pytest.importorskip("torch")
    X = torch.ones((3, 2))
    classes, codes = labels.class_codes(np.array(["b", "a", "b"]), X)
    assert classes.tolist() == ["a", "b"] and torch.is_tensor(codes)
    _, codes = labels.class_codes(torch.asarray([7, 5]), X, torch.asarray([5, 7]))
    assert torch.is_tensor(codes) and codes.tolist() == [1, 0]


def test_labels_of_a_table_on_disk_are_checked(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": [1.0, 2.0, 3.0]}), tmp_path / "t.parquet")
    rows = DatasetRows(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="X has 3 rows, but y has shape"):
        labels.class_codes([0, 1], rows)
    with pytest.raises(ValueError, match="NaN or infinity"):
        labels.class_codes([0.0, np.nan, 1.0], rows)
    assert labels.class_codes([1, 0, 1], rows)[1].tolist() == [1, 0, 1]


def test_objects_mark_unknown_labels_by_their_kind():
    mixed = np.array(["a", "", -1, 3, None], dtype=object)
    assert labels.known_labels(mixed).tolist() == [True, False, False, True, True]


def test_objects_that_are_numbers():
    found = labels.plain_numbers(np.array([True, False], dtype=object))
    assert found.dtype == bool
    found = labels.plain_numbers(np.array([[1, 2.5]], dtype=object))
    assert found.dtype == float and found.shape == (1, 2)
    text = np.array(["1"])
    assert labels.plain_numbers(text) is text and labels.plain_numbers([1]) == [1]


@pytest.mark.parametrize(
    ("y", "count"),
    [
        ([1.0, np.nan, np.nan], "2 missing values"),
        (np.array(["a", None], dtype=object), "1 missing value"),
        (np.ma.masked_array([1, 2], [False, True]), "1 missing value"),
    ],
    ids=["nan", "none", "masked"],
)
def test_missing_targets_are_counted(y, count):
    with pytest.raises(ValueError, match=rf"{count}\."):
        labels.refuse_missing(y)
    labels.refuse_missing(np.asarray(y)[:1])
