"""Catalogue of topics: the id of each, and the names in the library that cover it.

`catalogue.csv` beside this file is the single source for `docs/curriculum.md`, for
`pansophy methods`, and for the test that every name in it imports.
"""

import csv
import difflib
import importlib
import re
from importlib import resources
from typing import NamedTuple


class CatalogueEntry(NamedTuple):
    """One topic."""

    id: str  # K001...
    topic: str
    family: str
    names: tuple[str, ...]  # dotted public names
    references: tuple[str, ...]  # keys of docs/references.bib


def read_catalogue() -> list[CatalogueEntry]:
    """All entries, in order of id.

    Examples
    --------
    >>> from pansophy.catalogue import read_catalogue
    >>> name = "pansophy.cluster.KMeans"
    >>> entry = next(e for e in read_catalogue() if name in e.names)
    >>> entry.family
    'unsupervised'
    """
    text = resources.files("pansophy").joinpath("catalogue.csv").read_text("utf-8")
    return [
        CatalogueEntry(
            row["id"],
            row["topic"],
            row["family"],
            tuple(row["names"].split()),
            tuple(row["references"].split()),
        )
        for row in csv.DictReader(text.splitlines())
    ]


def search_catalogue(query, entries=None) -> list[CatalogueEntry]:
    """Entries that hold every word of a query, in topic, family or names; best first.

    A word counts most in the topic. Words that occur nowhere are compared with those
    that do, so that a slip of the finger still finds something.

    Examples
    --------
    >>> from pansophy.catalogue import search_catalogue
    >>> search_catalogue("k-means")[0].id == search_catalogue("kmean")[0].id
    True
    """
    entries = read_catalogue() if entries is None else entries
    words = [w for w in re.split(r"[\s,]+", query.lower()) if w]
    texts = [
        (
            e,
            searchable_text(e.topic),
            searchable_text(f"{e.family} {' '.join(e.names)}"),
        )
        for e in entries
    ]
    known = sorted({w for _, topic, rest in texts for w in f"{topic} {rest}".split()})
    scored = []
    for entry, topic, rest in texts:
        points = [match_score(w, topic, rest, known) for w in words]
        if words and all(points):
            scored.append((-sum(points), entry.id, entry))
    return [entry for *_, entry in sorted(scored)]


def searchable_text(text) -> str:
    """Lower case; dots, hyphens and capitals inside words become spaces as well."""
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    both = f"{text} {split} {text.replace('-', '')}"
    return re.sub(r"[^a-z0-9]+", " ", both.lower())


def match_score(word, topic, rest, known) -> int:
    """3 in the topic, 1 elsewhere; the nearest known word where it is nowhere."""
    word = re.sub(r"[^a-z0-9]+", " ", word).strip()
    if not word:  # signs alone
        return 0
    if not any(word in w for w in known) and " " not in word:
        word = next(iter(difflib.get_close_matches(word, known, 1, 0.8)), word)
    return 3 if word in topic else 1 if word in rest else 0


def resolve_name(name: str):
    """The object behind a dotted name, importing as far down as needed.

    Examples
    --------
    >>> from pansophy.catalogue import resolve_name
    >>> resolve_name("pansophy.core.iterate.iterate").__name__
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


def catalogue_page() -> str:
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
    for e in read_catalogue():
        names = ", ".join(f"`{n.removeprefix('pansophy.')}`" for n in e.names)
        lines.append(f"| {e.id} | {e.family} | {e.topic} | {names} |")
    return "\n".join(lines) + "\n"
