"""The pictures of a comparison, drawn by `pansophy.plot`: of all methods from the
leaderboard, of one method from held-out rows."""

import numpy as np

from . import views
from .text import seconds
from .views import held_out

MOST = 25  # methods in the picture of scores
BARS = 15  # importances shown
LINES = 5  # classes drawn as lines of their own


def scores(c, ax=None):
    """Scores with their intervals, best on top; far worse ones are cut off."""
    from ... import plot

    rows = shown(c)
    spans = [r.scores[c.metric] for r in rows]
    over = [(np.nan, np.nan) if r.over_rows is None else r.over_rows[1:3] for r in rows]
    better = "more" if c.metrics[0].greater else "less"
    return plot.score_intervals(
        [r.method for r in rows],
        *zip(*(s[:3] for s in spans)),
        second=list(zip(*over)),
        limits=limits(rows, [s[:3] for s in spans]),
        label=f"{c.metric}, {better} is better",
        ax=ax,
        **marks(c),
    )


def quality_time(c, ax=None):
    """Score against seconds of a fit; a line joins what nothing beats in both."""
    from ... import plot

    rows = c.leaderboard
    means = [r.scores[c.metric].mean for r in rows]
    ax = plot.quality_time(
        [r.method for r in rows],
        [r.fit_seconds for r in rows],
        means,
        greater=c.metrics[0].greater,
        limits=limits(rows, [[m] for m in means]),
        label=c.metric,
        ax=ax,
        **marks(c),
    )
    ax.xaxis.set_major_formatter(lambda t, _: seconds(t))
    ax.set_xlabel("time of one fit")
    return ax


def marks(c) -> dict:
    """Coloured are the best and what is tied with it; filled is what is kept."""
    tied = [r.method for r in c.leaderboard if r.verdict in ("best", "tied")]
    return {"marked": tied, "best": c.winner}


def shown(c) -> list:
    """Methods up to the dummy and a few more, the first ones of very many."""
    good = sum(r.verdict != "below dummy" for r in c.leaderboard)
    return c.leaderboard[: min(max(good + 2, 8), MOST)]


def limits(rows, spans):
    """From the best to the dummy and what is near; one wild method hides nothing."""
    good = [s for r, s in zip(rows, spans) if r.verdict != "below dummy"]
    shown = good if len(good) > 1 else spans
    low, high = min(map(np.nanmin, shown)), max(map(np.nanmax, shown))
    room = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room


def ranked(c, method):
    """(classes, scores, weights) as `plot.roc` and its kin take them.

    Two classes and labels are one curve, a few classes one each, many classes one for
    all of them together.
    """
    s, h = c.schema, held_out(c, method)
    name = method or c.winner
    if s.task == "multilabel":
        p, w = {f"{name}, all labels": h.p.ravel()}, repeated(h, h.p.shape[1])
        return h.y.ravel().astype(int), p, w
    if s.task != "classification":
        raise ValueError(f"This picture is for classes; {s.target!r} holds numbers.")
    names, K = np.array([str(k) for k in s.classes]), len(s.classes)
    if K == 2:
        return (h.y == 1).astype(int), {name: h.p[:, 1]}, h.weight
    if K > LINES or len(np.unique(h.y)) < K:
        yes = h.y[:, None] == np.arange(K)
        p, w = {f"{name}, all classes": h.p.ravel()}, repeated(h, K)
        return yes.ravel().astype(int), p, w
    order = np.argsort(names, kind="stable")  # sorted as `plot` does
    return names[h.y], h.p[:, order], h.weight


def repeated(h, times):
    """Weights of rows that stand for so many outcomes each."""
    return None if h.weight is None else np.repeat(h.weight, times)


def roc(c, method=None, ax=None):
    """True against false positives of held-out rows."""
    from ... import plot

    y, p, w = ranked(c, method)
    return plot.roc(y, p, weights=w, ax=ax)


def precision_recall(c, method=None, ax=None):
    """Precision against recall of held-out rows."""
    from ... import plot

    y, p, w = ranked(c, method)
    return plot.precision_recall(y, p, weights=w, ax=ax)


def gain(c, method=None, ax=None):
    """What is found when the most probable rows are looked at first."""
    from ... import plot

    y, p, w = ranked(c, method)
    return plot.gain(y, p, weights=w, ax=ax)


def confusion(c, method=None, ax=None):
    """What was taken for what, deciding for the most probable class."""
    from ... import plot

    if c.schema.task != "classification":
        raise ValueError("A table of confusions is for classes.")
    h, names = held_out(c, method), np.array([str(k) for k in c.schema.classes])
    said = names[h.p.argmax(1)]
    return plot.confusion_matrix(
        names[h.y], said, labels=names, weights=h.weight, ax=ax
    )


def calibration(c, method=None, ax=None):
    """How often what was given a probability came true, with a band.

    Of several classes it is that of the most probable one being right.
    """
    from ... import plot
    from ..judging.calibration import reliability

    h = held_out(c, method)
    if c.schema.task == "multilabel":
        w = repeated(h, h.p.shape[1])
        found = reliability(h.y.ravel(), h.p.ravel(), weights=w)
        return plot.calibration(found, ax=ax)
    if c.schema.task != "classification":
        raise ValueError("Only probabilities can be calibrated.")
    return plot.calibration(reliability(h.y, h.p, weights=h.weight), ax=ax)


def residuals(c, method=None, ax=None, kind="predicted"):
    """Actual minus predicted, against the prediction or as a histogram."""
    from ... import plot

    if c.schema.task not in ("regression", "count"):
        raise ValueError(f"This picture is for numbers; {c.schema.target!r} has none.")
    h = held_out(c, method)
    return plot.residuals(h.y, h.p, kind=kind, weights=h.weight, ax=ax)


def importance(c, method=None, ax=None):
    """How much worse held-out rows are predicted when a column is shuffled."""
    from ... import plot

    found = views.importances(c, method)
    return plot.importance(
        [f.column for f in found],
        [f.mean for f in found],
        [f.spread for f in found],
        limit=BARS,
        label=f"worse {c.metric} when shuffled",
        ax=ax,
    )


def top_columns(c, most) -> list[str]:
    """The columns that matter most and whose values can be set."""
    texts = {k.name for k in c.schema.used if k.role == "text"}
    found = [f for f in views.importances(c) if f.column not in texts and f.mean > 0]
    return [f.column for f in found[:most]]


def partial_dependence(c, method=None, column=None, ax=None):
    """The mean prediction as one column changes."""
    from ... import plot

    return plot.partial_dependence(views.dependence(c, column, method), ax=ax)


def learning_curve(c, method=None, ax=None):
    """Score against the number of rows to learn from."""
    from ... import plot

    curve = views.learning(c, method)
    if not c.metrics[0].greater:  # shown as it is known: less is better
        turned = (i._replace(mean=-i.mean, low=-i.high, high=-i.low)
                  for i in curve.intervals)  # fmt: skip
        curve = curve._replace(
            train=-curve.train, test=-curve.test, intervals=tuple(turned)
        )
    return plot.learning_curve(curve, score=c.metric, ax=ax)
