"""Frames of rows: slices of values and texts together, hashes of equal rows."""

import numpy as np
import pyarrow as pa

from pansophy.tables import MixedFrame

FRAME = MixedFrame(
    np.array([[1.0, 2.0], [0.0, np.nan], [3.0, 4.0]]), (pa.array(["a", None, "b"]),)
)


def test_rows_by_slice_mask_and_number():
    assert len(FRAME) == 3 and FRAME.shape == (3, 3)
    for rows in (slice(0, 3, 2), np.array([True, False, True]), [0, 2]):
        part = FRAME[rows]
        np.testing.assert_array_equal(part.values, [[1, 2], [3, 4]])
        assert part.texts[0].to_pylist() == ["a", "b"]
    assert FRAME[[2, 2]].texts[0].to_pylist() == ["b", "b"]
    assert MixedFrame(FRAME.values)[[1]].texts == ()


def test_equal_rows_have_equal_digits_wherever_they_are():
    d = FRAME.digits()
    assert (d >= 0).all() and (d < 1).all() and len(set(d)) == 3
    np.testing.assert_array_equal(FRAME[[2, 0]].digits(), d[[2, 0]])
    signed = MixedFrame(np.array([[-0.0, -np.nan]]), (pa.array([None], pa.string()),))
    assert signed.digits()[0] == d[1]
    other = MixedFrame(FRAME.values[:1], (pa.array([""]),))
    assert other.digits()[0] != d[0]


def test_digits_are_spread_like_random_numbers():
    d = MixedFrame(np.arange(4000.0)[:, None]).digits()
    assert abs(d.mean() - 0.5) < 0.02 and abs(d.var() - 1 / 12) < 0.005
    assert abs(np.corrcoef(d[1:], d[:-1])[0, 1]) < 0.05
