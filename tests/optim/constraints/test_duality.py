"""Dual function and KKT residuals."""

import numpy as np
import pytest

from pansophy import optim

P = np.array([[2.0, 2], [3, 3], [0, 0], [1, 0]])


S = np.array([1.0, 1, -1, -1])


A = -np.c_[P * S[:, None], S]


WIDTH = lambda w: float(w[:2] @ w[:2]) / 2


DOWN = lambda w: np.array([w[0], w[1], 0.0])


MARGIN = optim.inequality_constraint(lambda w: 1 + A @ w, lambda w: A)


def test_weak_duality_and_perturbed_residuals(rng):
    q = optim.dual_function(WIDTH, [MARGIN], np.zeros(3), gradient=DOWN)
    for _ in range(10):
        a = rng.uniform(0, 0.6, size=4)
        a[3] = a[0] + a[1] - a[2]  # sum a s = 0, or L has no minimum
        if a[3] >= 0:
            assert q(a=a) <= 0.4 + 1e-9
    assert q(a=[0.4, 0, 0, 0.1]) == -np.inf
    with pytest.raises(ValueError, match="at least 0"):
        q(a=[-1.0, 0, 0, 0])
    best, prices = np.array([0.4, 0.8, -1.4]), ((), [0.4, 0, 0, 0.4])
    at = lambda x, p=None: optim.kkt_residuals(
        WIDTH, x, [MARGIN], gradient=DOWN, prices=p
    )
    assert at(best).worst < 1e-8 and at(best, prices).worst < 1e-8
    assert at(best + [0, 0, 1e-3]).feasibility > 1e-4
    assert at(best + [1e-3, 0, 0], prices).stationarity > 1e-4
    assert at(best, ((), [0.4, 0.1, 0, 0.5])).complementarity > 1e-2
    assert at(best, ((), [0.4, -0.1, 0, 0.3])).sign == pytest.approx(0.1)
