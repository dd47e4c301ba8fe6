"""`pansophy play`: train agents in an environment and compare them."""

from pathlib import Path
from typing import Annotated

import typer

from .app import (
    AsJson,
    HelpfulCommand,
    Seed,
    app,
    errors_as_one_sentence,
    print_error,
    print_json,
    print_text,
    split_names,
)

EXAMPLES = """Examples:

pansophy play CartPole-v1

pansophy play Pendulum-v1 --agents sac,td3 --steps 20000 --seeds 5 --out run

pansophy play Pendulum-v1 --agents sac,td3 --steps 20000 --seeds 5 --out run --resume

pansophy play my_world.py

pansophy serve run/agent.pansophy"""


@app.command("play", cls=HelpfulCommand, epilog=EXAMPLES)
def play_environment(
    environment: Annotated[
        str,
        typer.Argument(
            help="Name in Gymnasium's registry, or one of your own: module:Name-v0, "
            "module:Class, file.py or file.py:Class."
        ),
    ],
    agents: Annotated[
        str | None,
        typer.Option(
            help="Of a2c, dqn, ppo, qlearning, reinforce, sac, sarsa, td3, separated "
            "by commas; by default those that suit the environment."
        ),
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="Steps of each run.")] = 50_000,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each agent.")] = 3,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder to write to.")
    ] = None,
    seed: Seed = 0,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with the finished runs of the folder."),
    ] = False,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite", help="Replace runs of the folder; results go to previous/."
        ),
    ] = False,
    as_json: AsJson = False,
):
    """Train agents in an environment, compare them over seeds, keep the best."""
    with errors_as_one_sentence():
        from ..play import play
        from ..play.own_environment import name_environment
        from ..play.play_report import comparison_data, verdict_sentences
        from .compare_commands import default_folder

        environment = name_environment(environment)
        check_can_be_made(environment)
        stem = f"{environment.split('/')[-1]}-pansophy"
        folder = out or default_folder(stem, resume)
        result = play(
            environment,
            folder,
            n_steps=steps,
            agents=split_names(agents),
            n_seeds=seeds,
            random_state=seed,
            report=print_error,
            resume=resume,
            overwrite=overwrite,
        )
        if as_json:
            print_json(comparison_data(result, environment))
        else:
            print_text(f"{result!r}\n\n" + "\n".join(verdict_sentences(result)))
        for name in ("report.html", "agent.pansophy", "episode.gif", "results.json"):
            print_error(f"Wrote {folder / name}")
        if result.interrupted:
            raise typer.Exit(130)


def check_can_be_made(name) -> None:
    """The clear error about an environment whose packages or arguments are missing."""
    import gymnasium

    try:
        gymnasium.make(name).close()
    except (gymnasium.error.Error, ImportError, TypeError) as error:
        raise ValueError(f"the environment {name!r} cannot be made: {error}") from None
