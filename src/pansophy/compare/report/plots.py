"""The pictures of a comparison, drawn by `pansophy.plot`: of all methods from the
leaderboard, of one method from held-out rows."""

import numpy as np

from ..evaluation.ranking import Standing
from ..model.kept_model import held_out_predictions
from . import plot_data
from .formatting import format_seconds

MAX_METHODS = 25  # methods in the picture of scores
MAX_BARS = 15  # importances shown
MAX_LINES = 5  # classes drawn as lines of their own


def plot_scores(c, ax=None):
    """Scores with their intervals, best on top; far worse ones are cut off."""
    from ... import plot

    rows = plotted_methods(c)
    spans = [r.scores[c.metric] for r in rows]
    better = "more" if c.metrics[0].greater else "less"
    return plot.score_intervals(
        [r.method for r in rows],
        *zip(*(s[:3] for s in spans)),
        limits=axis_limits(rows, [s[:3] for s in spans]),
        label=f"{c.metric}, {better} is better",
        ax=ax,
        **highlighted_methods(c),
    )


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
        limits=axis_limits(rows, [[m] for m in means]),
        label=c.metric,
        ax=ax,
        **highlighted_methods(c),
    )
    ax.xaxis.set_major_formatter(lambda t, _: format_seconds(t))
    ax.set_xlabel("time of one fit")
    return ax


def highlighted_methods(c) -> dict:
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


def axis_limits(rows, spans):
    """From the best to the dummy and what is near; one wild method hides nothing."""
    good = [s for r, s in zip(rows, spans) if r.standing is not Standing.BELOW_DUMMY]
    shown = good if len(good) > 1 else spans
    low = min(map(np.nanmin, shown))
    high = max(map(np.nanmax, shown))
    room = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room


def binary_curve_data(c, method):
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

    y, p, w = binary_curve_data(c, method)
    return plot.roc(y, p, weights=w, ax=ax)


def plot_precision_recall(c, method=None, ax=None):
    """Precision against recall of held-out rows."""
    from ... import plot

    y, p, w = binary_curve_data(c, method)
    return plot.precision_recall(y, p, weights=w, ax=ax)


def plot_gain(c, method=None, ax=None):
    """Cumulative gain: positives found when the most probable rows come first."""
    from ... import plot

    y, p, w = binary_curve_data(c, method)
    return plot.gain(y, p, weights=w, ax=ax)


def plot_confusion(c, method=None, ax=None):
    """Confusion matrix, deciding for the most probable class."""
    from ... import plot

    if c.schema.task != "classification":
        raise ValueError("A table of confusions is for classes.")
    h = held_out_predictions(c, method)
    names = np.array([str(k) for k in c.schema.classes])
    said = names[h.p.argmax(1)]
    return plot.confusion_matrix(
        names[h.y], said, labels=names, weights=h.weight, ax=ax
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
        found = reliability_curve(h.y.ravel(), h.p.ravel(), weights=w)
        return plot.calibration(found, ax=ax)
    if c.schema.task != "classification":
        raise ValueError("Only probabilities can be calibrated.")
    return plot.calibration(reliability_curve(h.y, h.p, weights=h.weight), ax=ax)


def plot_residuals(c, method=None, ax=None, kind="predicted"):
    """Actual minus predicted, against the prediction or as a histogram."""
    from ... import plot

    if c.schema.task not in ("regression", "count"):
        raise ValueError(f"This picture is for numbers; {c.schema.target!r} has none.")
    h = held_out_predictions(c, method)
    return plot.residuals(h.y, h.p, kind=kind, weights=h.weight, ax=ax)


def plot_importance(c, method=None, ax=None):
    """How much worse held-out rows are predicted when a column is shuffled."""
    from ... import plot

    found = plot_data.permutation_importances(c, method)
    return plot.importance(
        [f.column for f in found],
        [f.mean for f in found],
        [f.spread for f in found],
        limit=MAX_BARS,
        label=f"worse {c.metric} when shuffled",
        ax=ax,
    )


def top_columns(c, most) -> list[str]:
    """The columns that matter most and whose values can be set."""
    texts = {k.name for k in c.schema.used if k.role == "text"}
    found = [
        f
        for f in plot_data.permutation_importances(c)
        if f.column not in texts and f.mean > 0
    ]
    return [f.column for f in found[:most]]


def plot_partial_dependence(c, method=None, column=None, ax=None):
    """The mean prediction as one column changes."""
    from ... import plot

    return plot.partial_dependence(
        plot_data.partial_dependence_data(c, column, method), ax=ax
    )


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
