"""The slice sampler adapts its widths and respects bounds."""

import numpy as np
import pytest

from pansophy.sampling import (
    SliceSampler,
    mcse_mean,
    sample,
)


def test_slice_learns_widths_and_stays_in_bounds():
    box = lambda x: np.where(
        (x > 0).all(axis=-1) & (x < [1, 50]).all(axis=-1), 0, -np.inf
    )
    draws = sample(SliceSampler(box), 800, init=[0.5, 1.0], warmup=200, random_state=0)
    x = draws.positions
    assert (x > 0).all() and (x < [1, 50]).all()
    z = (x.mean(axis=(0, 1)) - [0.5, 25]) / mcse_mean(x)
    assert np.abs(z).max() < 4
    assert draws.state.width[1] > 10 * draws.state.width[0]
    with pytest.raises(ValueError, match="width must be positive"):
        sample(SliceSampler(box, width=np.ones(3)), 5, init=[0.5, 0.5])
