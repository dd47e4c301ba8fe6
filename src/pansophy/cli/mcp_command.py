"""`pansophy mcp`: tools for a language-model assistant, in one folder."""

from pathlib import Path
from typing import Annotated

import typer

from .app import HelpfulCommand, app, errors_as_one_sentence

EXAMPLES = """Example: pansophy mcp --folder tables

Entered in an assistant as a server with the command `pansophy` and these arguments."""


@app.command(cls=HelpfulCommand, epilog=EXAMPLES)
def mcp(
    folder: Annotated[
        Path, typer.Option(help="The one folder that is read and written.")
    ] = Path("."),
):
    """Serve tools to an assistant over standard input and output (MCP)."""
    with errors_as_one_sentence():
        if not folder.is_dir():
            raise ValueError(f"There is no folder {folder}.")
        from ..assistant import make_server

        make_server(folder).run("stdio")
