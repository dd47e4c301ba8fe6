"""`pansophy play` in the shell."""

import json

import gymnasium
import pytest
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


OWN = """
import gymnasium
import numpy as np

class Mine(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.t += 1
        return np.zeros(1, np.float32), float(action), self.t == 5, False, {}

def make_mine():
    return gymnasium.wrappers.TimeLimit(Mine(), 4)

gymnasium.register("%s-v0", Mine)
"""


@pytest.mark.parametrize("form", ["{}:Own{}-v0", "{}:make_mine", "{}.py", "{}.py:Mine"])
def test_an_environment_of_ones_own(tmp_path, monkeypatch, form):
    module = "own_world_" + "".join(c for c in form if c.isalpha())
    name = form.format(module, module)
    (tmp_path / f"{module}.py").write_text(OWN % f"Own{module}")
    monkeypatch.chdir(tmp_path)
    options = ["--agents", "a2c", "--steps", "200", "--seeds", "1", "--out", "run"]
    done = CliRunner().invoke(app, ["play", name, *options, "--json"])
    assert done.exit_code == 0, done.output
    scores = json.loads(done.stdout)["agents"]
    most = 4 if "make" in form else 5
    assert 0 <= scores["a2c"]["scores"][0] <= most
    for key in [key for key in gymnasium.registry if module in key or "ine-v0" in key]:
        del gymnasium.registry[key]


def test_mistakes_about_ones_own_environment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty_world.py").write_text("x = 3")
    for name, what in (
        ("nofile.py", "there is no file"),
        ("no_such_module:A-v0", "there is no module"),
        ("empty_world.py", "must define one environment class"),
        ("empty_world:Nothing", "no class or function"),
        ("Unknown-v0", "module:Name-v0"),
    ):
        wrong = CliRunner().invoke(app, ["play", name])
        text = " ".join(wrong.output.split())
        assert wrong.exit_code == 2 and what in text, (name, wrong.output)
