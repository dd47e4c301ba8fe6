"""Neural agents on CartPole against Stable-Baselines3, at equal return.

PPO is compared twice: with the tuned settings that are published for Stable-Baselines3
on CartPole (`ppo_cartpole`, ours has the same ones), and with settings of our own
(`ppo_cartpole_own`). DQN is compared at equal settings, by steps. Quality is what the
greedy policy falls short of 475 in 100 episodes of its own (one that reaches 475 has
solved the task), the median over the seeds of the rounds. Ours steps a compiled twin of
the world and the peer Gymnasium's in Python, so that the ratio is of world and learner
together. `studies/agents_over_seeds` has longer runs over more seeds.
"""

from .runner import Case

SOLVED = 475.0
PPO_SAME = {
    "n_envs": 8, "horizon": 32, "batch_size": 256, "n_epochs": 20, "gamma": 0.98,
    "gae_lambda": 0.8, "learning_rate": 1e-3,
}  # fmt: skip
PPO_OWN = {
    "n_envs": 8, "horizon": 32, "batch_size": 64, "n_epochs": 4, "gamma": 0.98,
    "gae_lambda": 0.9, "learning_rate": 3e-3, "hidden_layer_sizes": (32, 32),
    "target_kl": 0.02,
}  # fmt: skip


TWIN = "ours steps a compiled twin of the world, the peer Gymnasium's in Python"


def budget(size):
    """Steps of a run."""
    return {"steps": size[0]}


def ours_ppo(payload, seed=0, options=None):
    from pansophy.rl import PPO

    options = PPO_SAME if options is None else options
    agent = PPO(payload["steps"], random_state=seed, **options)
    return agent.fit("CartPole-v1").predict


def ours_ppo_own(payload, seed=0):
    return ours_ppo(payload, seed, PPO_OWN)


def sb3_ppo(payload, seed=0):
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    falling = lambda first: lambda left: left * first
    agent = PPO(
        "MlpPolicy", make_vec_env("CartPole-v1", 8, seed=seed), n_steps=32,
        batch_size=256, n_epochs=20, gamma=0.98, gae_lambda=0.8,
        learning_rate=falling(1e-3), clip_range=falling(0.2), seed=seed, device="cpu",
    )  # fmt: skip
    agent.learn(payload["steps"])
    return lambda X: agent.predict(X, deterministic=True)[0]


def ours_dqn(payload, seed=0):
    from pansophy.rl import DQN, EpsilonGreedy, Schedule

    explore = EpsilonGreedy(Schedule(1.0, 0.05, payload["steps"] // 5))
    agent = DQN(
        payload["steps"], n_envs=4, target_interval=500, exploration=explore,
        double=False, random_state=seed,
    )  # fmt: skip
    return agent.fit("CartPole-v1").predict


def sb3_dqn(payload, seed=0):
    from stable_baselines3 import DQN
    from stable_baselines3.common.env_util import make_vec_env

    agent = DQN(
        "MlpPolicy", make_vec_env("CartPole-v1", 4, seed=seed), learning_rate=1e-3,
        batch_size=64, buffer_size=100_000, learning_starts=1000, gamma=0.99,
        target_update_interval=500, train_freq=1, gradient_steps=1, seed=seed,
        exploration_fraction=0.2, exploration_final_eps=0.05, device="cpu",
    )  # fmt: skip
    agent.learn(payload["steps"])
    return lambda X: agent.predict(X, deterministic=True)[0]


def mean_length(policy, n=100):
    """Mean length of n greedy episodes, on seeds of their own."""
    from pansophy.rl import evaluate_agent
    from pansophy.rl.envs import CartPole

    class Judged:
        def act_batch(self, observations, rng):
            return policy(observations)

    return evaluate_agent(Judged(), CartPole(), n, random_state=12345).mean


def shortfall(payload, policy):
    """How far the agent is from 475, the length that counts as solved."""
    return max(0.0, SOLVED - mean_length(policy))


CASES = [
    Case(
        name="ppo_cartpole",
        what="PPO on CartPole with equal settings, 8 environments",
        sizes=[(10_000,), (25_000,), (50_000,)],
        data=budget,
        ours=ours_ppo,
        peers={"stable-baselines3": sb3_ppo},
        quality=shortfall,
        tolerance=25.0,
        target=5.0,
        notes=TWIN,
    ),
    Case(
        name="ppo_cartpole_own",
        what="PPO on CartPole, our settings against the peer's tuned ones",
        sizes=[(10_000,), (25_000,), (50_000,)],
        data=budget,
        ours=ours_ppo_own,
        peers={"stable-baselines3": sb3_ppo},
        quality=shortfall,
        tolerance=25.0,
        target=5.0,
        notes=TWIN,
    ),
    Case(
        name="dqn_cartpole",
        what="DQN on CartPole with equal settings, 4 environments",
        sizes=[(5_000,), (10_000,), (20_000,)],
        data=budget,
        ours=ours_dqn,
        peers={"stable-baselines3": sb3_dqn},
        quality=shortfall,
        tolerance=25.0,
        target=5.0,
        notes=TWIN,
    ),
]
