"""Decoded rows that are kept: what they save, and the limit that they obey."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pansophy.core.arrays import decoded_rows
from pansophy.core.arrays import rows as floor
from pansophy.core.arrays.decoded_rows import DecodedRows, row_memory, rows_budget
from pansophy.core.arrays.rows import DatasetRows


@pytest.fixture
def X(rng):
    return rng.normal(size=(1000, 3))


@pytest.fixture
def parquet(X, tmp_path):
    path = tmp_path / "x.parquet"
    columns = {f"x{j}": X[:, j] for j in range(3)}
    pq.write_table(pa.table(columns), path, row_group_size=130)
    return path


@pytest.mark.parametrize("kept", [0, 1, 129, 130, 400, 999, 1000, 5000])
@pytest.mark.parametrize("block", [7, 300, 5000])
def test_any_part_of_a_table_may_be_kept(X, parquet, kept, block):
    with row_memory(kept * 3 * 8):
        rows = DatasetRows(parquet, block=block)
    for _ in range(3):
        parts = [x for (x,) in rows.blocks()]
        assert [len(x) for x in parts[:-1]] == [block] * (len(parts) - 1)
        np.testing.assert_array_equal(np.concatenate(parts), X)
    assert rows.kept.n_filled == len(rows.kept.rows) == min(kept, 1000)
    np.testing.assert_array_equal(rows.take([999, 0, 400]), X[[999, 0, 400]])


def test_a_table_that_fits_is_decoded_once(parquet, monkeypatch):
    rows = DatasetRows(parquet, block=64)
    other = rows.with_aligned(block=100)
    rows.sum(lambda x: x.sum())
    monkeypatch.setattr(floor, "record_batches", None)
    assert other.sum(lambda x: len(x)) == 1000


def test_a_pass_that_ends_early_is_gone_on_with(X, tmp_path):
    path = tmp_path / "long.parquet"
    pq.write_table(pa.table({"x": np.arange(5000.0)}), path, row_group_size=130)
    rows = DatasetRows(path, block=64)
    next(rows.blocks())
    assert 0 < rows.kept.n_filled < 5000
    np.testing.assert_array_equal(rows.map(lambda x: x)[:, 0], np.arange(5000.0))


def test_row_groups_before_the_first_row_are_not_read(X, parquet):
    batches = list(floor.record_batches(floor.as_dataset(parquet), ["x1"], 50, 500))
    values = np.concatenate([b.column(0).to_numpy() for b in batches])
    np.testing.assert_array_equal(values, X[500:, 1])


def test_a_table_that_shrinks_is_an_error(parquet, X):
    rows = DatasetRows(parquet)
    pq.write_table(pa.table({f"x{j}": X[:900, j] for j in range(3)}), parquet)
    with pytest.raises(ValueError, match=r"had 1000 rows .* but 900 when"):
        rows.sum(lambda x: x.sum())


def test_the_budget_is_a_share_of_what_is_free(monkeypatch):
    monkeypatch.setattr(decoded_rows, "free_memory", lambda: 8e9)
    monkeypatch.setattr(decoded_rows, "memory_below_limits", lambda: None)
    assert rows_budget() == 2e9
    monkeypatch.setattr(decoded_rows, "memory_below_limits", lambda: 4e8)
    assert rows_budget() == 1e8
    with row_memory(5):
        assert rows_budget() == 5
    monkeypatch.setattr(decoded_rows, "free_memory", lambda: None)
    monkeypatch.setattr(decoded_rows, "memory_below_limits", lambda: None)
    assert rows_budget() == decoded_rows.UNKNOWN


@pytest.mark.parametrize("bad", [-1, float("nan")])
def test_a_budget_is_a_number_of_bytes(bad):
    with pytest.raises(ValueError, match="number of bytes"), row_memory(bad):
        pass


def test_without_memory_nothing_is_kept(monkeypatch):
    def empty(shape, dtype):
        if shape[0]:
            raise MemoryError
        return np.zeros(shape, dtype)

    monkeypatch.setattr(decoded_rows.np, "empty", empty)
    assert DecodedRows(10, 2, float).room(0, 5) is None
