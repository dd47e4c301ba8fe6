"""One update of the actor-critic learner: advantages, batches, memory, measures."""

import numpy as np
import pytest
import torch

from pansophy.nn.training.devices import resolve_device
from pansophy.rl import A2C, PPO, gather, generalized_advantages
from pansophy.rl.deep.abstract_agent import vector_environments
from pansophy.rl.deep.actor_critic import ActorCriticLearner
from pansophy.rl.deep.running_moments import ObservationMoments
from pansophy.rl.deep.space_layouts import action_layout, observation_layout
from pansophy.rl.envs import CartPole, MemoryChain, Pendulum

SMALL = {"hidden_layer_sizes": (8,), "random_state": 0}


def make_learner(agent, env, n_envs=3):
    agent.observation_layout_ = observation_layout(env.observation_space)
    agent.action_layout_ = action_layout(env.action_space, "PPO")
    agent.observation_moments_ = ObservationMoments.empty(
        agent.observation_layout_.width
    )
    rng = np.random.default_rng(0)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        learner = ActorCriticLearner(agent, n_envs, rng, resolve_device("cpu"))
    envs = vector_environments(env, n_envs)
    return learner, envs, rng


def gathered(learner, envs, rng, horizon=40):
    return gather(envs, learner, horizon, random_state=rng)


@pytest.mark.parametrize("env", [CartPole(max_steps=15), Pendulum(max_steps=15)])
def test_the_policy_that_acted_has_ratio_one(env):
    """log q of the batch is log p of the net before the first gradient step."""
    learner, envs, rng = make_learner(PPO(100, **SMALL), env)
    steps = gathered(learner, envs, rng)
    X = learner.layout.encode(
        steps.observation.reshape(-1, *env.observation_space.shape)
    )
    zeros = np.zeros(steps.reward.shape)
    with torch.no_grad():
        batch = learner._batch(X, steps, zeros, zeros)
    moved = learner._change(batch)
    assert moved["kl"] == pytest.approx(0.0, abs=1e-7)
    assert moved["clip_fraction"] == 0.0
    choice = steps.extras["choice"].reshape(len(X), -1)
    np.testing.assert_array_equal(batch.action.numpy(), choice)


def test_what_is_learnt_from_is_the_draw_and_not_what_was_executed():
    """A normal policy learns from its own numbers, which the world gets cut off."""
    learner, envs, rng = make_learner(PPO(100, **SMALL), Pendulum(max_steps=15))
    steps = gathered(learner, envs, rng, 100)
    choice = steps.extras["choice"].reshape(steps.action.shape)
    assert (np.abs(choice) > 2.0).any()  # s = 1 at first
    np.testing.assert_allclose(steps.action, np.clip(choice, -2.0, 2.0), rtol=1e-6)
    assert choice.std() == pytest.approx(1.0, abs=0.15)


def test_values_after_a_step_belong_to_its_episode():
    learner, envs, rng = make_learner(PPO(100, **SMALL), CartPole(max_steps=12))
    steps = gathered(learner, envs, rng)
    assert len(steps.final_env) and steps.truncated.any()
    X = learner.layout.encode(steps.observation.reshape(-1, 4))
    with torch.no_grad():
        V, after = learner._values(X, steps)
        value = lambda x: learner.net.value(torch.as_tensor(x))[:, 0].detach().numpy()
        expected = value(steps.next_observation().reshape(-1, 4))
    np.testing.assert_allclose(after.ravel(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(V.ravel(), value(X), rtol=1e-5, atol=1e-6)
    # and the update's own advantages are those of `returns` with these values
    A = generalized_advantages(
        steps.reward, V, after, steps.terminated, steps.truncated,
        gamma=0.99, gae_lambda=0.95,
    )  # fmt: skip
    assert np.isfinite(A).all()


def test_an_update_moves_the_nets_and_tells_what_it_measured():
    agent = PPO(100, batch_size=16, n_epochs=3, **SMALL)
    learner, envs, rng = make_learner(agent, CartPole(max_steps=15))
    before = learner.copy_state()
    found = learner.update(gathered(learner, envs, rng), 0.0, rng)
    assert set(found) == {
        "policy_loss", "value_loss", "kl", "clip_fraction", "entropy",
        "explained_variance",
    }  # fmt: skip
    assert found["kl"] > 0 and 0 < found["entropy"] <= np.log(2)
    after = learner.copy_state()
    assert any((before[key] != after[key]).any() for key in before)
    learner.restore_state(before)
    assert all((learner.net.state_dict()[k] == before[k]).all() for k in before)


def test_target_kl_ends_the_passes():
    passes = {}
    for limit in (None, 1e-6):
        agent = PPO(100, n_epochs=7, batch_size=30, target_kl=limit, **SMALL)
        learner, envs, rng = make_learner(agent, CartPole(max_steps=15))
        found = learner.update(gathered(learner, envs, rng), 0.0, rng)
        (pack,) = learner.gradient_step.packs[""]
        passes[limit] = float(pack.state["t"]) / 4  # 120 steps in four pieces
        assert found["kl"] > 1e-6
    assert passes == {None: 7, 1e-6: 1}


def test_a_falling_rate_ends_at_nothing():
    agent = PPO(100, anneal=True, n_epochs=2, **SMALL)
    learner, envs, rng = make_learner(agent, CartPole(max_steps=15))
    before = learner.copy_state()
    learner.update(gathered(learner, envs, rng), 1.0, rng)
    after = learner.copy_state()
    assert all((before[key] == after[key]).all() for key in before)


def test_one_gradient_step_without_clipping_is_a2c():
    """A2C takes the whole batch at once, along the plain policy gradient."""
    agent = A2C(100, entropy_weight=0.0, max_grad_norm=None, **SMALL)
    learner, envs, rng = make_learner(agent, CartPole(max_steps=15))
    steps = gathered(learner, envs, rng, agent.horizon)
    twin = make_learner(agent, CartPole(max_steps=15))[0]
    X = learner.layout.encode(steps.observation.reshape(-1, 4))
    with torch.no_grad():
        V, after = twin._values(X, steps)
        A = generalized_advantages(
            steps.reward, V, after, steps.terminated, steps.truncated,
            gamma=agent.gamma, gae_lambda=agent.gae_lambda,
        )  # fmt: skip
        batch = twin._batch(X, steps, A, A + V)
    with twin.gradient_step.grad_mode():
        twin.gradient_step([(batch, len(X))], 1.0)
    learner.update(steps, 0.0, rng)
    mine, other = learner.copy_state(), twin.copy_state()
    for key in mine:
        torch.testing.assert_close(mine[key], other[key], atol=1e-5, rtol=1e-4)


def test_a_memory_starts_anew_with_each_episode():
    agent = PPO(100, memory="gru", memory_size=6, horizon=5, **SMALL)
    learner, envs, rng = make_learner(agent, MemoryChain(3))
    steps = gathered(learner, envs, rng, 5)
    (state,) = learner.state
    first = steps.position.first
    assert first.any() or (state != 0).any()
    learner.begin_batch(steps.position.observation, np.ones(3, bool))
    assert (learner.state[0] == 0).all()
    assert learner.compiled_epochs is None  # such nets are trained by autograd
    found = learner.update(steps, 0.0, rng)
    assert all(np.isfinite(v) for v in found.values())


def test_moments_take_in_observations_after_the_update():
    agent = PPO(100, normalize_observations=True, normalize_rewards=True, **SMALL)
    learner, envs, rng = make_learner(agent, CartPole(max_steps=15))
    assert learner.moments.count == 0
    steps = gathered(learner, envs, rng, 10)
    learner.update(steps, 0.0, rng)
    assert learner.moments.count == 30
    np.testing.assert_allclose(
        learner.moments.mean, steps.observation.reshape(-1, 4).mean(0), atol=1e-6
    )
    assert learner.return_scale.scale > 0
