"""Ising and Potts grids: enumeration, slow sweeps, minima, learning."""

import numpy as np
import pytest

from pansophy.graphical import IsingGrid, PottsGrid
from pansophy.graphical.ising_grid import (
    IsingChain,
    pack_checkerboard,
    unpack_checkerboard,
)
from pansophy.params import ParameterError
from tests.oracles import factor_graphs as slow

rng = np.random.default_rng(0)
FIELD = rng.normal(size=(3, 3)) * 0.5


def test_no_coupling_is_independent_pixels():
    grid = IsingGrid((3, 3), coupling=0.0, field=FIELD)
    alone = 1 / (1 + np.exp(-2 * FIELD))
    np.testing.assert_allclose(grid.marginals(), alone)
    drawn = grid.marginals("gibbs", n_samples=20000, random_state=0)
    np.testing.assert_allclose(drawn, alone, atol=0.015)


@pytest.mark.parametrize("J", [0.4, -0.7])
def test_small_grid_equals_enumeration(J):
    grid = IsingGrid((3, 3), coupling=J, field=FIELD)
    log_z, P = slow.enumerate_grid(grid.unary, grid.pair, grid.pairs)
    assert grid.log_partition() == pytest.approx(log_z)
    np.testing.assert_allclose(grid.marginals(), P[..., 1])
    drawn = grid.marginals("gibbs", n_samples=40000, random_state=1)
    np.testing.assert_allclose(drawn, P[..., 1], atol=0.02)


@pytest.mark.parametrize("boundary, shape", [("free", (5, 7)), ("periodic", (4, 6))])
def test_sweeps_equal_the_slow_ones(boundary, shape):
    h = np.random.default_rng(1).normal(size=shape)
    grid = IsingGrid(shape, coupling=0.5, field=h, boundary=boundary)
    chain = IsingChain(grid, None, 3)
    x, lanes = unpack_checkerboard(chain.x, shape[1]), chain.lanes.copy()
    for _ in range(4):
        chain.run(1)
        slow.ising_sweep(x, 0.5, h, lanes, boundary == "periodic")
        np.testing.assert_array_equal(unpack_checkerboard(chain.x, shape[1]), x)
    U = np.random.default_rng(2).normal(size=(*shape, 3))
    potts = PottsGrid(U, coupling=0.8, boundary=boundary)
    fast = potts.sample(3, burn_in=0, random_state=4)
    seeds = np.random.default_rng(4)
    x = seeds.integers(0, 3, shape)
    lanes = seeds.integers(1, 2**32, (4, shape[1]), dtype=np.uint32)
    for picture in fast:
        slow.potts_sweep(x, 0.8, U, lanes, boundary == "periodic")
        np.testing.assert_array_equal(picture, x)


@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (5, 5), (4, 1), (1, 7)])
def test_packing(shape):
    a = np.random.default_rng(0).integers(0, 9, shape)
    np.testing.assert_array_equal(
        unpack_checkerboard(pack_checkerboard(a, np.int32), shape[1]), a
    )


def test_same_seed_same_pictures():
    grid = IsingGrid((33, 20), coupling=0.44)
    a, b = (grid.sample(3, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(a, b)
    assert (a != grid.sample(3, random_state=8)).any()
    assert a.shape == (3, 33, 20) and set(np.unique(a)) == {-1, 1}


def test_searches_for_the_minimum():
    clean = np.where(np.add.outer(np.arange(24), np.arange(30)) < 26, -1, 1)
    noise = np.where(np.random.default_rng(0).random(clean.shape) < 0.2, -1, 1)
    grid = IsingGrid(clean.shape, coupling=1.0, field=0.9 * clean * noise)
    cut, icm = grid.map(), grid.icm()
    cool = grid.anneal(random_state=0)
    assert grid.energy(cut) <= grid.energy(cool) <= grid.energy(icm)
    assert grid.energy(icm) <= grid.energy(clean * noise)
    np.testing.assert_array_equal(grid.icm(cut), cut)  # a minimum stays
    assert np.mean(cut != clean) < 0.05 < np.mean(noise == -1)
    labels = PottsGrid(grid.unary, coupling=2.0)  # the same model with labels 0 and 1
    assert grid.energy(2 * labels.map() - 1) == pytest.approx(grid.energy(cut))
    assert labels.energy(labels.icm()) >= labels.energy(labels.map())
    shift = len(grid.pairs) * 1.0
    assert labels.energy((cut + 1) // 2) + shift == pytest.approx(grid.energy(cut))


def test_learning():
    pictures = IsingGrid((60, 61), coupling=0.3, field=0.1).sample(
        8, thin=20, random_state=0
    )
    grid = IsingGrid.learn(pictures)
    assert grid.coupling == pytest.approx(0.3, abs=0.02)
    assert grid.field == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize(
    "use, error, words",
    [
        (lambda: IsingGrid((3, 4), boundary="periodic").sample(), ValueError, "even"),
        (lambda: IsingGrid((3,)).sample(), ValueError, "height, width"),
        (lambda: IsingGrid((3, 3), field=np.ones(3)).sample(), ValueError, "field"),
        (lambda: IsingGrid((2, 2), coupling="x").sample(), ParameterError, "coupling"),
        (lambda: IsingGrid((2, 2)).energy([[0, 1], [1, 1]]), ValueError, r"\+1 or -1"),
        (lambda: IsingGrid((40, 40)).log_partition(), ValueError, "too many"),
        (lambda: IsingGrid((2, 2)).sample(temperature=0.0), ValueError, "temperature"),
        (lambda: IsingGrid((2, 2)).sample(temperature=np.nan), ValueError, "temper"),
        (lambda: IsingGrid((2, 2)).sample(2, thin=0), ValueError, "thin must be"),
        (lambda: IsingGrid((2, 2)).sample(burn_in=-1), ValueError, "burn_in must be"),
        (lambda: IsingGrid((2.5, 2)).sample(), ValueError, "height, width"),
        (lambda: IsingGrid((2, 2)).sample(start=np.ones((3, 2, 2))), ValueError, "one"),
        (lambda: PottsGrid(np.ones((2, 2, 2))).sample(1.5), ValueError, "n_samples"),
        (lambda: IsingGrid((2, 2), coupling=-1.0).map(), ValueError, "submodular"),
        (lambda: PottsGrid(np.ones((2, 2))).sample(), ValueError, "scores"),
        (lambda: PottsGrid(np.ones((2, 2, 2)), coupling=-1.0).map(), ValueError, "0"),
    ],
)
def test_bad_input(use, error, words):
    with pytest.raises(error, match=words):
        use()
