"""One interface to distributions: SciPy's, ours, functions, boxes, the unit cube."""

import numpy as np
import pytest
from scipy import stats

from pansophy.distributions import Normal
from pansophy.sampling.densities.distribution_interface import (
    as_distribution,
    draw_samples,
    log_density_function,
    unit_cube_map,
)


def test_boxes():
    box = as_distribution([(0, 2), (-1, 3)])
    assert box.volume == 8 and box.d == 2 and as_distribution((0, 1)).d == 1
    np.testing.assert_array_equal(box.at(np.array([[0.5, 0.25]])), [[1, 0]])
    inside = box.log_prob([[1.0, 0.0], [2.0, 3.1]])
    assert inside[0] == pytest.approx(-np.log(8)) and inside[1] == -np.inf
    for wrong in ([(1, 0)], [(0, np.inf)], [1, 2, 3]):
        with pytest.raises(ValueError, match="a box"):
            as_distribution(wrong)
    with pytest.raises(TypeError, match="got 3"):
        as_distribution(3)


def test_draws_and_densities_of_every_kind(rng):
    for one in (Normal([0.0], [[4.0]]), stats.norm(0, 2)):
        x = draw_samples(one, 2000, rng)
        assert len(x) == 2000 and np.std(x) == pytest.approx(2, rel=0.1)
        found = log_density_function(one)(np.array([[1.0], [2.0]]))
        np.testing.assert_allclose(found, stats.norm(0, 2).logpdf([1, 2]))
    counts = log_density_function(stats.poisson(3))(np.array([2]))
    assert counts[0] == pytest.approx(stats.poisson(3).logpmf(2))
    function = lambda rng, n: rng.random(n)
    assert draw_samples(function, 5, rng).shape == (5,)
    with pytest.raises(ValueError, match="must give 5 draws"):
        draw_samples(lambda rng, n: 1.0, 5, rng)
    with pytest.raises(TypeError, match="needs a density"):
        log_density_function(function)


def test_maps_of_the_unit_cube():
    U = np.array([[0.5, 0.5], [0.9, 0.5]])
    normal = Normal([1.0, 2.0], [[4.0, 2.0], [2.0, 2.0]])
    found = unit_cube_map(normal)
    x = found.at(U)
    np.testing.assert_allclose(x[0], [1, 2])
    # the first coordinate moves by 2 z, the second by its regression on it
    z = stats.norm.ppf(0.9)
    np.testing.assert_allclose(x[1], [1 + 2 * z, 2 + z])
    assert unit_cube_map(stats.expon()).at(np.array([[0.5]]))[0] == np.log(2)
    assert unit_cube_map(lambda rng, n: rng.random(n)) is None
