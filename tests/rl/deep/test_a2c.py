"""A2C is one step along the policy gradient."""

import numpy as np

from pansophy.rl import A2C, PPO, evaluate_agent
from pansophy.rl.envs import CartPole, Catch

SAME = {"n_envs": 4, "horizon": 8, "hidden_layer_sizes": (16,), "random_state": 0}


def test_it_is_ppo_with_one_pass_and_one_batch():
    """At p = q the clipped objective has the gradient of A log p."""
    options = {"learning_rate": 0.01, "gae_lambda": 0.9, "entropy_weight": 0.01, **SAME}
    one = A2C(256, **options).fit(CartPole())
    other = PPO(
        256,
        n_epochs=1,
        batch_size=32,
        normalize_advantages=False,
        anneal=True,
        **options,
    ).fit(CartPole())
    for p, q in zip(one.net_.parameters(), other.net_.parameters(), strict=True):
        np.testing.assert_allclose(p, q, atol=1e-6)


def test_catches():
    agent = A2C(10_000, learning_rate=5e-3, **SAME).fit(Catch(5, 3))
    assert evaluate_agent(agent, Catch(5, 3), 50).mean > 0.9
