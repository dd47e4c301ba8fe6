"""Ising and Potts grids: enumeration, slow sweeps, minima, learning."""

import itertools

import numpy as np
import pytest

from pansophy.graphical import IsingGrid, PottsGrid
from pansophy.graphical.fields.ising_grid import (
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


@pytest.mark.parametrize(
    ("boundary", "shape"), [("free", (5, 7)), ("periodic", (4, 6))]
)
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
    ("use", "error", "words"),
    [
        (lambda: IsingGrid((1, 4), boundary="periodic").sample(), ValueError, "least"),
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


def enumerated(grid):
    """log Z and marginals of a small grid by writing all labellings out."""
    U, L = grid.unary, grid.pair
    height, width, q = U.shape
    every = np.array(list(itertools.product(range(q), repeat=height * width)))
    score = U.reshape(-1, q)[np.arange(height * width), every].sum(axis=1)
    for i, j in grid.pairs:
        score = score + L[every[:, i], every[:, j]]
    log_z = np.logaddexp.reduce(score)
    w = np.exp(score - log_z)
    P = np.stack([w @ (every == a) for a in range(q)], axis=-1)
    return log_z, P.reshape(U.shape)


@pytest.mark.parametrize("shape", [(3, 3), (2, 3), (4, 3), (3, 5), (4, 4), (2, 2)])
@pytest.mark.parametrize("boundary", ["free", "periodic"])
def test_small_grids_by_enumeration_and_sampling(shape, boundary):
    field = 0.4 * np.random.default_rng(1).normal(size=shape)
    grid = IsingGrid(shape, coupling=0.3, field=field, boundary=boundary)
    log_z, P = enumerated(grid)
    assert grid.log_partition() == pytest.approx(log_z)
    np.testing.assert_allclose(grid.marginals(), P[..., 1])
    sampled = grid.marginals("gibbs", n_samples=4000, random_state=0)
    np.testing.assert_allclose(sampled, P[..., 1], atol=0.04)


def test_odd_periodic_grids_without_coupling_and_at_their_minimum():
    grid = IsingGrid((5, 3), coupling=0.0, field=0.5, boundary="periodic")
    np.testing.assert_allclose(grid.marginals(), 1 / (1 + np.exp(-1.0)))
    strong = IsingGrid((5, 5), coupling=1.0, field=0.1, boundary="periodic")
    assert (strong.map() == 1).all() and (strong.icm() == 1).all()
    assert (strong.anneal(random_state=0) == 1).all()
    first, again = (strong.sample(2, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_odd_periodic_potts_grid_by_enumeration():
    scores = np.random.default_rng(2).normal(size=(3, 3, 3))
    grid = PottsGrid(scores, coupling=0.5, boundary="periodic")
    log_z, P = enumerated(grid)
    assert grid.log_partition() == pytest.approx(log_z)
    np.testing.assert_allclose(grid.marginals(), P, atol=1e-10)
    drawn = grid.sample(4000, random_state=0)[..., None] == np.arange(3)
    np.testing.assert_allclose(drawn.mean(axis=0), P, atol=0.04)
    assert grid.energy(grid.icm()) <= grid.energy(grid.unary.argmax(axis=2))
