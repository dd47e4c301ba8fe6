"""Logistic regression with its penalty chosen by cross-validation.

For every fold, ratio rho and C from strong to weak, the model of `logistic.py` is
fitted to the other folds, started at the last C's coefficients, and scored on the fold.
The pair (C, rho) with the best mean score is fitted to all rows, started at the mean of
the folds' coefficients (`refit`); otherwise each fold's best coefficients are averaged.

What a fold needs is prepared once (`logistic.LogisticProblem`: blocks, CSC columns),
and a path goes from one optimum to a near one, so a grid costs a few fits. Accuracy,
the default score, is computed from the raw predictions directly.

Shapes    scores (folds, ratios, Cs)   paths (folds, ratios, Cs, k, d or d + 1)
Refs      [Friedman2010] paths
"""

import copy
import inspect
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import UNUSED, process_routing

from ...core.arrays.class_weight import compute_class_weight
from ...core.drivers.progress import SILENT
from ...core.drivers.routing import refuse_unrouted, routing_enabled
from ...core.loops import threads
from ...params import (
    Count,
    Flag,
    Jobs,
    NonNegative,
    ParameterError,
    Positive,
    Verbosity,
)
from ...predictors.abstract_linear import encode_two_or_more_classes, row_major_if_small
from ...typing import NumberList, Seed, Splits
from ..metadata_routing import cross_validation_router, route_fit_metadata
from .logistic import (
    LIBLINEAR_TOL,
    AbstractLogistic,
    LogisticProblem,
    LogisticRegression,
    LogisticSolver,
    append_constant_column,
    centre_over_classes,
    check_liblinear_options,
    choose_logistic_solver,
    coefficients_of_state,
    liblinear_solver,
    normalized_row_weights,
    penalty_strengths,
)


def c_grid(Cs):
    """The values of C to try: those given, or that many from 1e-4 to 1e4."""
    if np.ndim(Cs) == 0:
        return np.logspace(-4, 4, int(Cs))
    Cs = np.asarray(Cs, dtype=float)
    if Cs.ndim != 1 or len(Cs) == 0 or not np.all(Cs > 0):
        raise ParameterError(
            "Cs of LogisticRegressionCV must be a whole number of at least 1 or a list "
            "of numbers above 0."
        )
    return Cs


def scorer_of_all_classes(scorer, classes, y):
    """The scorer told the classes, where rows y of a fold do not have all of them."""
    function = getattr(scorer, "_score_func", None)
    if function is None or len(np.unique(y)) == len(classes):
        return scorer
    takes = inspect.signature(function).parameters
    given = dict(scorer._kwargs)
    if "labels" in takes:
        given.setdefault("labels", classes)
    if "pos_label" in takes and len(classes) == 2:
        given.setdefault("pos_label", classes[1])
    scorer = copy.copy(scorer)
    scorer._kwargs = given
    return scorer


def rows_of_metadata(value, index, n):
    """The entries of some rows, where metadata have one for each of n rows."""
    if value is None or np.ndim(value) == 0 or len(value) != n:
        return value
    return np.asarray(value)[index]


def default_fold_count(codes):
    """5, or as many as the largest class has rows where that is fewer."""
    return max(2, min(5, int(np.bincount(codes).max())))


def logistic_path(problem, Cs, ratio, V, *, solver, start, max_iter, tol, seed):
    """W, b, iterations and stopping reason for each C, from strong to weak penalty."""
    out: list = [None] * len(Cs)
    for i in np.argsort(Cs, kind="stable"):
        a, b2 = penalty_strengths(Cs[i], ratio, V)
        result = problem.minimise(
            solver,
            a,
            b2,
            start=start,
            max_iter=max_iter,
            tol=tol,
            seed=seed,
            task=SILENT,
        )
        W, b = centre_over_classes(
            *coefficients_of_state(result.state, problem.k), problem.k, a + b2 > 0
        )
        start = np.asarray(W, dtype=float), np.asarray(b, dtype=float)
        out[i] = (*start, result.n_iter, result.reason)
    return out


@dataclass(eq=False, repr=False)
class LogisticRegressionCV(AbstractLogistic):
    """Logistic regression with C and l1_ratio chosen by cross-validation.

    Parameters
    ----------
    Cs : int or list of floats, default=10
        Values of C, or how many between 1e-4 and 1e4.
    l1_ratios : list of floats, None or "warn"
        Values of l1_ratio; None and "warn" are what `penalty` says, else [0.0].
    fit_intercept : bool, default=True
        Whether to fit b.
    cv : int, splitter, iterable or None
        Folds; None is 5, in which classes keep their shares.
    dual : bool, default=False
        Only for solver="liblinear" with L2; the optimum is that of the primal.
    penalty : "l1", "l2", "elasticnet" or "deprecated"
        scikit-learn's older parameter for l1_ratios=[1], [0], or the given ones.
    scoring : str, callable, None or "warn"
        The score of a fold; None and "warn" are accuracy.
    solver : as in `LogisticRegression`
    tol : float, default=1e-4
        Stop when no entry of the gradient exceeds this.
    max_iter : int, default=100
        Most iterations of a fit.
    class_weight : dict, "balanced" or None
        Factors on the weights of the classes; "balanced" looks at all rows.
    n_jobs : int or None
        Most threads to use.
    verbose : int, default=0
        Above 0 shows a progress bar of the last fit.
    refit : bool, default=True
        Whether to fit all rows with the best pair, or average the folds' best.
    intercept_scaling : float, default=1
        For solver="liblinear", as in `LogisticRegression`.
    random_state : int, RandomState, Generator or None
        The order of rows in "saga" and "sag".
    use_legacy_attributes : bool or "warn"
        Whether C_, l1_ratio_, scores_, coefs_paths_ and n_iter_ have the forms that
        scikit-learn had up to version 1.9 (a value per class, dictionaries by class)
        or those since. "warn" is True, without a warning.

    Attributes
    ----------
    classes_, coef_, intercept_ : as in `LogisticRegression`
    Cs_ : array of shape (n_cs,)
    l1_ratios_ : array of shape (n_ratios,)
    C_, l1_ratio_ : float, or array with one entry per class
        The best pair.
    scores_ : array of shape (n_folds, n_ratios, n_cs), or dict by class
    coefs_paths_ : array of shape (n_folds, n_ratios, n_cs, k, n_dof), or dict by class
    n_iter_ : array of shape (n_folds, n_ratios, n_cs), or (1, n_folds, n_cs)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import LogisticRegressionCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    >>> model = LogisticRegressionCV(Cs=[0.01, 1.0], use_legacy_attributes=False)
    >>> model.fit(X, y).C_
    1.0
    >>> model.scores_.shape
    (5, 1, 2)
    """

    _: KW_ONLY
    Cs: Count | NumberList = 10
    l1_ratios: NumberList | Literal["warn"] | None = "warn"
    fit_intercept: Flag = True
    cv: Splits = None
    dual: Flag = False
    penalty: Literal["deprecated", "l1", "l2", "elasticnet"] = "deprecated"
    scoring: str | Callable | None = "warn"
    solver: LogisticSolver = "auto"
    tol: NonNegative = 1e-4
    max_iter: Count = 100
    class_weight: dict | Literal["balanced"] | None = None
    n_jobs: Jobs = None
    verbose: Verbosity = 0
    refit: Flag = True
    intercept_scaling: Positive = 1.0
    random_state: Seed = None
    use_legacy_attributes: Flag | Literal["warn"] = "warn"

    # weights of `score` are the scorer's business, not the model's
    __metadata_request__score = {"sample_weight": UNUSED}

    _tensors = False

    def fit(self, X, y, sample_weight=None, **params):
        """Fit to rows X and labels y.

        Further keywords, groups say, go to splitter and scorer by metadata routing.
        """
        splits, score = route_fit_metadata(self, params, sample_weight, scored=True)
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="class", accept_sparse="csr"
        )
        X = row_major_if_small(X)
        if "sample_weight" in score:
            score["sample_weight"] = w
        self.Cs_ = c_grid(self.Cs)
        ratios = self._ratios()
        for ratio in ratios:
            check_liblinear_options(self, ratio)
        self.classes_, codes = encode_two_or_more_classes(y, X)
        cv = default_fold_count(codes) if self.cv is None else self.cv
        folds = list(check_cv(cv, y, classifier=True).split(X, y, **splits))
        factors = compute_class_weight(
            self.class_weight, classes=self.classes_, codes=codes, sample_weight=w
        )
        balance = dict(zip(self.classes_.tolist(), factors, strict=True))
        with threads.limit_threads(self.n_jobs), threads.single_blas():
            parts = [
                self._fold(X, y, codes, w, balance, ratios, score, *fold)
                for fold in folds
            ]
        paths, scores, counts = (np.array(part) for part in zip(*parts, strict=True))
        self._warn_unconverged_path()
        self._choose(X, y, sample_weight, balance, ratios, paths, scores)
        self._record(ratios, paths, scores, counts)
        return self

    def _ratios(self):
        """Values of rho to try."""
        given = self.l1_ratios
        if self.penalty in ("l1", "l2"):
            return np.array([float(self.penalty == "l1")])
        if given is None or (isinstance(given, str) and given == "warn"):
            if self.penalty == "elasticnet":
                raise ValueError("l1_ratios must be given with penalty='elasticnet'.")
            return np.array([0.0])
        ratios = np.atleast_1d(np.asarray(given, dtype=float))
        if len(ratios) == 0 or not np.all((ratios >= 0) & (ratios <= 1)):
            raise ParameterError(
                "l1_ratios of LogisticRegressionCV must be numbers from 0 to 1."
            )
        return ratios

    def _fold(self, X, y, codes, w, balance, ratios, params, train, test):
        """Coefficients, scores and iterations of every pair on one fold."""
        k = len(self.classes_)
        k = 1 if k == 2 else k
        part = None if w is None else w[train]
        rows = X[train]
        v, V = normalized_row_weights(rows, part, self.classes_, codes[train], balance)
        scaled = self.solver == "liblinear" and self.fit_intercept
        s = self.intercept_scaling
        rows = append_constant_column(rows, s) if scaled else rows
        problem = LogisticProblem(
            rows, codes[train], v, k, intercept=self.fit_intercept and not scaled
        )
        held = {name: rows_of_metadata(v, test, len(y)) for name, v in params.items()}
        score = self._scorer(X[test], y[test], codes[test], held)
        paths = []
        scores = []
        counts = []
        for ratio in ratios:
            solver = choose_logistic_solver(self.solver, ratio, rows, k, reused=True)
            tol = self.tol
            if solver == "liblinear":
                solver = liblinear_solver(ratio, rows, k)
                tol *= LIBLINEAR_TOL
            start = np.zeros((k, rows.shape[1])), np.zeros(k)
            result = logistic_path(
                problem,
                self.Cs_,
                ratio,
                V,
                solver=solver,
                start=start,
                max_iter=self.max_iter,
                tol=tol,
                seed=self.random_state,
            )
            if scaled:
                result = [(W[:, :-1], s * W[:, -1], *rest) for W, _, *rest in result]
            with_intercept = self.fit_intercept
            paths.append(
                [
                    np.column_stack([W, b]) if with_intercept else W
                    for W, b, *_ in result
                ]
            )
            scores.append([score(W, b) for W, b, *_ in result])
            counts.append([n for *_, n, _ in result])
            self._unconverged = getattr(self, "_unconverged", 0) + sum(
                reason == "max_iter" for *_, reason in result
            )
        return paths, scores, counts

    def _scorer(self, X, y, codes, params):
        """(W, b) -> the score on the fold, with the keywords of the scorer."""
        weights = params.get("sample_weight")
        if self._default_scoring() == "accuracy":

            def accuracy(W, b):
                F = X @ W.T + b
                best = F[:, 0] > 0 if F.shape[1] == 1 else np.argmax(F, axis=1)
                return float(np.average(best == codes, weights=weights))

            return accuracy
        scorer = scorer_of_all_classes(get_scorer(self.scoring), self.classes_, y)

        def score(W, b):
            model = LogisticRegression()
            model.classes_ = self.classes_
            model.n_features_in_ = X.shape[1]
            model.coef_ = W
            model.intercept_ = b
            return float(scorer(model, X, y, **params))

        return score

    def _default_scoring(self):
        """The given scoring; None and "warn" are accuracy."""
        default = self.scoring is None or self.scoring == "warn"
        return "accuracy" if default else self.scoring

    def score(self, X, y, sample_weight=None, **params):
        """The score of `scoring` on rows X and labels y."""
        refuse_unrouted(self, "score", params)
        if sample_weight is not None:
            params["sample_weight"] = sample_weight
        if routing_enabled():
            params = dict(process_routing(self, "score", **params).scorer.score)
        return get_scorer(self._default_scoring())(self, X, y, **params)

    def get_metadata_routing(self):
        """scikit-learn's router: splitter and scorer may ask for metadata."""
        scorer = get_scorer(self._default_scoring())
        return cross_validation_router(self, self.cv, scorer, scores=True)

    def _warn_unconverged_path(self):
        if self.__dict__.pop("_unconverged", 0):
            warnings.warn(
                "LogisticRegressionCV did not converge in some folds within "
                f"{self.max_iter} iterations. Raise max_iter or tol, or scale the "
                "data.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _choose(self, X, y, w, balance, ratios, paths, scores):
        """Set C_, l1_ratio_, coef_ and intercept_ from the scores."""
        d = X.shape[1]
        if self.refit:
            mean = scores.sum(axis=0)
            # among ties the first C, and of its ratios the first, as in scikit-learn
            c, r = np.unravel_index(np.argmax(mean.T), mean.T.shape)
            self.C_ = float(self.Cs_[c])
            self.l1_ratio_ = float(ratios[r])
            start = paths[:, r, c].mean(axis=0)
            self._refit(X, y, w, balance, start, d)
            return
        flat = [np.argmax(s.T) for s in scores]
        c, r = np.unravel_index(flat, scores[0].T.shape)
        best = np.mean([paths[i, r[i], c[i]] for i in range(len(paths))], axis=0)
        self.C_ = float(self.Cs_[c].mean())
        self.l1_ratio_ = float(ratios[r].mean())
        self.coef_ = best[:, :d]
        self.intercept_ = np.zeros(len(best))
        if self.fit_intercept:
            self.intercept_ = best[:, d]

    def _refit(self, X, y, w, balance, start, d):
        model = LogisticRegression(
            C=self.C_,
            l1_ratio=self.l1_ratio_,
            warm_start=True,
            class_weight=None if self.class_weight is None else balance,
            dual=self.dual,
            tol=self.tol,
            fit_intercept=self.fit_intercept,
            intercept_scaling=self.intercept_scaling,
            solver=self.solver,
            random_state=self.random_state,
            max_iter=self.max_iter,
            verbose=self.verbose,
            n_jobs=self.n_jobs,
        )
        model.coef_ = start[:, :d]
        model.intercept_ = np.zeros(len(start))
        if self.fit_intercept:
            model.intercept_ = start[:, d]
        model.fit(X, y, sample_weight=w)
        self.coef_ = model.coef_
        self.intercept_ = model.intercept_
        self.solver_ = model.solver_

    def _record(self, ratios, paths, scores, counts):
        """Set l1_ratios_, scores_, coefs_paths_ and n_iter_, legacy form or not."""
        self.l1_ratios_ = ratios
        self.scores_ = scores
        self.coefs_paths_ = paths
        self.n_iter_ = counts
        if self.use_legacy_attributes is False:
            return
        k = paths.shape[3]
        names = self.classes_[1:] if k == 1 else self.classes_
        self.C_ = np.full(k, self.C_)
        self.l1_ratio_ = np.full(k, self.l1_ratio_)
        scores = np.swapaxes(scores, 1, 2)
        counts = np.swapaxes(counts, 1, 2)[None]
        paths = np.moveaxis(paths, (3, 0, 2, 1, 4), (0, 1, 2, 3, 4))
        if isinstance(self.l1_ratios, str) or self.l1_ratios is None:
            scores = scores[..., 0]
            counts = counts[..., 0]
            paths = paths[:, :, :, 0]
        names = names.tolist()
        self.scores_ = {name: scores.copy() for name in names}
        self.coefs_paths_ = dict(zip(names, paths, strict=True))
        self.n_iter_ = counts
