"""Potts grids against enumeration."""

import numpy as np
import pytest

from pansophy.graphical import PottsGrid
from tests.oracles import factor_graphs as slow

rng = np.random.default_rng(0)


def test_potts_equals_enumeration():
    grid = PottsGrid(rng.normal(size=(2, 4, 3)), coupling=0.7)
    log_z, P = slow.enumerate_grid(grid.unary, grid.pair, grid.pairs)
    assert grid.log_partition() == pytest.approx(log_z)
    np.testing.assert_allclose(grid.marginals(), P)
    x = grid.sample(20000, random_state=0)
    np.testing.assert_allclose((x[..., None] == np.arange(3)).mean(0), P, atol=0.03)
