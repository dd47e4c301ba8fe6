"""Columns of mixed frames can be read and permuted."""

import numpy as np


def test_frames_of_the_product(photos, rng):
    import pyarrow as pa

    from pansophy.diagnose.data.column_access import (
        column_values,
        n_rows,
        with_constant_column,
        with_permuted_column,
    )
    from pansophy.tables.mixed_frame import MixedFrame

    X, y = photos
    frame = MixedFrame(X.to_numpy(), (pa.array([f"word {k}" for k in y]),))
    order = rng.permutation(600)
    mixed = with_permuted_column(frame, 1, order)
    np.testing.assert_array_equal(
        column_values(mixed, 1), column_values(frame, 1)[order]
    )
    np.testing.assert_array_equal(column_values(mixed, 0), column_values(frame, 0))
    assert list(column_values(with_permuted_column(frame, 3, order), 3)) == [
        f"word {k}" for k in y[order]
    ]
    blank = with_constant_column(frame, 3)
    assert len(set(column_values(blank, 3))) == 1 and n_rows(blank) == 600
