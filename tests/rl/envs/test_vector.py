"""The battery of every world: interface, seeds, one column against one world."""

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from pansophy.core.loops import threads
from pansophy.rl import gather
from pansophy.rl.envs import (
    Acrobot,
    Blackjack,
    CartPole,
    Catch,
    CliffWalking,
    Corridor,
    DeepSea,
    FrozenLake,
    GridWorld,
    MemoryChain,
    MountainCar,
    Pendulum,
    Taxi,
    Tiger,
    VectorWorld,
    check_environment,
    vector,
)

WORLDS = {
    "acrobot": Acrobot,
    "blackjack": Blackjack,
    "cart pole": CartPole,
    "catch": Catch,
    "cliff": lambda: CliffWalking(max_steps=30),
    "corridor": lambda: Corridor(4, slip=0.2),
    "deep sea": lambda: DeepSea(6, random_state=0),
    "grid": lambda: GridWorld(slip=0.2, max_steps=50),
    "lake": FrozenLake,
    "memory": MemoryChain,
    "mountain car": MountainCar,
    "pendulum": Pendulum,
    "taxi": lambda: Taxi(max_steps=40),
    "tiger": Tiger,
}


class Random:
    """Uniform actions."""

    def __init__(self, space):
        self.space = space

    def act_batch(self, observations, rng):
        shape = (len(observations), *self.space.shape)
        if hasattr(self.space, "n"):
            return rng.integers(self.space.n, size=shape)
        return rng.uniform(self.space.low, self.space.high, shape)


@pytest.fixture(params=WORLDS)
def world(request):
    return WORLDS[request.param]()


@pytest.mark.filterwarnings("ignore:.*(symmetric|infinity)")
def test_gymnasium_approves(world):
    check_env(world, skip_render_check=True)
    assert check_environment(world) == []


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED])
def test_same_seed_same_run_in_any_mode(world, mode):
    run = lambda seed, mode=mode: gather(
        VectorWorld(world, 7, autoreset_mode=mode),
        Random(world.action_space),
        60,
        random_state=seed,
    )
    one, two, other = run(1), run(1), run(2)
    for name in ("observation", "reward", "terminated", "truncated", "lengths"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert not np.array_equal(one.observation, other.observation)
    space = world.observation_space
    if hasattr(space, "shape") and space.shape is not None:
        assert one.observation.dtype == space.dtype
    assert one.n_steps == one.lengths.sum() + one.position.lengths.sum() == 420
    same = run(1, AutoresetMode.SAME_STEP)
    np.testing.assert_array_equal(one.observation, same.observation)
    np.testing.assert_array_equal(one.final_observation, same.final_observation)


def test_a_column_is_a_world(world, rng):
    """Deterministic worlds: a column started in the same state goes the same way."""
    if isinstance(world, (Blackjack, FrozenLake, GridWorld, Corridor, Tiger)):
        pytest.skip("chance of a single world comes from Gymnasium's generator")
    envs = VectorWorld(world, 3, autoreset_mode=AutoresetMode.DISABLED)
    envs.reset(seed=3)
    world.reset(seed=4)
    if hasattr(world, "table"):
        world.state = int(envs.state[0, 1])
    else:
        world.state[:, 0] = envs.state[:, 1]
    act = Random(world.action_space)
    for _ in range(100):
        actions = act.act_batch(np.empty(3), rng)
        if not hasattr(world.action_space, "n"):
            actions = actions.astype(np.float32)
        after, reward, terminated, truncated, _ = envs.step(actions)
        one = actions[1] if actions.ndim > 1 else int(actions[1])
        expected = world.step(one)
        np.testing.assert_array_equal(after[1], expected[0])
        assert (reward[1], terminated[1], truncated[1]) == expected[1:4]
        if terminated[1] or truncated[1]:
            break


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(vector, "COLUMNS_PER_THREAD", 8)
    runs = []
    for n in (1, 3):
        monkeypatch.setattr(threads, "usable_threads", lambda n=n: n)
        envs = VectorWorld(CartPole(), 50)
        runs.append(gather(envs, Random(envs.single_action_space), 80, random_state=0))
    np.testing.assert_array_equal(runs[0].observation, runs[1].observation)
    np.testing.assert_array_equal(runs[0].lengths, runs[1].lengths)


def test_masks_come_with_observations():
    envs = VectorWorld(Taxi(), 5)
    _, info = envs.reset(seed=0)
    assert info["action_mask"].shape == (5, 6)
    steps = gather(envs, Random(envs.single_action_space), 10, random_state=0)
    np.testing.assert_array_equal(steps.mask, Taxi().action_masks[steps.observation])


def test_errors_say_what_is_wrong():
    envs = VectorWorld(CartPole(), 2)
    with pytest.raises(RuntimeError, match="reset before step"):
        envs.step(np.zeros(2, int))
    with pytest.raises(ValueError, match="follow a reset of all worlds"):
        envs.reset(options={"reset_mask": np.ones(2, bool)})
    envs.reset(seed=0)
    for bad, what in (
        (np.zeros(3, int), r"shape \(2,\)"),
        (np.zeros(2), "integers"),
        (np.array([0, 2]), "0 to 1"),
    ):
        with pytest.raises(ValueError, match=what):
            envs.step(bad)
    with pytest.raises(TypeError, match="no step for arrays"):
        VectorWorld(object(), 2)
    with pytest.raises(ValueError, match="num_envs"):
        VectorWorld(CartPole(), 0)
    with pytest.raises(ValueError, match="SAME_STEP or DISABLED"):
        VectorWorld(CartPole(), 1, autoreset_mode=AutoresetMode.NEXT_STEP)
    env = CartPole()
    env.reset(seed=0)
    with pytest.raises(ValueError, match="is not in Discrete"):
        env.step(2)
    with pytest.raises(RuntimeError, match="reset before step"):
        CartPole().step(0)
    with pytest.raises(ValueError, match="max_steps"):
        CartPole(max_steps=-1)
