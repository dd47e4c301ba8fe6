"""The numbers of each cell of a table, by hand and in both libraries."""

import math

import numpy as np
import pytest

from pansophy.prior_fitted.cells import N_CELL_FEATURES, describe_columns, encode_cells

TRAIN = np.array([[[1.0], [2.0], [2.0], [5.0], [np.nan]]])  # one table, one column
NEW = np.array([[[2.0], [0.0], [np.nan], [1e9]]])


def test_numbers_by_hand():
    mean, deviation = 2.5, math.sqrt((1.5**2 + 2 * 0.5**2 + 2.5**2) / 4)
    cells = encode_cells(describe_columns(TRAIN), NEW)[0, :, 0]
    assert cells.shape == (4, N_CELL_FEATURES)
    z = (2.0 - mean) / (deviation + 1e-6)
    rank = 1 / 4 + 3 / 4 - 1  # one value below, three at most
    angles = [3**j * math.pi * rank for j in range(4)] + [2**k * z for k in range(5)]
    waves = [f(a) for a in angles for f in (math.sin, math.cos)]
    expected = [1, 0, z / 3, -math.log(1 - z), rank, 2 / 4, *waves]
    np.testing.assert_allclose(cells[0], expected, rtol=1e-12)
    # below all, missing, and far above all
    assert cells[1, 4:6].tolist() == [-1, 0]
    assert cells[2].tolist() == [1, 1, *np.zeros(N_CELL_FEATURES - 2)]
    np.testing.assert_allclose(cells[3, 2:6], [10, math.log(31), 1, 0])


def test_shift_and_scale_of_a_column_change_nothing(rng):
    X, Z = rng.normal(size=(2, 1, 20, 3))
    plain = encode_cells(describe_columns(X), Z)
    moved = encode_cells(describe_columns(8 * X + 3), 8 * Z + 3)
    np.testing.assert_allclose(plain, moved, atol=1e-4)  # 1e-6 is added to the scale


def test_tensors_have_the_numbers_of_arrays(rng):
    torch = pytest.importorskip("torch")
    X = np.where(rng.random((2, 9, 3)) < 0.2, np.nan, rng.normal(size=(2, 9, 3)))
    Z = X[:, 3:7]
    ours = encode_cells(describe_columns(X), Z)
    theirs = encode_cells(describe_columns(torch.asarray(X)), torch.asarray(Z))
    np.testing.assert_allclose(theirs.numpy(), ours, rtol=1e-9, atol=1e-12)
