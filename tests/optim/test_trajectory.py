"""Trajectories: positions are copies, and a callback ends the run."""

import numpy as np

from pansophy import optim
from pansophy.optim import Trajectory


class State:
    position = np.zeros(2)
    objective = 3.0


def test_rows_are_copies_with_the_start_first():
    path = Trajectory(np.ones(2))
    state = State()
    assert path.child("step") is path and not path.end(state)
    State.position[0] = 7.0
    np.testing.assert_array_equal(path.positions, [[1, 1], [0, 0]])
    assert path.objectives == [3.0] and len(path) == 2
    assert repr(path) == "<Trajectory of 2 positions>"
    path.end(None)
    assert len(path) == 2


def test_a_callback_ends_the_run_and_nothing_is_kept():
    f = lambda x: (float(x @ x), 2 * x)
    seen = []
    stop = lambda s: seen.append(s.objective) or len(seen) == 3
    path = Trajectory(callback=stop, keep=False)
    run = optim.gradient_descent(f, np.ones(2), optim.constant_step(0.1), task=path)
    assert run.n_iter == 3 and run.reason == "callback" and len(path) == 0
