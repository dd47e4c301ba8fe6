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
