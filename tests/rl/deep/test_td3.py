"""TD3: the delayed policy and the slow targets."""

import numpy as np
import torch

from pansophy.rl import TD3, gather
from pansophy.rl.deep.abstract_agent import vector_environments
from pansophy.rl.envs import ProbeWorld
from tests.rl.deep.test_dqn import learner_of


def test_the_policy_moves_every_second_step_and_targets_follow():
    env = ProbeWorld("both", continuous=True)
    agent = TD3(
        100, hidden_layer_sizes=(8,), batch_size=16, learning_starts=10, tau=0.1,
        random_state=0,
    )  # fmt: skip
    learner, rng = learner_of(agent, env)
    envs = vector_environments(env, 1)
    steps = gather(envs, learner, 20, random_state=rng)
    learner.buffer.extend(steps)
    moved = []
    for _ in range(4):
        weights = lambda m: torch.cat([p.detach().ravel() for p in m.parameters()])
        actor = weights(learner.net.actor)
        older = weights(learner.target_critic.module)
        learner.learn(learner.buffer.draw(16, rng), rng)
        moved.append(bool((weights(learner.net.actor) != actor).any()))
        target = weights(learner.target_critic.module)
        if moved[-1]:
            online = weights(learner.net.critic)
            np.testing.assert_allclose(
                target, 0.9 * older + 0.1 * online, rtol=1e-4, atol=1e-6
            )
        else:
            assert (target == older).all()
    assert moved == [False, True, False, True]
