"""The battery of neural agents: probe worlds, time limits, seeds, files, Ctrl-C.

Probe worlds are so small that chance hardly matters: over three more seeds values were
within 0.03 of the truth (0.15 without end), actions within 0.04.

Joining `AGENTS` is how a neural agent gets tested: a function from further parameters
to an agent that solves each probe world in a second, and whether it acts in numbers.
"""

import gymnasium
import numpy as np
import pytest
import torch

from pansophy.base import InterruptedFitWarning
from pansophy.persist import load, save
from pansophy.rl import A2C, DQN, PPO, REINFORCE, SAC, TD3, evaluate_agent, gather
from pansophy.rl.envs import CartPole, Corridor, ProbeWorld
from pansophy.rl.experience.agent_comparison import RandomAgent
from pansophy.typing import Agent

COMMON = {"hidden_layer_sizes": (32,), "gamma": 0.9, "random_state": 0}
ON = {**COMMON, "learning_rate": 0.01}
OFF = {**COMMON, "n_envs": 1, "learning_starts": 100, "learning_rate": 5e-3}
SLOW_COPY = {"tau": 0.05, "batch_size": 64}


def make_with(cls, n, **fixed):
    return lambda **more: cls(**{"n_steps": n, **fixed, **more})


AGENTS = {
    "ppo": (make_with(PPO, 1500, n_envs=4, horizon=16, batch_size=32, **ON), False),
    "a2c": (make_with(A2C, 6000, n_envs=8, horizon=8, **ON), False),
    "reinforce": (make_with(REINFORCE, 8000, n_envs=8, horizon=16, **ON), False),
    "dqn": (make_with(DQN, 1600, horizon=2, target_interval=20, **OFF), False),
    "ppo, numbers": (
        make_with(PPO, 3000, n_envs=4, horizon=16, batch_size=32, anneal=True, **ON),
        True,
    ),
    "sac": (make_with(SAC, 900, temperature=0.02, **SLOW_COPY, **OFF), True),
    "td3": (make_with(TD3, 900, **SLOW_COPY, **OFF), True),
}
NAMES = list(AGENTS)
X = np.array([[-1.0], [0.0], [1.0]], np.float32)


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


def trained(name, probe, **more):
    make, continuous = AGENTS[name]
    return make(**more).fit(ProbeWorld(probe, continuous=continuous))


def test_probe_constant(name):
    assert trained(name, "constant").value(X[1:2])[0] == pytest.approx(1.0, abs=0.1)


def test_probe_observation(name):
    V = trained(name, "observation").value(X)
    np.testing.assert_allclose(V[[0, 2]], [-1.0, 1.0], atol=0.15)


def test_probe_discount(name):
    V = trained(name, "discount").value(X)
    np.testing.assert_allclose(V[1:], [0.9, 1.0], atol=0.1)


def test_probe_action(name):
    agent = trained(name, "action")
    best = 0.5 if AGENTS[name][1] else 1
    assert agent.predict(X[1:2]).ravel()[0] == pytest.approx(best, abs=0.15)


def test_probe_both(name):
    agent = trained(name, "both")
    best = [-0.5, 0.5] if AGENTS[name][1] else [0, 1]
    np.testing.assert_allclose(agent.predict(X[[0, 2]]).ravel(), best, atol=0.15)


ENDLESS = {
    "dqn": {"learning_rate": 0.03, "n_steps": 2500},
    "td3": {"n_steps": 1400},
    "reinforce": {"learning_rate": 0.03},
    "a2c": {"learning_rate": 0.03},
}


def test_a_time_limit_is_no_end(name):
    """V = 1 + 0.9 + 0.81 + ... = 10; taking the limit for an end gives 6.5 or less.

    Only 9.1 with Huber's loss, which gives one target in ten little weight.
    """
    agent = trained(name, "endless", **ENDLESS.get(name, {}))
    near = 0.3 if name == "dqn" else 1.0
    assert agent.value(X[1:2])[0] == pytest.approx(10.0, abs=near)


def test_n_step_targets_know_time_limits():
    agent = trained("dqn", "endless", n_step=3, **ENDLESS["dqn"])
    assert agent.value(X[1:2])[0] == pytest.approx(10.0, abs=0.3)


def brief(name, **more):
    limits = {"n_steps": 200}
    if AGENTS[name][0]().__class__ in (DQN, SAC, TD3):
        limits["learning_starts"] = 50
    return AGENTS[name][0](**limits, **more)


def test_same_seed_same_run_bit_for_bit(name):
    world = lambda: ProbeWorld("both", continuous=AGENTS[name][1])
    torch.manual_seed(3)
    kept = torch.get_rng_state()
    one, two = (brief(name).fit(world()) for _ in range(2))
    assert (torch.get_rng_state() == kept).all()  # the user's numbers are untouched
    other = brief(name, random_state=1).fit(world())
    weights = lambda a: torch.cat([p.ravel() for p in a.net_.parameters()])
    assert (weights(one) == weights(two)).all()
    assert (weights(one) != weights(other)).any()
    for key, values in one.history_.items():
        np.testing.assert_array_equal(values, two.history_[key])


def test_files_hold_everything_that_acts(name, tmp_path):
    world = ProbeWorld("both", continuous=AGENTS[name][1])
    agent = brief(name, normalize_observations=True).fit(world)
    save(agent, tmp_path / "agent.pansophy")
    again = load(tmp_path / "agent.pansophy")
    np.testing.assert_array_equal(agent.predict(X), again.predict(X))
    np.testing.assert_array_equal(agent.value(X), again.value(X))
    moments = again.observation_moments_
    assert moments.count == agent.n_steps_ and moments.var[0] > 0.5
    assert isinstance(again, Agent) or hasattr(again, "act")
    action = again.act(X[0])
    assert world.action_space.contains(action)


def test_evaluation_changes_nothing(name):
    world = ProbeWorld("both", continuous=AGENTS[name][1])
    agent = brief(name, normalize_observations=True).fit(world)
    before = [p.clone() for p in agent.net_.parameters()]
    moments = agent.observation_moments_
    one, two = (evaluate_agent(agent, world, 10) for _ in range(2))
    np.testing.assert_array_equal(one.returns, two.returns)  # greedy: no chance
    assert agent.observation_moments_ is moments
    for p, q in zip(agent.net_.parameters(), before, strict=True):
        assert (p == q).all()


class Tired(ProbeWorld):
    """Somebody presses Ctrl-C in the 150th step."""

    def __init__(self, continuous):
        super().__init__("both", continuous=continuous)
        self.left = 150

    def step(self, action):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return super().step(action)


def test_ctrl_c_leaves_an_agent_that_acts_and_goes_on(name):
    continuous = AGENTS[name][1]
    agent = brief(name, n_envs=1)
    with pytest.warns(InterruptedFitWarning):
        agent.fit(Tired(continuous))
    assert agent.interrupted_ and 0 < agent.n_iter_ <= 150
    before = agent.n_steps_
    agent.predict(X)
    agent.warm_start = True
    agent.fit(ProbeWorld("both", continuous=continuous))
    assert agent.n_steps_ == before + 200 and not agent.interrupted_
    with pytest.raises(ValueError, match=r"other spaces|chooses real numbers"):
        agent.fit(Corridor(4, max_steps=9))


def test_wrong_spaces_and_parameters_are_told(name):
    make, continuous = AGENTS[name]
    cls = type(make())
    if cls in (SAC, TD3):
        with pytest.raises(ValueError, match="chooses real numbers"):
            make().fit(ProbeWorld("both"))
        free = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float32)
        unbounded = ProbeWorld("both", continuous=True)
        unbounded.action_space = free
        with pytest.raises(ValueError, match="some are infinite"):
            make().fit(unbounded)
    if cls is DQN:
        with pytest.raises(ValueError, match="finitely many actions"):
            make().fit(ProbeWorld("both", continuous=True))
    with pytest.raises(ValueError, match=f"gamma of {cls.__name__}"):
        make(gamma=2.0).fit(ProbeWorld("both", continuous=continuous))
    with pytest.raises(TypeError, match="Gymnasium environment"):
        make().fit(3)


def test_a_reward_that_is_no_number_is_named_with_its_step(name):
    class Broken(ProbeWorld):
        def step(self, action):
            found = super().step(action)
            bad = self.np_random.random() < 0.05
            return (found[0], float("nan") if bad else found[1], *found[2:])

    agent = AGENTS[name][0](n_steps=2000)
    with pytest.raises(ValueError, match=r"the reward of step \d+ is nan"):
        agent.fit(Broken("both", continuous=AGENTS[name][1]))


def test_transitions_are_counted_in_every_reset_mode():
    """NEXT_STEP adds steps that only reset; agents leave them out."""
    from gymnasium.vector import AutoresetMode, SyncVectorEnv

    for mode in AutoresetMode:
        envs = SyncVectorEnv([lambda: ProbeWorld("action")] * 2, autoreset_mode=mode)
        agent = PPO(800, horizon=8, batch_size=8, **{**ON, "random_state": 1})
        agent.fit(envs)
        assert agent.predict(X[1:2]) == [1]
        assert agent.value(X[1:2])[0] == pytest.approx(1.0, abs=0.3)
        deep = DQN(800, **{**OFF, "target_interval": 20})
        envs = SyncVectorEnv([lambda: ProbeWorld("action")] * 2, autoreset_mode=mode)
        assert deep.fit(envs).predict(X[1:2]) == [1]


class MaskedCells(gymnasium.Env):
    """Action k pays k, but of four actions only some are allowed in each episode."""

    observation_space = gymnasium.spaces.Box(0, 1, (4,), np.float32)
    action_space = gymnasium.spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.allowed = self.np_random.random(4) < 0.5
        self.allowed[self.np_random.integers(4)] = True
        return self.allowed.astype(np.float32), self._info()

    def _info(self):
        return {"action_mask": self.allowed.astype(np.int8)}

    def step(self, action):
        assert self.allowed[action], "a forbidden action"
        return self.allowed.astype(np.float32), float(action), True, False, self._info()


@pytest.mark.parametrize("name", ["ppo", "a2c", "dqn"])
def test_masks_are_obeyed_while_learning_and_after(name):
    agent = AGENTS[name][0]()
    agent.fit(MaskedCells())
    masks = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 0]], bool)
    chosen = agent.predict(masks.astype(np.float32), masks)
    assert masks[np.arange(3), chosen].all()
    assert chosen[2] == 0
    assert evaluate_agent(agent, MaskedCells(), 50).mean > 1.9  # 2.2 is the best
    with pytest.raises(AssertionError, match="forbidden"):  # noqa: PT012
        for seed in range(20):
            env = MaskedCells()
            env.reset(seed=seed)
            env.step(agent.predict(np.ones((1, 4), np.float32))[0])


@pytest.mark.parametrize("name", ["ppo", "dqn"])
def test_masks_that_cannot_be_obeyed_are_told(name):
    class Closed(MaskedCells):
        def _info(self):
            return {"action_mask": np.zeros(4, np.int8)}

    class Wide(MaskedCells):
        def _info(self):
            return {"action_mask": np.ones(5, np.int8)}

    with pytest.raises(ValueError, match="forbids every action"):
        AGENTS[name][0]().fit(Closed())
    with pytest.raises(ValueError, match=r"a mask must have the shape \(\d, 4\)"):
        AGENTS[name][0]().fit(Wide())


class TwoKnobs(gymnasium.Env):
    """Both discrete actions must equal what is seen."""

    observation_space = gymnasium.spaces.Tuple(
        (gymnasium.spaces.Discrete(2), gymnasium.spaces.Discrete(3))
    )
    action_space = gymnasium.spaces.MultiDiscrete([2, 3])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seen = int(self.np_random.integers(2)), int(self.np_random.integers(3))
        return self.seen, {}

    def step(self, action):
        pay = sum(float(a == s) for a, s in zip(action, self.seen, strict=True))
        return self.seen, pay, True, False, {}


def test_several_actions_at_once():
    agent = PPO(3000, n_envs=4, horizon=16, batch_size=32, **ON).fit(TwoKnobs())
    # 0.8 by chance, 2 at best
    assert evaluate_agent(agent, TwoKnobs(), 20).mean > 1.6
    with pytest.raises(ValueError, match="one discrete action at a time"):
        DQN(100).fit(TwoKnobs())


class Recall(gymnasium.Env):
    """A cue is shown once; two steps later the action must equal it."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cue = int(self.np_random.integers(2))
        self.t = 0
        return np.array([2.0 * self.cue - 1], np.float32), {}

    def step(self, action):
        self.t += 1
        pay = (1.0 if action == self.cue else -1.0) if self.t == 3 else 0.0
        return np.zeros(1, np.float32), pay, self.t == 3, False, {}


@pytest.mark.parametrize("memory", ["gru", "lstm"])
def test_memory_solves_what_cannot_be_seen(memory):
    options = {**ON, "gamma": 0.99, "n_envs": 8, "horizon": 12, "n_epochs": 4}
    agent = PPO(4000, memory=memory, memory_size=16, batch_size=48, **options)
    agent.fit(Recall())
    # without memory an episode pays 0 on average: -0.2 or 0.2 in these
    assert evaluate_agent(agent, Recall(), 20).mean > 0.75
    steps = gather([Recall() for _ in range(4)], agent, 12, random_state=0)
    assert steps.returns.mean() > 0.75
    blind = PPO(1500, batch_size=48, **options).fit(Recall())
    assert evaluate_agent(blind, Recall(), 20).mean < 0.75
    with pytest.raises(ValueError, match="depends on the episode"):
        agent.value(X)


class MaskedRecall(gymnasium.Env):
    """A cue of two parts is shown once; later both actions must equal it.

    One action of each part is forbidden at any time, never the one that pays.
    """

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.MultiDiscrete([2, 3], start=[0, 4])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cue = self.np_random.integers([2, 3])
        self.t = 0
        return (self.cue - [0.5, 1.0]).astype(np.float32), self._info()

    def _info(self):
        second = np.ones(3, np.int8)
        second[(self.cue[1] + self.np_random.integers(1, 3)) % 3] = 0
        self.mask = np.append(np.ones(2, np.int8), second)
        return {"action_mask": self.mask}

    def step(self, action):
        first, second = action[0], action[1] - 4
        assert self.mask[:2][first] and self.mask[2:][second], "a forbidden action"
        self.t += 1
        right = float(first == self.cue[0]) + float(second == self.cue[1])
        pay = right if self.t == 2 else 0.0
        return np.zeros(2, np.float32), pay, self.t == 2, False, self._info()


@pytest.mark.parametrize("memory", ["gru", "lstm"])
def test_masks_memory_and_several_actions_together(memory, tmp_path):
    options = {**ON, "gamma": 0.99, "n_envs": 8, "horizon": 12, "n_epochs": 4}
    agent = PPO(6000, memory=memory, memory_size=16, batch_size=48, **options)
    agent.fit(MaskedRecall())
    mean = evaluate_agent(agent, MaskedRecall(), 30).mean
    assert mean > 1.6  # 1.9 to 2 over four seeds
    save(agent, tmp_path / "a.pansophy")
    again = load(tmp_path / "a.pansophy")
    assert evaluate_agent(again, MaskedRecall(), 30).mean == mean
    found = RandomAgent(MaskedRecall.action_space)
    chance = evaluate_agent(found, MaskedRecall(), 200).mean  # it obeys the mask too
    assert chance == pytest.approx(1.0, abs=0.2)


class Described(gymnasium.Env):
    """Observations are dictionaries."""

    observation_space = gymnasium.spaces.Dict(
        {
            "place": gymnasium.spaces.Discrete(2),
            "noise": gymnasium.spaces.Box(-1, 1, (2,), np.float32),
        }
    )
    action_space = gymnasium.spaces.Discrete(2, start=5)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(2))
        return self._seen(), {}

    def _seen(self):
        noise = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        return {"place": self.place, "noise": noise}

    def step(self, action):
        pay = 1.0 if action - 5 == self.place else -1.0
        return self._seen(), pay, True, False, {}


@pytest.mark.parametrize("name", ["ppo", "dqn"])
def test_dictionaries_and_first_actions(name, tmp_path):
    agent = AGENTS[name][0]().fit(Described())
    save(agent, tmp_path / "a.pansophy")
    # 0 by chance
    assert evaluate_agent(load(tmp_path / "a.pansophy"), Described(), 30).mean > 0.75


def test_observations_normalised_by_moments_of_the_agent():
    class Far(ProbeWorld):
        def _observation(self):
            return super()._observation() + 1e4

    agent = trained("ppo", "both")
    assert agent.observation_moments_.count == 0
    far = AGENTS["ppo"][0](normalize_observations=True, n_steps=3000).fit(Far("both"))
    assert far.predict(X[[0, 2]] + 1e4).tolist() == [0, 1]
    scaled = AGENTS["ppo"][0](normalize_rewards=True).fit(Rich("both"))
    assert scaled.predict(X[[0, 2]]).tolist() == [0, 1]
    assert scaled.value(X[:1])[0] == pytest.approx(1e4, rel=0.2)  # in raw units
    assert max(scaled.history_["return"]) == 1e4


class Rich(ProbeWorld):
    def _reward(self, action):
        return 1e4 * super()._reward(action)


def test_callbacks_functions_and_names_as_environments():
    agent = PPO(64, n_envs=2, horizon=16, random_state=0).fit("CartPole-v1")
    again = PPO(64, n_envs=2, horizon=16, random_state=0).fit(CartPole())
    np.testing.assert_array_equal(
        agent.history_["return"], again.history_["return"]
    )  # the compiled twin stands for the name
    made = PPO(64, n_envs=2, horizon=16, random_state=0).fit(lambda: CartPole())
    assert made.n_iter_ == 64


class WellPaid(ProbeWorld):
    """Rewards in another unit."""

    def _reward(self, action):
        return 500.0 * super()._reward(action)


def test_scaled_rewards_are_for_learning_only():
    """History, evaluation and values are in the environment's unit."""
    make = AGENTS["ppo"][0]
    agent = make(normalize_rewards=True).fit(WellPaid("constant"))
    assert (agent.history_["return"] == 500.0).all()
    assert evaluate_agent(agent, WellPaid("constant"), 5).mean == 500.0
    assert agent.value(X[1:2])[0] == pytest.approx(500.0, rel=0.1)


def test_numbers_are_cut_for_the_environment_and_not_for_learning():
    """log p belongs to the number that was drawn, the world gets one it allows."""
    seen = []

    class Watched(ProbeWorld):
        def step(self, action):
            seen.append(float(action[0]))
            return super().step(action)

    brief("ppo, numbers", n_envs=1).fit(Watched("both", continuous=True))
    assert np.abs(seen).max() == 1.0  # s = 1 at first: many draws lie outside
    assert np.mean(np.abs(seen) == 1.0) > 0.1
