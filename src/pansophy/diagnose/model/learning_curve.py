"""Learning and complexity curves: would more rows, or a freer model, help?

Every fold's training rows are shuffled once; the first n of them, n doubling, are the
nested samples on which clones are fitted. All are scored on the same held-out rows, so
the gain of the last doubling and that of the last two,

    g_j = s_j(n) - s_j(n / 2),    h_j = s_j(n) - s_j(n / 4)    in fold j,           (1)

are paired differences; their intervals are the corrected ones of `intervals`. The
curve is

    rising   if mean(g) matters and the interval of h lies above 0,
    flat     if mean(g) is next to nothing and mean(h) does not matter, or nothing
             in the interval of g does,                                           (2)
    unclear  otherwise: the folds are too few or too noisy to tell.

h spans more rows, so it shows a rise that noise hides in g.

What matters is a share of the distance between the score and a perfect one. A
complexity curve keeps the rows and varies one parameter instead; its values are judged
by `fit_verdict.compare_fits`, and the simplest value within one standard error of the
best is named.

Cost      one fit for every fold and size
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier

from ...core.random import make_rng
from ..data.column_access import cross_scores, cv_folds, indexable_rows, scorer_of
from ..intervals import Interval, fold_interval
from .fit_verdict import FitVerdicts, compare_fits


class LearningCurve(NamedTuple):
    """Scores (sizes, folds) of nested training samples; prints as a sentence."""

    sizes: np.ndarray
    train: np.ndarray
    test: np.ndarray
    intervals: tuple[Interval, ...]  # of the held-out mean at each size
    verdict: str  # "rising", "flat" or "unclear"
    gain: Interval  # of the last doubling, g
    longer: Interval  # of the last two, h
    ratio: float

    def __str__(self):
        n = int(self.sizes[-1])
        last = self.intervals[-1]
        advice = {
            "rising": "More rows are likely to help",
            "flat": "More rows of the same kind would hardly help",
            "unclear": "Whether more rows would help cannot be told from these folds",
        }[self.verdict]
        return (
            f"{advice}: with {n} training rows the held-out score is {last}, and the "
            f"last doubling of the rows gained {self.gain}."
        )


class ComplexityCurve(NamedTuple):
    """Scores (values, folds) along one parameter; prints as a sentence."""

    parameter: str
    values: tuple
    train: np.ndarray
    test: np.ndarray
    intervals: tuple[Interval, ...]
    fits: FitVerdicts
    best: int
    simplest: int  # first value within one standard error of the best

    def __str__(self):
        return (
            f"{self.parameter}={self.values[self.best]} has the best held-out score, "
            f"{self.intervals[self.best]}; {self.parameter}="
            f"{self.values[self.simplest]} is the first within one standard error."
        )


def learning_curve(
    model,
    X,
    y,
    *,
    sizes: Sequence[float] | None = None,
    cv=5,
    groups=None,
    scoring=None,
    matters=0.05,
    perfect=None,
    level=0.95,
    random_state=0,
) -> LearningCurve:
    """Score clones of a model on doubling samples and say whether more rows help.

    Parameters
    ----------
    model : estimator
    X, y : rows and what is to be predicted
    sizes : rising shares of the training rows, or whole numbers of rows
        None halves the rows as long as 20 are left, five times at most.
    cv : int or splitter of scikit-learn
    groups : array of shape (n,), optional
        Kept together by the folds, of which there are at most as many as groups.
    scoring : as in scikit-learn, optional
    matters : float
        A gain matters if it exceeds this share of the distance to a perfect score.
    perfect : float, optional
        The perfect score; None takes 0 for scorers named "neg_...", else 1.
    level : float
    random_state : seed

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose import learning_curve
    >>> from pansophy.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> y = X[:, 0] + rng.normal(size=400)
    >>> learning_curve(LinearRegression(), X, y).verdict
    'flat'
    """
    X = indexable_rows(X)
    y = np.asarray(y)
    rng = make_rng(random_state)
    scorer = scorer_of(model, scoring)
    parts = cv_folds(cv, X, y, model, groups, seed=int(rng.integers(2**31)))
    parts = [(_stratified_order(rows, y, model, rng), held) for rows, held in parts]
    counts = _sample_sizes(sizes, min(len(rows) for rows, _ in parts))
    counts, scores = _scores_by_size(model, X, y, parts, scorer, counts, sizes is None)
    train, test = (np.array([getattr(s, k) for s in scores]) for k in ("train", "test"))
    ratio = scores[-1].ratio
    intervals = tuple(fold_interval(row, ratio, level) for row in test)
    reference_sizes = [int(np.argmin(np.abs(counts - counts[-1] / k))) for k in (2, 4)]
    gain, longer = (
        fold_interval(test[-1] - test[k], ratio, level) for k in reference_sizes
    )
    if perfect is None:
        perfect = 0.0 if str(scoring).startswith("neg_") else 1.0
    verdict = _growth_verdict(gain, longer, matters * abs(perfect - test[-1].mean()))
    return LearningCurve(counts, train, test, intervals, verdict, gain, longer, ratio)


def _scores_by_size(model, X, y, parts, scorer, counts, lenient):
    """The sizes that could be fitted, and the scores at each of them.

    If `lenient`, sizes too small for the model (fewer rows than neighbours, a single
    class) are skipped.
    """
    kept = []
    scores = []
    for n in counts:
        try:
            nested_parts = [(rows[:n], held) for rows, held in parts]
            scores.append(cross_scores(model, X, y, nested_parts, scorer))
            kept.append(n)
        except ValueError:
            if n == counts[-1] or not lenient:
                raise
    return np.array(kept), scores


def _growth_verdict(gain: Interval, longer: Interval, small) -> str:
    """Verdict on the curve, eq. (2); gains up to `small` do not matter."""
    if gain.mean > small and longer.low > 0:
        return "rising"
    has_stopped = gain.mean <= small / 4 and longer.mean <= small
    return "flat" if has_stopped or gain.high <= max(small, 1e-12) else "unclear"


def _sample_sizes(sizes, n) -> np.ndarray:
    """Increasing numbers of rows of the nested samples."""
    if sizes is None:
        halves = n // 2 ** np.arange(6)
        return np.unique(halves[halves >= max(1, min(20, n // 4))])
    requested = np.asarray(sizes, float)
    if len(requested) < 2 or np.any(requested <= 0) or np.any(requested > n):
        raise ValueError(
            f"sizes must be shares or whole numbers up to {n}, at least 2."
        )
    counts = np.where(requested <= 1, np.ceil(requested * n), requested).astype(int)
    return np.unique(counts)


def _stratified_order(rows, y, model, rng):
    """Rows in random order; for a classifier every prefix is stratified."""
    rows = rows[rng.permutation(len(rows))]
    if not is_classifier(model) or y.ndim > 1:
        return rows
    _, code, size = np.unique(y[rows], return_inverse=True, return_counts=True)
    order = np.argsort(code, kind="stable")
    first = np.cumsum(size) - size
    seen = np.empty(len(rows))
    seen[order] = np.arange(len(rows)) - first[code[order]]
    return rows[np.argsort((seen + 0.5) / size[code] + 1e-9 * seen, kind="stable")]


def complexity_curve(
    model,
    X,
    y,
    parameter,
    values,
    *,
    cv=5,
    groups=None,
    scoring=None,
    level=0.95,
    random_state=0,
) -> ComplexityCurve:
    """Score a model along values of one parameter, simplest first.

    Parameters
    ----------
    model : estimator
    X, y : rows and what is to be predicted
    parameter : str
        Of the model; `step__name` reaches into pipelines.
    values : sequence, the simplest model first
    cv, groups, scoring, level, random_state : as in `learning_curve`

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose import complexity_curve
    >>> from pansophy.tree import DecisionTreeRegressor
    >>> x = np.linspace(0, 1, 200)[:, None]
    >>> y = (x[:, 0] > 0.5) + 0.1 * np.random.default_rng(0).normal(size=200)
    >>> tree = DecisionTreeRegressor(random_state=0)
    >>> curve = complexity_curve(tree, x, y, "max_depth", [1, 4, 8])
    >>> curve.values[curve.best], [v.verdict for v in curve.fits.verdicts]
    (1, ['balanced', 'overfit', 'overfit'])
    """
    X, y = indexable_rows(X), np.asarray(y)
    scorer = scorer_of(model, scoring)
    seed = int(make_rng(random_state).integers(2**31))
    parts = cv_folds(cv, X, y, model, groups, seed=seed)
    scores = []
    for value in values:
        candidate = clone(model).set_params(**{parameter: value})
        scores.append(cross_scores(candidate, X, y, parts, scorer))
    train, test = (np.array([getattr(s, k) for s in scores]) for k in ("train", "test"))
    intervals = tuple(fold_interval(row, scores[0].ratio, level) for row in test)
    fits = compare_fits(train.mean(1), test.mean(1), [str(v) for v in values])
    best = fits.best
    floor = intervals[best].mean - intervals[best].error
    simplest = next((i for i, s in enumerate(intervals) if s.mean >= floor), best)
    values = tuple(values)
    return ComplexityCurve(
        str(parameter), values, train, test, intervals, fits, best, simplest
    )
