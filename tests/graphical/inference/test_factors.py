"""The algebra of factors."""

import numpy as np
import pytest

from pansophy.graphical import (
    Factor,
)
from pansophy.graphical.inference.factors import (
    condition_factor,
    factor_product,
    make_factor,
    max_out,
    normalise_factor,
    sum_out,
)


def test_factor_algebra():
    f = make_factor((1, 0), [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    g = Factor((1, 2), np.arange(6.0).reshape(3, 2))
    h = factor_product([f, g])
    want = f.values[:, :, None] * g.values[None]
    assert h.variables == (0, 1, 2) and np.allclose(
        h.values * np.exp(h.log_scale), want
    )
    assert np.allclose(sum_out(f, [0]).values, f.values.sum(axis=0))
    assert np.allclose(max_out(f, [1]).values, f.values.max(axis=1))
    assert np.allclose(condition_factor(f, {1: 2}).values, [5.0, 6.0])
    unit, log_z = normalise_factor(f)
    assert np.isclose(unit.values.sum(), 1) and np.isclose(log_z, np.log(21))
    small = factor_product([Factor((0,), np.array([1e-300, 1e-300]))] * 5)
    assert np.isclose(small.log_scale, 5 * np.log(1e-300))
    with pytest.raises(ValueError, match="one axis for each"):
        make_factor((0, 1), [1.0, 2.0])
