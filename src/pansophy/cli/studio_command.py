"""`pansophy studio`: a page on this machine where a table becomes an answer."""

from pathlib import Path
from typing import Annotated

import typer

from .app import HelpfulCommand, app, errors_as_one_sentence, print_error, split_names

EXAMPLES = """Examples:

pansophy studio

pansophy studio tables --port 9000 --no-browser"""


@app.command("studio", cls=HelpfulCommand, epilog=EXAMPLES)
def open_studio(
    folder: Annotated[
        Path, typer.Argument(help="The one folder that is read and written.")
    ] = Path("."),
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, help="Port; the first free one from 8765 on."),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open a browser, or not.")
    ] = True,
    max_upload: Annotated[
        int, typer.Option(min=1, help="Most megabytes of a table that is dropped.")
    ] = 1000,
    allow_host: Annotated[
        str | None,
        typer.Option(
            help="Further names by which the studio may be called, separated by "
            "commas, as through a tunnel."
        ),
    ] = None,
):
    """Open a page where a table becomes an answer, on this machine only."""
    with errors_as_one_sentence():
        from ..studio import run_studio

        run_studio(
            folder,
            port=port,
            hosts=split_names(allow_host) or (),
            max_upload=max_upload * 1_000_000,
            browser=browser,
            say=print_error,
        )
