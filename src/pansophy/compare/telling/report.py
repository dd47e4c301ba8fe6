"""A comparison as one HTML page: no script, no other file, all text escaped."""

import os
import warnings
from pathlib import Path

from ... import __version__
from ...diagnose.findings import by_severity
from ...plot.style import short_name
from . import asked, deciding, pages, words
from .text import against, between, chances, seconds, sentences, spread

NAME = 48  # letters of the target that a heading shows
TOP = 20  # methods of the leaderboard that are not folded


def write(comparison, path) -> Path:
    """Render and write; the folder is made if need be."""
    path = Path(os.fspath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(comparison), "utf-8")
    return path


def template(name):
    """A page that escapes whatever it is given."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    env = Environment(
        loader=PackageLoader("pansophy.compare.telling", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    env.filters |= {
        "spread": spread,
        "between": between,
        "against": against,
        "chances": chances,
        "shares": shares,
        "seconds": seconds,
    }
    return env.get_template(name)


def shares(row) -> list[tuple[str, str]]:
    """Parts of the bar of a method, in percent."""
    o = row.odds
    parts = (("b", o.better), ("e", o.equivalent), ("w", o.worse))
    return [(k, f"{100 * v:.1f}") for k, v in parts]


def led(lines) -> list[str]:
    """The sentences with the first cut where it first could end: a short headline.

    Examples
    --------
    >>> from pansophy.compare.telling.report import led
    >>> led(["a is best; b is kept. So it is.", "More."])
    ['a is best.', 'B is kept. So it is.', 'More.']
    """
    first, *rest = lines
    at = min((i for i in map(first.find, ("; ", ". ")) if i > 0), default=-1)
    if at < 0:
        return [first, *rest]
    more = first[at + 2 :]
    return [f"{first[:at]}.", more[:1].upper() + more[1:], *rest]


def render(c) -> str:
    """The page as text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return template("report.html").render(**context(c))


def context(c) -> dict:
    """Everything the page shows, in its order."""
    found = by_severity(c.findings)
    return {
        "c": c,
        "version": __version__,
        "settings": c.settings,
        "schema": c.schema,
        "split": getattr(c.split, "kind", None) or c.settings.get("split", ""),
        "target": short_name(c.schema.target, NAME),
        "why": c.schema.why.replace(c.schema.target, short_name(c.schema.target, NAME)),
        "sentences": led(sentences(c)),
        "alarms": [f for f in found if f.severity == "alarm"],
        "findings": found,
        "notes": c.notes,
        "metrics": list(c.leaderboard[0].scores)[:4],
        "greater": c.metrics[0].greater,
        "top": c.leaderboard[:TOP],
        "rest": c.leaderboard[TOP:],
        "remarks": any(r.remarks for r in c.leaderboard),
        "rope": f"{c.rope:.2g} of {c.metric}",
        "rule": words.rule(c),
        "overall": pages.overall(c),
        "views": pages.data_views(c),
        "columns": pages.columns(c),
        "about": words.about(c),
        "pictures": pages.winner_pictures(c),
        "weak": pages.weak(c),
        "extra": [p for p in (asked.test_part(c), asked.group_part(c)) if p],
        "holds": pages.holds(c),
        "decisions": deciding.decisions(c),
        "blocks": pages.blocks(c),
        "not_run": pages.not_run(c),
        "how": words.how(c),
        "glossary": words.glossary(c),
        "commands": words.commands(c),
        "circumstances": pages.circumstances(c),
        "licences": pages.licences(c),
    }


def explore_page(exploration, path, name=None) -> Path:
    """What `diagnose.explore` found, as one HTML page; `name` is that of the table."""
    path = Path(os.fspath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render_exploration(exploration, name), "utf-8")
    return path


def render_exploration(exploration, name=None) -> str:
    from .explored import context as of

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        page = template("explore.html")
        return page.render(version=__version__, **of(exploration, name))
