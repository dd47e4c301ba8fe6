"""The command warm: what was done, names that are unknown."""

NAMES = ["pansophy.linear_model.LinearRegression", "pansophy.linear_model.Ridge"]


def test_command_says_what_was_done():
    from typer.testing import CliRunner

    from pansophy.cli import app

    result = CliRunner().invoke(app, ["warm", NAMES[1], "--jobs", "1"])
    assert result.exit_code == 0, result.output
    assert "loops compiled, all others found" in result.output


def test_command_refuses_unknown_names():
    from typer.testing import CliRunner

    from pansophy.cli import app

    result = CliRunner().invoke(app, ["warm", "pansophy.nothing"])
    assert result.exit_code == 2
    assert "No public name begins with pansophy.nothing" in result.output


def test_command_refuses_one_unknown_name_among_others():
    from typer.testing import CliRunner

    from pansophy.cli import app

    result = CliRunner().invoke(app, ["warm", NAMES[1], "pansophy.nothing"])
    assert result.exit_code == 2
    assert "No public name begins with pansophy.nothing" in result.output


def test_command_does_not_compile_what_it_cannot_keep(monkeypatch, tmp_path):
    from typer.testing import CliRunner

    from pansophy.cli import app
    from pansophy.core.loops import loop_cache

    monkeypatch.setattr(loop_cache, "shipped_levels", lambda: ())
    (tmp_path / "loops").touch()
    monkeypatch.setenv("PANSOPHY_CACHE_DIR", str(tmp_path))
    result = CliRunner().invoke(app, ["warm", NAMES[1]])
    assert result.exit_code == 2
    assert "Compiled loops cannot be kept" in result.output
