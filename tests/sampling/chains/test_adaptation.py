"""Windows, metric and initial step size of warm-up."""

import numpy as np

from pansophy.sampling import (
    normal_density,
)
from pansophy.sampling.chains.adaptation import (
    adaptation_windows,
    estimate_inverse_metric,
    find_initial_step_size,
)


def test_windows_double_and_fill_the_warm_up():
    assert adaptation_windows(1000) == (75, [100, 150, 250, 450, 950])
    assert adaptation_windows(100) == (15, [90])
    assert adaptation_windows(10) == (10, [])
    assert adaptation_windows(500) == (75, [100, 150, 250, 450])
    for total in range(20, 400):
        first, ends = adaptation_windows(total)
        assert first < ends[0] and ends[-1] < total
        assert (np.diff(ends) > 0).all()


def test_learned_metric_and_first_size(rng):
    x = rng.normal(size=(4, 500, 2)) * [1.0, 10.0]
    inv = estimate_inverse_metric((x[:, :200], x[:, 200:]), False)
    np.testing.assert_allclose(inv, [[1.0, 100.0]], rtol=0.15)
    np.testing.assert_array_equal(inv, estimate_inverse_metric((x,), False))
    assert estimate_inverse_metric((x * np.nan,), True) is None
    f = normal_density(np.zeros(2), [1.0, 1e-4]).as_target().value_and_grad
    unit = np.ones((1, 2))
    x = np.zeros((3, 2))
    eps = find_initial_step_size(
        rng, f, x, *f(x), unit, unit, np.array([1e-6, 1.0, 1e3])
    )
    assert (eps > 0.001).all() and (eps < 0.1).all()
