"""Groups of the values of a column."""

import numpy as np

from pansophy.diagnose.data.column_parts import parts_of_column


def test_levels():
    many = [f"v{k}" for k in range(20)] * 2 + ["v1"] * 5
    labels, codes = parts_of_column(many, most=3)
    assert labels[-1] == "other" and "v1" in labels and codes.max() == 3
    mixed, codes = parts_of_column(np.array([1, "a", None, 2.5], object))
    assert set(mixed) == {"1", "2.5", "a", "missing"} and len(set(codes)) == 4
    assert parts_of_column(np.full(5, np.nan))[0] == ["missing"]
    assert parts_of_column(["01", "1"])[0] == ["01", "1"]  # text stays text


def test_levels_of_rows_that_count(rng):
    k = rng.integers(1, 9, 200)
    for column in (rng.normal(size=200), rng.integers(0, 40, 200).astype(str)):
        labels, codes = parts_of_column(column, most=5, counts=k.astype(float))
        again, many = parts_of_column(np.repeat(column, k), most=5)
        assert labels == again and (np.repeat(codes, k) == many).all()
