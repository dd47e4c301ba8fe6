"""What curves of ranked rows share: which rows count, whose scores, how sure.

A curve v(u) of scores s and outcomes is drawn again for rows drawn with replacement;
the quantiles of the redrawn v at each u are its band. Rows keep their scores, so a
draw is a vector of whole-number weights. Where v is 0 or 1, or rests on few rows, as at
the ends, all draws agree though nothing is certain: the band is at least as wide as
Wilson's interval for a share v of the m rows that it is a share of.
"""

import numpy as np
from scipy import stats
from sklearn.preprocessing import label_binarize

from ..core.random import make_rng
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


def weights_of(weights, y, yes):
    """A weight for each outcome of a curve, on the scale of what they are worth.

    Rows that stand for several outcomes (all classes together) are repeated; the sum
    is Kish's number of equal rows, (sum w)^2 / sum w^2.
    """
    if weights is None:
        return np.ones(len(yes))
    w = np.asarray(weights, float)
    if w.shape != (len(y),) or not (w >= 0).all() or not w.sum() > 0:
        raise ValueError(f"weights must be {len(y)} numbers of at least 0, not all 0.")
    return np.repeat(w * w.sum() / (w**2).sum(), len(yes) // len(y))


def band(curve, yes, s, grid, *, level=0.95, random_state=0, weights=None):
    """Limits of v at u in `grid`, for curve(tp, fp) -> u that rises, v, and m.

    tp and fp count the rows called "yes", rightly and wrongly, as the threshold falls
    over the distinct scores; v is a share of m of them.
    """
    n, rng = len(yes), make_rng(random_state)
    order = np.argsort(-s, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(s[order]) != 0, True))
    right, own = yes[order], np.ones(n) if weights is None else weights[order]
    drawn = []
    for _ in range(int(np.clip(WORK / n, 20, DRAWS))):
        w = np.bincount(rng.integers(0, n, n), minlength=n) * own
        called, tp = np.cumsum(w)[ends], np.cumsum(w * right)[ends]
        if 0 < tp[-1] < called[-1]:
            drawn.append(np.interp(grid, *curve(tp, called - tp)[:2]))
    tail = (1 - level) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    called, tp = np.cumsum(own)[ends], np.cumsum(own * right)[ends]
    u, v, m = curve(tp, called - tp)
    least, most = wilson(np.interp(grid, u, v), np.interp(grid, u, m), level)
    return np.minimum(low, least), np.maximum(high, most)


def wilson(share, m, level=0.95):
    """Limits of a share of m rows; of 0 rows, anything.

    Examples
    --------
    >>> from pansophy.plot.ranked import wilson
    >>> [round(float(v), 3) for v in wilson(1.0, 10)]
    [0.722, 1.0]
    """
    z2 = stats.norm.ppf((1 + level) / 2) ** 2
    middle = (share * m + z2 / 2) / (m + z2)
    reach = np.sqrt(z2 * (m * share * (1 - share) + z2 / 4)) / (m + z2)
    return np.maximum(middle - reach, 0.0), np.minimum(middle + reach, 1.0)


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
