"""What curves of ranked rows share: which rows count, whose scores, how sure.

A curve v(u) of scores s and outcomes is drawn again for rows drawn with replacement;
the quantiles of the redrawn v at each u are its band. Rows keep their scores, so a
draw is a vector of whole-number weights.
"""

import numpy as np
from sklearn.preprocessing import label_binarize

from ..core.random import rng_from
from .style import named

DRAWS, WORK = 200, 4_000_000


def columns_of(y, scores, positive=None):
    """[(name, outcomes, scores)]: a curve a model, or one a class of one model.

    Two classes count the second, or `positive`; of more classes each counts against
    the rest, for several models all of them together.
    """
    y, models = np.asarray(y), named(scores)
    classes = np.unique(y)
    found = []
    for name, given in models.items():
        s = np.asarray(given, float)
        if len(s) != len(y):
            raise ValueError(f"{len(y)} rows of y but {len(s)} of {name!r}.")
        if s.ndim == 2 and s.shape[1] == 1:
            s = s[:, 0]
        if s.ndim == 1 or s.shape[1] == 2:
            yes = (1 if 1 in classes else classes[-1]) if positive is None else positive
            found.append((str(name), y == yes, s if s.ndim == 1 else s[:, 1]))
            continue
        K = s.shape[1]
        labels = classes if len(classes) == K else np.arange(K)
        if positive is not None:
            found.append((str(name), y == positive, s[:, list(labels).index(positive)]))
        elif len(models) == 1:
            found += [(str(c), y == c, s[:, k]) for k, c in enumerate(labels)]
        else:
            found.append(
                (str(name), label_binarize(y, classes=labels).ravel() == 1, s.ravel())
            )
    return [(name, yes, s) for name, yes, s in found if 0 < yes.sum() < len(yes)]


def band(curve, yes, s, grid, *, level=0.95, random_state=0):
    """Limits of v at u in `grid`, for curve(tp, fp) -> u that rises, and v.

    tp and fp count the rows called "yes", rightly and wrongly, as the threshold falls
    over the distinct scores.
    """
    n, rng = len(yes), rng_from(random_state)
    order = np.argsort(-s, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(s[order]) != 0, True))
    right = yes[order]
    drawn = []
    for _ in range(int(np.clip(WORK / n, 20, DRAWS))):
        w = np.bincount(rng.integers(0, n, n), minlength=n)
        called, tp = np.cumsum(w)[ends], np.cumsum(w * right)[ends]
        if 0 < tp[-1] < n:
            drawn.append(np.interp(grid, *curve(tp, called - tp)))
    tail = (1 - level) / 2
    return np.quantile(drawn, [tail, 1 - tail], axis=0)


def thin(u, v, most=600):
    """At most so many points of a curve, spread evenly along it, with both ends.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.plot.ranked import thin
    >>> u, v = thin(np.linspace(0, 1, 10_000), np.linspace(0, 1, 10_000), most=5)
    >>> u.round(2).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    if len(u) <= most:
        return u, v
    way = np.insert(np.cumsum(np.abs(np.diff(u)) + np.abs(np.diff(v))), 0, 0.0)
    at = np.searchsorted(way, np.linspace(0, way[-1], most))
    at = np.unique(np.append(np.minimum(at, len(u) - 1), len(u) - 1))
    return u[at], v[at]
