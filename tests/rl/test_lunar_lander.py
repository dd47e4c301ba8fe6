"""LunarLander, an environment that is not ours: needs Box2D's wheel.

The settings are those that Stable-Baselines3's authors publish (rl-zoo3); those of DQN
with three-step double targets, longer exploration and a learning rate that falls.
Figures over seeds stand in `benchmarks/studies/agents_over_seeds.md`.
"""

import numpy as np
import pytest

from pansophy.rl import (
    DQN,
    PPO,
    EpsilonGreedy,
    Schedule,
    evaluate_agent,
    evaluate_every,
    gather,
)

pytest.importorskip("Box2D")

LUNAR = "LunarLander-v3"
PPO_SETTINGS = {
    "n_envs": 16, "horizon": 1024, "batch_size": 64, "n_epochs": 4, "gamma": 0.999,
    "gae_lambda": 0.98, "learning_rate": 3e-4, "entropy_weight": 0.01, "anneal": False,
    "random_state": 0,
}  # fmt: skip
DQN_SETTINGS = {
    "n_envs": 1, "horizon": 4, "gradient_steps": 4, "batch_size": 128,
    "learning_rate": 6.3e-4, "buffer_size": 50_000, "learning_starts": 0,
    "target_interval": 250, "hidden_layer_sizes": (256, 256), "random_state": 0,
    "exploration": EpsilonGreedy(Schedule(1.0, 0.1, 12_000)),
}  # fmt: skip


def test_steps_and_episodes_of_a_foreign_environment():
    """Episodes of landers are counted, ended and begun as Gymnasium does."""
    agent = PPO(1024, **{**PPO_SETTINGS, "n_envs": 4, "horizon": 128}).fit(LUNAR)
    lengths = agent.history_["length"]
    assert len(lengths) >= 4 and lengths.sum() <= 1024
    assert (agent.history_["return"] < 300).all()
    steps = gather([lander() for _ in range(2)], agent, 200, random_state=0)
    assert steps.n_steps == 400 and np.isfinite(steps.reward).all()
    assert steps.lengths.sum() + steps.position.lengths.sum() == 400
    deep = DQN(300, **{**DQN_SETTINGS, "hidden_layer_sizes": (32,)}).fit(LUNAR)
    assert deep.q_values(steps.observation[0]).shape == (2, 4)


def lander():
    import gymnasium

    return gymnasium.make(LUNAR)


@pytest.mark.slow
def test_ppo_lands_within_a_million_steps():
    agent = PPO(1_000_000, **PPO_SETTINGS)
    curve = evaluate_every(agent, LUNAR, 49_152, n_episodes=50, stop_at=200.0)
    assert curve.mean[-1] >= 200.0
    # the last evaluation was chosen for being good: fresh episodes may say less
    assert evaluate_agent(agent, LUNAR, 100, random_state=1).mean >= 160.0


@pytest.mark.slow
def test_dqn_lands_within_100_000_steps():
    """Exploration falls along 100,000 steps, the learning rate along twice as many."""
    settings = {**DQN_SETTINGS, "n_step": 3, "anneal": True, "random_state": 1}
    settings["ema_decay"] = 0.998
    settings["exploration"] = EpsilonGreedy(Schedule(1.0, 0.02, 100_000))
    agent = DQN(200_000, **settings)
    curve = evaluate_every(agent, LUNAR, 10_000, n_episodes=50, stop_at=200.0)
    assert curve.mean[-1] >= 200.0 and curve.steps[-1] <= 100_000
    assert evaluate_agent(agent, LUNAR, 100, random_state=1).mean >= 160.0
