"""`sample` and `Draws`: shapes, seeds, going on, interruption, printing."""

from typing import NamedTuple

import numpy as np
import pytest

from pansophy.base import InterruptedFitWarning
from pansophy.sampling import ErgodicityWarning, Metropolis, sample


def normal(x):
    return -0.5 * (x**2).sum(axis=-1)


SAMPLER = Metropolis(normal)


class Stopped:
    """A log density that is interrupted at its n-th call."""

    def __init__(self, n):
        self.left = n

    def __call__(self, x):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return normal(x)


def test_shapes_and_names():
    draws = sample(
        SAMPLER, 30, init=np.zeros((3, 2)), warmup=5, random_state=0, names=["a", "b"]
    )
    assert draws.positions.shape == (3, 30, 2)
    assert draws.log_prob.shape == draws.info["acceptance"].shape == (3, 30)
    assert draws.flat.shape == (90, 2) and draws.acceptance.shape == (3,)
    assert draws.summary().name == ["a", "b"] and not draws.interrupted
    text = repr(draws)
    assert "30 draws of 3 chains in 2 dimensions" in text and "ess_bulk" in text


def test_seed_decides_everything():
    run = lambda seed: sample(SAMPLER, 20, init=[0.0], random_state=seed).positions
    np.testing.assert_array_equal(run(7), run(7))
    assert (run(7) != run(8)).any()
    rng = np.random.Generator(np.random.PCG64(7))
    np.testing.assert_array_equal(run(rng), run(7))


def test_chains_are_different_walks():
    draws = sample(SAMPLER, 200, init=[0.0], chains=6, random_state=0)
    assert len(np.unique(draws.positions[:, -1, 0])) == 6


def test_init_may_be_a_function():
    spread = lambda rng, m: rng.normal(0, 5, size=(m, 3))
    draws = sample(SAMPLER, 5, init=spread, chains=2, warmup=0, random_state=0)
    assert draws.positions.shape == (2, 5, 3)


@pytest.mark.parametrize("thin", [1, 3])
@pytest.mark.parametrize("warmup", [0, 150])
def test_going_on_equals_going_through(thin, warmup):
    start = {"init": [0.0, 1.0], "warmup": warmup, "thin": thin, "random_state": 4}
    whole = sample(SAMPLER, 50, **start)
    first = sample(SAMPLER, 20, **start)
    np.testing.assert_array_equal(sample(first, 30).positions, whole.positions)
    both = sample(first, 30)  # the first part is as it was: going on twice is the same
    np.testing.assert_array_equal(both.log_prob, whole.log_prob)
    np.testing.assert_array_equal(both.info["accepted"], whole.info["accepted"])


def test_thinning_keeps_every_third():
    start = {"init": [0.0], "warmup": 10, "random_state": 0}
    every = sample(SAMPLER, 30, **start).positions
    third = sample(SAMPLER, 10, thin=3, **start).positions
    np.testing.assert_array_equal(third, every[:, 2::3])


def test_interruption_keeps_the_draws_and_can_go_on():
    # two calls find out about batches, 100 steps of warm-up, then draws
    sampler = Metropolis(Stopped(2 + 100 + 41))
    with pytest.warns(InterruptedFitWarning, match="40 draws"):
        draws = sample(sampler, 100, init=[0.0], warmup=100, random_state=0)
    assert draws.interrupted and draws.positions.shape == (4, 40, 1)
    assert "interrupted" in repr(draws)
    more = sample(draws, 60)
    assert not more.interrupted and more.positions.shape == (4, 100, 1)
    np.testing.assert_array_equal(more.positions[:, :40], draws.positions)


def test_interruption_in_warmup_goes_on_with_the_warmup():
    sampler = Metropolis(Stopped(30))
    with pytest.warns(InterruptedFitWarning, match="0 draws"):
        draws = sample(sampler, 50, init=[0.0], warmup=100, random_state=0)
    assert draws.positions.shape == (4, 0, 1)
    assert np.isnan(draws.summary().mean).all() and "0 draws" in repr(draws)
    more = sample(draws, 50)
    assert more.positions.shape == (4, 50, 1) and more.run.warmed == 100
    assert more.info["accepted"].shape == (4, 50)


class Halt:
    """A callback that asks to stop after a while."""

    def __init__(self):
        self.tasks = 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.tasks += 1
        return self.tasks >= 50


def test_callbacks_and_progress(capsys):
    watched = Metropolis(normal).set_callbacks(Halt())
    draws = sample(watched, 100, init=[0.0], warmup=0, random_state=0)
    assert draws.positions.shape[1] == 50
    assert draws.reason == "callback" and not draws.interrupted
    sample(Metropolis(normal), 10, init=[0.0], random_state=0, progress=True)
    assert "Metropolis" in capsys.readouterr().out


def test_a_sampler_of_your_own():
    class State(NamedTuple):
        position: np.ndarray
        log_prob: np.ndarray

    class Info(NamedTuple):
        size: np.ndarray

    class Exact:
        def init(self, position):
            return State(position, normal(position))

        def step(self, rng, state):
            x = rng.normal(size=state.position.shape)
            return State(x, normal(x)), Info(np.abs(x[:, 0]))

    draws = sample(Exact(), 500, init=[0.0, 0.0], random_state=0, progress=True)
    assert draws.info["size"].shape == (4, 500)
    assert np.isnan(draws.acceptance).all() and "acceptance" not in repr(draws)
    assert (draws.summary().ess_bulk > 1000).all()


def test_plot():
    axes = sample(SAMPLER, 50, init=np.zeros(3), random_state=0).plot(2)
    assert axes.shape == (2, 2) and len(axes[0, 0].lines) == 4


def test_errors_say_what_is_wrong():
    for arguments, words in (
        ({"n_draws": 0, "init": [0.0]}, "n_draws"),
        ({"init": None}, "init is needed"),
        ({"init": [0.0], "chains": 0}, "chains must be"),
        ({"init": [0.0], "warmup": -1}, "warmup must be"),
        ({"init": [0.0], "thin": 0}, "thin must be"),
        ({"init": np.zeros((3, 2)), "chains": 4}, r"init must have shape"),
        ({"init": [0.0], "names": ["a", "b"]}, "2 names"),
        ({"init": [np.inf]}, "log_prob is -inf at the start of chain 0"),
        ({"init": [np.nan]}, "log_prob is nan"),
    ):
        with pytest.raises(ValueError, match=words):
            sample(SAMPLER, **({"n_draws": 10} | arguments))
    draws = sample(SAMPLER, 5, init=[0.0], random_state=0)
    with pytest.raises(ValueError, match="chains cannot change"):
        sample(draws, 5, chains=2)
    for wrong in ("Metropolis", Metropolis):
        with pytest.raises(TypeError, match="sampler must be one such as"):
            sample(wrong, 5, init=[0.0])
    with pytest.raises(ValueError, match="one number a position"):
        sample(Metropolis(lambda x: x), 5, init=[0.0, 1.0])
    atom = Metropolis(lambda x: 0.0 if x[0] == 0 else -np.inf)
    with pytest.warns(ErgodicityWarning, match="never moved in 100 draws"):
        sample(atom, 100, init=[0.0], warmup=5, random_state=0)
    stuck = Metropolis(lambda x: np.where(x[:, 0] > 0.1, np.inf, 0.0))
    with np.errstate(invalid="ignore"), pytest.warns(RuntimeWarning, match="infinite"):
        sample(stuck, 100, init=[0.0], random_state=0)
