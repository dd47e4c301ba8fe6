"""The elements of a page, as plain data for the templates.

A picture that cannot be drawn says so instead of stopping the page: a report comes at
the end of a long run, and everything else in it is still true.
"""

from typing import NamedTuple

from ...core.plain_text import plain_text
from ...plot.style import figure_svg

MAX_COLUMNS_LISTED = 300  # columns of a table in a line each: a page stays light


class Figure(NamedTuple):
    """One figure of the page."""

    title: str
    caption: str
    svg: str = ""


class HtmlTable(NamedTuple):
    """One table of the page; `numeric` says which columns are numbers."""

    label: str
    head: list[str]
    body: list[list[str]]
    numeric: list[bool]
    caption: str = ""


class Section(NamedTuple):
    """A titled table with a sentence."""

    title: str
    text: str
    table: HtmlTable


class MethodBlock(NamedTuple):
    """One method."""

    name: str
    brief: str
    words: str
    facts: HtmlTable | None
    folds: HtmlTable | None
    estimator: str
    figures: list[Figure] = []


class SkippedGroup(NamedTuple):
    """Methods that were not run for kindred reasons."""

    title: str
    count: int
    reasons: list[tuple[str, list[str]]]


def make_figure(title, caption, draw, key, label="", **size) -> Figure:
    """A picture with its caption; the reason where it could not be drawn."""
    try:
        return Figure(title, caption, figure_svg(draw, label or title, key=key, **size))
    except Exception as error:  # the page must come out whatever a plot meets
        reason = " ".join(plain_text(error).split())
        return Figure(title, f"This picture could not be drawn: {reason}")
