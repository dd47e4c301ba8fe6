"""Every column against the target: what a small plot of the two needs.

What is drawn follows from what the two hold:

    column     target     drawn
    numbers    numbers    points, with the mean target in parts of the column
    numbers    classes    boxes of the column, one for each class
    levels     numbers    boxes of the target, one for each level
    levels     classes    bars: the share of each class within each level

Numbers of few different values are levels.
Boxes reach from the lower to the upper quartile around the median, whiskers from the
5 % to the 95 % quantile. Columns are sorted by strength: with the rows cut into p parts
(quantiles of numbers, levels), the share of the variance of the target between parts,
less what chance alone would give,

    strength = 1 - (1 - R^2) (n - 1) / (n - p).                                  (1)

These are the rows as they are, not a model. Of a large table a random sample is used.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from ..data.columns import sample_rows

PARTS = 8  # of a column of numbers
MAX_LEVELS = 8  # the commonest levels that are drawn
MAX_CLASSES = 6  # the commonest classes that are drawn
MAX_POINTS = 250
MAX_VIEWS = 24  # columns that are drawn, the strongest
MANY_LEVELS = 0.5  # of the rows: such a column is text or names the rows
BOX = (0.05, 0.25, 0.5, 0.75, 0.95)  # quantiles of a box and its whiskers
OTHER_PART = "other"
MISSING_PART = "missing"


@dataclass(frozen=True)
class TargetView:
    """One column against the target; lists of plain numbers."""

    column: str
    target: str
    kind: Literal["points", "column boxes", "target boxes", "bars"]
    strength: float  # eq. (1)
    parts: list[str] = field(default_factory=list)  # of boxes or bars, in order
    rows: list[int] = field(default_factory=list)  # of each part
    classes: list[str] = field(default_factory=list)  # of bars
    values: list[list[float]] = field(default_factory=list)
    # of points (x, y), of each part its box or its shares of the classes
    line: list[list[float]] = field(default_factory=list)  # (x, mean target)
    dates: bool = False  # whether the column is drawn in seconds since 1970


def drawable_columns(view, targets) -> list:
    """The columns that a view can be made of."""
    inputs = view.without({g.name for g in targets})
    return [c for c in inputs.columns if _is_drawable(c)]


def target_views(view, targets) -> list[TargetView]:
    """Views of the columns of a `TableView`, at most MAX_VIEWS, most telling first.

    Each column is shown against the target that it tells most about.
    """
    columns = drawable_columns(view, targets)
    targets = [_known_classes(g) for g in targets if g.varies]
    results = []
    for c in columns:
        views = [_one_view(c, target) for target in targets]
        views = [v for v in views if v is not None]
        if views:
            results.append(max(views, key=lambda v: v.strength))
    return sorted(results, key=lambda v: -v.strength)[:MAX_VIEWS]


def _is_drawable(c) -> bool:
    """Whether a column has values to be compared: no ids, no free text, no constant."""
    if c.kind == "empty" or c.role == "id":
        return False
    if c.categorical:
        used = len(np.unique(c.codes[c.codes >= 0]))
        return 1 < used <= max(MANY_LEVELS * len(c), MAX_LEVELS)
    x = c.numbers[~c.missing]
    return len(x) > 1 and bool(np.any(x != x[0]))


def _known_classes(target):
    """A target with at most MAX_CLASSES classes, the rarest taken together."""
    if target.kind == "number" or target.k <= MAX_CLASSES:
        return target
    y, names = _common_parts(target.y, target.classes, MAX_CLASSES - 1)
    return replace(target, y=y, classes=tuple(names))


def _common_parts(codes, levels, most) -> tuple[np.ndarray, list[str]]:
    """Codes of the commonest levels and of all others together; -1 stays -1."""
    known = codes >= 0
    counts = np.bincount(codes[known], minlength=len(levels))
    kept = np.sort(np.argsort(-counts, kind="stable")[:most])
    kept = kept[counts[kept] > 0]
    place = np.full(len(levels), len(kept))
    place[kept] = np.arange(len(kept))
    names = [str(levels[k]) for k in kept]
    rest = counts.sum() > counts[kept].sum()
    return np.where(known, place[codes], -1), [*names, OTHER_PART] if rest else names


def _one_view(c, target) -> TargetView | None:
    """One column against one target; None where too few rows have both."""
    known = target.known
    if known.sum() < 3:
        return None
    c = c.take(np.flatnonzero(known))
    y = target.y[known]
    codes, levels = _codes_and_levels(c)
    if levels:
        return _level_view(c.name, codes, levels, target, y)
    present = ~c.missing
    if present.sum() < 3 or np.ptp(c.numbers[present]) == 0:
        return None
    view = _number_view(c.name, c.numbers[present], target, y[present])
    return replace(view, dates=c.kind == "date")


def _codes_and_levels(c) -> tuple[np.ndarray, tuple]:
    """Codes of the levels of a column, -1 where missing; no levels of many numbers."""
    if c.categorical:
        return c.codes, c.levels
    values = np.unique(c.numbers[~c.missing])
    if c.kind == "yes/no":
        values = np.array([0.0, 1.0])
    if len(values) > PARTS:
        return np.empty(0, int), ()
    codes = np.searchsorted(values, c.numbers)
    names = ["no", "yes"] if c.kind == "yes/no" else [c.show(v) for v in values]
    return np.where(c.missing, -1, codes), tuple(names)


def _level_view(name, codes, levels, target, y) -> TargetView:
    """View of a column of levels: bars of classes, or boxes of a number."""
    codes, names = _common_parts(codes, levels, MAX_LEVELS)
    if (codes < 0).any():
        codes = np.where(codes < 0, len(names), codes)
        names = [*names, MISSING_PART]
    parts = range(len(names))
    rows = np.bincount(codes, minlength=len(names))
    common = {
        "column": name,
        "target": target.name,
        "parts": names,
        "rows": rows.tolist(),
        "strength": explained_share(codes, _target_numbers(target, y)),
    }
    if target.kind == "number":
        boxes = [np.quantile(y[codes == k], BOX).tolist() for k in parts]
        return TargetView(kind="target boxes", values=boxes, **common)
    shares = [np.bincount(y[codes == k], minlength=target.k) / rows[k] for k in parts]
    return TargetView(
        kind="bars",
        classes=[str(v).strip("'") for v in target.classes],
        values=[s.tolist() for s in shares],
        **common,
    )


def _number_view(name, x, target, y) -> TargetView:
    """View of a column of numbers: boxes by class, or points and their means."""
    codes = _quantile_codes(x)
    strength = explained_share(codes, _target_numbers(target, y))
    if target.kind == "class":
        used = [k for k in range(target.k) if (y == k).any()]
        return TargetView(
            name,
            target.name,
            "column boxes",
            strength,
            parts=[str(target.classes[k]).strip("'") for k in used],
            rows=[int((y == k).sum()) for k in used],
            values=[np.quantile(x[y == k], BOX).tolist() for k in used],
        )
    pick = sample_rows(len(x), MAX_POINTS)
    pick = slice(None) if pick is None else pick
    means = [[x[codes == k].mean(), y[codes == k].mean()] for k in np.unique(codes)]
    return TargetView(
        name,
        target.name,
        "points",
        strength,
        rows=[len(x)],
        values=[x[pick].tolist(), y[pick].tolist()],
        line=np.array(means).tolist(),
    )


def _target_numbers(target, y) -> np.ndarray:
    """(n, outputs): the target, or an indicator of each class."""
    if target.kind == "number":
        return np.asarray(y, dtype=float)[:, None]
    return (y[:, None] == np.arange(target.k)).astype(float)


def quantile_edges(x) -> np.ndarray:
    """Edges that cut numbers into parts with about as many rows each."""
    edges = np.unique(np.quantile(x, np.linspace(0, 1, PARTS + 1)[1:-1]))
    return _without_small_parts(edges, x)


def _quantile_codes(x) -> np.ndarray:
    """Codes 0, 1, ... of the parts of numbers: their values if few, else quantiles."""
    values = np.unique(x)
    if len(values) <= PARTS:
        return np.searchsorted(values, x)
    codes = np.searchsorted(quantile_edges(x), x, side="left")
    return np.unique(codes, return_inverse=True)[1].ravel()


def _without_small_parts(edges, x) -> np.ndarray:
    """Edges that leave at least a few rows in every part."""
    min_rows = max(5, len(x) // (4 * PARTS))
    while len(edges) > 1:
        rows = np.bincount(np.searchsorted(edges, x), minlength=len(edges) + 1)
        smallest = int(rows.argmin())
        if rows[smallest] >= min_rows:
            break
        edges = np.delete(edges, min(smallest, len(edges) - 1))
    return edges


def explained_share(codes, Y, w=None) -> float:
    """Eq. (1): strength of parts (n,) for outputs Y (n, K), weighted by w.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose.leakage.target_views import explained_share
    >>> explained_share(np.array([0, 0, 1, 1]), np.array([[1.0], [1.0], [3.0], [3.0]]))
    1.0
    """
    n = len(codes)
    parts = int(codes.max()) + 1 if n else 1
    w = np.ones(n) if w is None else w
    weight = np.bincount(codes, w, parts)
    safe = np.where(weight > 0, weight, 1.0)
    overall_mean = np.average(Y, axis=0, weights=w)
    mean = np.array([np.bincount(codes, w * v, parts) / safe for v in Y.T])
    between_parts = (weight * (mean - overall_mean[:, None]) ** 2).sum() / weight.sum()
    total = np.average((Y - overall_mean) ** 2, axis=0, weights=w).sum()
    share = between_parts / total if total > 0 else 0.0
    return float(max(1 - (1 - share) * (n - 1) / max(n - parts, 1), 0.0))
