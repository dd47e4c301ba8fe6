"""A comparison as one HTML page: no script, no other file, all text escaped."""

import os
import warnings
from pathlib import Path

from .. import __version__
from . import figures
from .metrics import metrics_for
from .result import spread
from .run import folds_of
from .text import against


def write(comparison, path) -> None:
    """Render and write; the folder is made if need be."""
    path = Path(os.fspath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(comparison), "utf-8")


def render(c) -> str:
    """The page as text."""
    from jinja2 import Environment, PackageLoader

    pages = Environment(
        loader=PackageLoader("pansophy.compare", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters["spread"] = spread
    pages.filters["against"] = against
    return pages.get_template("report.html").render(
        c=c,
        settings=c.settings,
        schema=c.schema,
        metrics=list(c.leaderboard[0].scores),
        pictures=pictures(c),
        version=__version__,
    )


def pictures(c) -> list[tuple[str, str, str]]:
    """(title, explanation, SVG) of each figure that makes sense."""
    y, s = c.data.y, c.settings
    out = [
        (
            "Scores",
            "Points are means over all folds; lines are 95 % intervals with the "
            "variance corrected for overlapping training sets. Grey methods are "
            "worse than the best beyond chance, or no better than the dummy.",
            figures.scores(c),
        )
    ]
    held_out = c.trial(c.winner).predictions
    if c.schema.task == "classification":
        out.append(
            (
                f"Calibration of {c.winner}",
                "Rows held out in the first cross-validation. On the dashed line, "
                "probabilities mean what they say.",
                figures.calibration(y, held_out),
            )
        )
    else:
        out.append(
            (
                f"Residuals of {c.winner}",
                "Rows held out in the first cross-validation. A pattern here is "
                "something the model has not learned.",
                figures.residuals(y, held_out, s["seed"]),
            )
        )
    metric = metrics_for(c.schema.task, s["metric"])[0]
    folds = folds_of(y, c.schema.task, s["folds"], 1, s["seed"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = figures.importances(c, metric, folds)
    if found and c.winner != "dummy":
        out.append(
            (
                f"What {c.winner} relies on",
                f"How much worse the {s['metric']} gets on held-out rows when one "
                "column is shuffled. Columns that tell the same story share the "
                "credit.",
                figures.importance(found, s["metric"]),
            )
        )
    return out
