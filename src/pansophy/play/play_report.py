"""`pansophy play`: train agents, compare them over seeds, keep the best, report."""

import base64
import json
import math
import warnings
from pathlib import Path

from sklearn.exceptions import ConvergenceWarning

from .. import __version__
from ..core.files.atomic_files import write_text_file
from ..rl.experience.agent_comparison import (
    RANDOM,
    AgentComparison,
    compare_agents,
    equal_agents_p_value,
)
from ..rl.experience.discrete_spaces import space_sizes
from ..rl.experience.evaluation import (
    Evaluation,
    episode_limit,
    evaluate_agent,
    made_environment,
)
from ..rl.planning.transition_table import reason_not_tabular
from .episode_film import film_bytes, film_episode, save_film
from .run_folder import PlayFolder

LEVEL = 0.05  # of the test whether two agents differ
DISCRETE = ("ppo", "dqn", "a2c")
NUMBERS = ("ppo", "sac", "td3")
TABULAR = ("qlearning", "sarsa", "ppo")
LARGEST_TABLE = 200_000  # pairs of state and action that tables are offered for


def _agent_makers() -> dict:
    """Functions from a number of steps to an agent, by names on the command line."""
    from ..rl import A2C, DQN, PPO, REINFORCE, SAC, TD3, QLearning, TDControl

    neural = {cls.__name__.lower(): cls for cls in (A2C, DQN, PPO, REINFORCE, SAC, TD3)}

    def tabular(cls, *method):
        return lambda n_steps, **options: cls(
            *method, n_steps=n_steps, exploration=_falling_exploration(n_steps),
            **options,
        )  # fmt: skip

    tables = {"qlearning": tabular(QLearning), "sarsa": tabular(TDControl, "sarsa")}
    return dict(sorted((neural | tables).items()))


def _falling_exploration(n_steps):
    """Random actions that become rare over the first half of a run."""
    from ..rl import EpsilonGreedy
    from ..rl.tabular.schedules import Schedule

    return EpsilonGreedy(Schedule(1.0, 0.05, max(n_steps // 2, 1)))


def _suitable_agents(env) -> tuple:
    """Names of the agents that suit an environment's spaces."""
    if type(env.action_space).__name__ == "Box":
        return NUMBERS
    try:
        states, _ = space_sizes(env.observation_space)
        actions, _ = space_sizes(env.action_space)
    except ValueError:  # not discrete
        return DISCRETE
    pairs = math.prod(states) * math.prod(actions)
    return TABULAR if len(actions) == 1 and pairs <= LARGEST_TABLE else DISCRETE


def default_agents(env, n_steps, names=None, **options) -> dict:
    """Agents for an environment, unfitted: those of these names, or those that suit.

    Parameters
    ----------
    env : Env, or name of an environment
    n_steps : int
    names : list of str or None
        Of "a2c", "dqn", "ppo", "qlearning", "reinforce", "sac", "sarsa", "td3".
    options : parameters of all of them

    Examples
    --------
    >>> from pansophy.play import default_agents
    >>> list(default_agents("CartPole-v1", 1000))
    ['ppo', 'dqn', 'a2c']
    >>> list(default_agents("FrozenLake-v1", 1000))
    ['qlearning', 'sarsa', 'ppo']
    """
    known = _agent_makers()
    if names is None:
        names = _suitable_agents(made_environment(env))
    for name in names:
        if name.lower() not in known:
            raise ValueError(f"agents are {', '.join(known)}, got {name!r}.")
    return {name.lower(): known[name.lower()](n_steps, **options) for name in names}


def play(
    env, folder, *, n_steps=50_000, agents=None, n_seeds=3, random_state=0, report=None,
    resume=False, overwrite=False, max_episode_steps=1000,
) -> AgentComparison:  # fmt: skip
    """Compare agents in an environment and write agent, film, results and report.

    Parameters
    ----------
    env : name of an environment
    folder : path
        Gets agent.pansophy, episode.gif, results.json and report.html, and finished
        runs as they come (`runs`).
    n_steps : int
        Steps of each run.
    agents : list of str or None
        See `default_agents`.
    n_seeds : int
    random_state : int
    report : function of a sentence, or None
    resume : bool
        Whether finished runs of an earlier call in this folder count.
    overwrite : bool
        Whether runs and results of the folder may be replaced.
    max_episode_steps : int
        Where episodes are cut off if the environment states no limit.
    """
    from ..persist import save

    chosen = default_agents(env, n_steps, agents)
    for agent in chosen.values():
        agent.check_action_space(env)
    world = env
    if episode_limit(made_environment(env)) is not None:
        import gymnasium

        world = gymnasium.make(env, max_episode_steps=max_episode_steps)
        if report is not None:
            report(
                f"{env} has no time limit: episodes are cut off after "
                f"{max_episode_steps} steps."
            )
    settings = {"environment": str(env), "steps": n_steps, "seed": random_state}
    settings |= {f"parameters of {n}": repr(a.get_params()) for n, a in chosen.items()}
    with PlayFolder(folder, settings, resume=resume, overwrite=overwrite) as finished:
        folder = finished.folder
        comparison = compare_agents(
            chosen, world, n_seeds=n_seeds, random_state=random_state, report=report,
            finished=finished,
        )  # fmt: skip
        comparison.planning = _evaluate_planning(world, random_state)
        film = film_episode(comparison.agent, env, random_state=random_state)
        previous = finished.move_results()
        if previous is not None and report is not None:
            report(f"Earlier results of {folder} are now in {previous}.")
        save(comparison.agent, folder / "agent.pansophy")
        save_film(film, folder / "episode.gif")
        results = json.dumps(comparison_data(comparison, env), indent=2)
        write_text_file(folder / "results.json", results + "\n")
        write_play_report(comparison, film, env, folder / "report.html")
    return comparison


def _evaluate_planning(env, random_state) -> Evaluation | None:
    """Returns of the best policy of the known model, where the environment shows it."""
    from ..rl import Policy, value_iteration

    environment = made_environment(env)
    if reason_not_tabular(environment) is not None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        policy = value_iteration(environment, gamma=0.999, tol=1e-4).policy
    return evaluate_agent(Policy(policy), environment, 100, random_state=random_state)


def comparison_data(comparison: AgentComparison, env) -> dict:
    """Everything that was measured, for JSON."""
    return {
        "environment": str(env),
        "interrupted": comparison.interrupted,
        "best": comparison.best,
        "kept_run_on_fresh_episodes": comparison.check.mean,
        "planning_with_the_model": comparison.planning and comparison.planning.mean,
        "agents": {
            name: {
                "interquartile_mean": comparison.intervals[name]._asdict(),
                "scores": comparison.scores[name].tolist(),
                "seconds": comparison.seconds[name].tolist(),
                "curves": [
                    {"steps": c.steps.tolist(), "mean_return": c.mean.tolist()}
                    for c in comparison.curves.get(name, [])
                ],
            }
            for name in comparison.names
        },
        "probability_of_improvement": [
            {"of": a, "over": b, **interval._asdict()}
            for (a, b), interval in comparison.improvement.items()
        ],
    }


def write_play_report(comparison: AgentComparison, film, env, path) -> None:
    """Write the page: verdict, table, curves, an episode."""
    from markupsafe import Markup

    from ..compare.report.html import load_template
    from ..plot.agents.returns import returns
    from ..plot.style import figure_svg

    curves = {
        name: comparison.curves[name]
        for name in comparison.names
        if name in comparison.curves
    }
    level = comparison.intervals[RANDOM].value
    figure = figure_svg(
        lambda ax: returns(curves, reference=level, ax=ax),
        label="mean return of evaluations along the run",
        width=6.4,
        height=3.6,
    )
    gif = base64.b64encode(film_bytes(film)).decode()
    page = load_template("play.html").render(
        version=__version__,
        environment=str(env),
        verdict=verdict_sentences(comparison),
        rows=[_score_row(comparison, name) for name in comparison.names],
        pairs=[
            (a, b, str(comparison.improvement[a, b]))
            for a in comparison.names
            for b in comparison.names
            if a == comparison.best and b != a
        ],
        figure=Markup(figure),
        film=f"data:image/gif;base64,{gif}",
        film_text=f"One episode of the kept agent: {film.n_steps} steps, return "
        f"{film.total:.4g}.",
    )
    write_text_file(Path(path), page)


def _score_row(comparison, name) -> dict:
    """Row of the table for one agent."""
    scores = comparison.scores[name]
    return {
        "name": name,
        "interval": str(comparison.intervals[name]),
        "worst": f"{scores.min():.4g}",
        "best": f"{scores.max():.4g}",
        "runs": len(scores),
        "seconds": f"{comparison.seconds[name].mean():.1f}",
    }


def counted(runs) -> str:
    return "1 run" if runs == 1 else f"{runs} runs"


def verdict_sentences(comparison: AgentComparison) -> list[str]:
    """The result in words."""
    best = comparison.best
    runs = len(comparison.scores[best])
    sentences = []
    if comparison.interrupted:
        sentences.append(
            "The comparison was interrupted: it is of the runs up to then. --resume "
            "does the rest."
        )
    sentences += [
        f"{best.upper()} has the highest interquartile mean return over "
        f"{counted(runs)}: {comparison.intervals[best]}."
    ]
    chance = comparison.intervals[RANDOM].value
    if comparison.intervals[best].low <= chance:
        sentences.append(
            f"It is not told from an agent that acts at random ({chance:.4g}): more "
            "steps or other parameters are needed."
        )
    rivals = [n for n in comparison.names if n not in (best, RANDOM)]
    if rivals:
        p = comparison.improvement[best, rivals[0]]
        sentences.append(
            f"A run of it beats a run of {rivals[0].upper()} with probability {p}."
        )
        chance = equal_agents_p_value(
            comparison.scores[best], comparison.scores[rivals[0]]
        )
        if p.low <= 0.5 or chance > LEVEL:
            sentences.append(
                "The two cannot be told apart with so few runs: equal agents would "
                f"differ as much with probability {chance:.2g}."
            )
    if comparison.planning is not None:
        sentences.append(
            "For reference, the best policy of the environment's known table (value "
            f"iteration) has {comparison.planning!r}."
        )
    sentences.append(
        "The kept run was chosen by its score, so it was scored again on fresh "
        "episodes: "
        f"{comparison.check!r}."
    )
    return sentences
