"""`pansophy learn`: a chapter of the course, as far as a terminal can show it."""

import json
import shutil
import textwrap
from typing import Annotated

import typer

from .app import AsJson, HelpfulCommand, app, errors_as_one_sentence

EXAMPLES = """Examples:

pansophy learn

pansophy learn k-means

pansophy learn "support vector machine" --open"""
LESS, MORE = 40, 88  # columns of prose


def complete_chapter(incomplete: str) -> list[str]:
    from ..course import read_course

    return [name for name in read_course() if name.startswith(incomplete)]


@app.command("learn", cls=HelpfulCommand, epilog=EXAMPLES)
def learn_chapter(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORDS",
            help="A method, an idea or a class, e.g. `k-means`.",
            autocompletion=complete_chapter,
        ),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open the whole chapter in a browser.")
    ] = False,
    as_json: AsJson = False,
):
    """Show idea, formula and code of a method; without words the whole course."""
    with errors_as_one_sentence():
        from ..course import find_chapters, page_address, read_course

        query = " ".join(words or ())
        if not query:
            if open_page:
                raise ValueError("Say which chapter to open: `learn k-means --open`.")
            print_contents(read_course().values(), as_json=as_json)
            return
        found = find_chapters(query)
        if not found:
            raise ValueError(
                f"No chapter speaks of {query!r}; `pansophy learn` lists them all, "
                "`pansophy methods` searches the whole library."
            )
        chapter = found[0]
        address = page_address(chapter)
        if as_json:
            typer.echo(json.dumps({**chapter._asdict(), "page": address}, indent=2))
        else:
            print_chapter(chapter, address, [c.name for c in found[1:4]])
        if open_page:
            typer.launch(address)


def print_contents(chapters, *, as_json):
    if as_json:
        keys = ("name", "title", "part")
        rows = [{key: getattr(c, key) for key in keys} for c in chapters]
        typer.echo(json.dumps(rows, indent=2))
        return
    part = ""
    for chapter in chapters:
        if chapter.part != part:
            part = chapter.part
            typer.echo(f"\n{part.upper()}\n")
        typer.echo(f"  {chapter.name:36} {chapter.title}")
    typer.echo("\npansophy learn NAME shows one of them.")


def print_chapter(chapter, address, others):
    """Problem, idea, formula and code of a chapter, and where to go on."""
    width = min(max(shutil.get_terminal_size().columns, LESS), MORE)
    typer.echo(f"{chapter.title.upper()}\n")
    for text in (*chapter.problem.split("\n\n"), *chapter.idea.split("\n\n")):
        if text:
            typer.echo(textwrap.fill(text, width, break_long_words=False) + "\n")
    if chapter.formula:
        typer.echo(textwrap.indent(chapter.formula, "    ") + "\n")
    if chapter.code:
        typer.echo("In plain NumPy:\n")
        typer.echo(textwrap.indent(chapter.code, "    ") + "\n")
    if chapter.classes:
        names = ", ".join(chapter.classes[:4])
        typer.echo(f"In the library: {names}")
    if chapter.next:
        typer.echo(f"Next: {', '.join(chapter.next)}")
    if others:
        typer.echo(f"See also: {', '.join(others)}")
    typer.echo(f"The whole chapter: {address}")
