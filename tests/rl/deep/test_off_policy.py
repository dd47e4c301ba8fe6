"""What DQN, SAC and TD3 share: target nets, rounds, when learning starts."""

import numpy as np
import pytest
import torch

from pansophy.nn.training.optimisers import Adam, pack_parameters
from pansophy.rl import DQN, SAC, TD3, gather
from pansophy.rl.deep.off_policy import (
    ROUNDS_PER_MEASURE,
    AbstractOffPolicy,
    AbstractOffPolicyLearner,
    TargetNet,
)
from pansophy.rl.deep.running_moments import ObservationMoments
from pansophy.rl.deep.small_nets import he_mlp
from pansophy.rl.deep.space_layouts import action_layout, observation_layout
from pansophy.rl.envs import CartPole, VectorWorld


class CountingLearner(AbstractOffPolicyLearner):
    """Notes every batch; acts at random and learns nothing."""

    def __init__(self, agent, n_envs):
        super().__init__(agent, n_envs, torch.device("cpu"))
        self.net = he_mlp((4, 3, 2), np.random.default_rng(0), "relu")
        self.targets = []
        self.batches = []
        self.rounds_seen = []

    def act_batch(self, observations, rng, mask=None):
        return rng.integers(2, size=len(observations))

    def learn(self, batch, rng):
        self.batches.append(batch)
        self.totals.add("q", torch.tensor(1.5), len(batch.reward))
        return np.full(len(batch.reward), 7.0)

    def after_round(self, before, after):
        self.rounds_seen.append((before, after))


class CountingAgent(AbstractOffPolicy):
    def _make_learner(self, n_envs, rng, device):
        raise AssertionError("the tests make the learner themselves")

    def _greedy(self, X, mask):
        raise AssertionError

    def _row_values(self, X):
        raise AssertionError


def make_learner(n_envs=3, **options):
    agent = CountingAgent(100, n_envs=n_envs, random_state=0, **options)
    world = CartPole()
    agent.observation_layout_ = observation_layout(world.observation_space)
    agent.action_layout_ = action_layout(world.action_space, "DQN")
    agent.observation_moments_ = ObservationMoments.empty(4)
    return CountingLearner(agent, n_envs), VectorWorld(world, n_envs)


def run_rounds(learner, envs, n, horizon=2):
    rng = np.random.default_rng(0)
    position = None
    found = []
    for _ in range(n):
        steps = gather(envs, learner, horizon, position=position, random_state=rng)
        position = steps.position
        found.append(learner.update(steps, 0.5, rng))
    return found


def test_learning_starts_after_its_steps_and_takes_its_batches():
    learner, envs = make_learner(
        learning_starts=20, gradient_steps=3, batch_size=5, horizon=2
    )
    run_rounds(learner, envs, 5)  # 6 steps a round: the fourth reaches 24
    assert learner.done == 30 and len(learner.buffer) == 30
    assert len(learner.batches) == 2 * 3
    assert all(len(batch.reward) == 5 for batch in learner.batches)
    assert learner.rounds_seen == [(18, 24), (24, 30)]


def test_measures_come_every_hundred_rounds():
    learner, envs = make_learner(learning_starts=0, batch_size=2)
    found = run_rounds(learner, envs, ROUNDS_PER_MEASURE + 1, horizon=1)
    told = [i for i, values in enumerate(found) if values]
    assert told == [ROUNDS_PER_MEASURE - 1]
    assert found[told[0]] == {"q_loss": 1.5}


def test_priorities_are_the_errors():
    learner, envs = make_learner(
        learning_starts=0, batch_size=4, priority_exponent=1.0, importance_exponent=0.4
    )
    run_rounds(learner, envs, 1)
    batch = learner.batches[0]
    np.testing.assert_allclose(learner.buffer.tree.get(batch.index), 7.0, atol=1e-5)
    assert batch.weight.max() == 1.0


def test_observations_are_scaled_by_the_moments_so_far():
    learner, envs = make_learner(normalize_observations=True, learning_starts=10**9)
    raw = np.array([[1.0, 2.0, 3.0, 4.0]], np.float32)
    np.testing.assert_array_equal(learner.rows(raw), raw)  # nothing was seen yet
    run_rounds(learner, envs, 3)
    assert learner.moments.count == 18
    expected = learner.moments.scaled(raw)
    np.testing.assert_allclose(learner.rows(raw), expected, rtol=1e-6)
    assert learner.rows(raw).dtype == np.float32


def test_target_nets_copy_and_follow(rng):
    net = he_mlp((3, 4, 2), rng, "relu")
    target = TargetNet(net)
    before = [p.clone() for p in target.module.parameters()]
    with torch.no_grad():
        for p in net.parameters():
            p.add_(1.0)
    for p, q in zip(target.module.parameters(), before, strict=True):
        assert (p == q).all() and not p.requires_grad
    target.follow(0.25)
    for p, q in zip(target.module.parameters(), before, strict=True):
        torch.testing.assert_close(p, q + 0.25)
    target.copy_weights()
    for p, q in zip(target.module.parameters(), net.parameters(), strict=True):
        assert (p == q).all()


def test_flat_target_weights_have_the_places_of_the_net(rng):
    net = he_mlp((3, 4, 2), rng, "relu")
    (pack,) = pack_parameters(dict(net.named_parameters()), Adam())
    target = TargetNet(net)
    with torch.no_grad():
        net.weights[0].mul_(3.0)
    vector = target.flatten_like(net, pack.flat.w)
    assert (vector != pack.flat.w.numpy()).any()  # still the older weights
    target.copy_weights()
    np.testing.assert_array_equal(vector, pack.flat.w.numpy())


def test_states_are_copies():
    learner, _ = make_learner()
    state = learner.copy_state()
    with torch.no_grad():
        learner.net.weights[0].fill_(9.0)
    assert not (state["weights.0"] == 9.0).any()
    learner.restore_state(state)
    assert torch.equal(learner.net.weights[0], state["weights.0"])


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (np.arange(3, dtype=np.int32), torch.int64),
        (np.arange(3.0), torch.float32),
        (np.array([True, False]), torch.bool),
    ],
)
def test_tensors_by_kind(value, dtype):
    learner, _ = make_learner()
    assert learner.tensor(value).dtype == dtype


@pytest.mark.parametrize(
    ("agent", "env", "options"),
    [
        (DQN, "CartPole-v1", {}),
        (DQN, "CartPole-v1", {"priority_exponent": 0.6, "n_step": 3}),
        (
            DQN,
            "CartPole-v1",
            {"distribution": "categorical", "return_range": (0.0, 200.0)},
        ),
        (SAC, "Pendulum-v1", {"temperature": 0.1}),
        (TD3, "Pendulum-v1", {}),
    ],
)
def test_a_reward_scale_undoes_rewards_in_other_units(agent, env, options):
    """Rewards times 8, divided by 8: the same nets, values in the units given."""
    gymnasium = pytest.importorskip("gymnasium")

    class InUnits(gymnasium.RewardWrapper):
        def __init__(self, unit):
            super().__init__(gymnasium.make(env))
            self.unit = unit

        def reward(self, reward):
            return self.unit * reward

    settings = {
        "learning_starts": 50, "batch_size": 16, "hidden_layer_sizes": (8,),
        "n_envs": 1, "random_state": 0, **options,
    }  # fmt: skip
    plain = agent(120, **settings).fit(InUnits(1.0))
    if "return_range" in settings:
        settings["return_range"] = (0.0, 1600.0)
    scaled = agent(120, reward_scale=8.0, **settings)
    scaled.fit(InUnits(8.0))
    for a, b in zip(plain.net_.parameters(), scaled.net_.parameters(), strict=True):
        np.testing.assert_array_equal(a.detach(), b.detach())
    X = np.random.default_rng(0).normal(size=(5, plain.observation_layout_.width))
    np.testing.assert_allclose(scaled.value(X), 8 * plain.value(X), rtol=1e-6)
    np.testing.assert_array_equal(scaled.predict(X), plain.predict(X))
    if agent is DQN:
        np.testing.assert_allclose(scaled.q_values(X), 8 * plain.q_values(X), rtol=1e-6)
