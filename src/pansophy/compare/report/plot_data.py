"""The data behind the figures of a comparison: always rows held out of the fit.

Probabilities and numbers are those of the first cross-validation. Importances and
partial dependence use the model of the first fold on the rows it had not seen. The
number of rows is limited by the measured prediction times, and results are cached with
the comparison.
"""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from ...core.random import make_rng
from ...diagnose.data.column_access import with_permuted_column
from ...diagnose.model.dependence import Dependence, response_along_column
from ...diagnose.model.learning_curve import learning_curve as curve_of
from ...diagnose.model.subgroups import subgroups
from ..execution.background_call import BackgroundCall, call_in_background
from ..methods.pipelines import fit_pipeline, raw_predictions

ROWS, SHUFFLES, SECONDS = 2000, 5, 15.0  # limits on asking models again
GRID, SHOWN = 20, 4  # values of a partial dependence; outputs drawn


class PredictionAdapter(BaseEstimator):
    """A model whose `predict` gives what is scored: numbers or probabilities."""

    def __init__(self, model, task):
        self.model = model
        self.task = task

    def predict(self, frame):
        p = raw_predictions(self.model, frame, self.task)
        return p[:, 1:] if self.task == "classification" and p.shape[1] == 2 else p


class SamplesLearner(BaseEstimator):
    """A pipeline that is fitted to `Data`: weights, groups and times reach it."""

    def __init__(self, model):
        self.model = model

    def __sklearn_tags__(self):
        return get_tags(self.model)

    def fit(self, data, y):
        parts = data.weight, data.group, data.time
        self.model_ = fit_pipeline(clone(self.model), data.frame, y, *parts)
        return self


class ColumnImportance(NamedTuple):
    """Loss of score when one column is shuffled, over shuffles of the held-out rows."""

    column: str
    mean: float
    spread: float


def cached_view(c, key, make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # counted during the comparison already
        if key not in c._views:
            c._views[key] = make()
        elif isinstance(c._views[key], BackgroundCall):
            c._views[key] = c._views.pop(key).result()
    return c._views[key]


def _first_repeat_folds(c) -> list:
    """[(train, test)] of the first cross-validation."""
    return c.split.folds[: c.split.per_repeat]


def _first_fold_model(c, method=None):
    """(model, test rows) of the first fold."""
    return c.trial(method or c.winner).model, _first_repeat_folds(c)[0][1]


def _unfitted_pipeline(c, method):
    """An unfitted pipeline of a method."""
    from ..execution.fit_fold import fit_context
    from ..methods.pipelines import make_pipeline

    return make_pipeline(
        method, c.schema, fit_context(c.schema, c.split.folds, c.limits)
    )


def columns_in_frame_order(c) -> list:
    """Used columns in the order of the frame: texts last."""
    used = c.schema.used
    return [k for k in used if k.role != "text"] + [k for k in used if k.role == "text"]


def _affordable_rows(c, method, n_queries) -> int:
    """Rows that may be asked about `n_queries` times over."""
    micros = max(c.row(method or c.winner).predict_micros, 0.1)
    return int(np.clip(SECONDS * 1e6 / (micros * max(n_queries, 1)), 50, ROWS))


def permutation_importances(c, method=None) -> list[ColumnImportance]:
    """Columns by how much worse held-out rows get when they are shuffled."""
    return cached_view(
        c, ("importance", method), lambda: _compute_importances(c, method)
    )


def _compute_importances(c, method):
    model, test = _first_fold_model(c, method)
    rng = make_rng(c.settings["seed"])
    names = [k.name for k in columns_in_frame_order(c)]
    times = SHUFFLES if len(names) <= 40 else 2
    n_affordable = _affordable_rows(c, method, len(names) * times)
    if len(test) > n_affordable:
        test = np.sort(rng.choice(test, n_affordable, replace=False))
    data = c.data.rows(test)
    metric = c.metrics[0]
    task = c.schema.task
    sign = 1 if metric.greater else -1
    w = data.weight
    score = lambda frame: (
        sign * metric.score(data.y, raw_predictions(model, frame, task), w)
    )
    base = score(data.frame)
    results = []
    for j, name in enumerate(names):
        orders = [rng.permutation(len(test)) for _ in range(times)]
        drops = [
            base - score(with_permuted_column(data.frame, j, order)) for order in orders
        ]
        spread = float(np.std(drops))
        results.append(ColumnImportance(name, float(np.mean(drops)), spread))
    return sorted(results, key=lambda f: -f.mean)


def partial_dependence_data(c, column=None, method=None) -> Dependence:
    """Mean predictions as one column takes each of its values."""
    if column is None:
        texts = {k.name for k in c.schema.used if k.role == "text"}
        able = [
            i.column
            for i in permutation_importances(c, method)
            if i.column not in texts
        ]
        if not able:
            raise ValueError("There is no column whose values can be set.")
        column = able[0]
    key = ("dependence", method, column)
    return cached_view(c, key, lambda: _compute_partial_dependence(c, column, method))


def _compute_partial_dependence(c, name, method):
    columns = [k for k in columns_in_frame_order(c) if k.role != "text"]
    places = {k.name: j for j, k in enumerate(columns)}
    if name not in places:
        raise ValueError(f"{name!r} is no column of values; try {', '.join(places)}.")
    column = columns[places[name]]
    model, test = _first_fold_model(c, method)
    rng = make_rng(c.settings["seed"])
    sampled = np.sort(
        rng.permutation(len(test))[: _affordable_rows(c, method, GRID) // 4]
    )
    names = [k.name for k in columns]
    frame = c.data.frame[test]
    adapter = PredictionAdapter(model, c.schema.task)
    d = response_along_column(adapter, frame, places[name], names, sampled, GRID)
    if c.data.weight is not None:
        w = c.data.weight[test][sampled]
        d = d._replace(mean=np.average(d.rows, axis=0, weights=w))
    if column.levels:
        d = d._replace(values=_level_names(np.array(d.values), column.levels).tolist())
    return _with_output_names(c, d)


def _with_output_names(c, d) -> Dependence:
    """Outputs by name: the second of two classes, the first few of many."""
    s = c.schema
    names = {"classification": s.classes, "multilabel": s.labels}.get(s.task)
    names = [s.target] if names is None else [str(k) for k in names]
    names = names[-d.mean.shape[1] :]
    shown = slice(0, SHOWN)
    return d._replace(
        mean=d.mean[:, shown], rows=d.rows[:, :, shown], outputs=names[shown]
    )


def learning_curve_data(c, method=None):
    """A `diagnose.LearningCurve` on the folds of the comparison."""
    return cached_view(
        c,
        ("learning", method),
        lambda: _compute_learning_curve(*_learning_curve_task(c, method)),
    )


def begin_learning_curve(c) -> None:
    """Compute the learning curve in another process while figures are drawn."""
    task = _learning_curve_task(c, None)
    c._views["learning", None] = call_in_background(_compute_learning_curve, *task)


def _learning_curve_task(c, method) -> tuple:
    """Arguments of `_compute_learning_curve`."""
    trial = c.trial(method or c.winner)
    learner = SamplesLearner(_unfitted_pipeline(c, trial.method))
    folds = _first_repeat_folds(c)
    return learner, c.data, folds, c.metrics[0], c.schema.task, c.settings["seed"]


def _compute_learning_curve(learner, data, folds, metric, task, seed):
    sign = 1 if metric.greater else -1
    score = lambda learner, data, y: (
        sign
        * metric.score(
            y, raw_predictions(learner.model_, data.frame, task), data.weight
        )
    )
    return curve_of(
        learner,
        data,
        data.y,
        cv=folds,
        scoring=score,
        perfect=1.0 if metric.greater else 0.0,
        random_state=seed,
    )


def learning_curve_seconds(c, method=None) -> float:
    """Expected seconds of a learning curve, from the time of a fit."""
    return 2.0 * c.settings["folds"] * c.row(method or c.winner).fit_seconds


def weak_slices(c, method=None, limit=5) -> list:
    """Parts of the table on which the losses of held-out rows are larger.

    Of classes: larger than the probabilities given lead one to expect, since rows near
    one half lose more by any right model.
    """
    return cached_view(c, ("slices", method), lambda: find_weak_slices(c, method))[
        :limit
    ]


def find_weak_slices(c, method):
    trial = c.trial(method or c.winner)
    if trial.losses is None:
        return []
    losses = trial.losses
    if c.schema.task == "classification":
        losses = unexpected_losses(c, trial)
        if losses is None:
            return []
    seen = np.flatnonzero(np.isfinite(losses))
    if len(seen) > 20_000:
        seen = make_rng(c.settings["seed"]).choice(seen, 20_000, replace=False)
    columns = [k for k in columns_in_frame_order(c) if k.role != "text"]
    X = np.empty((len(seen), len(columns)), dtype=object)
    for j, k in enumerate(columns):
        x = c.data.frame.values[seen, j]
        X[:, j] = x if not k.levels else _level_names(x, k.levels)
    w = None if c.data.weight is None else c.data.weight[seen]
    names = [k.name for k in columns]
    return subgroups(X, losses[seen], names=names, weights=w)


def unexpected_losses(c, trial):
    """Losses (n,) of held-out rows, less what their own probabilities expect.

    That is sum_k p_k loss(k, p), e.g. the entropy of p for the log loss; NaN where a
    row was not tested, None where the predictions were not kept.
    """
    if trial.predictions is None:
        return None
    loss = c.metrics[0].row_losses
    p = np.asarray(trial.predictions, float)
    tested = np.flatnonzero(np.isfinite(p).all(1) & (p.sum(1) > 0))
    q = p[tested]
    result = np.full(len(p), np.nan)
    expected = sum(q[:, k] * loss(np.full(len(q), k), q) for k in range(q.shape[1]))
    result[tested] = loss(c.data.y[tested], q) - expected
    return result


def _level_names(x, levels):
    known = np.array([*map(str, levels), "other", None], dtype=object)
    code = np.where(np.isfinite(x), x, len(levels) + 1).astype(int)
    code[(code < 0) | (code > len(levels) + 1)] = len(levels)
    return known[code]
