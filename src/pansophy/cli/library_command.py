"""`pansophy methods`: what the library covers."""

import json
from typing import Annotated

import typer

from .app import AsJson, app, errors_as_one_sentence


@app.command()
def methods(
    query: Annotated[
        str | None, typer.Argument(help="Words to look for, e.g. `boosting`.")
    ] = None,
    family: Annotated[
        str | None, typer.Option(help="Only this family of methods.")
    ] = None,
    as_json: AsJson = False,
):
    """List what the library covers; with words, the topics nearest to them."""
    with errors_as_one_sentence():
        from ..catalogue import read_catalogue, search_catalogue

        entries = read_catalogue()
        families = sorted({e.family for e in entries})
        if family is not None and family not in families:
            raise ValueError(
                f"There is no family {family!r}; choose from {', '.join(families)}."
            )
        found = [e for e in entries if family in (None, e.family)]
        if query is not None:
            found = search_catalogue(query, found)
            if not found:
                raise ValueError(f"Nothing in the catalogue speaks of {query!r}.")
        if as_json:
            typer.echo(json.dumps([e._asdict() for e in found], indent=2))
            return
        for e in found:
            typer.echo(f"{e.id}  {e.family:14} {e.topic}: {', '.join(e.names)}")
