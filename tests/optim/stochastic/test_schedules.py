"""Learning-rate schedules."""

import numpy as np
import pytest

from pansophy import optim
from pansophy.optim.stochastic.schedules import Restarts, Schedule


def test_schedules_take_arrays():
    t = np.arange(12)
    s = optim.schedules
    for schedule in (
        s.constant_schedule(0.1),
        s.exponential_decay(1.0),
        s.inverse_time_decay(0.1, 3.0),
        s.linear_decay(1, 0.1, 8),
        s.cosine_decay(1.0, 8, 0.2),
        Schedule(1.0, 0.1, 5, "geometric"),
        Restarts(1.0, 0, 3),
        Restarts(1.0, 0.1, 3, 2.0),
    ):
        many = np.broadcast_to(schedule(t), t.shape)
        np.testing.assert_allclose(many, [float(schedule(int(i))) for i in t])
    assert s.exponential_decay(1.0, 0.9)(10) == pytest.approx(0.34867844)
    assert s.inverse_time_decay(0.1, 100)(2000) == pytest.approx(0.05)
    assert s.linear_decay(0.1, 0.001, 100)(25) == pytest.approx(0.07525)


def test_restarts():
    r = Restarts(1.0, 0.0, 4)
    np.testing.assert_allclose(r(np.arange(4)), r(np.arange(4, 8)))
    growing = Restarts(1.0, 0.0, 2, grow=2.0)
    np.testing.assert_allclose(growing(np.array([0, 2, 6, 14, 30])), 1.0)
    for wrong in (
        lambda: Restarts(1.0, grow=0.5),
        lambda: Schedule(1, 0, 0),
        lambda: Schedule(1, 0, 3, "geometric"),
        lambda: Schedule(1, 0, 3, "cubic"),
    ):
        with pytest.raises(ValueError, match=r"of Schedule|of Restarts|geometric Sch"):
            wrong()


def test_one_schedule_serves_learning_and_acting():
    from pansophy import rl

    assert rl.Schedule is Schedule


def test_the_check_of_a_schedule_says_which_condition_fails():
    good = optim.check_schedule(lambda t: 1 / max(t, 1))
    assert good and good.failed == () and str(good) == "both conditions hold"
    constant = optim.check_schedule(lambda t: 0.1)
    assert not constant and constant.sum_diverges and not constant.squares_converge
    assert constant.failed == ("sum eta_t^2 < inf",)
    fast = optim.check_schedule(lambda t: 1 / max(t, 1) ** 2)
    assert not fast and fast.failed == ("sum eta_t = inf",)
    assert "too fast" in str(fast)
    root = optim.check_schedule(lambda t: max(t, 1) ** -0.5)
    assert root.failed == ("sum eta_t^2 < inf",)
