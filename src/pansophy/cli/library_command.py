"""`pansophy methods`: what the library covers, found by name, topic or question."""

import json
import shutil
import textwrap
from typing import Annotated

import typer

from .app import AsJson, HelpfulCommand, app, errors_as_one_sentence

SHOWN = 6  # topics printed for a query
SHOWN_NAMES = 8  # names printed for a topic


EXAMPLES = """Examples:

pansophy methods k-means

pansophy methods which model for counts

pansophy methods --family trees"""


def complete_family(incomplete: str) -> list[str]:
    from ..catalogue import read_catalogue

    families = sorted({e.family for e in read_catalogue()})
    return [f for f in families if f.startswith(incomplete)]


@app.command(cls=HelpfulCommand, epilog=EXAMPLES)
def methods(
    query: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORDS", help="A name, a topic or a question, e.g. `boosting`."
        ),
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(
            help="Only this family of methods, e.g. `trees`.",
            autocompletion=complete_family,
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help=f"Print more than {SHOWN} topics.")
    ] = False,
    as_json: AsJson = False,
):
    """Find what the library has: by name, by topic, or "which model for counts"."""
    with errors_as_one_sentence():
        from ..catalogue import (
            corrected_query,
            find_guide,
            read_catalogue,
            search_catalogue,
        )

        entries = read_catalogue()
        families = sorted({e.family for e in entries})
        if family is not None and family not in families:
            raise ValueError(
                f"There is no family {family!r}; choose from {', '.join(families)}."
            )
        results = [e for e in entries if family in (None, e.family)]
        text = " ".join(query or ())
        guide = None
        if text:
            guide = find_guide(text) if family is None else None
            results = search_catalogue(text, results)
            if not results and guide is None:
                raise ValueError(
                    f"Nothing in the catalogue speaks of {text!r}; `pansophy methods` "
                    "lists all topics."
                )
        if as_json:
            typer.echo(json.dumps([e._asdict() for e in results], indent=2))
            return
        if text and (meant := corrected_query(text)) != text:
            typer.echo(f"Did you mean {meant!r}?\n")
        if guide is not None:
            print_guide(guide, {e.id: e for e in entries})
        if not text:
            for name in [family] if family else families:
                typer.echo(f"\n{name.upper()}\n")
                print_topics([e for e in results if e.family == name])
            return
        shown = results if everything else results[:SHOWN]
        if guide is not None and shown:
            typer.echo("TOPICS\n")
        print_topics(shown)
        if len(results) > len(shown):
            typer.echo(f"{len(results) - len(shown)} more with --all.")


def echo_wrapped(text, indent="", hanging=None):
    width = min(max(shutil.get_terminal_size().columns, 40), 100)
    typer.echo(
        textwrap.fill(
            text,
            width,
            initial_indent=indent,
            subsequent_indent=indent if hanging is None else hanging,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def print_topics(entries):
    for e in entries:
        echo_wrapped(e.topic)
        for line in grouped_names(e.names):
            echo_wrapped(line, "    ")
        typer.echo("")


def grouped_names(names) -> list[str]:
    """Dotted names, those of one module in one line."""
    modules: dict[str, list[str]] = {}
    for name in names[:SHOWN_NAMES]:
        parts = name.split(".")
        first = next(
            (i for i, p in enumerate(parts) if p[:1].isupper()), len(parts) - 1
        )
        module = ".".join(parts[: max(first, 1)])
        modules.setdefault(module, []).append(".".join(parts[max(first, 1) :]))
    lines = [f"{module}: {', '.join(own)}" for module, own in modules.items()]
    if len(names) > SHOWN_NAMES:
        lines.append(f"and {len(names) - SHOWN_NAMES} more names")
    return lines


def print_guide(guide, entries):
    """A guide, with topics and names as the catalogue has them."""
    typer.echo(f"{guide.title.upper()}\n")
    echo_wrapped(guide.advice)
    typer.echo("")
    for step in guide.steps:
        entry = entries[step.id]
        names = step.names or [n.rpartition(".")[2] for n in entry.names[:3]]
        echo_wrapped(f"{', '.join(dict.fromkeys(names))}: {step.when}", "  - ", "    ")
        echo_wrapped(f"({entry.topic})", "    ")
    chapters = chapters_of([step.id for step in guide.steps])
    if chapters:
        typer.echo(f"Read on: pansophy learn {chapters[0]}")
    typer.echo("")


def chapters_of(topics) -> list[str]:
    """Names of the chapters that teach the topics, those of the first topics first."""
    from ..course import read_course

    chapters = read_course().values()
    found = [c.name for topic in topics for c in chapters if topic in c.topics]
    return list(dict.fromkeys(found))
