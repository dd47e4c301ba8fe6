"""Simulated annealing."""

import numpy as np
import pytest

from pansophy import optim

sphere = lambda X: np.sum((np.asarray(X) - 0.7) ** 2, axis=-1)


BOX = [(-5.0, 5.0)] * 3


def test_cold_annealing_is_greedy():
    from pansophy.core.drivers.metropolis import acceptance_threshold

    rng = np.random.default_rng(0)
    assert np.all(acceptance_threshold(0.0, 9, rng) == 0) and np.all(
        acceptance_threshold(1e-300, 9, rng) < 1e-290
    )
    taken = acceptance_threshold(2.0, 20000, rng) >= 1  # worse by 1 at temperature 2
    assert taken.mean() == pytest.approx(np.exp(-0.5), abs=0.02)
    trace = []
    f = lambda x: trace.append(float(x @ x)) or trace[-1]
    how = {"temperature": 0, "random_state": 0, "max_iter": 30, "moves": 20}
    run = optim.simulated_annealing(f, BOX, **how)
    assert run.state.values[0] == run.objective == min(trace)
    warm = optim.schedules.Schedule(1.0, 1e-3, 20, "geometric")
    run = optim.simulated_annealing(sphere, BOX, temperature=warm, random_state=0,
                                    max_iter=25)  # fmt: skip
    np.testing.assert_allclose(run.history["temperature"][:21], warm(np.arange(21)))
