"""Decision thresholds: from probabilities to decisions, by an objective or by costs.

A comparison ranks probabilities. What to do with them is another question, answered
with what the user values. Saying yes when p >= t gives, as t falls over the seen p,
growing numbers of true and false positives; every objective here is a function of the
two, so that one sort finds the best t among all.

    accuracy    (TP + TN) / n              f1        2 TP / (2 TP + FP + FN)     (1)
    balanced    (TP/P + TN/N) / 2          cost      (c_fp FP + c_fn FN) / n     (2)
    recall at a precision of at least c    max TP/P  s.t. TP / (TP + FP) >= c    (3)

Rows must be out-of-fold: probabilities of models that had not seen them. The best of
many thresholds still flatters itself on the rows it was chosen on, so the value to
expect is found by choosing t on 4 of 5 parts and deciding on the fifth (4).

With calibrated probabilities costs need no search: say yes when
p >= c_fp / (c_fp + c_fn) (5), and for K classes take the action a of least expected
cost sum_k p_k C[k, a] (`losses.decisions`). `advise_threshold` leaves this threshold,
one half but for costs, only for one whose decisions (4) are better beyond chance. The
objectives are smooth functions of means over rows, so that a row's influence on the
difference of two of them is known, and Student's t of these influences is the test; the
degrees of freedom are the rows that are decided differently, less one.

Refs      [Elkan2001] costs; [Lipton2014] F1 and thresholds
"""

from typing import NamedTuple

import numpy as np

from ...core.arrays.threshold_counts import ThresholdCounts, threshold_counts
from ...core.random import make_rng
from ...diagnose.data.row_counts import are_whole, effective_counts
from ...losses import bayes_action
from .statistics import finite_array, student_quantile

MAX_THRESHOLDS = 500  # thresholds for an objective that is a function
FALSE_ADVICE = 0.025  # how often a threshold may be advised that is no better
OBJECTIVES = ("f1", "accuracy", "balanced", "cost", "recall")


class DecisionThreshold(NamedTuple):
    """A decision of its own: say yes when the probability is at least `threshold`."""

    threshold: float
    objective: str
    value: float  # on the rows it was chosen on
    expected: float  # on rows it was not chosen on, eq. (4)
    plain: float  # at one half
    share: float  # of rows that get a yes

    def apply(self, p) -> np.ndarray:
        """0 or 1 for each probability (n,) or (n, 2)."""
        return (_positive_probability(p) >= self.threshold).astype(int)

    def __str__(self):
        if self.share == 0:
            return f"Never say yes: no threshold does better by {self.objective}."
        return (
            f"Say yes when the probability is at least {self.threshold:.3g} "
            f"({100 * self.share:.0f} % of the rows): {self.objective} "
            f"{self.expected:.3g} expected, {self.plain:.3g} at one half. Chosen on "
            "out-of-fold rows; the model is not changed."
        )


def _positive_probability(p) -> np.ndarray:
    """Probabilities of yes (n,), from (n,) or (n, 2)."""
    p = np.asarray(p, dtype=float)
    if p.ndim == 2 and p.shape[1] == 2:
        return p[:, 1]
    if p.ndim != 1:
        raise ValueError(
            f"p must be probabilities of yes (n,) or of two classes (n, 2), got shape "
            f"{p.shape}; for more classes use decide_by_cost."
        )
    return p


def check_binary_scores(y, p, weights=None):
    p, y = finite_array(_positive_probability(p), "probabilities"), np.asarray(y)
    if y.shape != p.shape:
        raise ValueError(f"y has {len(y)} entries, but p has {len(p)}.")
    if not np.isin(y, (0, 1)).all():
        raise ValueError("y must hold 0 and 1 only.")
    w = np.ones(len(p)) if weights is None else finite_array(weights, "weights")
    if w.shape != p.shape or np.any(w < 0) or not w.sum() > 0:
        raise ValueError(f"weights must be {len(p)} numbers of at least 0.")
    return y.astype(float), p, w


def _safe_ratio(part, whole):
    """part / whole, 0 where there is nothing to divide by."""
    part, total = np.broadcast_arrays(np.asarray(part, float), whole)
    return np.divide(part, total, out=np.zeros(part.shape), where=total > 0)


def _objective_values(c: ThresholdCounts, objective, costs, precision):
    """Eqs. (1) to (3) at every threshold; greater is better."""
    fn, tn, n = (
        c.positives - c.true_positives,
        c.negatives - c.false_positives,
        c.positives + c.negatives,
    )
    if objective == "accuracy":
        return (c.true_positives + tn) / n
    if objective == "f1":
        return _safe_ratio(
            2 * c.true_positives, c.true_positives + c.false_positives + c.positives
        )
    if objective == "balanced":
        return 0.5 * (
            _safe_ratio(c.true_positives, c.positives) + _safe_ratio(tn, c.negatives)
        )
    if objective == "cost":
        return -(costs[0] * c.false_positives + costs[1] * fn) / n
    kept = (
        _safe_ratio(c.true_positives, c.true_positives + c.false_positives)
        >= precision - 1e-12
    )
    nearest = (
        _safe_ratio(c.true_positives, c.true_positives + c.false_positives) - 2
    )  # the most precise, where none will do
    return np.where(kept, _safe_ratio(c.true_positives, c.positives), nearest)


def _cost_pair(costs):
    """(c_fp, c_fn) from a pair, {"fp": .., "fn": ..} or a table C[true, said]."""
    if costs is None:
        raise ValueError(
            "objective='cost' needs costs=(false positive, false negative)."
        )
    if isinstance(costs, dict):
        if set(costs) != {"fp", "fn"}:
            raise ValueError(f"costs must have the keys 'fp' and 'fn', got {costs}.")
        costs = (costs["fp"], costs["fn"])
    table = np.asarray(costs, dtype=float)
    if table.shape == (2, 2):  # what a mistake costs beyond the right answer
        table = np.array([table[0, 1] - table[0, 0], table[1, 0] - table[1, 1]])
    if table.shape != (2,) or not np.isfinite(table).all() or np.any(table < 0):
        raise ValueError(
            "costs must be two numbers of at least 0, of a false positive and of a "
            "false negative, or a 2 x 2 table of costs C[true, said]."
        )
    return float(table[0]), float(table[1])


def _optimal_threshold(y, p, w, objective, costs, precision):
    """The best threshold; of equally good ones the nearest to one half."""
    if callable(objective):
        t = np.unique(np.r_[p, np.nextafter(p.max(), np.inf)])[::-1]
        if len(t) > MAX_THRESHOLDS:  # a function is called for each
            t = t[np.linspace(0, len(t) - 1, MAX_THRESHOLDS).astype(int)]
        truth = y.astype(int)
        v = np.array(
            [float(objective(truth, (p >= threshold).astype(int))) for threshold in t]
        )
    else:
        c = threshold_counts(y, p, w)
        t = c.threshold
        v = _objective_values(c, objective, costs, precision)
    good = np.flatnonzero(v >= v.max() - 1e-12 * max(abs(v.max()), 1e-300))
    best = good[np.argmin(np.abs(t[good] - 0.5))]
    return float(t[best])


def objective_of_decisions(y, decisions, w, objective, costs, precision) -> float:
    """The objective of given decisions."""
    if callable(objective):
        return float(objective(y.astype(int), decisions.astype(int)))
    tp, fp = float((w * y * decisions).sum()), float((w * (1 - y) * decisions).sum())
    P = float((w * y).sum())
    counts = ThresholdCounts(
        np.zeros(1), np.array([tp]), np.array([fp]), P, float(w.sum()) - P
    )
    if objective == "recall":  # as it is, whatever the precision came out as
        return float(_safe_ratio(tp, P))
    return float(_objective_values(counts, objective, costs, precision)[0])


def choose_threshold(
    y,
    p,
    objective="f1",
    *,
    costs=None,
    precision=0.9,
    weights=None,
    folds=5,
    random_state=0,
) -> DecisionThreshold:
    """The probability from which on to say yes, from out-of-fold rows.

    Parameters
    ----------
    y : array (n,) of 0 and 1
    p : array (n,) or (n, 2)
        Out-of-fold probabilities, or any scores.
    objective : {"f1", "accuracy", "balanced", "cost", "recall"} or function
        Function of (y, decisions), greater is better. "cost" is the mean cost (shown
        as such, lower is better); "recall" asks for a precision.
    costs : (false positive, false negative), dict with fp and fn, or 2 x 2 table
        C[true, said], for "cost".
    precision : float
        For "recall": the share of yeses that must be right.

    Examples
    --------
    >>> from pansophy.compare import choose_threshold
    >>> p = [0.9, 0.8, 0.7, 0.6, 0.55, 0.54, 0.53, 0.52, 0.51, 0.505]
    >>> t = choose_threshold([1, 1, 0, 1, 1, 1, 0, 0, 1, 0], p)
    >>> t.threshold, round(t.value, 4)
    (0.54, 0.8333)
    """
    if not callable(objective) and objective not in OBJECTIVES:
        known = ", ".join(OBJECTIVES)
        raise ValueError(f"objective must be one of {known}, got {objective!r}.")
    y, p, w = check_binary_scores(y, p, weights)
    pair = _cost_pair(costs) if objective == "cost" else None
    rule = (objective, pair, precision)
    t = _optimal_threshold(y, p, w, *rule)
    decided = _cross_fitted_decisions(y, p, w, rule, folds, random_state)
    objective_for = lambda yes: objective_of_decisions(
        y, np.asarray(yes, dtype=float), w, *rule
    )
    sign = -1 if objective == "cost" else 1
    name = objective if isinstance(objective, str) else "objective"
    name = getattr(objective, "__name__", name).replace("_", " ")
    share_above = float(np.average(p >= t, weights=w))
    value, expected, plain = (
        sign * objective_for(yes) for yes in (p >= t, decided, p >= 0.5)
    )
    return DecisionThreshold(t, name, value, expected, plain, share_above)


def _cross_fitted_decisions(y, p, w, rule, folds=5, random_state=0) -> np.ndarray:
    """Decisions (n,), each by the best threshold of the other parts, eq. (4)."""
    decided = np.zeros(len(p))
    fold = np.empty(len(p), dtype=int)
    for k in (0, 1):  # the same shares of yes and no in every part
        rows = make_rng(random_state).permutation(np.flatnonzero(y == k))
        fold[rows] = np.arange(len(rows)) % folds
    for f in range(folds):
        rest = fold != f
        part = rest if rest.any() else ~rest
        cut = _optimal_threshold(y[part], p[part], w[part], *rule)
        decided[~rest] = p[~rest] >= cut
    return decided


def row_influences(y, d, w, objective, costs) -> np.ndarray:
    """What each row adds to an objective of decisions d, to first order."""
    mean = lambda values: np.average(values, weights=w)
    if objective == "accuracy":
        return (d == y).astype(float)
    if objective == "cost":
        return -(costs[0] * d * (1 - y) + costs[1] * (1 - d) * y)
    if objective == "balanced":
        hit = (d == y).astype(float)
        recall = [mean(hit * (y == k)) / mean(y == k) for k in (0, 1)]
        return sum(0.5 * (y == k) * (hit - recall[k]) / mean(y == k) for k in (0, 1))
    total = d + y  # F1 = 2 TP / (TP + FP + P)
    if not mean(total) > 0:
        return np.zeros(len(y))
    f1 = 2 * mean(y * d) / mean(total)
    return (2 * y * d - f1 * total) / mean(total)


def _is_surely_better(y, decided, usual, w, objective, costs) -> bool:
    """Whether decisions have a better objective than the usual ones beyond chance.

    Paired over rows, by Student's t; wrongly at most in a share `FALSE_ADVICE`.
    """
    values = lambda d: objective_of_decisions(y, d, w, objective, costs, 0.0)
    gain = values(decided) - values(usual)
    differing = int(((decided != usual) & (w > 0)).sum())
    if gain <= 0 or differing < 2:
        return False
    difference = row_influences(y, decided, w, objective, costs) - row_influences(
        y, usual, w, objective, costs
    )
    count = effective_counts(w, are_whole(w))
    difference -= np.average(difference, weights=count)
    error = np.sqrt((count * difference**2).sum()) / count.sum()
    return bool(gain > student_quantile(1 - 2 * FALSE_ADVICE, differing - 1) * error)


def advise_threshold(y, p, objective, *, costs=None, weights=None) -> DecisionThreshold:
    """The best threshold found if it is better beyond chance, else the usual one.

    The usual one is one half, and eq. (5) for costs.

    Parameters
    ----------
    y, p, costs, weights
        As in `choose_threshold`.
    objective : {"f1", "accuracy", "balanced", "cost"}

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.compare.evaluation.decision_threshold import advise_threshold
    >>> p = np.linspace(0.01, 0.99, 99)
    >>> y = np.arange(99) * 37 % 99 < 99 * p  # yes as often as p says
    >>> t = advise_threshold(y, p, "accuracy")
    >>> t.threshold, t.expected == t.plain
    (0.5, True)
    """
    choice = choose_threshold(y, p, objective, costs=costs, weights=weights)
    y, p, w = check_binary_scores(y, p, weights)
    pair = _cost_pair(costs) if objective == "cost" else None
    standard = 0.5
    if pair is not None and sum(pair) > 0:
        standard = pair[0] / sum(pair)
    usual = (p >= standard).astype(float)
    if 0 < w @ y < w.sum():
        decided = _cross_fitted_decisions(y, p, w, (objective, pair, 0.0))
        if _is_surely_better(y, decided, usual, w, objective, pair):
            return choice
    sign = -1 if objective == "cost" else 1
    value = sign * objective_of_decisions(y, usual, w, objective, pair, 0.0)
    share = float(np.average(usual, weights=w))
    return choice._replace(threshold=standard, value=value, expected=value, share=share)


class CostPoint(NamedTuple):
    """Best threshold when a missed yes costs `ratio` times a false alarm."""

    ratio: float
    threshold: float
    cost: float  # mean, in units of a false alarm
    recall: float
    precision: float
    false_positive_rate: float


def cost_curve(y, p, ratios=None, *, weights=None) -> list[CostPoint]:
    """Trade-offs as a missed yes grows dearer: recall never falls.

    Parameters
    ----------
    p : array (n,), (n, 2), or function of a ratio that gives one
        A function stands for a family of models, each fitted with that cost ratio
        and asked for out-of-fold rows; it is then read at one half.
    ratios : list of numbers above 0
        c_fn / c_fp; by default from 1/16 to 16.

    Examples
    --------
    >>> from pansophy.compare import cost_curve
    >>> p = [0.9, 0.8, 0.7, 0.6, 0.55, 0.54, 0.53, 0.52, 0.51, 0.505]
    >>> points = cost_curve([1, 1, 0, 1, 1, 1, 0, 0, 1, 0], p, [0.1, 1, 10])
    >>> [round(q.recall, 3) for q in points]
    [0.333, 0.833, 1.0]
    """
    ratios = 2.0 ** np.arange(-4, 5) if ratios is None else ratios
    ratios = np.sort(finite_array(ratios, "ratios"))
    if np.any(ratios <= 0):
        raise ValueError("ratios must be above 0.")
    family = callable(p)
    points = []
    for r in ratios:
        truth, q, w = check_binary_scores(y, p(r) if family else p, weights)
        t = 0.5 if family else _optimal_threshold(truth, q, w, "cost", (1.0, r), 0.0)
        yes = w * (q >= t)
        tp, fp, P = (yes * truth).sum(), (yes * (1 - truth)).sum(), (w * truth).sum()
        cost = (fp + r * (P - tp)) / w.sum()
        rates = (
            _safe_ratio(tp, P),
            _safe_ratio(tp, tp + fp),
            _safe_ratio(fp, w.sum() - P),
        )
        points.append(CostPoint(float(r), float(t), float(cost), *map(float, rates)))
    return points


def decide_by_cost(p, costs) -> np.ndarray:
    """The action of least expected cost for each row of p (n, K).

    `costs` (K, A) holds C[k, a], the cost of action a when the truth is class k. A
    column more than there are classes is an action of its own, such as asking a human.

    Examples
    --------
    >>> from pansophy.compare import decide_by_cost
    >>> costs = [[0, 1, 0.3], [5, 0, 0.3]]
    >>> decide_by_cost([[0.99, 0.01], [0.8, 0.2], [0.1, 0.9]], costs).tolist()
    [0, 2, 1]
    """
    p, costs = (
        finite_array(p, "rows of probabilities"),
        finite_array(costs, "rows of costs"),
    )
    if p.ndim != 2 or costs.ndim != 2 or costs.shape[0] != p.shape[1]:
        raise ValueError(
            "costs must have a row for each class of p and a column for each action, "
            f"got shapes {costs.shape} and {p.shape}."
        )
    return bayes_action(p, costs)
