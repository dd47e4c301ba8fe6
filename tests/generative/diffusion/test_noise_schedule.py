"""Noise schedules: worked numbers, monotone, levels that end at 0."""

import numpy as np
import pytest

from pansophy.generative.diffusion.noise_schedule import (
    noise_levels,
    noise_schedule,
    schedule_levels,
)


def test_linear_schedule_of_the_worked_example():
    schedule = noise_schedule("linear", 1000)
    kept = schedule.alpha_bar
    assert kept[0] == pytest.approx(0.9999, abs=1e-12)
    assert kept[499] == pytest.approx(0.078587, abs=5e-7)
    assert kept[999] == pytest.approx(4.0358e-5, abs=5e-10)
    assert schedule.beta[499] == pytest.approx(0.010040, abs=5e-7)


@pytest.mark.parametrize("kind", ["linear", "cosine"])
@pytest.mark.parametrize("T", [1, 2, 10, 1000])
def test_schedules_lose_signal_step_by_step(kind, T):
    schedule = noise_schedule(kind, T)
    assert ((schedule.beta > 0) & (schedule.beta < 1)).all()
    assert (np.diff(schedule.alpha_bar) < 0).all()
    np.testing.assert_allclose(np.cumprod(schedule.alpha), schedule.alpha_bar)
    np.testing.assert_allclose(
        schedule.sigma, np.sqrt(1 / schedule.alpha_bar - 1), rtol=1e-10
    )
    if T >= 10:
        assert schedule.alpha_bar[-1] < 1e-2


def test_twice_the_steps_reach_the_same_levels():
    a, b = noise_schedule("linear", 500), noise_schedule("linear", 1000)
    np.testing.assert_allclose(a.sigma, b.sigma[1::2], rtol=0.06)
    a, b = noise_schedule("cosine", 500), noise_schedule("cosine", 1000)
    np.testing.assert_allclose(a.sigma[:-1], b.sigma[1::2][:-1], rtol=1e-9)


@pytest.mark.parametrize("kind", ["karras", "log", "time"])
@pytest.mark.parametrize("n", [1, 2, 18])
def test_levels_fall_from_the_highest_to_zero(kind, n):
    levels = noise_levels(n, kind, sigma_min=0.01, sigma_max=50.0)
    assert len(levels) == n + 1
    assert levels[0] == 50.0 and levels[-1] == 0.0
    assert (np.diff(levels) < 0).all()


def test_levels_of_a_schedule_include_both_ends():
    schedule = noise_schedule("linear", 1000)
    for n in (1, 2, 7, 1000):
        levels = schedule_levels(schedule, n)
        assert len(levels) == n + 1
        assert levels[0] == schedule.sigma[-1] and levels[-1] == 0
        assert (np.diff(levels) < 0).all()
    np.testing.assert_array_equal(schedule_levels(schedule)[:-1], schedule.sigma[::-1])


def test_bad_schedules_are_refused():
    with pytest.raises(ValueError, match="kind must be"):
        noise_schedule("square")
    with pytest.raises(ValueError, match="n_steps must be"):
        noise_schedule("linear", 0)
    with pytest.raises(ValueError, match="beta_start"):
        noise_schedule("linear", 10, beta_start=0.1, beta_end=0.01)
    with pytest.raises(ValueError, match="sigma_min"):
        noise_levels(3, sigma_min=2.0, sigma_max=1.0)
    with pytest.raises(ValueError, match="kind must be"):
        noise_levels(3, "linear")
    with pytest.raises(ValueError, match="the schedule has 10"):
        schedule_levels(noise_schedule("linear", 10), 11)
