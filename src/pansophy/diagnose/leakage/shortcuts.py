"""Shortcut learning: does a model rely on columns that it should not need?

Three tests of each suspect column, on held-out rows of the same folds:

    shuffled   by how much the score falls when the column is shuffled              (1)
    without    by how much it falls when the learner never sees the column          (2)
    groups     errors on rows where the column alone points to the right answer
               (agreeing) and on the others (conflicting), of the model with the
               column and of the one without                                       (3)

A model relies on the column if the interval of (1) is above 0. It is a shortcut if on
conflicting rows the model with the column is worse than the one without: there it
follows the column against the evidence of the others. Whether the column *should* be
needed depends on where it comes from; the numbers cannot decide that.

Groups of rows (hospitals, cameras, backgrounds) say more. Models with and without the
column are also fitted with whole groups left out, and compared on the rows of each
group that they have not seen. Then the column is a shortcut too if

    misleads   in some group the mean error is larger with the column, by more than
               three standard errors of the paired differences; and the model relies
               on the column, by (1) or because shuffling it lowers the error there
    vanishes   what the column gains on rows of known groups is lost by at least half
               on rows of new ones                                                 (4)

Cost      one cross-validation, and one more a suspect; twice that with groups
Refs      [Geirhos2020]
"""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier

from ...core.arrays.codes import encode_values, missing_mask
from ...core.random import make_rng
from ..data.column_access import (
    column_labels,
    column_position,
    column_values,
    cv_folds,
    indexable_rows,
    scorer_of,
    select_rows,
    with_constant_column,
    with_permuted_column,
)
from ..findings import Finding, make_finding
from ..intervals import Interval, fold_interval, mean_interval

LEAST_GROUP_ROWS = 10  # of a group that can be said to be misled


class Shortcut(NamedTuple):
    """Use that a model makes of one suspect column; prints as a sentence or two."""

    column: str
    score: float  # with the column, on all held-out rows
    shuffled: Interval  # eq. (1)
    without: Interval  # eq. (2)
    alone: float  # score of the column alone
    agreeing: tuple[float, float]  # errors with and without the column: eq. (3),
    conflicting: tuple[float, float]  # shares of mistakes or mean absolute errors
    verdict: str  # "shortcut", "relied on" or "not needed"
    errors: tuple[float, float]  # with and without the column, on all held-out rows
    by_group: dict = {}  # group: errors with and without the column where it is new
    misled: tuple = ()  # groups in which the column misleads, eq. (4)
    vanishes: bool = False  # its gain is lost in new groups, eq. (4)

    def __str__(self):
        error_with, error_without = self.conflicting
        words = (
            f"'{self.column}' is {WORDS[self.verdict]}: shuffling it costs "
            f"{self.shuffled} of a score of {self.score:.3g}, learning without it "
            f"{self.without}."
        )
        if np.isfinite(error_with) and np.isfinite(error_without):
            words += (
                f" Where it points the wrong way the error is {error_with:.3g} with it "
                f"and {error_without:.3g} without it."
            )
        for group in self.misled[:3]:
            error_with, error_without = self.by_group[group]
            words += (
                f" In group {group} the error is {error_with:.3g} with it and "
                f"{error_without:.3g} without it."
            )
        if self.vanishes:
            words += " What it gains in known groups is lost in new ones."
        return words

    def finding(self) -> Finding | None:
        """A warning for a shortcut, a note if the model relies on the column."""
        if self.verdict == "not needed":
            return None
        severity = "warning" if self.verdict == "shortcut" else "note"
        facts = self._asdict()
        del facts["column"]
        return make_finding(
            "shortcut", severity, str(self), column=self.column, **facts
        )


NONE = (float("nan"), float("nan"))
WORDS = {
    "shortcut": "used as a shortcut",
    "relied on": "relied on",
    "not needed": "not needed",
}


def shortcuts(
    model,
    X,
    y,
    suspects=None,
    *,
    names=None,
    cv=5,
    groups=None,
    scoring=None,
    shuffles=3,
    level=0.95,
    random_state=0,
) -> list[Shortcut]:
    """Test whether a model relies on columns that it should not need.

    Parameters
    ----------
    model : estimator
    X, y : rows and what is to be predicted
    suspects : column names or places
        None takes all columns, which costs a cross-validation each.
    names : of the columns, where X has none
    cv, scoring, level, random_state : as in `learning_curve`
    groups : array of shape (n,), optional
        Where each row comes from: the column is also judged in groups that the
        training rows did not hold, eq. (4). A `cv` that is a splitter must part
        these groups; a number makes at most as many folds as there are groups.
    shuffles : int
        Times that each column is shuffled in each fold.

    Returns
    -------
    list of Shortcut, the most relied on first

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose import shortcuts
    >>> from pansophy.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 400)
    >>> sign = y + 0.6 * rng.normal(size=400)
    >>> stamp = np.where(rng.random(400) < 0.95, y, 1 - y)  # of the camera, say
    >>> found = shortcuts(LogisticRegression(), np.column_stack([sign, stamp]), y)
    >>> found[0].column, found[0].verdict
    ('x1', 'shortcut')
    """
    X = indexable_rows(X)
    y = np.asarray(y)
    rng = make_rng(random_state)
    names = column_labels(X, names)
    column_numbers = (
        range(len(names))
        if suspects is None
        else [column_position(names, s) for s in suspects]
    )
    scorer = scorer_of(model, scoring)
    seed = int(rng.integers(2**31))
    pooled = cv if groups is None or isinstance(cv, (int, np.integer)) else 5
    folds = cv_folds(pooled, X, y, model, seed=seed)
    models = _fit_folds(model, X, y, folds)
    apart = []
    apart_models = []
    if groups is not None:
        apart = _folds_without_groups(cv, X, y, model, groups, seed)
        apart_models = _fit_folds(model, X, y, apart)
    results = []
    for j in column_numbers:
        probe = ColumnProbe(X, y, j, folds, models, scorer)
        shortcut = _probe_column(probe, names[j], shuffles, level, rng)
        if groups is not None:
            probe = ColumnProbe(X, y, j, apart, apart_models, scorer)
            shortcut = _judge_by_groups(shortcut, probe, groups, shuffles, rng)
        results.append(shortcut)
    return sorted(results, key=lambda s: -s.shuffled.mean)


def _fit_folds(model, X, y, folds) -> list:
    """Clones of a model fitted to the training rows of each fold."""
    return [clone(model).fit(select_rows(X, rows), y[rows]) for rows, _ in folds]


def _folds_without_groups(cv, X, y, model, groups, seed) -> list:
    """Folds that leave whole groups out; each must keep two classes for training."""
    folds = cv_folds(cv, X, y, model, groups, seed=seed)
    if is_classifier(model) and any(len(np.unique(y[r])) < 2 for r, _ in folds):
        raise ValueError(
            "groups must not determine the class: without some of them the training "
            "rows have one class only."
        )
    return folds


def _judge_by_groups(shortcut: Shortcut, probe, groups, shuffles, rng) -> Shortcut:
    """Add the errors in groups that training did not hold, and judge by eq. (4)."""
    X, j = probe.X, probe.j
    blank, bare = _fit_without_column(probe)
    errors_with = _out_of_fold_errors(probe, X, probe.models)
    errors_without = _out_of_fold_errors(probe, blank, bare)
    mixed = np.mean(
        [
            _out_of_fold_errors(
                probe,
                with_permuted_column(X, j, rng.permutation(len(errors_with))),
                probe.models,
            )
            for _ in range(shuffles)
        ],
        axis=0,
    )
    codes, levels = encode_values(groups)
    by_group = {}
    misled = []
    leans = shortcut.verdict != "not needed"
    for k, group in enumerate(levels.tolist()):
        rows = (codes == k) & np.isfinite(errors_with)
        if not rows.any():
            continue
        by_group[group] = (
            float(errors_with[rows].mean()),
            float(errors_without[rows].mean()),
        )
        worse_than_shuffled = _clearly_positive((errors_with - mixed)[rows])
        if _clearly_positive((errors_with - errors_without)[rows]) and (
            leans or worse_than_shuffled
        ):
            misled.append(group)
    in_known = shortcut.errors[1] - shortcut.errors[0]
    in_new = float(np.nanmean(errors_without - errors_with))
    vanishes = bool(leans and shortcut.without.low > 0 and in_new < in_known / 2)
    return shortcut._replace(
        verdict="shortcut" if misled or vanishes else shortcut.verdict,
        by_group=by_group,
        misled=tuple(misled),
        vanishes=vanishes,
    )


def _clearly_positive(differences) -> bool:
    """Whether the mean of enough rows is above 0 by three standard errors."""
    if len(differences) < LEAST_GROUP_ROWS:
        return False
    gap = mean_interval(differences)
    return bool(gap.mean > max(3 * gap.error, 1e-9))


class ColumnProbe(NamedTuple):
    """Data and fitted models for the three tests of column j."""

    X: object
    y: np.ndarray
    j: int
    folds: list
    models: list  # fitted with all columns, one a fold
    scorer: object


def _probe_column(probe, name, shuffles, level, rng) -> Shortcut:
    """All three tests of one column."""
    X, y, j, folds, models, scorer = probe
    full, mixed = [], []
    for h, (_, held) in zip(models, folds, strict=True):
        A = select_rows(X, held)
        full.append(scorer(h, A, y[held]))
        orders = (rng.permutation(len(held)) for _ in range(shuffles))
        mixed.append(
            np.mean([scorer(h, with_permuted_column(A, j, o), y[held]) for o in orders])
        )
    blank, bare = _fit_without_column(probe)
    without_column = [
        scorer(h, select_rows(blank, r), y[r])
        for h, (_, r) in zip(bare, folds, strict=True)
    ]
    ratio = float(np.mean([len(held) / len(rows) for rows, held in folds]))
    full, without_column = np.array(full), np.array(without_column)
    shuffled = fold_interval(full - np.array(mixed), ratio, level)
    loss_without = fold_interval(full - without_column, ratio, level)
    agree, score_alone = _single_column_agreement(probe)
    wrong = np.stack(
        [_out_of_fold_errors(probe, X, models), _out_of_fold_errors(probe, blank, bare)]
    )
    part = lambda rows: tuple(wrong[:, rows].mean(1).tolist()) if rows.any() else NONE
    agreeing, conflicting = part(agree), part(~agree)
    leans = shuffled.low > 0
    misled = conflicting[0] > conflicting[1]
    verdict = "shortcut" if leans and misled else "relied on" if leans else "not needed"
    score = float(full.mean())
    errors = tuple(wrong.mean(axis=1).tolist())
    return Shortcut(
        name,
        score,
        shuffled,
        loss_without,
        score_alone,
        agreeing,
        conflicting,
        verdict,
        errors,
    )


def _fit_without_column(probe):
    """X with column j made constant, and the models fitted to it in each fold."""
    blank = with_constant_column(probe.X, probe.j)
    with warnings.catch_warnings():  # of one value in a column: it is meant
        warnings.simplefilter("ignore", np.exceptions.RankWarning)
        return blank, _fit_folds(probe.models[0], blank, probe.y, probe.folds)


def _out_of_fold_errors(probe, X, models):
    """Out-of-fold error of each row: 0 or 1 for classes, else the absolute error."""
    out = np.full(len(probe.y), np.nan)  # of rows that no fold holds out
    for h, (_, held) in zip(models, probe.folds, strict=True):
        p = h.predict(select_rows(X, held))
        y = probe.y[held]
        out[held] = p != y if is_classifier(h) else np.abs(y - p)
    return out


def _single_column_agreement(probe):
    """Rows that a small tree on the column alone predicts correctly, and its score.

    For numbers: rows whose error is at most the median error.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    X, y, j, folds, models, _ = probe
    v = _column_as_ranks(column_values(X, j))[:, None]
    classes = is_classifier(models[0])
    kind = DecisionTreeClassifier if classes else DecisionTreeRegressor
    p = np.empty(len(y), dtype=y.dtype if classes else float)
    for rows, held in folds:
        leaf = max(1, len(rows) // 50)
        tree = kind(max_depth=3, min_samples_leaf=leaf, random_state=0)
        p[held] = tree.fit(v[rows], y[rows]).predict(v[held])
    if classes:
        return p == y, float(np.mean(p == y))
    errors = np.abs(y - p)
    return errors <= np.median(errors), float(
        1 - np.sum(errors**2) / np.sum((y - y.mean()) ** 2)
    )


def _column_as_ranks(values) -> np.ndarray:
    """A column as floats; texts by their alphabetical rank; NaN where missing."""
    gone = missing_mask(values)
    try:
        ranks = np.asarray(values, float).copy()
    except (TypeError, ValueError):
        ranks = np.full(len(values), np.nan)
        ranks[~gone] = encode_values(values[~gone].astype(str)).codes
    ranks[gone] = np.nan
    return ranks
