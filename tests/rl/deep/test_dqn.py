"""Deep Q-learning: the tabular optimum, the target net, every option."""

import numpy as np
import pytest
import torch

from pansophy.nn.training.devices import resolve_device
from pansophy.rl import DQN, Boltzmann, EpsilonGreedy, gather, value_iteration
from pansophy.rl.deep import q_net
from pansophy.rl.deep.abstract_agent import vector_environments
from pansophy.rl.deep.running_moments import ObservationMoments
from pansophy.rl.deep.space_layouts import action_layout, observation_layout
from pansophy.rl.envs import Corridor, GridWorld, MountainCar

QUICK = {
    "n_envs": 1, "learning_starts": 100, "target_interval": 40, "random_state": 0,
    "hidden_layer_sizes": (32,), "learning_rate": 3e-3,
}  # fmt: skip


def learner_of(agent, env):
    agent.observation_layout_ = observation_layout(env.observation_space)
    agent.action_layout_ = action_layout(env.action_space, "DQN")
    agent.observation_moments_ = ObservationMoments.empty(
        agent.observation_layout_.width
    )
    agent.n_steps_ = 0
    rng = np.random.default_rng(0)
    return agent._make_learner(agent.n_envs, rng, resolve_device("cpu")), rng


def test_reaches_the_tabular_optimum():
    env = GridWorld(["S.G", ".#X"], living=-0.1, max_steps=30)
    best = value_iteration(env, gamma=0.9)
    agent = DQN(4000, horizon=4, gamma=0.9, exploration=0.5, **QUICK).fit(env)
    free = [0, 1, 3]  # cells that are acted in
    np.testing.assert_allclose(agent.q_values(free), best.Q[free], atol=0.1)
    np.testing.assert_array_equal(agent.predict(free), best.policy[free])


@pytest.mark.parametrize(
    "options",
    [
        {"double": False},
        {"duelling": True},
        {"n_step": 3},
        {"ema_decay": 0.9},
        {"priority_exponent": 0.6},
        {"distribution": "categorical", "return_range": (0.0, 2.0)},
        {"distribution": "quantile", "n_atoms": 11},
        {"target_interval": 0},
        {"exploration": Boltzmann(0.1)},
        {"n_envs": 4, "horizon": 1},
        {
            "duelling": True, "n_step": 3, "priority_exponent": 0.6, "n_envs": 2,
            "distribution": "categorical", "return_range": (0.0, 2.0),
        },
    ],
    ids=str,
)  # fmt: skip
def test_every_option_learns_a_corridor(options):
    options = {**QUICK, "exploration": 0.3, **options}
    agent = DQN(1500, gamma=0.9, horizon=options.pop("horizon", 2), **options)
    agent.fit(Corridor(3, max_steps=20))
    assert agent.predict([0, 1, 2]).tolist() == [1, 1, 1]
    np.testing.assert_allclose(agent.value([0, 1, 2]), [0.81, 0.9, 1.0], atol=0.15)


def test_the_target_is_frozen_between_copies_and_gets_no_gradient():
    env = Corridor(3, max_steps=20)
    agent = DQN(1000, horizon=5, **{**QUICK, "learning_starts": 20})
    learner, rng = learner_of(agent, env)
    envs = vector_environments(env, 1)
    position = None
    copied, before = [], None
    for _ in range(30):
        steps = gather(envs, learner, 5, position=position, random_state=rng)
        position = steps.position
        learner.update(steps, 0.0, rng)
        now = [p.clone() for p in learner.target.module.parameters()]
        if before is not None:
            same = all((a == b).all() for a, b in zip(now, before, strict=True))
            if not same:
                copied.append(learner.done)
                online = list(learner.net.parameters())
                assert all((a == b).all() for a, b in zip(now, online, strict=True))
        before = now
    assert copied == [40, 80, 120]  # environment steps, every target_interval
    assert all(p.grad is None for p in learner.target.module.parameters())


def test_a_target_may_follow_slowly():
    agent = DQN(10, tau=0.25, target_interval=4, n_envs=1, hidden_layer_sizes=(4,))
    learner, _ = learner_of(agent, Corridor(3))
    with torch.no_grad():
        for p in learner.net.parameters():
            p.add_(1.0)
    older = [p.clone() for p in learner.target.module.parameters()]
    learner.after_round(4, 7)  # no multiple of 4 was passed
    for p, q in zip(learner.target.module.parameters(), older, strict=True):
        assert (p == q).all()
    learner.after_round(7, 8)
    for p, q in zip(learner.target.module.parameters(), older, strict=True):
        torch.testing.assert_close(p, q + 0.25)


def test_the_rate_falls_to_nothing():
    agent = DQN(10, anneal=True, n_envs=1, learning_starts=0, hidden_layer_sizes=(4,))
    learner, rng = learner_of(agent, Corridor(3))
    steps = gather(
        vector_environments(Corridor(3, max_steps=9), 1), learner, 8, random_state=0
    )
    before = learner.copy_state()
    learner.update(steps, 1.0, rng)  # at the end of the run
    after = learner.copy_state()
    assert all((before[key] == after[key]).all() for key in before)
    learner.update(steps, 0.0, rng)
    assert any((before[k] != learner.copy_state()[k]).any() for k in before)


def test_double_chooses_by_the_online_net_and_values_by_the_target():
    env = Corridor(2, max_steps=5)
    found = {}
    for double in (True, False):
        agent = DQN(100, gamma=1.0, double=double, **QUICK)
        learner, rng = learner_of(agent, env)
        for net, out in (
            (learner.net, [0.0, 5.0]),
            (learner.target.module, [2.0, 1.0]),
        ):
            with torch.no_grad():
                for p in net.parameters():
                    p.zero_()
                net.mlp.biases[-1].copy_(torch.tensor(out))
        steps = gather(vector_environments(env, 1), learner, 8, random_state=rng)
        learner.buffer.extend(steps)
        batch = learner.buffer.draw(20, rng)
        with torch.no_grad():
            y = learner.targets_of(batch)[:, 0].numpy()
        found[double] = y - batch.reward
        ended = batch.discount == 0
        assert (found[double][ended] == 0).all()  # the value after an end
        found[double] = set(found[double][~ended].tolist())
    assert found == {True: {1.0}, False: {2.0}}


@pytest.mark.parametrize("normalize", [False, True])
def test_kept_values_change_nothing(normalize, monkeypatch):
    """A small ring is overwritten many times and the target net copied."""
    options = {**QUICK, "target_interval": 24, "learning_starts": 0, "batch_size": 16}
    nets = []
    for kept in (1 << 24, 0):
        monkeypatch.setattr(q_net, "MOST_KEPT", kept)
        agent = DQN(
            600, n_step=3, buffer_size=50, horizon=4, gradient_steps=3,
            normalize_observations=normalize, **options,
        )  # fmt: skip
        agent.fit(MountainCar(max_steps=30))
        nets.append(torch.cat([p.ravel() for p in agent.net_.parameters()]))
    torch.testing.assert_close(*nets, atol=1e-4, rtol=1e-3)


def test_exploration_follows_its_schedule_within_a_round():
    """Steps of all environments count, not rounds."""
    asked = []

    def level(t):
        asked.append(int(t))
        return 1.0

    options = {**QUICK, "learning_starts": 10**6, "exploration": EpsilonGreedy(level)}
    agent = DQN(12, horizon=3, **{**options, "n_envs": 2})
    learner, rng = learner_of(agent, Corridor(3))
    learner.level.SIZE = 1  # reads one step at a time
    envs = vector_environments(Corridor(3, max_steps=9), 2)
    position = None
    for _ in range(2):
        steps = gather(envs, learner, 3, position=position, random_state=rng)
        position = steps.position
        learner.update(steps, 0.0, rng)
    assert asked == [0, 2, 4, 6, 8, 10]


def test_exploration_ends_with_learning():
    agent = DQN(300, **{**QUICK, "exploration": 1.0}).fit(Corridor(3, max_steps=20))
    assert len({agent.act(0) for _ in range(20)}) == 1


def test_errors():
    with pytest.raises(ValueError, match="return_range of DQN must be"):
        DQN(10, distribution="categorical", return_range=(1, 0)).fit(Corridor(2))
    with pytest.raises(ValueError, match="two numbers"):
        DQN(10, return_range=(1,)).fit(Corridor(2))
    with pytest.raises(ValueError, match="distribution of DQN"):
        DQN(10, distribution="normal").fit(Corridor(2))


def test_averaged_weights_act_and_learning_does_not_see_them():
    env = Corridor(3, max_steps=20)
    settings = {**QUICK, "n_envs": 1, "learning_starts": 20, "random_state": 0}
    rounds, d = [], 0.9

    def observe(learner, n):
        if n >= 20:
            rounds.append(learner.net.mlp.weights[0].detach().numpy().copy())

    agent = DQN(60, ema_decay=d, **settings)
    agent._fit(env, observe=observe, observe_every=1)
    average = rounds[0]
    for n, weights in enumerate(rounds[1:], 1):
        decay = min(d, (1 + n) / (10 + n))
        average = decay * average + (1 - decay) * weights
    kept = agent.net_.mlp.weights[0].detach().numpy()
    np.testing.assert_allclose(kept, average, atol=1e-6)
    assert not np.allclose(kept, rounds[-1], atol=1e-6)
    last = DQN(60, **settings).fit(env).net_.mlp.weights[0].detach().numpy()
    np.testing.assert_array_equal(last, rounds[-1])


def test_a_run_that_diverged_keeps_no_average():
    agent = DQN(10, ema_decay=0.9, hidden_layer_sizes=(4,), n_envs=1)
    learner, _ = learner_of(agent, Corridor(3))
    good = learner.copy_state()
    learner.net.mlp.weights[0].data.fill_(np.nan)
    learner.averaged.update()
    learner.restore_state(good)
    agent._keep(learner)
    assert all(torch.isfinite(p).all() for p in agent.net_.parameters())
