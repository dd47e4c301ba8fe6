"""Agents against Stable-Baselines3 over several seeds, in one run.

    python -m benchmarks.studies.agents_over_seeds cartpole --seeds 10
    python -m benchmarks.studies.agents_over_seeds lunar --seeds 5
    python -m benchmarks.studies.agents_over_seeds lunar --rounds 5

Every seed trains each contender once, one after the other on one thread. Along a run
the greedy policy plays 20 episodes after every so many steps; where their mean reaches
the threshold, 100 other episodes decide whether the task is solved, and in tasks that
say so the run ends there, by the same rule for every side. At the end 100 episodes on
seeds of their own judge the greedy policy. Speed is steps per CPU second of training
(imports, compilation and evaluations left out). On a machine that others use a whole
run says little about speed, so `--rounds` times short runs without evaluations, all
contenders in turn, and ratios are of pairs of the same round; a task without such
rounds has ratios of whole runs with the same seed.
Results are kept in a JSON file after each run, so that a stopped benchmark goes on; the
tables in `agents_over_seeds.md` are made of it.
"""

import argparse
import fcntl
import json
import time
from pathlib import Path
from typing import NamedTuple

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
# the settings that the peer's authors publish for these tasks (rl-zoo3)
DQN_CARTPOLE = {
    "n_envs": 1, "horizon": 256, "gradient_steps": 128, "batch_size": 64,
    "learning_rate": 2.3e-3, "target_interval": 10, "learning_starts": 1000,
    "hidden_layer_sizes": (256, 256), "anneal": False, "explore": 0.16,
    "last_epsilon": 0.04,
}  # fmt: skip
DQN_CARTPOLE_SMALL = {**DQN_CARTPOLE, "hidden_layer_sizes": (64, 64)}
PPO_LUNAR = {
    "n_envs": 16, "horizon": 1024, "batch_size": 64, "n_epochs": 4, "gamma": 0.999,
    "gae_lambda": 0.98, "learning_rate": 3e-4, "entropy_weight": 0.01, "anneal": False,
}  # fmt: skip
DQN_LUNAR = {
    "n_envs": 1, "horizon": 4, "gradient_steps": 4, "batch_size": 128,
    "learning_rate": 6.3e-4, "buffer_size": 50_000, "target_interval": 250,
    "learning_starts": 0, "hidden_layer_sizes": (256, 256), "anneal": False,
    "explore": 0.12, "last_epsilon": 0.1,
}  # fmt: skip
# chosen on other seeds than those of the table (100 to 103 and 200 to 207)
DQN_LUNAR_OWN = {
    **DQN_LUNAR, "double": True, "n_step": 3, "anneal": True, "explore": 0.5,
    "last_epsilon": 0.02, "ema_decay": 0.998,
}  # fmt: skip
# chosen on seeds 300 to 302: rewards of up to 100 are within the quadratic loss
DQN_LUNAR_SCALED = {**DQN_LUNAR_OWN, "reward_scale": 10.0}


class Task(NamedTuple):
    """An environment, steps to learn from, and who is compared."""

    env: str
    n_steps: int
    every: int  # steps between two evaluations along the run
    stops: bool  # whether a run ends once it is solved
    short: int  # steps of a run of which only the speed is measured
    contenders: dict  # name -> (side, agent, settings)


TASKS = {
    "cartpole": Task(
        "CartPole-v1",
        60_000,
        60_000,
        False,
        20_480,
        {
            "PPO": ("ours", "ppo", PPO_CARTPOLE),
            "PPO, Stable-Baselines3": ("peer", "ppo", PPO_CARTPOLE),
            "PPO, settings of our own": ("ours", "ppo", PPO_CARTPOLE_OWN),
        },
    ),
    "cartpole_dqn": Task(
        "CartPole-v1",
        50_000,
        2560,
        False,
        5120,
        {
            "DQN": ("ours", "dqn", {**DQN_CARTPOLE, "double": False}),
            "DQN, Stable-Baselines3": ("peer", "dqn", DQN_CARTPOLE),
        },
    ),
    "cartpole_dqn_small": Task(
        "CartPole-v1",
        50_000,
        2560,
        False,
        5120,
        {
            "DQN, 64 x 64": ("ours", "dqn", {**DQN_CARTPOLE_SMALL, "double": False}),
            "DQN, 64 x 64, Stable-Baselines3": ("peer", "dqn", DQN_CARTPOLE_SMALL),
        },
    ),
    "lunar": Task(
        "LunarLander-v3",
        1_000_000,
        3 * 16 * 1024,
        True,
        16_384,
        {
            "PPO": ("ours", "ppo", PPO_LUNAR),
            "PPO, Stable-Baselines3": ("peer", "ppo", PPO_LUNAR),
        },
    ),
    "lunar_dqn": Task(
        "LunarLander-v3",
        100_000,
        10_000,
        True,
        2000,
        {
            "DQN": ("ours", "dqn", {**DQN_LUNAR, "double": False}),
            "DQN, Stable-Baselines3": ("peer", "dqn", DQN_LUNAR),
            "DQN, settings of our own, last weights": (
                "ours",
                "dqn",
                {**DQN_LUNAR_OWN, "ema_decay": 0.0},
            ),
            "DQN, settings of our own": ("ours", "dqn", DQN_LUNAR_OWN),
            "DQN, settings of our own, rewards scaled": (
                "ours",
                "dqn",
                DQN_LUNAR_SCALED,
            ),
        },
    ),
    # twice the steps, so that exploration and the learning rate fall half as fast
    "lunar_dqn_long": Task(
        "LunarLander-v3",
        200_000,
        10_000,
        True,
        2000,
        {"DQN, settings of our own": ("ours", "dqn", DQN_LUNAR_OWN)},
    ),
}


def exploration_of(settings, n_steps):
    """Exploration of DQN from the fraction of the run and the last epsilon."""
    from pansophy.rl import EpsilonGreedy, Schedule

    steps = int(settings.pop("explore") * n_steps)
    return EpsilonGreedy(Schedule(1.0, settings.pop("last_epsilon"), steps))


def make_ours(agent, settings, task, n_steps, seed):
    """The function that trains an agent under a watch and returns its policy."""
    from pansophy.rl import DQN, PPO

    settings = dict(settings)
    if agent == "dqn":
        settings["exploration"] = exploration_of(settings, n_steps)
    made = {"ppo": PPO, "dqn": DQN}[agent](n_steps, random_state=seed, **settings)

    def train(watch):
        def observe(learner, n):
            made._keep(learner)
            return n > 0 and watch(made.predict, n)

        made._fit(task.env, observe=observe, observe_every=task.every)
        return made.predict, made.n_iter_

    return train


def make_peer(agent, settings, task, n_steps, seed):
    """The same for Stable-Baselines3."""
    import stable_baselines3 as peer
    import torch
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env

    envs = make_vec_env(task.env, settings["n_envs"], seed=seed)
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
            gradient_steps=settings["gradient_steps"],
            learning_starts=settings["learning_starts"],
            target_update_interval=settings["target_interval"],
            buffer_size=settings.get("buffer_size", 100_000),
            exploration_fraction=settings["explore"],
            exploration_final_eps=settings["last_epsilon"],
            policy_kwargs={"net_arch": hidden}, **common,
        )  # fmt: skip

    predict = lambda X: made.predict(X, deterministic=True)[0]

    class Watcher(BaseCallback):
        """Looks after an update, as ours does, and then ends the run at a step."""

        looked_at = 0
        stop = False

        def _on_rollout_start(self):
            if self.num_timesteps - self.looked_at >= task.every:
                self.looked_at = self.num_timesteps
                self.stop = self.watch(predict, self.num_timesteps)

        def _on_step(self):
            return not self.stop

    def train(watch):
        watcher = Watcher()
        watcher.watch = watch
        made.learn(n_steps, callback=watcher)
        steps = watcher.looked_at if watcher.stop else made.num_timesteps
        return predict, steps

    return train


class GreedyPolicy:
    """What `evaluate_agent` asks, for any side."""

    def __init__(self, predict):
        self.predict = predict

    def act_batch(self, observations, rng):
        return self.predict(np.asarray(observations))

    def act(self, observation, rng):
        return int(self.predict(np.asarray(observation)[None])[0])


class Watch:
    """Evaluations along a run: their curve, their cost, and when it was solved."""

    def __init__(self, task):
        self.task = task
        self.curve: list[tuple[int, float]] = []
        self.cpu_s = 0.0
        self.solved_at: int | None = None

    def __call__(self, predict, n) -> bool:
        """Evaluate after n steps; whether to stop."""
        from pansophy.rl import evaluate_agent

        begun = time.process_time()
        env, threshold = self.task.env, SOLVED[self.task.env]
        play = lambda n_episodes, seed: (
            evaluate_agent(
                GreedyPolicy(predict), env, n_episodes, random_state=seed
            ).mean
        )
        self.curve.append((int(n), play(20, 777)))
        if self.solved_at is None and self.curve[-1][1] >= threshold:
            self.solved_at = int(n) if play(100, 54321) >= threshold else None
        self.cpu_s += time.process_time() - begun
        return self.task.stops and self.solved_at is not None


def measure_run(side, agent, settings, task, seed) -> dict:
    """Train once and judge the greedy policy."""
    from pansophy.rl import evaluate_agent

    make = {"ours": make_ours, "peer": make_peer}[side]
    train = make(agent, settings, task, task.n_steps, seed)
    watch = Watch(task)
    begun = time.process_time()
    predict, steps = train(watch)
    seconds = time.process_time() - begun - watch.cpu_s
    found = evaluate_agent(GreedyPolicy(predict), task.env, 100, random_state=12345)
    if watch.solved_at is None and found.mean >= SOLVED[task.env]:
        watch.solved_at = int(steps)
    return {
        "cpu_s": seconds,
        "steps": int(steps),
        "steps_s": steps / seconds,
        "return": found.mean,
        "solved_at": watch.solved_at,
        "curve": watch.curve,
    }


def read_results(path) -> dict:
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def add_result(path, task, name, seed, run) -> None:
    """Put a run into the file; several processes may work on different seeds."""
    with open(path.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        results = read_results(path)
        results.setdefault(task, {}).setdefault(name, {})[str(seed)] = run
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
        fresh.replace(path)  # readers never see half a file


def run_task(task_name, seeds, path, sides=("ours", "peer")) -> None:
    """Runs that the results do not have yet, contenders interleaved by seed."""
    task = TASKS[task_name]
    warm: set[str] = set()
    for seed in seeds:
        for name, (side, agent, settings) in task.contenders.items():
            done = read_results(path).get(task_name, {}).get(name, {})
            if side not in sides or str(seed) in done:
                continue
            if name not in warm:  # import and compile
                make = {"ours": make_ours, "peer": make_peer}[side]
                make(agent, settings, task, 2000, 0)(lambda predict, n: False)
                warm.add(name)
            run = measure_run(side, agent, settings, task, seed)
            add_result(path, task_name, name, seed, run)
            shown = {key: run[key] for key in run if key != "curve"}
            print(task_name, name, seed, shown, flush=True)


def measure_speeds(task_name, n_rounds, path, sides) -> None:
    """Steps per CPU second of short runs, contenders in turn within every round."""
    task = TASKS[task_name]
    quiet = task._replace(every=2 * task.short)
    for round in range(-1, n_rounds):  # the first imports and compiles
        for name, (side, agent, settings) in task.contenders.items():
            if side not in sides:
                continue
            make = {"ours": make_ours, "peer": make_peer}[side]
            train = make(agent, settings, quiet, task.short, round + 1)
            begun = time.process_time()
            _, steps = train(lambda predict, n: False)
            speed = steps / (time.process_time() - begun)
            if round >= 0:
                add_result(path, f"{task_name} speed", name, round, speed)
                print(task_name, name, round, f"{speed:,.0f} steps/s", flush=True)


def interval_of(values) -> str:
    """Interquartile mean with a 95 % interval by bootstrap over runs."""
    from pansophy.rl import interquartile_mean, stratified_bootstrap

    if len(values) < 3:
        return f"{np.mean(values):,.0f}"
    found = stratified_bootstrap(interquartile_mean, values)
    return f"{found.value:,.0f} ({found.low:,.0f} to {found.high:,.0f})"


def summary_lines(task_name, results) -> list[str]:
    """The table of one task in Markdown."""
    task = TASKS[task_name]
    sides = {name: side for name, (side, *_) in task.contenders.items()}
    peer = next((name for name, side in sides.items() if side == "peer"), None)
    threshold = SOLVED[task.env]
    rule = ", where a run ends" if task.stops else ""
    lines = [
        f"## {task.env}, {task.n_steps:,} steps, solved at {threshold:g}{rule}",
        "",
        "| contender | seeds | solved | steps until solved | return: interquartile "
        "mean (95 % interval) | least, greatest | steps per CPU second | ratio to the "
        "peer, least to greatest |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in task.contenders:
        runs = results.get(task_name, {}).get(name, {})
        if not runs:
            continue
        returns = np.array([run["return"] for run in runs.values()])
        speed = results.get(f"{task_name} speed", {})
        if not speed:
            speed = {
                one: {seed: run["steps_s"] for seed, run in ran.items()}
                for one, ran in results[task_name].items()
            }
        mine, other = (speed.get(one, {}) for one in (name, peer))
        pairs = [mine[key] / other[key] for key in mine if key in other]
        usual = f"{np.median(list(mine.values())):,.0f}" if mine else ""
        ratio = "1" if name == peer else ""
        if name != peer and pairs:
            ratio = f"**{np.median(pairs):.1f}** ({min(pairs):.1f} to {max(pairs):.1f})"
        known = [run for run in runs.values() if "solved_at" in run]
        when = [run["solved_at"] for run in known if run["solved_at"] is not None]
        solved = len(when) if known else int((returns >= threshold).sum())
        lines.append(
            f"| {name} | {len(returns)} | {solved} | "
            f"{interval_of(when) if when else ''} | {interval_of(returns)} | "
            f"{returns.min():.1f}, {returns.max():.1f} | {usual} | "
            f"{ratio} |"
        )
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=[*TASKS, "page"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--sides", nargs="+", default=["ours", "peer"])
    parser.add_argument("--results", default=HERE / "agents_over_seeds.json", type=Path)
    chosen = parser.parse_args()
    path = chosen.results
    if chosen.rounds:
        measure_speeds(chosen.task, chosen.rounds, path, chosen.sides)
    elif chosen.task != "page":
        seeds = range(chosen.first_seed, chosen.first_seed + chosen.seeds)
        run_task(chosen.task, seeds, path, chosen.sides)
    results = read_results(path)
    known = [task for task in TASKS if task in results]
    tables = [line for task in known for line in summary_lines(task, results)]
    page = HERE / "agents_over_seeds.md"
    head = page.read_text("utf-8").split("<!-- tables -->")[0]
    page.write_text(head + "<!-- tables -->\n\n" + "\n".join(tables), "utf-8")
    print("\n".join(tables))


if __name__ == "__main__":
    main()
