"""The course in the terminal: what `pansophy learn` shows, and chapters of classes.

`course.json` holds of every chapter of `docs/course` its problem, its idea, its first
formula and its algorithm; `course_names.json` says which chapter and guide each
estimator has. Both are made from the chapters by `make docs`.
"""

import json
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent


class CourseChapter(NamedTuple):
    """A chapter, as far as the terminal shows it."""

    name: str
    title: str
    part: str
    problem: str
    idea: str
    formula: str
    code: str
    topics: tuple[str, ...]  # ids of the catalogue
    classes: tuple[str, ...]  # dotted public names
    next: tuple[str, ...]


@cache
def read_course() -> dict[str, CourseChapter]:
    """Name -> chapter, in the order of the course.

    Examples
    --------
    >>> from pansophy.course import read_course
    >>> read_course()["ridge"].title
    'Ridge regression'
    """
    rows = json.loads((FOLDER / "course.json").read_text("utf-8"))
    chapters = [CourseChapter(*map(_from_json, row)) for row in rows]
    return {chapter.name: chapter for chapter in chapters}


def _from_json(value) -> Any:
    return tuple(value) if isinstance(value, list) else value


@cache
def reading_lines() -> dict[str, str]:
    """`package.Class` -> the line of its help that says where to read on."""
    return json.loads((FOLDER / "course_names.json").read_text("utf-8"))


def add_reading_line(cls) -> None:
    """Name chapter and guide at the end of the docstring of an estimator of ours."""
    parts = cls.__module__.split(".")
    if parts[0] != "pansophy" or len(parts) < 2 or not vars(cls).get("__doc__"):
        return
    line = reading_lines().get(f"{parts[1]}.{cls.__name__}")
    if line:
        cls.__doc__ = f"{cls.__doc__.rstrip()}\n\n    {line}\n    "


def find_chapters(query: str) -> list[CourseChapter]:
    """Chapters that a query means, the best first.

    A name or a title comes first, then a class of the chapter, then the topics that the
    catalogue finds.

    Examples
    --------
    >>> from pansophy.course import find_chapters
    >>> find_chapters("Ridge")[0].name
    'ridge'
    """
    from .catalogue import corrected_query, search_catalogue, stem_of, words_of

    chapters = read_course().values()
    query = corrected_query(query)
    joined = lambda text: "".join(stem_of(word) for word in words_of(text))
    asked = joined(query)
    scores: dict[str, float] = {}
    for chapter in chapters:
        names = [chapter.name, chapter.title]
        titles = [joined(text) for text in names]
        classes = [joined(c.rpartition(".")[2]) for c in chapter.classes]
        if asked in titles:
            scores[chapter.name] = 4.0
        elif asked in classes:
            scores[chapter.name] = 3.0 - 0.01 * classes.index(asked)
        elif asked and any(asked in text for text in titles):
            scores[chapter.name] = 2.0
    for rank, entry in enumerate(search_catalogue(query)[:6]):
        for chapter in chapters:
            if entry.id in chapter.topics:
                scores[chapter.name] = scores.get(chapter.name, 0.0) + 1 / (1 + rank)
    return [read_course()[n] for n in sorted(scores, key=lambda n: -scores[n])]


def page_address(chapter: CourseChapter) -> str:
    """Where the whole chapter is: its page in a checkout, or on the project's site."""
    root = FOLDER.parents[1]
    for place in (
        root / "build" / "site" / "html" / "course" / f"{chapter.name}.html",
        root / "docs" / "course" / f"{chapter.name}.md",
    ):
        if place.exists():
            return place.as_uri()
    addresses = metadata.metadata("pansophy").get_all("Project-URL") or []
    known = dict(line.split(", ", 1) for line in addresses)
    return f"{known.get('Documentation', '')}/course/{chapter.name}.html"
