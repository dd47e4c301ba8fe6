"""The search that asks for values, against scipy's."""

import numpy as np
from scipy.optimize import minimize

from pansophy.core.loops.compiled import compiled
from pansophy.forecasting._nelder_mead import (
    make_simplex_search,
    start_search,
    take_value,
)


@compiled
def lowest_of_rosenbrock(first, step, limit):
    search = make_simplex_search(len(first), limit)
    start_search(search, first, step)
    done = False
    while not done:
        x = search.point
        value = 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2
        if x[0] > 2.0:
            value = np.nan  # counts as infinite
        done = take_value(search, value, 1e-14)
    return search.simplex[0].copy(), search.values[0], search.state[2]


def test_a_curved_valley():
    first = np.array([-1.2, 1.0])
    x, _, count = lowest_of_rosenbrock(first, np.array([0.3, 0.3]), 2000)
    np.testing.assert_allclose(x, [1, 1], atol=1e-4)
    simplex = np.array([first, first + [0.3, 0], first + [0, 0.3]])
    peer = minimize(
        lambda v: 100 * (v[1] - v[0] ** 2) ** 2 + (1 - v[0]) ** 2, first,
        method="Nelder-Mead", options={"initial_simplex": simplex, "fatol": 1e-14},
    )  # fmt: skip
    assert count < 2 * peer.nfev
    _, _, few = lowest_of_rosenbrock(first, np.array([0.3, 0.3]), 30)
    assert few <= 32
