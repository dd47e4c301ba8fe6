"""Blackjack, card by card against Gymnasium's."""

import gymnasium
import numpy as np
import pytest

from pansophy.rl.envs import Blackjack, VectorWorld


def test_equal_to_gymnasium_step_by_step(rng):
    env, peer = Blackjack(), gymnasium.make("Blackjack-v1")
    for episode in range(300):
        seed = episode if episode % 3 == 0 else None  # generators stay in step
        assert env.reset(seed=seed) == peer.reset(seed=seed)
        terminated = False
        while not terminated:
            action = int(rng.integers(2))
            result = env.step(action)
            assert result == peer.step(action)
            terminated = result[2]
    with pytest.raises(ValueError, match="is not in Discrete"):
        env.step(2)


class ReplayedCards:
    """splitmix64 as in `core/_random.py`, dealing to Gymnasium's table."""

    def __init__(self, counter):
        self.counter = int(counter)

    def choice(self, deck):
        if len(deck) != 13:  # suits and faces are not drawn by ours
            return deck[0]
        mask = (1 << 64) - 1
        z = (self.counter + 0x9E3779B97F4A7C15) & mask
        self.counter = z
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        u = (((z ^ (z >> 31)) >> 12) + 0.5) * 2.0**-52
        return deck[int(u * 13)]


def test_columns_equal_gymnasium_with_the_same_cards(rng):
    envs = VectorWorld(Blackjack(), 40)
    envs.reset(seed=0)
    envs.stream[:] = rng.integers(2**63, size=40)
    peers = [gymnasium.make("Blackjack-v1").unwrapped for _ in range(40)]
    for peer, counter in zip(peers, envs.stream, strict=True):
        peer._np_random = ReplayedCards(counter)
        peer.reset()
    observation, _ = envs.reset(options={"reset_mask": np.ones(40, bool)})
    rewards = set()
    for _ in range(50):
        for i, peer in enumerate(peers):
            assert tuple(part[i] for part in observation) == peer._get_obs()
        actions = rng.integers(2, size=40)
        observation, reward, terminated, _, info = envs.step(actions)
        for i, peer in enumerate(peers):
            seen, pay, end, *_ = peer.step(int(actions[i]))
            assert (reward[i], terminated[i]) == (pay, end)
            rewards.add(pay)
            if end:
                assert tuple(part[i] for part in info["final_obs"]) == seen
                peer.reset()
    assert rewards == {-1.0, 0.0, 1.0}
