"""The pictures of a comparison, drawn by `pansophy.plot`: of all methods from the
leaderboard, of one method from held-out rows."""

import numpy as np

from ...diagnose.data.columns import date_text
from ...plot.style import GREY, INK, short_name
from ..evaluation.ranking import Standing
from ..model.kept_model import held_out_predictions
from . import column_views, plot_data
from .formatting import (
    format_interval,
    format_mean,
    format_number,
    format_seconds,
    standing_and_p,
)

MAX_METHODS = 25  # methods in the picture of scores
MAX_BARS = 15  # importances shown
MAX_LINES = 5  # classes drawn as lines of their own


def add_hover(ax, x, y, texts, size=160):
    """Texts that a page shows when the pointer is over a point."""
    from .hover_points import HoverPoints

    kept = [
        (a, b, text) for a, b, text in zip(x, y, texts, strict=True) if np.isfinite(b)
    ]
    if not kept:
        return
    titles = ["".join(k if k.isprintable() else " " for k in t) for _, _, t in kept]
    ax.add_artist(HoverPoints([(a, b) for a, b, _ in kept], titles, size))


def show_dates(axis):
    """Few ticks of seconds since 1970, written as dates."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(2))
    axis.set_major_formatter(lambda seconds, _: date_text(seconds)[:10])


def plot_scores(c, ax=None):
    """Scores with their intervals, best on top; far worse ones are cut off."""
    from ... import plot

    rows = plotted_methods(c)
    spans = [r.scores[c.metric] for r in rows]
    better = "more" if c.metrics[0].greater else "less"
    ax = plot.score_intervals(
        [r.method for r in rows],
        *zip(*(s[:3] for s in spans)),
        limits=_axis_limits(rows, [s[:3] for s in spans]),
        label=f"{c.metric}, {better} is better",
        ax=ax,
        **_highlighted_methods(c),
    )
    labels = [
        f"{r.method}: {c.metric} {format_mean(s)}, {format_interval(s)}; "
        f"{standing_and_p(r)}"
        for r, s in zip(rows, spans)
    ]
    add_hover(ax, [s.mean for s in spans], np.arange(len(rows)), labels)
    return ax


def plot_quality_time(c, ax=None):
    """Score against seconds of a fit; a line joins what nothing beats in both."""
    from ... import plot

    rows = c.leaderboard
    means = [r.scores[c.metric].mean for r in rows]
    ax = plot.quality_time(
        [r.method for r in rows],
        [r.fit_seconds for r in rows],
        means,
        greater=c.metrics[0].greater,
        limits=_crowd_limits(means),
        label=c.metric,
        ax=ax,
        **_highlighted_methods(c),
    )
    ax.xaxis.set_major_formatter(lambda t, _: format_seconds(t))
    ax.set_xlabel("time of one fit")
    x = np.maximum([r.fit_seconds for r in rows], 1e-6)
    for i in _unnamed_points(ax, rows):
        ax.plot(x[i], means[i], "o", color=GREY, mfc="white", ms=11, mew=1, zorder=3)
        text_style = {"ha": "center", "va": "center", "fontsize": 7, "clip_on": True}
        ax.text(x[i], means[i], str(rows[i].rank), color=INK, zorder=4, **text_style)
    labels = [
        f"{r.rank}. {r.method}: {c.metric} {format_mean(r.scores[c.metric])}, a fit "
        f"takes {format_seconds(r.fit_seconds)}"
        for r in rows
    ]
    add_hover(ax, x, means, labels)
    return ax


def _unnamed_points(ax, rows) -> list[int]:
    """Positions of methods for whose name there was no space in the picture."""
    named = {t.get_text() for t in ax.texts}
    forms = lambda r: {short_name(r.method, 22), short_name(r.method, 12)}
    low, high = sorted(ax.get_ylim())
    inside = lambda r: low <= next(iter(r.scores.values())).mean <= high
    return [i for i, r in enumerate(rows) if not forms(r) & named and inside(r)]


def _highlighted_methods(c) -> dict:
    """Coloured is what is not worse than the best; filled is what is kept."""
    tied = [
        r.method
        for r in c.leaderboard
        if r.standing not in (Standing.WORSE, Standing.BELOW_DUMMY)
    ]
    return {"marked": tied, "best": c.winner}


def plotted_methods(c) -> list:
    """Methods up to the dummy and a few more, the first ones of very many."""
    good = sum(r.standing is not Standing.BELOW_DUMMY for r in c.leaderboard)
    return c.leaderboard[: min(max(good + 2, 8), MAX_METHODS)]


def _crowd_limits(means):
    """From the best score to the last that is not far from the others."""
    gaps = np.abs(np.asarray(means) - means[0])
    usual = np.median(gaps[1:]) if len(gaps) > 1 else 0.0
    near = gaps <= 4 * usual
    shown = np.asarray(means)[near if near.sum() > 2 else slice(None)]
    room = 0.12 * (shown.max() - shown.min()) or 0.05 * abs(shown.max()) or 1.0
    return shown.min() - room, shown.max() + room


def _axis_limits(rows, spans):
    """From the best to the dummy and what is near; one wild method hides nothing."""
    good = [s for r, s in zip(rows, spans) if r.standing is not Standing.BELOW_DUMMY]
    shown = good if len(good) > 1 else spans
    low = min(map(np.nanmin, shown))
    high = max(map(np.nanmax, shown))
    room = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room


def _binary_curve_data(c, method):
    """(classes, scores, weights) as `plot.roc` and its kin take them.

    Two classes and labels are one curve, a few classes one each, many classes one for
    all of them together.
    """
    s = c.schema
    h = held_out_predictions(c, method)
    name = method or c.winner
    if s.task == "multilabel":
        p = {f"{name}, all labels": h.p.ravel()}
        w = repeated_weights(h, h.p.shape[1])
        return h.y.ravel().astype(int), p, w
    if s.task != "classification":
        raise ValueError(f"This picture is for classes; {s.target!r} holds numbers.")
    names = np.array([str(k) for k in s.classes])
    K = len(s.classes)
    if K == 2:
        return (h.y == 1).astype(int), {name: h.p[:, 1]}, h.weight
    if K > MAX_LINES or len(np.unique(h.y)) < K:
        yes = h.y[:, None] == np.arange(K)
        p = {f"{name}, all classes": h.p.ravel()}
        w = repeated_weights(h, K)
        return yes.ravel().astype(int), p, w
    order = np.argsort(names, kind="stable")  # sorted as `plot` does
    return names[h.y], h.p[:, order], h.weight


def repeated_weights(h, times):
    """Weights of rows that stand for so many outcomes each."""
    return None if h.weight is None else np.repeat(h.weight, times)


def plot_roc(c, method=None, ax=None):
    """ROC curve of held-out rows."""
    from ... import plot

    y, p, w = _binary_curve_data(c, method)
    return plot.roc(y, p, weights=w, ax=ax)


def plot_precision_recall(c, method=None, ax=None):
    """Precision against recall of held-out rows."""
    from ... import plot

    y, p, w = _binary_curve_data(c, method)
    return plot.precision_recall(y, p, weights=w, ax=ax)


def plot_gain(c, method=None, ax=None):
    """Cumulative gain: positives found when the most probable rows come first."""
    from ... import plot

    y, p, w = _binary_curve_data(c, method)
    return plot.gain(y, p, weights=w, ax=ax)


def plot_confusion(c, method=None, ax=None):
    """Confusion matrix, deciding for the most probable class."""
    from ... import plot

    if c.schema.task != "classification":
        raise ValueError("A table of confusions is for classes.")
    h = held_out_predictions(c, method)
    names = np.array([str(k) for k in c.schema.classes])
    predicted = names[h.p.argmax(1)]
    return plot.confusion_matrix(
        names[h.y], predicted, labels=names, weights=h.weight, ax=ax
    )


def plot_calibration(c, method=None, ax=None):
    """Reliability curve of held-out probabilities, with a band.

    Of several classes it is that of the most probable one being right.
    """
    from ... import plot
    from ..evaluation.calibration import reliability_curve

    h = held_out_predictions(c, method)
    if c.schema.task == "multilabel":
        w = repeated_weights(h, h.p.shape[1])
        result = reliability_curve(h.y.ravel(), h.p.ravel(), weights=w)
        return plot.calibration(result, ax=ax)
    if c.schema.task != "classification":
        raise ValueError("Only probabilities can be calibrated.")
    return plot.calibration(reliability_curve(h.y, h.p, weights=h.weight), ax=ax)


def plot_residuals(c, method=None, ax=None, kind="predicted", most=None):
    """Actual minus predicted, against the prediction or as a histogram.

    `most` is the number of rows drawn at most: an even sample of them.
    """
    from ... import plot

    if c.schema.task not in ("regression", "count"):
        raise ValueError(f"This picture is for numbers; {c.schema.target!r} has none.")
    h = held_out_predictions(c, method)
    y, p, w = h.y, h.p, h.weight
    if most is not None and len(y) > most:
        shown = np.linspace(0, len(y) - 1, most).astype(int)
        y, p, w = y[shown], p[shown], None if w is None else w[shown]
    return plot.residuals(y, p, kind=kind, weights=w, ax=ax)


def plot_importance(c, method=None, ax=None):
    """Bar chart of the loss of score on held-out rows when a column is shuffled."""
    from ... import plot

    result = plot_data.permutation_importances(c, method)
    ax = plot.importance(
        [f.column for f in result],
        [f.mean for f in result],
        [f.spread for f in result],
        limit=MAX_BARS,
        label=f"worse {c.metric} when shuffled",
        ax=ax,
    )
    shown = [f for f in result if short_name(f.column) in _tick_names(ax)][:MAX_BARS]
    labels = [
        f"{f.column}: {c.metric} worse by {format_number(f.mean)} when shuffled"
        for f in shown
    ]
    places = [_tick_names(ax).index(short_name(f.column)) for f in shown]
    add_hover(ax, [f.mean / 2 for f in shown], ax.get_yticks()[places], labels)
    return ax


def _tick_names(ax) -> list[str]:
    return [t.get_text() for t in ax.get_yticklabels()]


def plot_column(c, column=None, ax=None):
    """The target by the values of one column; by default the one that tells most."""
    if column is None:
        views = column_views.strongest_views(c)
        if not views:
            raise ValueError("There is no column with several values.")
        return column_views.draw_column_view(views[0], ax)
    return column_views.draw_column_view(column_views.column_view(c, column), ax)


def top_columns(c, most) -> list[str]:
    """The columns that matter most and whose values can be set."""
    texts = {k.name for k in c.schema.used if k.role == "text"}
    results = [
        f
        for f in plot_data.permutation_importances(c)
        if f.column not in texts and f.mean > 0
    ]
    return [f.column for f in results[:most]]


def plot_partial_dependence(c, method=None, column=None, ax=None):
    """The mean prediction as one column changes."""
    from ... import plot

    result = plot_data.partial_dependence_data(c, column, method)
    ax = plot.partial_dependence(result, ax=ax)
    if any(k.name == result.column and k.role == "date" for k in c.schema.used):
        show_dates(ax.xaxis)
    return ax


def plot_learning_curve(c, method=None, ax=None):
    """Score against the number of rows to learn from."""
    from ... import plot

    curve = plot_data.learning_curve_data(c, method)
    if not c.metrics[0].greater:  # shown as it is known: less is better
        turned = (
            i._replace(mean=-i.mean, low=-i.high, high=-i.low) for i in curve.intervals
        )
        curve = curve._replace(
            train=-curve.train, test=-curve.test, intervals=tuple(turned)
        )
    return plot.learning_curve(curve, score=c.metric, ax=ax)
