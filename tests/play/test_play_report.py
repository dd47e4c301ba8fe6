"""`play`: the files it writes, the verdict, the names it takes."""

import json

import pytest

from pansophy.persist import load
from pansophy.play import default_agents, play
from pansophy.play.play_report import verdict_sentences
from pansophy.rl import evaluate_agent


def test_a_whole_run(tmp_path):
    found = play(
        "CartPole-v1", tmp_path / "run", n_steps=600, agents=["a2c", "PPO"], n_seeds=2
    )
    folder = tmp_path / "run"
    agent = load(folder / "agent.pansophy")
    again = evaluate_agent(agent, "CartPole-v1", 100, random_state=10**6)
    assert again.mean == found.check.mean
    assert (folder / "episode.gif").read_bytes()[:6] == b"GIF89a"
    data = json.loads((folder / "results.json").read_text())
    assert set(data["agents"]) == {"a2c", "ppo", "random"}
    page = (folder / "report.html").read_text()
    assert "Agents in CartPole-v1" in page and "data:image/gif;base64," in page
    assert page.count("<svg") == 1 and 'src="http' not in page
    text = " ".join(verdict_sentences(found))
    assert "interquartile mean" in text and "fresh episodes" in text


def test_names_of_agents():
    assert list(default_agents("Pendulum-v1", 10)) == ["ppo", "sac", "td3"]
    with pytest.raises(ValueError, match="agents are a2c, dqn"):
        default_agents("CartPole-v1", 10, ["alpha"])
