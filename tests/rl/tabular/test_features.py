"""Feature maps: cells by hand, smoothness, limits."""

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.rl import Fourier, LinearFeatures, OneHotFeatures, TileCoding
from pansophy.rl.tabular.features import default_features


@given(st.lists(st.floats(-2, 2), min_size=2, max_size=2))
def test_one_cell_of_every_grid(x):
    tiles = TileCoding([-1, -1], [1, 1], n_tiles=4, n_tilings=8)
    phi = tiles(x)
    assert phi.sum() == 8 and len(phi) == tiles.size == 8 * 25
    np.testing.assert_array_equal(np.sort(tiles.active(x)), phi.nonzero()[0])
    assert (np.diff(tiles.active(x) // 25) == 1).all()


def test_near_points_share_more_cells():
    tiles = TileCoding([0.0, 0.0], [1.0, 1.0], n_tiles=5, n_tilings=16)
    shared = [
        tiles([0.5, 0.5]) @ tiles([0.5 + d, 0.5 + d]) for d in (0, 0.02, 0.1, 0.5)
    ]
    assert shared[0] == 16 and shared[0] > shared[1] > shared[2] > shared[3] == 0


def test_cosines_by_hand():
    basis = Fourier([0.0, -1.0], [2.0, 1.0], order=2)
    assert basis.size == 9
    x = np.array([0.5, 0.5])
    scaled = np.array([0.25, 0.75])
    expected = [
        np.cos(np.pi * (i * scaled[0] + j * scaled[1]))
        for i in range(3)
        for j in range(3)
    ]
    np.testing.assert_allclose(basis(x), expected)
    np.testing.assert_array_equal(basis([9.0, 9.0]), basis([2.0, 1.0]))


def test_defaults_and_errors():
    assert isinstance(default_features(gymnasium.spaces.Discrete(4)), OneHotFeatures)
    box = gymnasium.spaces.Box(-1, 1, (2,))
    assert isinstance(default_features(box), TileCoding)
    np.testing.assert_array_equal(LinearFeatures(1)([4.0]), [1, 4])
    for make, what in (
        (lambda: TileCoding([0.0], [np.inf]), "finite"),
        (lambda: TileCoding([1.0], [0.0]), "low below high"),
        (lambda: TileCoding([0.0], [1.0], n_tiles=0), "n_tiles"),
        (lambda: Fourier([0.0], [1.0], order=-1), "order"),
        (lambda: default_features(gymnasium.spaces.MultiBinary(3)), "give features"),
    ):
        with pytest.raises(ValueError, match=what):
            make()


def test_numbers_that_are_none_are_told():
    for phi in (TileCoding([0.0], [1.0]), Fourier([0.0], [1.0])):
        with pytest.raises(ValueError, match="holds NaN"):
            phi([np.nan])
        np.testing.assert_array_equal(phi([np.inf]), phi([1.0]))  # at the limit
