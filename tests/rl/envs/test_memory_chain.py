"""The memory chain pays for remembering and for nothing else."""

import numpy as np
import pytest

from pansophy.rl import gather
from pansophy.rl.envs import MemoryChain, VectorWorld


class Remember:
    def begin_batch(self, observations, first):
        bits = observations[:, 2] > 0
        self.bit = np.where(first, bits, getattr(self, "bit", bits))

    def act_batch(self, observations, rng):
        return self.bit.astype(int)


def test_memory_always_wins_and_guessing_does_not():
    envs = VectorWorld(MemoryChain(4), 30)
    steps = gather(envs, Remember(), 50, random_state=0)
    assert (steps.lengths == 5).all() and (steps.returns == 1).all()
    one = type("One", (), {"act_batch": lambda self, o, rng: np.ones(len(o), int)})()
    guess = gather(VectorWorld(MemoryChain(4), 400), one, 5, random_state=0)
    assert abs(guess.returns.mean()) < 0.2
    # the bit is shown at the start only, the question at the end only
    assert (steps.observation[..., 2] != 0).sum() == steps.first.sum()
    assert (steps.observation[..., 1] == 1).sum() == steps.terminated.sum()
    with pytest.raises(ValueError, match="length"):
        MemoryChain(0)
