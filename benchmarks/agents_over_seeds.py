"""Agents against Stable-Baselines3 over several seeds, in one run.

    python -m benchmarks.agents_over_seeds cartpole --seeds 10
    python -m benchmarks.agents_over_seeds lunar --seeds 5

Every seed trains each contender once, one after the other on one thread, and judges the
greedy policy in 100 episodes on seeds of its own. Speed is steps per CPU second of
training (imports and compilation before), ratios are of pairs of the same seed. Results
are kept in a JSON file after each run, so that a stopped benchmark goes on; the tables
in `agents_over_seeds.md` are made of it.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
SOLVED = {"CartPole-v1": 475.0, "LunarLander-v3": 200.0}

# settings that both sides have, by their names here; each side translates them
PPO_CARTPOLE = {
    "n_envs": 8, "horizon": 32, "batch_size": 256, "n_epochs": 20, "gamma": 0.98,
    "gae_lambda": 0.8, "learning_rate": 1e-3, "anneal": True,
}  # fmt: skip
PPO_CARTPOLE_OWN = {
    "n_envs": 8, "horizon": 32, "batch_size": 64, "n_epochs": 4, "gamma": 0.98,
    "gae_lambda": 0.9, "learning_rate": 3e-3, "hidden_layer_sizes": (32, 32),
    "anneal": True, "target_kl": 0.02,
}  # fmt: skip
DQN_CARTPOLE = {
    "n_envs": 4, "horizon": 64, "gradient_steps": 128, "learning_rate": 2.3e-3,
    "target_interval": 10, "hidden_layer_sizes": (128, 128), "anneal": True,
    "explore": 0.16, "last_epsilon": 0.04,
}  # fmt: skip
PPO_LUNAR = {
    "n_envs": 16, "horizon": 1024, "batch_size": 64, "n_epochs": 4, "gamma": 0.999,
    "gae_lambda": 0.98, "learning_rate": 3e-4, "entropy_weight": 0.01, "anneal": False,
}  # fmt: skip
DQN_LUNAR = {
    "n_envs": 1, "horizon": 4, "gradient_steps": 4, "batch_size": 128,
    "learning_rate": 6.3e-4, "buffer_size": 50_000, "target_interval": 250,
    "hidden_layer_sizes": (256, 256), "anneal": False, "explore": 0.12,
    "last_epsilon": 0.1,
}  # fmt: skip

# name of a contender -> (side, agent, settings)
TASKS = {
    "cartpole": (
        "CartPole-v1",
        60_000,
        {
            "PPO": ("ours", "ppo", PPO_CARTPOLE),
            "PPO, Stable-Baselines3": ("peer", "ppo", PPO_CARTPOLE),
            "PPO, settings of our own": ("ours", "ppo", PPO_CARTPOLE_OWN),
        },
    ),
    "cartpole_dqn": (
        "CartPole-v1",
        50_000,
        {
            "DQN": ("ours", "dqn", {**DQN_CARTPOLE, "double": False}),
            "DQN, Stable-Baselines3": ("peer", "dqn", DQN_CARTPOLE),
            "DQN with double targets": ("ours", "dqn", DQN_CARTPOLE),
        },
    ),
    "lunar": (
        "LunarLander-v3",
        1_000_000,
        {
            "PPO": ("ours", "ppo", PPO_LUNAR),
            "PPO, Stable-Baselines3": ("peer", "ppo", PPO_LUNAR),
        },
    ),
    "lunar_dqn": (
        "LunarLander-v3",
        100_000,
        {
            "DQN": ("ours", "dqn", {**DQN_LUNAR, "double": False}),
            "DQN, Stable-Baselines3": ("peer", "dqn", DQN_LUNAR),
        },
    ),
}


def exploration_of(settings, n_steps):
    """Exploration of DQN from the fraction of the run and the last epsilon."""
    from pansophy.rl import EpsilonGreedy, Schedule

    steps = int(settings.pop("explore") * n_steps)
    return EpsilonGreedy(Schedule(1.0, settings.pop("last_epsilon"), steps))


def make_ours(agent, settings, env, n_steps, seed):
    """An untrained agent and the function that trains it."""
    from pansophy.rl import DQN, PPO

    settings = dict(settings)
    if agent == "dqn":
        settings["exploration"] = exploration_of(settings, n_steps)
    made = {"ppo": PPO, "dqn": DQN}[agent](n_steps, random_state=seed, **settings)
    return lambda: made.fit(env).predict


def make_peer(agent, settings, env, n_steps, seed):
    import stable_baselines3 as peer
    import torch
    from stable_baselines3.common.env_util import make_vec_env

    envs = make_vec_env(env, settings["n_envs"], seed=seed)
    rate = settings["learning_rate"]
    hidden = list(settings.get("hidden_layer_sizes", (64, 64)))
    common = {
        "learning_rate": (lambda left: left * rate) if settings["anneal"] else rate,
        "gamma": settings.get("gamma", 0.99),
        "batch_size": settings.get("batch_size", 64),
        "seed": seed,
        "device": "cpu",
    }
    if agent == "ppo":
        made = peer.PPO(
            "MlpPolicy", envs, n_steps=settings["horizon"], clip_range=0.2,
            n_epochs=settings["n_epochs"], gae_lambda=settings["gae_lambda"],
            ent_coef=settings.get("entropy_weight", 0.0),
            policy_kwargs={"net_arch": hidden, "activation_fn": torch.nn.Tanh},
            **common,
        )  # fmt: skip
    else:
        made = peer.DQN(
            "MlpPolicy", envs, train_freq=settings["horizon"],
            gradient_steps=settings["gradient_steps"], learning_starts=1000,
            target_update_interval=settings["target_interval"],
            buffer_size=settings.get("buffer_size", 100_000),
            exploration_fraction=settings["explore"],
            exploration_final_eps=settings["last_epsilon"],
            policy_kwargs={"net_arch": hidden}, **common,
        )  # fmt: skip

    def train():
        made.learn(n_steps)
        return lambda X: made.predict(X, deterministic=True)[0]

    return train


class GreedyPolicy:
    """What `evaluate_agent` asks, for any side."""

    def __init__(self, predict):
        self.predict = predict

    def act_batch(self, observations, rng):
        return self.predict(np.asarray(observations))

    def act(self, observation, rng):
        return int(self.predict(np.asarray(observation)[None])[0])


def measure_run(side, agent, settings, env, n_steps, seed) -> dict:
    """Train once and judge the greedy policy."""
    from pansophy.rl import evaluate_agent

    make = {"ours": make_ours, "peer": make_peer}[side]
    train = make(agent, settings, env, n_steps, seed)
    begun = time.process_time()
    predict = train()
    seconds = time.process_time() - begun
    found = evaluate_agent(GreedyPolicy(predict), env, 100, random_state=12345)
    return {"cpu_s": seconds, "steps_s": n_steps / seconds, "return": found.mean}


def run_task(task, seeds, results, path) -> None:
    """Runs that the results do not have yet, contenders interleaved by seed."""
    env, n_steps, contenders = TASKS[task]
    for side, agent, settings in contenders.values():  # import and compile
        if not all(str(s) in results.get(task, {}).get("PPO", {}) for s in seeds):
            make = {"ours": make_ours, "peer": make_peer}[side]
            make(agent, settings, env, 2000, 0)()
    for seed in seeds:
        for name, (side, agent, settings) in contenders.items():
            runs = results.setdefault(task, {}).setdefault(name, {})
            if str(seed) in runs:
                continue
            runs[str(seed)] = measure_run(side, agent, settings, env, n_steps, seed)
            path.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
            print(task, name, seed, runs[str(seed)], flush=True)


def summary_lines(task, results) -> list[str]:
    """The table of one task in Markdown."""
    from pansophy.rl import interquartile_mean

    env, n_steps, contenders = TASKS[task]
    peer = next(n for n, (side, *_) in contenders.items() if side == "peer")
    lines = [
        f"## {env}, {n_steps:,} steps, solved at {SOLVED[env]:g}",
        "",
        "| contender | seeds | solved | return: interquartile mean, least, greatest | "
        "steps per CPU second | ratio to the peer, least to greatest |",
        "|---|---|---|---|---|---|",
    ]
    for name in contenders:
        runs = results.get(task, {}).get(name, {})
        if not runs:
            continue
        returns = np.array([run["return"] for run in runs.values()])
        speeds = np.array([run["steps_s"] for run in runs.values()])
        other = results[task].get(peer, {})
        pairs = [runs[s]["steps_s"] / other[s]["steps_s"] for s in runs if s in other]
        ratio = "1"
        if name != peer and pairs:
            ratio = f"**{np.median(pairs):.1f}** ({min(pairs):.1f} to {max(pairs):.1f})"
        solved = int((returns >= SOLVED[env]).sum())
        lines.append(
            f"| {name} | {len(returns)} | {solved} | "
            f"{interquartile_mean(returns):.1f}, {returns.min():.1f}, "
            f"{returns.max():.1f} | {np.median(speeds):,.0f} | {ratio} |"
        )
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=[*TASKS, "page"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--results", default=HERE / "agents_over_seeds.json", type=Path)
    chosen = parser.parse_args()
    path = chosen.results
    results = json.loads(path.read_text("utf-8")) if path.exists() else {}
    if chosen.task != "page":
        run_task(chosen.task, range(chosen.seeds), results, path)
    tables = [line for task in results for line in summary_lines(task, results)]
    page = HERE / "agents_over_seeds.md"
    head = page.read_text("utf-8").split("<!-- tables -->")[0]
    page.write_text(head + "<!-- tables -->\n\n" + "\n".join(tables), "utf-8")
    print("\n".join(tables))


if __name__ == "__main__":
    main()
