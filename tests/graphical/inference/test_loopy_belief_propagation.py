"""Loopy belief propagation on a ring."""

import math

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pansophy.graphical import MarkovRandomField, loopy_bp

T = np.array([[2.0, 1.0], [1.0, 2.0]])
LOOP = {("a", "b"): T, ("b", "c"): T, ("c", "d"): T, ("d", "a"): T}


def loop():
    """Four variables in a ring, Z = 164."""
    return MarkovRandomField(LOOP, {"a": [3, 1]})


def test_loop():
    field = loop()
    assert math.exp(field.log_partition()) == pytest.approx(164)
    wanted = {"a": 0.754644, "b": 0.593162, "c": 0.555897, "d": 0.593162}
    for schedule in ("parallel", "sequential", "residual"):
        for damping in (0.0, 0.4):
            out = loopy_bp(field, schedule=schedule, damping=damping)
            assert out.converged and out.run.n_iter > 1
            for name, value in wanted.items():
                assert out[name][0] == pytest.approx(value, abs=6e-7)
    with pytest.warns(ConvergenceWarning, match="loopy_bp did not converge in 1 iter"):
        assert not loopy_bp(field, max_iter=1).converged
