"""Orders of rows that no name tells: processes against functions of sorted columns."""

import numpy as np
import pytest
from scipy.signal import lfilter

from pansophy.diagnose.data.columns import table_view
from pansophy.diagnose.data.row_order import (
    ROW_ORDER,
    detrended,
    residuals_of_columns,
    serial_order,
)


def order_of(table, y):
    return serial_order(table_view(table), y)


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_process_is_found_along_a_column_of_any_name(shuffled):
    hits = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = lfilter([1], [1, -0.95], rng.normal(size=400))
        table = {"rok": 1600 + np.arange(400), "x": rng.normal(size=400)}
        rows = rng.permutation(400) if shuffled else np.arange(400)
        found = order_of({k: v[rows] for k, v in table.items()}, y[rows])
        hits += found is not None and found.column == "rok" and found.certain
    assert hits >= 17  # of 60 such tables 59 were found


@pytest.mark.parametrize("noise", [0.03, 0.3, 3.0])
def test_a_function_of_a_sorted_column_is_no_process(noise):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(150, 900))
        x = np.sort(rng.normal(size=n))
        z = rng.normal(size=n)
        for f in (3 * x, np.sin(2 * x), np.abs(x), np.exp(x), 3.0 * (x > 0)):
            y = f + noise * rng.normal(size=n)
            assert order_of({"x": x, "z": z}, y) is None
            hidden = order_of({"z": z}, y)
            assert hidden is None or not hidden.certain


def test_the_order_of_the_file_is_certain_for_a_walk_only(rng):
    z = rng.normal(size=600)  # 100 of 100 such walks of 500 rows were found
    walk = order_of({"z": z}, rng.normal(size=600).cumsum())
    assert walk.column == ROW_ORDER and walk.certain
    weak = lfilter([1], [1, -0.7], rng.normal(size=900))
    found = order_of({"z": rng.normal(size=900)}, weak)
    assert found.column == ROW_ORDER and not found.certain
    assert order_of({"z": z}, np.sort(walk.rows + z)) is None  # sorted by the target
    # rows of one kind stand together and are alike by their kind, which is a column
    kind = np.repeat(np.arange(30), 20)
    y = 3 * rng.normal(size=30)[kind] + z
    assert order_of({"kind": np.array([f"k{i}" for i in kind]), "z": z}, y) is None


def test_what_independent_rows_have_is_exact(rng):
    x = rng.normal(size=100_000)
    y = rng.normal(size=100_000)
    rest, expected = detrended(y, x, 10)
    seen = (rest[:, 1:] * rest[:, :-1]).sum(1).mean() / (rest**2).sum(1).mean()
    assert abs(seen - expected.mean()) < 0.01


def test_residuals_are_free_of_columns_and_of_blocks(rng):
    block = np.repeat(np.arange(20), 15)
    x = rng.normal(size=300)
    y = x + 5 * rng.normal(size=20)[block]
    table = {"x": x, "block": np.array([f"b{k}" for k in block])}
    assert np.std(residuals_of_columns(table_view(table), y)) < 0.2
