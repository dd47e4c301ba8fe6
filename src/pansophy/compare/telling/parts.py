"""What a page is made of, as plain data for the templates.

A picture that cannot be drawn says so instead of stopping the page: a report comes at
the end of a long run, and everything else in it is still true.
"""

from typing import NamedTuple

from ...plot.style import figure_svg


class Picture(NamedTuple):
    """One figure of the page."""

    title: str
    caption: str
    svg: str = ""


class Table(NamedTuple):
    """One table of the page; `numeric` says which columns are numbers."""

    label: str
    head: list[str]
    body: list[list[str]]
    numeric: list[bool]
    caption: str = ""


class Part(NamedTuple):
    """A titled table with a sentence."""

    title: str
    text: str
    table: Table


class Block(NamedTuple):
    """One method."""

    name: str
    brief: str
    words: str
    facts: Table | None
    folds: Table | None
    estimator: str


class Group(NamedTuple):
    """Methods that were not run for kindred reasons."""

    title: str
    count: int
    reasons: list[tuple[str, list[str]]]


def picture(title, caption, draw, key, label="", **size) -> Picture:
    """A picture with its caption; the reason where it could not be drawn."""
    try:
        return Picture(
            title, caption, figure_svg(draw, label or title, key=key, **size)
        )
    except Exception as error:  # the page must come out whatever a plot meets
        return Picture(title, f"This picture could not be drawn: {error}")
