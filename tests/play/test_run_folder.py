"""Finished runs of a comparison come back from disk as they were."""

import numpy as np
import pytest

from pansophy.play.run_folder import PlayFolder, writable_folder
from pansophy.rl import QLearning, ReturnCurve
from pansophy.rl.envs import Corridor
from pansophy.rl.experience.agent_comparison import AgentRun

SETTINGS = {"environment": "Corridor", "steps": 10}


def make_run():
    agent = QLearning(200, random_state=0).fit(Corridor(3, max_steps=9))
    curve = ReturnCurve(np.array([0, 100]), np.array([[0.0, 1.0], [1.0, 1.0]]))
    return AgentRun(agent, curve, 0.75, 1.5)


def test_runs_come_back(tmp_path):
    folder = PlayFolder(tmp_path / "a" / "b", SETTINGS)
    assert folder.get("table", 0) is None
    run = make_run()
    folder.put("table", 0, run)
    folder.close()
    again = PlayFolder(tmp_path / "a" / "b", SETTINGS, resume=True).get("table", 0)
    assert again.score == 0.75 and again.seconds == 1.5
    np.testing.assert_array_equal(again.curve.returns, run.curve.returns)
    np.testing.assert_array_equal(
        again.agent.predict([0, 1, 2]), run.agent.predict([0, 1, 2])
    )


def test_a_run_without_its_numbers_is_none(tmp_path):
    folder = PlayFolder(tmp_path, SETTINGS)
    folder.put("table", 0, make_run())
    (folder.runs / "table-0.json").unlink()  # stopped while it was written
    assert folder.get("table", 0) is None


def test_other_settings_and_places_are_refused(tmp_path):
    PlayFolder(tmp_path, SETTINGS).close()
    with pytest.raises(ValueError, match=r"another steps \(10 instead of 20\)"):
        PlayFolder(tmp_path, {**SETTINGS, "steps": 20}, resume=True)
    with PlayFolder(tmp_path, SETTINGS):  # a refusal leaves no lock behind
        pass
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="nothing can be written"):
        writable_folder(tmp_path / "file" / "folder")


def test_one_run_writes_at_a_time(tmp_path):
    with PlayFolder(tmp_path, SETTINGS) as folder:
        folder.put("table", 0, make_run())
        for resume in (False, True):
            with pytest.raises(ValueError, match="another run is writing"):
                PlayFolder(tmp_path, SETTINGS, resume=resume)
        assert folder.get("table", 0) is not None  # the second one removed nothing
    with PlayFolder(tmp_path, SETTINGS, resume=True) as again:
        assert again.get("table", 0) is not None


def test_nothing_to_resume(tmp_path):
    with pytest.raises(ValueError, match="no runs to resume"):
        PlayFolder(tmp_path / "new", SETTINGS, resume=True)
    assert not (tmp_path / "new").exists()
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "settings.json").write_text("{")
    with pytest.raises(ValueError, match="cannot be read"):
        PlayFolder(tmp_path, SETTINGS, resume=True)


def test_damaged_runs_are_run_again(tmp_path):
    folder = PlayFolder(tmp_path, SETTINGS)
    folder.put("table", 0, make_run())
    numbers, agent = (tmp_path / "runs" / f"table-0.{e}" for e in ("json", "pansophy"))
    whole = agent.read_bytes()
    agent.write_bytes(whole[:100])
    assert folder.get("table", 0) is None
    agent.write_bytes(whole)
    assert folder.get("table", 0) is not None
    numbers.write_text("bad")
    assert folder.get("table", 0) is None
    folder.close()
