"""Rows of dask collections, read partition by partition on this machine."""

import numpy as np
import pytest

from pansophy.core.arrays.cluster_rows import ClusterRows
from pansophy.core.arrays.dask_rows import DaskRows, checked_partition
from pansophy.core.arrays.open_rows import open_rows
from pansophy.linear_model import Ridge

N = 2003


@pytest.fixture
def X(rng):
    return rng.normal(size=(N, 3))


def test_without_a_cluster_partitions_are_read_here(X):
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abc"))
    parts = dd.concat([dd.from_pandas(frame[:700], npartitions=2)] * 2)
    rows_here = open_rows(parts[parts.a < np.inf], columns=["c", "a"])
    assert not isinstance(rows_here, ClusterRows)
    expected = np.concatenate([X[:700, [2, 0]]] * 2)
    for _ in range(2):
        np.testing.assert_array_equal(
            rows_here.with_aligned(block=13).map(lambda x: x), expected
        )
    model = Ridge().fit(parts, "b")
    assert model.feature_names_in_.tolist() == ["a", "c"]
    assert model.n_rows_seen_ == 1400
    with pytest.raises(ValueError, match=r"not numbers: 's'"):
        open_rows(parts.assign(s="text"))
    with pytest.raises(ValueError, match="no column named 'z'"):
        open_rows(parts, columns=["z"])


def test_arrays_and_their_chunks(X):
    da = pytest.importorskip("dask.array")
    whole = da.from_array(X, chunks=((1, 0, 700, 2, N - 703), (2, 1)))
    for source in (whole, whole[whole[:, 0] > -np.inf]):
        there = DaskRows(source, block=9)
        np.testing.assert_array_equal(there.map(lambda x: x), X)
        assert there.dtype == np.float64
    assert DaskRows(whole.astype(np.float32)).dtype == np.float32
    with pytest.raises(ValueError, match="got 1D array"):
        DaskRows(whole[:, 0])
    with pytest.raises(ValueError, match="no names"):
        DaskRows(whole).with_columns(["a"])
    with pytest.raises(ValueError, match="no column named 'a'"):
        Ridge().fit(whole, "a")
    right = Ridge().fit(X[:, :2], X[:, 2])
    model = Ridge().fit(whole[:, :2], whole[:, 2])
    np.testing.assert_array_equal(model.coef_, right.coef_)


def test_a_partition_of_another_length_is_an_error():
    with pytest.raises(ValueError, match="partition 3 has 2 rows, but had 4"):
        checked_partition(np.zeros((2, 1)), 3, 4)
