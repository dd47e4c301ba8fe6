"""Commands run as from a terminal."""

from typer.testing import CliRunner

from pansophy.cli import app


def call(*words):
    """What a command printed, and its exit code."""
    return CliRunner().invoke(app, [str(w) for w in words])
