"""`pansophy studio`: its options reach the studio, and faults are sentences."""

import pytest

from tests.cli.commands import call


@pytest.fixture
def started(monkeypatch):
    """What the studio was asked for, in its place."""
    import pansophy.studio.server

    asked = []
    monkeypatch.setattr(
        pansophy.studio.server, "run_studio", lambda *a, **k: asked.append((a, k))
    )
    return asked


def test_options_reach_the_studio(started, tmp_path):
    words = ("--port", 9000, "--no-browser", "--max-upload", 5, "--allow-host", "a.b,c")
    assert call("studio", tmp_path, *words).exit_code == 0
    ((folder,), options) = started[0]
    assert folder == tmp_path and options.pop("say")
    assert options == {
        "port": 9000,
        "hosts": ["a.b", "c"],
        "max_upload": 5_000_000,
        "browser": False,
    }


def test_by_default_it_shows_this_folder_on_a_free_port(started):
    assert call("studio").exit_code == 0
    ((folder,), options) = started[0]
    assert str(folder) == "." and options["port"] is None and options["browser"]


def test_a_folder_that_is_not_there_is_a_sentence(tmp_path):
    done = call("studio", tmp_path / "none", "--no-browser")
    assert done.exit_code == 2 and "There is no folder" in done.output
