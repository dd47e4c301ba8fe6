"""The ring, its n-step targets and the sum tree, against slow twins."""

import numpy as np
import pytest

from pansophy.rl import Policy, gather
from pansophy.rl.deep.replay import ReplayBuffer, SumTree
from pansophy.rl.envs import ProbeWorld, TabularEnv


class Counter:
    """Observations count the steps of an episode; reward = observation."""

    def __new__(cls, limit, ends):
        n = 100
        P = {s: {0: [(1.0, min(s + 1, n - 1), float(s), ends and s == limit - 1)]}
             for s in range(n)}  # fmt: skip
        env = TabularEnv(P, max_steps=0 if ends else limit)
        env.table = env.table._replace(start=np.ones(n))  # always state 0
        return env


def filled(buffer, rounds, horizon=7, n_envs=2, *, ends):
    envs = [Counter(5, ends) for _ in range(n_envs)]
    position = None
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        steps = gather(
            envs, Policy(np.zeros(100, int)), horizon, position=position,
            random_state=rng,
        )  # fmt: skip
        position = steps.position
        buffer.extend(steps)
    return buffer


@pytest.mark.parametrize("ends", [True, False])
@pytest.mark.parametrize("n", [1, 3])
def test_targets_stay_in_their_episode_even_over_the_seam(ends, n):
    gamma = 0.5
    buffer = filled(ReplayBuffer(20, gamma=gamma, n_steps=n), 9, ends=ends)
    assert len(buffer) == 20
    batch = buffer.batch(np.arange(20), np.ones(20))
    newest = buffer.place - 2
    for j in range(20):
        s = int(batch.observation[j])
        row = j - j % 2
        left = ((newest - row) % 20) // 2  # steps of this environment after this one
        k = min(n, 5 - s, left + 1)
        expected = sum(gamma**i * (s + i) for i in range(k))
        assert batch.reward[j] == pytest.approx(expected)
        assert batch.next_observation[j] == s + k or (ends and s + k == 5)
        over = ends and s + k == 5
        assert batch.discount[j] == (0.0 if over else gamma**k)


def test_bytes_stay_bytes_and_empty_buffers_say_so(rng):
    with pytest.raises(ValueError, match="empty"):
        ReplayBuffer(10, gamma=0.9).draw(2, rng)
    steps = gather(ProbeWorld("both"), lambda_agent(), 6, random_state=0)
    steps = steps._replace(
        observation=np.full((6, 1, 3), 7, np.uint8),
        final_observation=np.full((len(steps.final_env), 3), 8, np.uint8),
        position=steps.position._replace(observation=np.full((1, 3), 9, np.uint8)),
    )
    buffer = ReplayBuffer(10, gamma=0.9)
    buffer.extend(steps)
    batch = buffer.draw(50, rng)
    assert batch.observation.dtype == np.uint8
    assert set(np.unique(batch.next_observation)) == {8}  # every step was the last
    assert not batch.discount.any()


def lambda_agent():
    class Always:
        def act(self, observation, rng):
            return 0

    return Always()


def test_sum_tree_draws_by_priority(rng):
    p = rng.random(13)
    tree = SumTree(13)
    tree.set(np.arange(13), rng.random(13))
    tree.set(np.arange(13), p)
    assert tree.total == pytest.approx(p.sum())
    mass = rng.random(2000) * p.sum()
    expected = np.searchsorted(np.cumsum(p), mass, side="right")
    np.testing.assert_array_equal(tree.find(mass), expected)


def test_priorities_and_their_weights(rng):
    buffer = filled(ReplayBuffer(16, gamma=0.9, alpha=1.0), 4, horizon=2, ends=True)
    error = np.arange(16.0)
    buffer.set_priorities(np.arange(16), error)
    batch = buffer.draw(20000, rng, beta=1.0)
    share = np.bincount(batch.index, minlength=16) / 20000
    np.testing.assert_allclose(share, error / error.sum(), atol=0.01)
    used = batch.index
    expected = (1 / error[used]) / (1 / error[used]).max()
    np.testing.assert_allclose(batch.weight, expected, rtol=1e-4)
    assert batch.weight.max() == 1.0
