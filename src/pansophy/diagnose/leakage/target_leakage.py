"""Target leakage: columns that reveal the target, one by one.

Let y be the target and x one column. Checks, the most severe first:

    copy       y is a line in x, a monotone function of x, or its levels by other
               names: |r| or |rank r| above 0.9999, or pure levels in bijection
    encoding   x is the mean target of some group (`target_encodings`)
    absence    x is missing exactly where y has one value
    score      x alone predicts y out of fold: x is cut into at most 64 bins (or its
               levels), each predicts the mean or the most frequent class of the
               other folds                                                       (1)
    cut        one threshold of x parts two classes of n rows, k of them of one class,
               without an error; chance: 2 d / C(n, k) for d columns              (2)
    sum        y is a weighted sum or a product of columns (`exact_combinations`)
    later      a date that lies after the moment of prediction

A score counts only if its lower limit, at a level shared by all columns, is near
perfect; a legitimate strong predictor only gets a note. Noise scores at chance level
out of fold, however many columns there are.
"""

import numpy as np
import scipy.special
import scipy.stats

from ...core.loops.threads import single_blas
from ..data.columns import TableView, sample_rows, table_view
from ..data.exact_combinations import exact_combination_leak
from ..findings import Finding, by_severity, make_finding
from ..intervals import rate_interval, shared_level
from .target_columns import TargetColumn, target_columns_of
from .target_encodings import encoded_levels, target_encoding_leak
from .temporal_leakage import later_dates

EXACT = 0.9999
FOLDS = 5
BINS = 64
FEWEST = 20  # rows below which nothing is reported
# balanced accuracy, or r2, for an alarm, a warning and a note; lower limits too
LEVELS = np.array([0.99, 0.97, 0.93])
LIMITS = np.array([0.97, 0.95, 0.9])
CHANCE_OF_CUT = 1e-6


def find_leaks(
    table,
    target,
    *,
    task=None,
    group=None,
    time=None,
    ignore=(),
    rows=20_000,
    random_state=0,
) -> list[Finding]:
    """Find columns that reveal the target.

    Parameters
    ----------
    table : path, dataframe, Arrow table, dict of columns or array
    target : str or list of str
    task : {"class", "number"} or a task of a schema, optional
        How to look at the target; by its values if not given.
    group : str, optional
        Rows of one group are kept in one fold, so this column may decide the target.
    time : str, optional
        The moment of prediction, which may tell the target itself (a trend); dates
        after it cannot be known.
    ignore : names of columns that are not used
    rows : int or None
        Rows to look at, drawn at random.
    random_state : seed

    Examples
    --------
    >>> from pansophy.diagnose import find_leaks
    >>> rng = __import__("numpy").random.default_rng(0)
    >>> y, x = rng.normal(size=100), rng.normal(size=100)
    >>> for f in find_leaks({"x": x, "cents": 100 * y, "y": y}, "y"):
    ...     print(f)
    alarm: 'cents' is a copy of the target 'y' on another scale (r = 1.000000).
    """
    view = table_view(table)
    pick = sample_rows(view.n, rows, random_state)
    view = view if pick is None else view.take(pick)
    targets = target_columns_of(view, target, task)
    names = {g.name for g in targets}
    inputs = view.without({*names, *ignore} - {time})
    findings: list[Finding] = []
    with single_blas():  # many small products
        for column in targets:
            findings += _leaks_of(inputs, column, group, time, random_state)
            findings += _sorted_by_target(column)
    return by_severity(findings)


def _leaks_of(
    inputs: TableView, target: TargetColumn, group=None, time=None, seed=0
) -> list[Finding]:
    """Findings about columns that reveal one target."""
    known = np.flatnonzero(target.known)
    if len(known) < FEWEST or not target.varies:
        return []
    inputs = inputs.take(known)
    target = target.take(known)
    level = shared_level(0.95, len(inputs.columns))
    fold = np.random.default_rng(seed).permutation(len(known)) % FOLDS
    leaks = []
    reported = set()
    for c in inputs.columns:
        if c.name == time:  # known before the answer; a trend is no leak
            continue
        result = (
            _missingness_leak(c, target)
            or _target_copy_leak(c, target)
            or target_encoding_leak(c, target)
            or _separating_cut(c, target, len(inputs.columns))
            or _single_column_leak(c, target, fold, level, group)
        )
        if result:
            leaks.append(result)
            reported.add((c.name, result.severity == "alarm"))
    alarmed = {name for name, is_alarm in reported if is_alarm}
    leaks += list(encoded_levels(inputs, target, alarmed))
    leaks += list(exact_combination_leak(inputs, target, alarmed))
    return leaks + list(later_dates(inputs, target, time, fold, level))


def _sorted_by_target(target):
    """Finding for rows that are sorted by the target."""
    y = target.y[target.known]
    if len(y) < FEWEST or not target.varies:
        return
    changes = int(np.sum(y[1:] != y[:-1]))
    if target.kind == "class":
        ordered = changes < target.k and len(y) >= 3 * target.k
    else:
        steps = np.diff(y)
        ordered = bool(np.all(steps >= 0) or np.all(steps <= 0))
    if ordered:
        text = (
            f"The rows are sorted by the target {target.name!r}: folds must be "
            "shuffled, as those of `compare` are unless they follow time."
        )
        yield make_finding("sorted rows", "note", text, column=target.name)


def _missingness_leak(c, target):
    """Finding for a column that is missing exactly where the target has one value."""
    gone = c.missing
    k = int(gone.sum())
    if k < 5 or len(gone) - k < 5:
        return None
    for value, has_value in target.indicators():
        if has_value.all() or not has_value.any():
            continue
        n_both = int((gone & has_value).sum())
        phi = np.corrcoef(gone, has_value)[0, 1]
        if abs(phi) >= 0.97:
            word = "missing" if phi > 0 else "present"
            share = (
                n_both / has_value.sum() if phi > 0 else 1 - n_both / has_value.sum()
            )
            text = (
                f"{c.name!r} is {word} exactly where the target {target.name!r} is "
                f"{value} ({share:.1%} of these rows): its presence gives the answer "
                "away."
            )
            return _leak_finding("missingness leak", c, text, phi=phi)
    if target.kind == "number":
        return _threshold_absence(c, target, gone)
    return None


def _threshold_absence(c, target, gone):
    """Finding for a column missing exactly where the target passes a threshold."""
    ranks = scipy.stats.rankdata(target.y)
    k = int(gone.sum())
    m = int((~gone).sum())
    area = (ranks[gone].sum() - k * (k + 1) / 2) / (k * m)
    if max(area, 1 - area) < 0.999:
        return None
    word, limit = (
        ("above", target.y[~gone].max())
        if area > 0.5
        else ("below", target.y[~gone].min())
    )
    text = (
        f"{c.name!r} is missing exactly where the target {target.name!r} is {word} "
        f"{limit:.4g} (AUC {max(area, 1 - area):.4f}): its absence gives the answer "
        "away."
    )
    return _leak_finding("missingness leak", c, text, area=area)


def _target_copy_leak(c, target):
    """Finding for a copy of the target: rescaled, monotone, or with renamed levels."""
    is_known = ~c.missing
    if is_known.sum() < FEWEST:
        return None
    if target.kind == "number" and not c.categorical:
        x, y = c.numbers[is_known], target.y[is_known]
        if not (np.ptp(x) > 0 and np.ptp(y) > 0 and len(np.unique(y)) > 2):
            return None
        r = np.corrcoef(x, y)[0, 1]
        s = np.corrcoef(scipy.stats.rankdata(x), scipy.stats.rankdata(y))[0, 1]
        name = f"{c.name!r} is a copy of the target {target.name!r}"
        if np.array_equal(x, y):
            return _leak_finding("target copy", c, name + ".", r=1.0)
        if abs(r) >= EXACT:
            return _leak_finding(
                "target copy", c, f"{name} on another scale (r = {r:.6f}).", r=r
            )
        if abs(s) >= EXACT:
            text = f"{name} up to a monotone change (rank r = {s:.6f})."
            return _leak_finding("target copy", c, text, rank_r=s)
        return None
    if target.kind == "class":
        z, y = c.labelled()[is_known], target.y[is_known]
        k = int(z.max(initial=-1)) + 1
        pairs = len(np.unique(z * (target.k + 1) + y))
        if k == len(np.unique(z)) == pairs == len(np.unique(y)) > 1:
            text = f"{c.name!r} is the target {target.name!r} by other names."
            return _leak_finding("target copy", c, text, levels=k)
    return None


def _separating_cut(c, target, n_columns):
    """Finding for a column with a cut that parts two classes without an error, eq. (2).

    That a birth weight below 2,500 g is a low one needs no model.
    """
    if c.categorical or target.kind != "class" or target.k != 2 or _numbers_rows(c):
        return None
    is_known = ~c.missing
    x, y = c.numbers[is_known], target.y[is_known]
    n = len(y)
    k = int(y.sum())
    if n < FEWEST or not 0 < k < n or is_known.mean() < 0.95:
        return None
    order = np.argsort(x, kind="stable")
    one_change = np.count_nonzero(np.diff(y[order])) == 1
    edge = int(np.argmax(np.diff(y[order]) != 0))
    if not one_change or x[order][edge] == x[order][edge + 1]:
        return None
    log_choices = (
        scipy.special.gammaln(n + 1)
        - scipy.special.gammaln(k + 1)
        - scipy.special.gammaln(n - k + 1)
    )
    if np.log(2 * n_columns) - log_choices > np.log(CHANCE_OF_CUT):
        return None
    limit = (x[order][edge] + x[order][edge + 1]) / 2
    low, high = (target.classes[y[order][i]] for i in (0, -1))
    text = (
        f"{c.name!r} decides the target {target.name!r} without an error: {low} below "
        f"{c.show(limit)}, {high} above, in all {n} rows. Make sure that it is known "
        "before the answer is, and that the answer is not made from it."
    )
    return _leak_finding("separating column", c, text, limit=limit)


def _single_column_leak(c, target, fold, level, group):
    """Finding for a column that alone predicts the target almost perfectly, eq. (1)."""
    best = max(
        (
            out_of_fold_score(z, target, fold, level) + (grouping,)
            for z, grouping in _groupings_of_column(c)
        ),
        key=lambda s: s[0],
        default=None,
    )
    if best is None:
        return None
    score, low, grouping = best
    met = (score >= LEVELS) & (low >= LIMITS)
    if not met.any() or (c.name == group and grouping != "bins"):
        return None
    severity = ["alarm", "warning", "note"][int(np.argmax(met))]
    measure = "balanced accuracy" if target.kind == "class" else "r2"
    claim = f"predicts the target {target.name!r} almost perfectly by itself"
    if severity == "note":
        claim = f"is a strong predictor of the target {target.name!r} by itself"
    text = f"{c.name!r} {claim} (out-of-fold {measure} {score:.4f})"
    kind = "strong column" if severity == "note" else "near-perfect column"
    if grouping == "groups":
        kind = "deciding group"
        severity = "note" if severity == "note" else "warning"
        text = (
            f"Rows with the same {c.name!r} share their {target.name!r} (out-of-fold "
            f"{measure} {score:.4f}): keep them in one fold (group={c.name!r})"
        )
    elif severity != "note" and grouping == "order":
        kind = "ordering id"  # the edges of bins cost some accuracy
        severity = "alarm"
        text += "; it only numbers the rows"
    elif severity != "note":
        text += "; make sure that it is known before the answer is"
    return make_finding(kind, severity, text + ".", column=c.name, score=score, low=low)


def _groupings_of_column(c):
    """Groupings of a column as (codes, "levels", "groups", "bins" or "order")."""
    n = len(c)
    if c.categorical:
        k = len(np.unique(c.codes[c.codes >= 0]))
        if 1 < k <= n / 2:
            yield c.codes + 1, "levels" if k <= max(BINS, n / 50) else "groups"
        return
    x = c.numbers[~c.missing]
    if len(x) < FEWEST:
        return
    edges = np.unique(np.quantile(x, np.linspace(0, 1, min(BINS, n // 5) + 1)[1:-1]))
    z = np.searchsorted(edges, c.numbers, side="left")
    z[c.missing] = len(edges) + 1
    yield z, "order" if _numbers_rows(c) else "bins"
    if c.whole:
        labels = c.labelled() + 1
        k = int(labels.max())
        if BINS < k <= n / 2:
            yield labels, "groups"


def _numbers_rows(c) -> bool:
    """Whether a column counts the rows up or down."""
    steps = np.diff(c.numbers)
    return bool(c.whole and (np.all(steps == 1) or np.all(steps == -1)))


def out_of_fold_score(z, target, fold, level):
    """Out-of-fold balanced accuracy or r2 of a grouping, and its lower limit."""
    k = int(z.max()) + 1
    if target.kind == "number":
        y = target.y - target.y.mean()
        total = np.bincount(z, y, k)
        count = np.bincount(z, minlength=k)
        p = np.empty(len(y))
        for f in range(FOLDS):
            in_fold = fold == f
            t = total - np.bincount(z[in_fold], y[in_fold], k)
            c = count - np.bincount(z[in_fold], minlength=k)
            p[in_fold] = (t / (c + 1e-3))[z[in_fold]]
        e = (y - p) ** 2
        v = y**2
        # the limit of a ratio of means, by its linear term
        score = 1 - e.mean() / v.mean()
        spread = np.std(e - (1 - score) * v) / (v.mean() * np.sqrt(len(y)))
        return score, score - scipy.stats.norm.ppf((1 + level) / 2) * spread
    K = target.k
    size = np.bincount(target.y, minlength=target.k)
    joint = np.bincount(z * K + target.y, minlength=k * K).reshape(k, K)
    right = np.zeros(K)
    for f in range(FOLDS):
        in_fold = fold == f
        part = np.bincount(z[in_fold] * K + target.y[in_fold], minlength=k * K).reshape(
            k, K
        )
        answer = np.argmax((joint - part) / np.maximum(size, 1), axis=1)
        hit = answer[z[in_fold]] == target.y[in_fold]
        right += np.bincount(target.y[in_fold][hit], minlength=K)
    is_present = size > 0
    recalls = right[is_present] / size[is_present]
    if recalls.mean() < LEVELS.min():  # spares the intervals of thousands of columns
        return float(recalls.mean()), 0.0
    limits = [
        rate_interval(r, s, level).low
        for r, s in zip(right[is_present], size[is_present])
    ]
    slack = np.sqrt(np.sum((recalls - limits) ** 2)) / len(recalls)
    return float(recalls.mean()), float(recalls.mean() - slack)


def _leak_finding(kind, c, text, **facts):
    return make_finding(kind, "alarm", text, column=c.name, **facts)
