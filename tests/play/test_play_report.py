"""`play`: the files it writes, the verdict, the names it takes."""

import json

import pytest

from pansophy.persist import load
from pansophy.play import default_agents, play
from pansophy.play.play_report import verdict_sentences
from pansophy.rl import A2C, evaluate_agent


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
    assert "cannot be told apart" in text  # two runs each: p is at least 1 / 3


QUICK = {"n_steps": 300, "agents": ["a2c"]}


def test_finished_runs_are_resumed(tmp_path):
    told = []
    one = play("CartPole-v1", tmp_path, n_seeds=1, **QUICK)
    two = play(
        "CartPole-v1", tmp_path, n_seeds=2, resume=True, report=told.append, **QUICK
    )
    assert told[:2] == ["a2c: run 1 of 2, which had finished", "a2c: run 2 of 2"]
    assert told[2].endswith(f"are now in {tmp_path / 'previous'}.")
    assert two.scores["a2c"][0] == one.scores["a2c"][0]
    assert two.curves["a2c"][0].returns.shape == one.curves["a2c"][0].returns.shape
    with pytest.raises(ValueError, match=r"another steps \(300 instead of 400\)"):
        play("CartPole-v1", tmp_path, n_steps=400, agents=["a2c"], resume=True)
    told.clear()
    before = (tmp_path / "agent.pansophy").read_bytes()
    for other in ("CartPole-v1", "Acrobot-v1"):
        with pytest.raises(ValueError, match=r"holds finished runs and .*--overwrite"):
            play(other, tmp_path, n_seeds=1, **QUICK)
    assert (tmp_path / "agent.pansophy").read_bytes() == before
    play(
        "CartPole-v1", tmp_path, n_seeds=1, report=told.append, overwrite=True, **QUICK
    )
    assert told[0] == "a2c: run 1 of 1"  # without resume it begins anew


def test_ctrl_c_reports_what_had_finished(tmp_path, monkeypatch):
    fit = A2C._fit
    fits = []

    def impatient(self, env, **options):
        fits.append(fit(self, env, **options))
        self.interrupted_ = len(fits) == 2
        return self

    monkeypatch.setattr(A2C, "_fit", impatient)
    found = play("CartPole-v1", tmp_path, n_seeds=3, **QUICK)
    assert found.interrupted and len(found.scores["a2c"]) == 1
    assert "was interrupted" in verdict_sentences(found)[0]
    assert json.loads((tmp_path / "results.json").read_text())["interrupted"]
    monkeypatch.undo()
    whole = play("CartPole-v1", tmp_path, n_seeds=2, resume=True, **QUICK)
    assert not whole.interrupted and len(whole.scores["a2c"]) == 2


def test_what_cannot_work_is_told_before_training(tmp_path, monkeypatch):
    monkeypatch.setattr(A2C, "_fit", None)  # nothing is trained
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="nothing can be written to the folder"):
        play("CartPole-v1", tmp_path / "file", **QUICK)
    with pytest.raises(ValueError, match="SAC chooses real numbers"):
        play("CartPole-v1", tmp_path, n_steps=300, agents=["a2c", "sac"])


def test_files_of_the_user_stay(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "mine-1.json").write_text("{}")
    play("CartPole-v1", tmp_path, n_seeds=1, **QUICK)
    play("CartPole-v1", tmp_path, n_seeds=1, overwrite=True, **QUICK)
    assert (tmp_path / "runs" / "mine-1.json").exists()

    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "report.html").write_text("mine")
    with pytest.raises(ValueError, match=r"holds report.html already"):
        play("CartPole-v1", tmp_path / "other", n_seeds=1, **QUICK)
    assert (tmp_path / "other" / "report.html").read_text() == "mine"


def test_tables_for_tabular_worlds_and_planning_as_reference(tmp_path):
    found = play("FrozenLake-v1", tmp_path, n_steps=3000, n_seeds=2)
    assert {"qlearning", "sarsa", "ppo"} == set(found.curves)
    # the best policy reaches the goal in 0.74 of 100-step episodes; 100 were played
    assert 0.5 < found.planning.mean < 0.95
    text = " ".join(verdict_sentences(found))
    assert "value iteration" in text
    data = json.loads((tmp_path / "results.json").read_text())
    assert data["planning_with_the_model"] == found.planning.mean
    with pytest.raises(ValueError, match="a table needs discrete spaces"):
        play("CartPole-v1", tmp_path / "two", n_steps=10, agents=["qlearning"])


def test_names_of_agents():
    assert list(default_agents("Pendulum-v1", 10)) == ["ppo", "sac", "td3"]
    with pytest.raises(ValueError, match="agents are a2c, dqn"):
        default_agents("CartPole-v1", 10, ["alpha"])


def test_worlds_without_a_time_limit(tmp_path):
    """Gymnasium gives the cliff none: a policy may walk into a wall for ever."""
    told = []
    found = play(
        "CliffWalking-v1", tmp_path, n_seeds=1, report=told.append,
        max_episode_steps=30, **QUICK,
    )  # fmt: skip
    assert told[0] == (
        "CliffWalking-v1 has no time limit: episodes are cut off after 30 steps."
    )
    assert found.check.lengths.max() <= 30
