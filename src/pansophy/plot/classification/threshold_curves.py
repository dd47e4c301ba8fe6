"""Shared parts of threshold curves (ROC, precision-recall, gain): rows, weights, bands.

The band of a curve v(u) is a pointwise bootstrap interval: the curve is computed again
for rows drawn with replacement, and the band at u is a pair of quantiles of these v(u).
Rows keep their scores, so a bootstrap sample is a vector of row counts. At the ends of
a curve, where v is 0 or 1 or rests on few rows, all samples agree although the value is
uncertain. The band is therefore at least as wide as Wilson's interval for a proportion
v of m rows.
"""

import numpy as np
from sklearn.preprocessing import label_binarize

from ...core.arrays.threshold_counts import score_order
from ...core.arrays.weighted import check_sample_weight, scaled_to_effective_size
from ...core.random import make_rng
from ...diagnose.intervals import wilson_limits
from ..style import named_series

DRAWS = 200  # bootstrap samples of a band
WORK = 4_000_000  # rows of all samples together: larger data get fewer samples


def curves_to_draw(y, scores, positive=None):
    """List of (name, outcomes, scores), one entry for each curve.

    With two classes a model has one curve, for `positive` or the second class. With
    more classes a single model has one curve for each class against the rest; several
    models have one micro-averaged curve each.
    """
    y = np.asarray(y)
    models = named_series(scores)
    classes = np.unique(y)
    curves = []
    for name, model_scores in models.items():
        s = np.asarray(model_scores, float)
        if len(s) != len(y):
            raise ValueError(f"{len(y)} rows of y but {len(s)} of {name!r}.")
        if s.ndim == 2 and s.shape[1] == 1:
            s = s[:, 0]
        if s.ndim == 1 and positive is None and len(classes) > 2:
            raise ValueError(
                f"y has {len(classes)} classes, but {name!r} has one number a row: "
                "name the `positive` class, or give a column for each class. The true "
                "classes y come first, then the scores."
            )
        if s.ndim == 1 or s.shape[1] == 2:
            yes = (1 if 1 in classes else classes[-1]) if positive is None else positive
            curves.append((str(name), y == yes, s if s.ndim == 1 else s[:, 1]))
            continue
        K = s.shape[1]
        labels = classes if len(classes) == K else np.arange(K)
        if positive is not None:
            column = s[:, list(labels).index(positive)]
            curves.append((str(name), y == positive, column))
        elif len(models) == 1:
            curves += [(str(c), y == c, s[:, k]) for k, c in enumerate(labels)]
        else:
            outcomes = label_binarize(y, classes=labels).ravel() == 1
            curves.append((str(name), outcomes, s.ravel()))
    return [(name, yes, s) for name, yes, s in curves if 0 < yes.sum() < len(yes)]


def curve_weights(weights, y, yes):
    """A weight for each outcome of a curve; they sum to the effective sample size.

    A row that stands for several outcomes (a micro-averaged curve) is repeated.
    """
    if weights is None:
        return np.ones(len(yes))
    w = check_sample_weight(weights, len(y), "weights")
    return np.repeat(scaled_to_effective_size(w), len(yes) // len(y))


def curve_band(curve, yes, s, grid, *, level=0.95, random_state=0, weights=None):
    """Confidence limits of a curve v(u) at the points u of `grid`.

    `curve(tp, fp)` returns u (ascending), v, and the number m of rows that v is a
    proportion of, from the counts of true and false positives at falling thresholds.
    """
    n = len(yes)
    rng = make_rng(random_state)
    rows, last = score_order(s)
    positive = yes[rows]
    weight = np.ones(n) if weights is None else weights[rows]
    resampled = []
    for _ in range(int(np.clip(WORK / n, 20, DRAWS))):
        w = np.bincount(rng.integers(0, n, n), minlength=n) * weight
        called = np.cumsum(w)[last]
        tp = np.cumsum(w * positive)[last]
        if 0 < tp[-1] < called[-1]:
            resampled.append(np.interp(grid, *curve(tp, called - tp)[:2]))
    tail = (1 - level) / 2
    low, high = np.quantile(resampled, [tail, 1 - tail], axis=0)
    called = np.cumsum(weight)[last]
    tp = np.cumsum(weight * positive)[last]
    u, v, m = curve(tp, called - tp)
    n_rows = np.interp(grid, u, m)
    wilson_low, wilson_high = wilson_limits(
        np.interp(grid, u, v) * n_rows, n_rows, level
    )
    return np.minimum(low, wilson_low), np.maximum(high, wilson_high)


def thin_curve(u, v, most=600):
    """At most `most` points of a curve, evenly spaced along it, with both ends.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.plot.classification.threshold_curves import thin_curve
    >>> u, v = thin_curve(np.linspace(0, 1, 10_000), np.linspace(0, 1, 10_000), most=5)
    >>> u.round(2).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    if len(u) <= most:
        return u, v
    length = np.insert(np.cumsum(np.abs(np.diff(u)) + np.abs(np.diff(v))), 0, 0.0)
    chosen = np.searchsorted(length, np.linspace(0, length[-1], most))
    chosen = np.unique(np.append(np.minimum(chosen, len(u) - 1), len(u) - 1))
    return u[chosen], v[chosen]
