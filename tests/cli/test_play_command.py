"""`pansophy play` in the shell."""

import json

from typer.testing import CliRunner

from pansophy.cli import app


def test_play_writes_a_folder(tmp_path):
    out = tmp_path / "run"
    given = ["play", "CartPole-v1", "--agents", "a2c", "--steps", "200", "--seeds", "1"]
    done = CliRunner().invoke(app, [*given, "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["best"] == "a2c" and len(told["agents"]["a2c"]["scores"]) == 1
    names = {"agent.pansophy", "episode.gif", "report.html", "results.json", "runs"}
    assert {p.name for p in out.iterdir()} == names


def test_mistakes_are_one_sentence():
    wrong = CliRunner().invoke(app, ["play", "NoSuchWorld-v9"])
    assert wrong.exit_code == 2 and "there is no environment" in wrong.output
    near = CliRunner().invoke(app, ["play", "CartPole"])
    assert near.exit_code == 2 and "did you mean 'CartPole-v" in near.output
    agent = CliRunner().invoke(app, ["play", "CartPole-v1", "--agents", "magic"])
    assert agent.exit_code == 2 and "agents are a2c" in agent.output
