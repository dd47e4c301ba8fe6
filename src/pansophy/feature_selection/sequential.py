"""Sequential feature selection: greedy forward, backward or stepwise.

L(S) is the mean score of an estimator with the columns S on held-out folds, the same
folds for all sets.

    forward    S <- S + argmax_j L(S + j), from nothing                          (1)
    backward   S <- S - argmax_j L(S - j), from all columns                      (2)
    stepwise   the better of the two, while L rises by more than tol             (3)

Forward misses columns that help only together, which backward keeps (with tol=0, say:
x0 = t, x1 = t + y for a target y). At most d (d + 1)/2 sets are scored by either.

For least squares scored by R2 or squared error, the cross products of every fold are
computed once, and each score comes from them instead of a fit to the rows. The scores
are the same to rounding.

Shapes    X (n, d)   S a mask over d
Refs      [Guyon2003]
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Literal, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv, cross_val_score
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.arrays.unreadable import array_of_rows, unreadable_error
from ..core.drivers.iterate import iterate
from ..core.drivers.routing import refuse_unrouted, routed_params, routing_enabled
from ..params import Count, Fraction, Jobs, Number
from ..typing import Fittable, Splits
from .selector import AbstractSelector, estimator_or_least_squares

CLOSED_FORM_METRICS = {None: "r2", "r2": "r2", "neg_mean_squared_error": "mse"}


class SelectionState(NamedTuple):
    """The columns after a step."""

    mask: np.ndarray
    score: float  # L(S)
    moved: bool

    @property
    def objective(self):
        return -self.score if np.isfinite(self.score) else 0.0


def _scores_after_toggling(score, mask, columns):
    """L of the sets that differ from S in one of the columns, (len(columns),)."""
    scores_toggled = []
    for j in columns:
        new = mask.copy()
        new[j] = not new[j]
        scores_toggled.append(score(new) if new.any() else -np.inf)
    return np.array(scores_toggled)


class CrossValidatedScore:
    """L(S) for any estimator; each set is scored once."""

    def __init__(self, estimator, X, y, cv, scoring, n_jobs, params=None):
        self.params = params or {}
        self.estimator = estimator
        self.X = X
        self.y = y
        # with routed arguments the splitter may need some: it splits anew each time
        self.folds = cv if self.params else list(cv.split(X, y))
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.known: dict[bytes, float] = {}

    def __call__(self, mask) -> float:
        key = mask.tobytes()
        if key not in self.known:
            X = self.X[:, np.flatnonzero(mask)]
            scores = cross_val_score(
                clone(self.estimator),
                X,
                self.y,
                cv=self.folds,
                scoring=self.scoring,
                n_jobs=self.n_jobs,
                **({"params": self.params} if self.params else {}),
            )
            self.known[key] = float(scores.mean())
        return self.known[key]


class LeastSquaresScore:
    """L(S) for least squares, from the cross products of the folds."""

    def __init__(self, X, y, cv, quantity, intercept):
        self.X = X
        try:
            self.y = np.asarray(y, float)
        except (ValueError, TypeError) as error:
            raise unreadable_error("y", y, error) from None
        refuse_overflowing_squares("LinearRegression", X)
        refuse_overflowing_squares("LinearRegression", self.y, "y")
        self.intercept = intercept
        self.mean_square = quantity == "mse"
        self.folds = [self.cross_products(a, b) for a, b in cv.split(X, y)]
        self.known: dict[bytes, float] = {}

    def cross_products(self, train, test):
        """Centred products of [X, y] in training rows, and of test rows about them."""
        Z = np.column_stack([self.X[train], self.y[train]]).astype(float)
        mean = Z.mean(axis=0) if self.intercept else np.zeros(Z.shape[1])
        Z -= mean
        V = np.column_stack([self.X[test], self.y[test]]).astype(float) - mean
        total = float(np.sum((self.y[test] - self.y[test].mean()) ** 2))
        return Z.T @ Z, V.T @ V, total, len(test)

    def __call__(self, mask) -> float:
        key = mask.tobytes()
        if key not in self.known:
            columns = np.flatnonzero(mask)
            scores = [self.score_fold(fold, columns) for fold in self.folds]
            self.known[key] = float(np.mean(scores))
        return self.known[key]

    def score_fold(self, fold, at):
        """The score of the columns `at` on one fold."""
        G, H, total, n = fold
        B = np.linalg.lstsq(G[np.ix_(at, at)], G[at, -1], rcond=None)[0]
        sse = H[-1, -1] - 2 * B @ H[at, -1] + B @ H[np.ix_(at, at)] @ B
        sse = max(float(sse), 0.0)
        if self.mean_square:
            return -sse / n
        return 1 - sse / total if total > 0 else float(sse == 0)


def _closed_form_metric(estimator, X, scoring) -> str | None:
    """ "r2" or "mse" where `LeastSquaresScore` applies, else None."""
    from sklearn.linear_model import LinearRegression as Theirs

    from ..linear_model import LinearRegression

    plain = type(estimator) in (LinearRegression, Theirs)
    if not plain or not isinstance(X, np.ndarray) or estimator.positive:
        return None
    return (
        CLOSED_FORM_METRICS.get(scoring)
        if scoring is None or isinstance(scoring, str)
        else None
    )


def subset_score(estimator, X, y, cv, *, scoring, n_jobs, params=None):
    """The function mask -> L(S), in closed form where there is one."""
    estimator = estimator_or_least_squares(estimator)
    y = None if y is None else array_of_rows(y, "y")
    if y is not None and y.ndim == 0:
        raise ValueError(f"y must have an entry for each row, got {y.item()!r}.")
    cv = check_cv(cv, y, classifier=is_classifier(estimator))
    if params:
        return CrossValidatedScore(estimator, X, y, cv, scoring, n_jobs, params)
    quantity = _closed_form_metric(estimator, X, scoring)
    if quantity is not None and y is not None and y.ndim == 1:
        return LeastSquaresScore(X, y, cv, quantity, estimator.fit_intercept)
    return CrossValidatedScore(estimator, X, y, cv, scoring, n_jobs)


@dataclass(eq=False, repr=False)
class SequentialFeatureSelector(AbstractSelector):
    """Greedy forward, backward or stepwise selection with any estimator.

    Parameters
    ----------
    estimator : estimator or None
        What is fitted to the columns; it is not changed. None for least squares.
    n_features_to_select : "auto", int or float, default="auto"
        How many to keep, or the share. "auto" is half of them, or with `tol` as many
        as help. "stepwise" stops by itself and takes "auto" alone.
    tol : float or None
        With "auto": least rise of the score that a step is worth. A negative one lets
        backward selection give up some score for fewer columns. With a tol of at most
        0 backward selection may keep all columns: the first one goes only if the score
        without it is at least that of all columns plus tol. Above 0 one column always
        goes, as in scikit-learn.
    direction : {"forward", "backward", "stepwise"}, default="forward"
        Eqs (1) to (3).
    scoring : str, function or None
        The score; None for the estimator's own.
    cv : int, splitter or iterable, default=5
        The folds.
    n_jobs : int or None
        Folds scored at once.

    Attributes
    ----------
    support_ : array of shape (d,)
    n_features_to_select_ : int
        How many were kept.
    scores_ : array
        The score after each step.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.feature_selection import SequentialFeatureSelector
    >>> from pansophy.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(80, 5))
    >>> pick = SequentialFeatureSelector(LinearRegression(), n_features_to_select=2)
    >>> pick.fit(X, X[:, 0] + X[:, 3]).get_support(indices=True)
    array([0, 3])
    """

    estimator: Fittable | None = None
    _: KW_ONLY
    n_features_to_select: Literal["auto"] | Count | Fraction = "auto"
    tol: Number | None = None
    direction: Literal["forward", "backward", "stepwise"] = "forward"
    scoring: str | Callable | None = None
    cv: Splits = 5
    n_jobs: Jobs = None

    def fit(self, X, y=None, **params):
        """Search the columns of X.

        With metadata routing, further arguments go to the estimator, the splitter and
        the scorer that ask for them.
        """
        refuse_unrouted(self, "fit", params)
        if routing_enabled():
            routed_params(self, "fit", params)  # refuses what nobody asks for
        X, _ = self._check_training_data(
            X,
            accept_sparse="csc",
            ensure_min_features=2,
            ensure_all_finite=not self._allows_nan(),
        )
        d = X.shape[1]
        goal = self._target_size(d)
        score = self._scores(X, y, params)
        is_backward = self.direction == "backward"
        mask = np.full(d, is_backward)
        path: list[float] = []
        # backward selection may end with all columns, so these are scored
        auto = self.n_features_to_select == "auto"
        judged = is_backward and auto and self.tol is not None and self.tol <= 0
        first = SelectionState(mask, score(mask) if judged else -np.inf, True)
        if self.direction == "stepwise":
            limit = 4 * d
            tol = 0.0 if self.tol is None else self.tol
        else:
            limit = d - goal if is_backward else goal
            tol = self.tol if self.n_features_to_select == "auto" else None

        def step(s):
            columns = np.arange(d)
            if self.direction != "stepwise":
                columns = np.flatnonzero(s.mask == is_backward)
            result = _scores_after_toggling(score, s.mask, columns)
            best = int(np.argmax(result))
            if tol is not None and not result[best] - s.score >= tol:
                return s._replace(moved=False)
            if self.direction == "stepwise" and result[best] <= s.score:
                return s._replace(moved=False)
            mask = s.mask.copy()
            mask[columns[best]] = not mask[columns[best]]
            path.append(float(result[best]))
            return SelectionState(mask, float(result[best]), True)

        run = iterate(
            step,
            first,
            max_iter=limit,
            tol=0.5,
            change=lambda a, b: float(b.moved),
        )
        self.support_ = run.state.mask
        self.scores_ = np.array(path)
        self.n_features_to_select_ = int(self.support_.sum())
        return self

    def _target_size(self, d):
        """The number of columns at which the search ends."""
        wanted = self.n_features_to_select
        if wanted == "auto":
            if self.tol is not None and self.tol < 0 and self.direction == "forward":
                raise ValueError(
                    "tol must be strictly positive when doing forward selection"
                )
            if self.direction == "backward":
                return d - d // 2 if self.tol is None else 1
            return d // 2 if self.tol is None else d - 1
        if self.direction == "stepwise":
            raise ValueError(
                "direction='stepwise' stops when no step helps: n_features_to_select "
                "of SequentialFeatureSelector must be 'auto' with it."
            )
        if not isinstance(wanted, float):
            if wanted >= d:
                raise ValueError("n_features_to_select must be < n_features.")
            return wanted
        return max(int(d * wanted), 1)

    def _scores(self, X, y, params):
        return subset_score(
            self.estimator,
            X,
            y,
            self.cv,
            scoring=self.scoring,
            n_jobs=self.n_jobs,
            params=params,
        )

    def get_metadata_routing(self):
        """Metadata that the estimator, the splitter and the scorer ask for."""
        inner = estimator_or_least_squares(self.estimator)
        calling_from_fit = lambda callee: MethodMapping().add(
            caller="fit", callee=callee
        )
        router = MetadataRouter(owner=self)
        router.add(estimator=inner, method_mapping=calling_from_fit("fit"))
        folds = check_cv(self.cv, classifier=is_classifier(inner))
        router.add(splitter=folds, method_mapping=calling_from_fit("split"))
        scorer = check_scoring(inner, scoring=self.scoring)
        router.add(scorer=scorer, method_mapping=calling_from_fit("score"))
        return router

    def _allows_nan(self):
        from sklearn.utils import get_tags

        inner = estimator_or_least_squares(self.estimator)
        return hasattr(inner, "fit") and get_tags(inner).input_tags.allow_nan

    def __sklearn_tags__(self):
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        inner = get_tags(estimator_or_least_squares(self.estimator)).input_tags
        tags.input_tags.allow_nan = inner.allow_nan
        tags.input_tags.sparse = inner.sparse
        tags.target_tags.required = False
        return tags
