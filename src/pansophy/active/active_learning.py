"""Active learning: fit to few labels, query the most useful row, and repeat.

    repeat  model = fit(labelled rows)
            i = best of the others by a strategy (`query_strategies.py`)          (1)
            y_i = oracle(i)

A row is queried once. The first labels cannot be chosen by a classifier, as there is
none yet: rows are taken by farthest-first traversal (each the farthest from those
taken, from the row nearest to the mean), which covers every region early, until two
classes have been seen and there are as many labels as `start` says. A class that is not
among the first labels can stay unseen for long where the classifier is certain of its
rows: start with more labels where there may be many classes. Every round records the
score of the model, so that the curve of score against labels shows whether more labels
would help and, compared with random labels, whether choosing them did.

Shapes    X (n, d) the pool   y (n,) labels as far as known
Refs      [Settles2009]; [Gonzalez1985] farthest first
"""

import numbers
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics.pairwise import euclidean_distances

from ..core.drivers.iterate import iterate
from ..core.drivers.progress import SILENT, FitTask
from ..core.random import make_rng
from ..distances import squared_euclidean
from .query_strategies import QueryStrategy, UncertaintySampler


class ActiveLearningReport(NamedTuple):
    """The result of active learning: the model, the queries and the learning curve."""

    model: Any  # fitted to all queried labels
    queried: np.ndarray  # row numbers in the order of the queries
    labels: np.ndarray  # the answers, in that order
    n_labels: np.ndarray  # labels at each fit
    scores: np.ndarray  # score of each fit on the test rows, NaN without any
    reason: str  # why it ended: "budget", "pool", "callback", "interrupted"

    def __str__(self):
        scored = len(self.scores) and np.isfinite(self.scores[-1])
        last = f", score {self.scores[-1]:.4g}" if scored else ""
        return f"{len(self.queried)} labels queried{last} (ended by {self.reason})"


class ActiveLearningState(NamedTuple):
    """State carried from one round to the next."""

    objective: float  # minus the score; without test rows the labels left to query
    queried: tuple
    labels: tuple
    model: Any
    sizes: tuple
    scores: tuple


def _squared_distances_to_rows(X, rows):
    """Squared distances (n, m) of all rows of X (dense or sparse) to some of them."""
    if sp.issparse(X):
        return euclidean_distances(X, X[rows], squared=True)
    return squared_euclidean(X, X[rows])


def _most_central_row(X):
    """The row nearest to the mean."""
    m = np.asarray(X.mean(axis=0)).reshape(1, -1)
    near = euclidean_distances if sp.issparse(X) else squared_euclidean
    return int(np.argmin(near(X, m)[:, 0]))


def farthest_first(X, selected, k):
    """k more rows, each the farthest from those taken; the first nearest the mean."""
    X = X if sp.issparse(X) else np.asarray(X, float)
    selected = list(selected)
    if not np.isfinite(X.data if sp.issparse(X) else X).all():
        raise ValueError(
            "X holds NaN or infinity, so that no row is the farthest: give row numbers "
            "of two classes as start."
        )
    new = []
    if not selected:
        selected.append(_most_central_row(X))
        new = [selected[0]]
        k -= 1
    D = _squared_distances_to_rows(X, selected).min(axis=1)
    D[selected] = -1.0
    for _ in range(min(k, X.shape[0] - len(selected))):
        i = int(np.argmax(D))
        new.append(i)
        D = np.minimum(D, _squared_distances_to_rows(X, [i])[:, 0])
        D[i] = -1.0
    return np.asarray(new, int)


def _oracle_function(oracle, X) -> Callable:
    """The oracle as a function of row numbers, one label for each."""
    if not callable(oracle):
        y = np.asarray(oracle)
        if len(y) != X.shape[0]:
            raise ValueError(f"oracle holds {len(y)} labels for {X.shape[0]} rows.")
        return lambda rows: y[rows]

    def ask(rows):
        labels = np.asarray(oracle(rows))
        if labels.shape != (len(rows),):
            raise ValueError(
                f"oracle must give one label for each of the {len(rows)} rows queried, "
                f"got shape {labels.shape}."
            )
        return labels

    return ask


def run_active_learning(
    estimator,
    X,
    oracle,
    *,
    budget: int = 20,
    sampler: QueryStrategy | None = None,
    batch: int = 1,
    start=None,
    test: tuple | None = None,
    scoring: Callable | None = None,
    random_state=None,
    task: FitTask = SILENT,
) -> ActiveLearningReport:
    """Query labels of rows of X until `budget` are known.

    Parameters
    ----------
    estimator : classifier with `predict_proba`
        Cloned and fitted in each round.
    X : array or sparse matrix of shape (n, d)
        The pool.
    oracle : function or array
        Called with an array of row numbers, gives their labels; or all labels, for
        trying out.
    budget : int, default=20
        Labels in all, those of the start included.
    sampler : Sampler or None
        What to query; None is `UncertaintySampler()`.
    batch : int, default=1
        Labels queried in a round.
    start : array of row numbers, int or None
        Rows to query first, or how many rows far apart; more follow until two
        classes are seen. None is 1.
    test : (X, y) or None
        Rows to score the model on after each round.
    scoring : function of model, X and y, or None
        None is `model.score`.
    random_state : int, Generator or None
        For strategies that draw.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.active import run_active_learning
    >>> from pansophy.linear_model import LogisticRegression
    >>> X = np.linspace(0, 10, 50)[:, None]
    >>> y = (X[:, 0] > 6.3).astype(int)
    >>> model = LogisticRegression(C=100)
    >>> report = run_active_learning(model, X, y, budget=10, test=(X, y))
    >>> print(report)
    10 labels queried, score 1 (ended by budget)
    """
    X = X.tocsr() if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.shape[0] == 0:
        raise ValueError(f"X must be a table with rows, got shape {X.shape}.")
    if budget < 2 or batch < 1:
        raise ValueError("budget must be at least 2 and batch at least 1.")
    if test is not None and not sp.issparse(test[0]):
        test = np.asarray(test[0]), test[1]
    ask = _oracle_function(oracle, X)
    rng = make_rng(random_state)
    sampler = sampler or UncertaintySampler()
    n = X.shape[0]
    max_labels = min(budget, n)
    queried, labels = initial_labels(X, ask, max_labels, start)

    def fit_model(queried, labels):
        rows = np.asarray(queried, int)
        return clone(estimator).fit(X[rows], np.asarray(labels))

    def score_model(model):
        if test is None:
            return np.nan
        measure = scoring or (lambda m, A, b: m.score(A, b))
        return float(measure(model, *test))

    def next_state(queried, labels, sizes, scores):
        model = fit_model(queried, labels)
        score = score_model(model)
        left = float(max_labels - len(queried))
        J = left if np.isnan(score) else -score
        sizes = (*sizes, len(queried))
        scores = (*scores, score)
        return ActiveLearningState(
            J, tuple(queried), tuple(labels), model, sizes, scores
        )

    def step(state):
        known = np.zeros(n, bool)
        known[list(state.queried)] = True
        y = np.empty(n, np.asarray(state.labels).dtype)
        y[list(state.queried)] = state.labels
        k = min(batch, max_labels - len(state.queried))
        rows = sampler.query(state.model, X, known, y, rng, k)
        new = ask(rows)
        queried = (*state.queried, *rows.tolist())
        return next_state(
            queried, (*state.labels, *new.tolist()), state.sizes, state.scores
        )

    first = next_state(queried, labels, (), ())
    rounds = -(-(max_labels - len(queried)) // batch)
    run = iterate(step, first, max_iter=rounds, tol=None, task=task)
    return _make_report(run, budget)


def initial_labels(X, ask, max_labels, start):
    """The first labels: those of `start`, then rows far apart until two classes."""
    queried: list = []
    if isinstance(start, numbers.Integral):
        if not 1 <= int(start) <= max_labels:
            raise ValueError(
                f"start must be from 1 to {max_labels} labels, got {start}."
            )
        queried = farthest_first(X, [], int(start)).tolist()
    elif start is not None:
        queried = [int(i) for i in np.asarray(start).ravel()]
        inside = all(0 <= i < X.shape[0] for i in queried)
        if not queried or not inside or len(set(queried)) < len(queried):
            raise ValueError("start must hold different row numbers of X.")
    labels = ask(np.asarray(queried)).tolist() if queried else []
    while len(set(labels)) < 2:
        if len(queried) >= max_labels:
            raise ValueError(
                f"the first {len(queried)} labels are all {labels[0]!r}: give a larger "
                "budget, or a start with rows of two classes."
            )
        rows = farthest_first(X, queried, 1)
        queried += rows.tolist()
        labels += ask(rows).tolist()
    return queried, labels


def _make_report(run, budget) -> ActiveLearningReport:
    """The report of the last state."""
    s = run.state
    reason = run.reason
    if reason == "max_iter":
        reason = "budget" if len(s.queried) >= budget else "pool"
    return ActiveLearningReport(
        s.model,
        np.asarray(s.queried, int),
        np.asarray(s.labels),
        np.asarray(s.sizes, int),
        np.asarray(s.scores, float),
        reason,
    )
