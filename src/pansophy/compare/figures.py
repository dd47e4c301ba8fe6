"""The pictures of a report, each a matplotlib figure turned into inline SVG.

Column names are somebody else's text: mathematics in them is not interpreted, and
letters stay letters, which the SVG writer escapes.
"""

import io

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from ..tables import Frame
from .run import answers

STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "pansophy",
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 10,
    "font.family": "sans-serif",
}
BLUE, GREY, PALE = "#1f6fb2", "#8a8a8a", "#d9e6f2"
ROWS, COLUMNS, SHUFFLES = 2000, 30, 5  # limits on the work for importances


def svg(draw, width=6.4, height=3.6) -> str:
    """The picture that `draw(axes)` makes, as SVG text without a prologue."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure.add_subplot())
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]


def scores(c) -> str:
    """Scores with their intervals, best on top."""
    rows = c.leaderboard[::-1]

    def draw(ax):
        for i, row in enumerate(rows):
            s = row.scores[c.metric]
            color = BLUE if row.verdict in ("best", "tied") else GREY
            ax.plot([s.low, s.high], [i, i], color=color, lw=2)
            ax.plot(s.mean, i, "o", color=color)
        ax.set_yticks(range(len(rows)), [r.method for r in rows])
        ax.set_ylim(-0.6, len(rows) - 0.4)
        ax.set_xlabel(f"{c.metric}, 95 % interval")
        ax.grid(axis="x", color="#eeeeee")
        ax.set_axisbelow(True)

    return svg(draw, height=1.1 + 0.4 * len(rows))


def calibration_points(y, p, bins=10):
    """(mean probability, share that came true, count) in bins of equal size.

    All classes count: each probability given to each class is one forecast.
    """
    p = p[:, 1:] if p.shape[1] == 2 else p
    true = y[:, None] == np.arange(p.shape[1]) + (1 if p.shape[1] == 1 else 0)
    forecast, came = p.ravel(), true.ravel()
    order = np.argsort(forecast, kind="stable")
    parts = [s for s in np.array_split(order, bins) if len(s)]
    return np.array([(forecast[s].mean(), came[s].mean(), len(s)) for s in parts])


def calibration(y, p) -> str:
    """How often what was given probability p came true."""
    points = calibration_points(y, p)
    error = 1.96 * np.sqrt(points[:, 1] * (1 - points[:, 1]) / points[:, 2])

    def draw(ax):
        ax.plot([0, 1], [0, 1], color=GREY, lw=1, ls="--")
        ax.errorbar(
            points[:, 0], points[:, 1], yerr=error, fmt="o-", color=BLUE, ecolor=PALE
        )
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.02, 1.02)
        ax.set_xlabel("probability given")
        ax.set_ylabel("share that came true")

    return svg(draw, width=4.6, height=4.2)


def residuals(y, p, seed=0) -> str:
    """Predicted against what was left over, for rows held out."""
    chosen = np.arange(len(y))
    if len(y) > ROWS:
        chosen = np.random.default_rng(seed).choice(len(y), ROWS, replace=False)

    def draw(ax):
        ax.axhline(0, color=GREY, lw=1, ls="--")
        ax.plot(p[chosen], (y - p)[chosen], ".", color=BLUE, alpha=0.5, ms=4)
        ax.set_xlabel("predicted")
        ax.set_ylabel("actual minus predicted")

    return svg(draw)


def importances(c, metric, folds) -> list[tuple[str, float, float]]:
    """(column, loss of score when shuffled, its spread), largest first.

    Measured on the rows that the model of the first fold has not seen; the columns
    are those of the table, whatever the preparation makes of them.
    """
    data = c.data
    trial, seed = c.trial(c.winner), c.settings["seed"]
    rng = np.random.default_rng(seed)
    test = folds[0][1]
    test = test if len(test) <= ROWS else rng.choice(test, ROWS, replace=False)
    plain = [column.name for column in c.schema.used if column.role != "text"]
    texts = [column.name for column in c.schema.used if column.role == "text"]
    names = plain + texts
    if len(names) > COLUMNS:
        return []
    data = data.rows(test)
    frame, y = data.frame, data.y
    sign = 1 if metric.greater else -1
    base = sign * metric.score(y, answers(trial.model, frame, c.schema.task))
    found = []
    for j, name in enumerate(names):
        drops = []
        for _ in range(SHUFFLES):
            mixed = shuffled(frame, j, rng)
            p = answers(trial.model, mixed, c.schema.task)
            drops.append(base - sign * metric.score(y, p))
        found.append((name, float(np.mean(drops)), float(np.std(drops))))
    return sorted(found, key=lambda f: -f[1])


def shuffled(frame, j, rng) -> Frame:
    """The frame with its column j, counting texts last, in another order."""
    order, p = rng.permutation(len(frame)), frame.values.shape[1]
    if j < p:
        values = frame.values.copy()
        values[:, j] = values[order, j]
        return Frame(values, frame.texts)
    texts = list(frame.texts)
    texts[j - p] = texts[j - p].take(order)
    return Frame(frame.values, tuple(texts))


def importance(found, metric) -> str:
    shown = found[:15][::-1]

    def draw(ax):
        ax.barh(
            [str(f[0])[:30] for f in shown],
            [f[1] for f in shown],
            xerr=[f[2] for f in shown],
            color=BLUE,
            ecolor=GREY,
        )
        ax.axvline(0, color=GREY, lw=1)
        ax.set_xlabel(f"worse {metric} when the column is shuffled")

    return svg(draw, height=1.0 + 0.28 * len(shown))
