"""The catalogue: every topic, its id, and the names that provide it.

`catalogue.csv` beside this file is the single source for `docs/curriculum.md`, for
`pansophy methods`, and for the test that every name in it imports.
"""

import csv
import importlib
from importlib import resources
from typing import NamedTuple


class Entry(NamedTuple):
    """One topic."""

    id: str  # K001...
    topic: str
    family: str
    names: tuple[str, ...]  # dotted public names
    references: tuple[str, ...]  # keys of docs/references.bib


def read() -> list[Entry]:
    """All entries, in order of id.

    Examples
    --------
    >>> from pansophy.catalogue import read
    >>> entry = next(e for e in read() if "pansophy.cluster.KMeans" in e.names)
    >>> entry.family
    'unsupervised'
    """
    text = resources.files("pansophy").joinpath("catalogue.csv").read_text("utf-8")
    return [
        Entry(
            row["id"],
            row["topic"],
            row["family"],
            tuple(row["names"].split()),
            tuple(row["references"].split()),
        )
        for row in csv.DictReader(text.splitlines())
    ]


def resolve(name: str):
    """The object behind a dotted name, importing as far down as needed.

    Examples
    --------
    >>> from pansophy.catalogue import resolve
    >>> resolve("pansophy.core.iterate.iterate").__name__
    'iterate'
    """
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        module = ".".join(parts[:cut])
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not module.startswith(error.name):
                raise  # an optional dependency is missing, not our module
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(f"no module in {name!r}")


def markdown() -> str:
    """The catalogue as the page `docs/curriculum.md`."""
    lines = [
        "# Curriculum",
        "",
        "What the library covers, by topic. Made from `src/pansophy/catalogue.csv` by "
        "`make docs`; do not edit.",
        "",
        "| id | family | topic | names |",
        "|---|---|---|---|",
    ]
    for e in read():
        names = ", ".join(f"`{n.removeprefix('pansophy.')}`" for n in e.names)
        lines.append(f"| {e.id} | {e.family} | {e.topic} | {names} |")
    return "\n".join(lines) + "\n"
