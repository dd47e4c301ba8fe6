"""Methods compared on a test set that none of them has seen.

Every score carries an interval and every difference from the reference a p value,
both from rows (or groups) drawn with replacement, the same draws for all methods;
p values are adjusted for their number (`holm_adjust`, or `adjust_against_best` if the
reference is the best on these rows), and for classes McNemar's test is given beside.
The fair reference is the method chosen before the test rows were seen, such as the
winner of a comparison.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...core.random import make_rng
from ..metrics import METRICS, Metric
from .row_tests import McNemarTest, PairedDifference, bootstrap_difference, mcnemar_test
from .statistics import (
    Interval,
    adjust_against_best,
    holm_adjust,
    resample_counts,
    resampled_means,
    resampling_units,
)

MAX_SCORED_RESAMPLES = (
    500  # draws of a score that is no mean over rows: each costs a pass
)


class HoldoutRow(NamedTuple):
    """One method on the test rows."""

    method: str
    score: Interval
    difference: PairedDifference | None  # from the reference; its p is adjusted
    mcnemar: McNemarTest | None  # against the reference, for classes
    verdict: str  # "reference", "tied", "better" or "worse"


@dataclass(frozen=True)
class HoldoutComparison:
    """Result of `compare_on_test_set`; prints as a table."""

    metric: str
    reference: str
    rows: tuple[HoldoutRow, ...]  # best first
    n: int
    level: float

    @property
    def best(self) -> str:
        return self.rows[0].method

    def __str__(self):
        wide = max(len(r.method) for r in self.rows)
        lines = [f"{self.metric} on {self.n} test rows, against {self.reference}:"]
        for r in self.rows:
            s = r.score
            line = f"  {r.method:<{wide}}  {s.mean:.4g} [{s.low:.4g}, {s.high:.4g}]"
            if r.difference is not None:
                line += (
                    f"  {r.verdict} ({r.difference.mean:+.3g}, p {r.difference.p:.2g})"
                )
            lines.append(line)
        return "\n".join(lines)


def compare_on_test_set(
    y,
    predictions,
    metric=None,
    *,
    greater=True,
    reference=None,
    weights=None,
    groups=None,
    level=0.95,
    n_resamples=2000,
    random_state=0,
) -> HoldoutComparison:
    """Methods compared on rows that none of them has seen.

    Parameters
    ----------
    y : array (n,)
        Numbers, or class codes 0..K-1.
    predictions : dict of name -> array
        Numbers (n,), or probabilities (n, K).
    metric : str, Metric, function (y, p) -> number, or None
        By default log loss for probabilities and RMSE for numbers.
    greater : bool
        Whether more is better, for a function.
    reference : str or None
        The method the others are compared with: best the one chosen before the test
        rows were seen. By default the best on them.
    weights, groups : arrays (n,) or None
        Rows of one group are drawn together; weights only for means over rows.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.compare import compare_on_test_set
    >>> y = np.arange(200) % 2
    >>> good = np.where(y == 1, 0.8, 0.2)
    >>> flat = np.full(200, 0.5)
    >>> both = {"good": good, "flat": flat}
    >>> both = {name: np.c_[1 - p, p] for name, p in both.items()}
    >>> result = compare_on_test_set(y, both, "log loss")
    >>> result.best, result.rows[1].verdict
    ('good', 'worse')
    """
    y = np.asarray(y)
    P = {name: np.asarray(p, dtype=float) for name, p in predictions.items()}
    _check_predictions(y, P)
    metric = _resolve_metric(metric, greater, y, next(iter(P.values())))
    names = list(P)
    seen, values = _bootstrap_scores(
        y, P, metric, weights, groups, n_resamples, random_state
    )
    order = np.argsort(-seen if metric.greater else seen, kind="stable")
    G = len(y) if groups is None else len(np.unique(groups))
    adjust = (
        holm_adjust if reference else lambda p: adjust_against_best(p, max(G - 1, 1))
    )
    reference = reference or names[order[0]]
    if reference not in P:
        raise ValueError(f"reference must be one of {', '.join(P)}, got {reference!r}.")
    reference_place = names.index(reference)
    gap = lambda j: (
        values[:, j] - values[:, reference_place],
        seen[j] - seen[reference_place],
    )
    gaps = [bootstrap_difference(*gap(j), level, G) for j in range(len(names))]
    compared = [j for j in order if j != reference_place]
    adjusted = dict(zip(compared, adjust([gaps[j].p for j in compared])))
    rows = []
    for j in order:
        low, high = np.quantile(values[:, j], [(1 - level) / 2, (1 + level) / 2])
        score = Interval(*map(float, (seen[j], low, high, values[:, j].std(ddof=1))))
        if j == reference_place:
            rows.append(HoldoutRow(names[j], score, None, None, "reference"))
            continue
        apart = gaps[j]._replace(p=float(adjusted[j]))
        is_better = (apart.mean > 0) == metric.greater
        verdict = "tied" if apart.p >= 1 - level else "better" if is_better else "worse"
        hits = _mcnemar_of_classes(y, P[names[j]], P[reference], metric.task)
        rows.append(HoldoutRow(names[j], score, apart, hits, verdict))
    return HoldoutComparison(metric.name, reference, tuple(rows), len(y), level)


def _check_predictions(y, P):
    if not P:
        raise ValueError("predictions must hold at least one method.")
    if len(y) < 2:
        raise ValueError(f"At least two test rows are needed, got {len(y)}.")
    for name, p in P.items():
        if len(p) != len(y):
            raise ValueError(
                f"y has {len(y)} rows, but the predictions of {name!r} have {len(p)}."
            )
        if not np.isfinite(p).all():
            raise ValueError(f"The predictions of {name!r} are not all finite.")


def _resolve_metric(metric, greater, y, p) -> Metric:
    """A Metric from one, its name, a function or None."""
    if isinstance(metric, Metric):
        return metric
    task = "multilabel" if y.ndim == 2 else "classification"
    task = "regression" if p.ndim == 1 else task
    if callable(metric):
        name = getattr(metric, "__name__", "score").replace("_", " ")
        return Metric(name, task, greater, metric)
    tasks = (task, "count") if p.ndim == 1 else (task,)
    able = [m for m in METRICS if m.task in tasks]
    wanted = None if metric is None else str(metric).replace("_", " ").lower()
    chosen = [m for m in able if wanted in (None, m.name)]
    if not chosen:
        known = ", ".join(dict.fromkeys(m.name for m in able))
        raise ValueError(f"metric must be one of {known}, got {metric!r}.")
    return chosen[0]


def _bootstrap_scores(y, P, metric, weights, groups, n_resamples, seed):
    """Scores (M,) and their values (B, M) on rows drawn with replacement."""
    rng = make_rng(seed)
    if metric.row_losses is not None:
        losses = np.column_stack([metric.row_losses(y, p) for p in P.values()])
        S, w = resampling_units(losses, weights, groups)
        means = np.vstack([S.sum(0) / w.sum(), resampled_means(S, w, n_resamples, rng)])
        scores = np.array([[metric.from_mean_loss(v) for v in row] for row in means])
        return scores[0], scores[1:]
    if weights is not None:
        raise ValueError(f"{metric.name} is no mean over rows and takes no weights.")
    code = np.arange(len(y))
    if groups is not None:
        code = np.unique(np.asarray(groups), return_inverse=True)[1]
    kinds = len(np.unique(y)) if metric.task == "classification" else 0
    seen = np.array([metric.score(y, p) for p in P.values()])
    resampled, n_resamples = [], min(n_resamples, MAX_SCORED_RESAMPLES)
    for block in resample_counts(code.max() + 1, n_resamples, rng):
        for count in block:
            i = np.repeat(np.arange(len(y)), count[code].astype(int))
            if kinds and len(np.unique(y[i])) < kinds:
                continue  # a class was not drawn: the score is not defined
            resampled.append([metric.score(y[i], p[i]) for p in P.values()])
    if not resampled:
        raise ValueError("The rarest class has too few test rows for a bootstrap.")
    return seen, np.array(resampled)


def _mcnemar_of_classes(y, p, q, task) -> McNemarTest | None:
    if task != "classification" or y.ndim != 1 or p.shape != q.shape:
        return None
    return mcnemar_test(p.argmax(1) == y, q.argmax(1) == y)
