"""Ridge regression with alpha chosen by leave-one-out or cross-validation.

For each alpha of a list, the error of every row is predicted from the others; the
alpha with the smallest mean squared error (or the best score) is kept and refitted,

    alpha* = argmin_alpha sum_i w_i e_i(alpha)^2                                 (1)
    e_i(alpha) = r_i(alpha) / (1 - h_i(alpha))          leave one out, exactly   (2)

(2) needs no refit (`core.linalg.ridge_spectrum`), and all alphas share one
decomposition. Leaving out a row leaves out all of its weight. With `cv` the rows are
split instead, and each training part is decomposed once for all alphas.

Cost      n d min(n, d) + n min(n, d) per alpha; with cv = k, k times the first
Shapes    X (n, d)   y (n,) or (n, t)   alphas (a,)   e (n, t, a)
Refs      [GolubHeathWahba1979]; [Allen1974]
"""

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv

from ...base import Classifier, Estimator, Regressor
from ...core.arrays import arrays
from ...core.arrays.rows import DatasetRows
from ...core.drivers.routing import routing_enabled
from ...core.linalg.ridge_spectrum import (
    leave_one_out_errors,
    ridge_coefficients,
    ridge_spectrum,
)
from ...params import Flag, Positive
from ...predictors.abstract_linear import (
    AbstractLinearRegressor,
    classes_from_scores,
    store_coefficients,
    target_columns,
)
from ...typing import NumberList, Splits
from ..metadata_routing import cross_validation_router, route_fit_metadata
from .ridge import checked_alphas, flatten_single_target

DECOMPOSITIONS = {None: "auto", "auto": "auto", "svd": "svd", "eigen": "auto"}


def decomposition_of(gcv_mode, X):
    """The decomposition that `gcv_mode` asks for; a sparse X takes no "svd"."""
    if gcv_mode == "svd" and sp.issparse(X):
        warnings.warn(
            "The 'svd' mode is not supported for sparse X: gcv_mode is 'eigen', which "
            "gives the same. It will be an error, as in scikit-learn 1.11.",
            FutureWarning,
            stacklevel=3,
        )
        gcv_mode = "eigen"
    return DECOMPOSITIONS[gcv_mode]


class PredictedValues(Regressor, Estimator):
    """An estimator whose X is its predictions already, for scikit-learn's scorers."""

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        return X


class PredictedScores(Classifier, Estimator):
    """A classifier whose X is its scores already: one column for two classes, or k.

    If `multilabel`, every column is a label of its own, 1 where its score is above 0.
    """

    def __init__(self, classes=None, multilabel=False):
        self.classes_ = classes
        self.multilabel = multilabel

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        if self.multilabel:
            return (X > 0).astype(int)
        return classes_from_scores(self.classes_, self.decision_function(X))

    def decision_function(self, X):
        return X[:, 0] if X.ndim == 2 and X.shape[1] == 1 else X


class HeldOutScorer(NamedTuple):
    """Scorer of predictions of held-out rows; larger is better."""

    scorer: Any  # of scikit-learn; None for minus the squared error
    model: Any  # a `PredictedValues` or `PredictedScores`
    labels: Any = None  # what predictions are compared with instead of Y
    params: Any = None  # further keywords of the scorer, weights say

    def score(self, P, y):
        """One number for predictions P (m, t)."""
        if self.labels is None and P.shape[1] == 1:
            P = P[:, 0]
            y = y[:, 0]
        return self.scorer(self.model, P, y, **(self.params or {}))

    def on_rows(self, index, n):
        """The scorer of some of the n rows."""
        labels = None if self.labels is None else self.labels[index]
        params = self.params or {}
        rows = lambda v: np.ndim(v) > 0 and len(v) == n
        cut = lambda v: np.asarray(arrays.to_numpy(v))[index] if rows(v) else v
        return self._replace(
            labels=labels, params={name: cut(v) for name, v in params.items()}
        )


class AlphaSearch(NamedTuple):
    """The result of a search over alphas."""

    alpha: np.ndarray  # (t,)
    best: np.ndarray  # score, (1,) or (t,)
    B: np.ndarray
    b: np.ndarray
    results: np.ndarray | None = None  # (n, t, a)


def search_by_leave_one_out(
    X, Y, w, alphas, scorer, *, intercept, way, per_target, keep_results
):
    """The alpha of eq. (1), with eq. (2) for every alpha from one decomposition."""
    S = ridge_spectrum(
        X, Y, w, min_alpha=float(alphas.min()), intercept=intercept, solver=way
    )
    n = int(X.shape[0])
    t = int(Y.shape[1])
    results = None
    if scorer.scorer is None and not keep_results:
        scores = -leave_one_out_errors(S, alphas, total=True) / n
    elif scorer.scorer is None:
        results = leave_one_out_errors(S, alphas) ** 2
        scores = -np.mean(results, axis=0)
    else:
        y = arrays.to_numpy(Y)
        w = None if w is None else arrays.to_numpy(w)
        results = y[:, :, None] - unweighted_errors(leave_one_out_errors(S, alphas), w)
        scores = scores_by_alpha(scorer, results, y, per_target)
    if not per_target:
        scores = np.mean(scores, axis=0, keepdims=True)
    at = np.broadcast_to(np.argmax(scores, axis=1), (t,))
    used, inverse = np.unique(at, return_inverse=True)
    B, b = ridge_coefficients(S, alphas[used])
    B = B[:, np.arange(t), inverse]
    b = b[np.arange(t), inverse]
    return AlphaSearch(alphas[at], np.max(scores, axis=1), B, b, results)


def unweighted_errors(E, w):
    """Leave-one-out errors without the root of the weights; 0 for rows of weight 0."""
    if w is None:
        return E
    root = np.sqrt(w)[:, None, None]
    return np.divide(E, root, out=np.zeros_like(E), where=root > 0)


def scores_by_alpha(scorer, P, y, per_target):
    """Scores (1, a), or (t, a) per target, of predictions P (n, t, a)."""
    if per_target:
        parts = [
            scores_by_alpha(scorer, P[:, j : j + 1], y[:, j : j + 1], False)
            for j in range(P.shape[1])
        ]
        return np.concatenate(parts)
    y = y if scorer.labels is None else scorer.labels
    return np.array([[scorer.score(P[:, :, k], y) for k in range(P.shape[2])]])


def search_by_cross_validation(X, Y, w, alphas, scorer, splits, *, intercept):
    """The alpha with the best mean score on the held-out parts of `splits`."""
    least = float(alphas.min())
    scores = []
    for train, test in splits:
        part = None if w is None else w[train]
        S = ridge_spectrum(
            X[train], Y[train], part, min_alpha=least, intercept=intercept
        )
        B, b = ridge_coefficients(S, alphas)
        P = np.stack([X[test] @ B[:, :, k] + b[:, k] for k in range(len(alphas))], 2)
        fold_scorer = scorer.on_rows(test, len(Y))
        scores.append(scores_by_alpha(fold_scorer, P, Y[test], False)[0])
    mean = np.mean(scores, axis=0)
    k = int(np.argmax(mean))
    S = ridge_spectrum(X, Y, w, min_alpha=float(alphas[k]), intercept=intercept)
    B, b = ridge_coefficients(S, alphas[k : k + 1])
    return AlphaSearch(
        np.full(Y.shape[1], alphas[k]), mean[k : k + 1], B[..., 0], b[:, 0]
    )


def search_alpha(
    model, X, Y, w, scorer, y, *, splits=None, way="auto", per_target=False
) -> AlphaSearch:
    """Choose alpha as `model` (a RidgeCV or RidgeClassifierCV) says.

    `splits` holds keywords for the splitter.
    """
    name = type(model).__name__
    alphas = checked_alphas(
        model.alphas, strictly_positive=model.cv is None, name=f"alphas of {name}"
    )
    if model.cv is None:
        return search_by_leave_one_out(
            X,
            Y,
            w,
            alphas,
            scorer,
            intercept=model.fit_intercept,
            way=way,
            per_target=per_target,
            keep_results=model.store_cv_results,
        )
    for option, is_set in (
        ("store_cv_results", model.store_cv_results),
        ("alpha_per_target", per_target),
    ):
        if is_set:
            raise ValueError(f"cv!=None and {option}=True are incompatible")
    if isinstance(X, DatasetRows) or arrays.is_foreign(X):
        raise ValueError(
            f"cv of {name} needs a NumPy array or a SciPy matrix; leave cv=None for "
            "leave-one-out."
        )
    cv = check_cv(model.cv, y, classifier=scorer.labels is not None)
    folds = cv.split(X, y, **(splits or {}))
    return search_by_cross_validation(
        X, Y, w, alphas, scorer, folds, intercept=model.fit_intercept
    )


def checked_score_params(params, w):
    """Keywords of the scorer, with the weights as they were checked."""
    return {**params, "sample_weight": w} if "sample_weight" in params else params


def ridge_cv_router(model):
    """The router of a RidgeCV or RidgeClassifierCV."""
    default = "accuracy" if is_classifier(model) else "neg_mean_squared_error"
    scorer = check_scoring(model, model.scoring or default)
    if routing_enabled() and model.scoring is None:
        scorer.set_score_request(sample_weight=True)
    return cross_validation_router(model, model.cv, scorer)


def store_alpha_search(model, selection, flat, *, per_target=False):
    """Set alpha_, best_score_ and cv_results_."""
    separate = per_target and not flat
    model.alpha_ = selection.alpha if separate else float(selection.alpha[0])
    model.best_score_ = selection.best if separate else float(selection.best[0])
    if model.store_cv_results:
        model.cv_results_ = selection.results[:, 0] if flat else selection.results


@dataclass(eq=False, repr=False)
class RidgeCV(AbstractLinearRegressor):
    """Ridge regression with alpha chosen by exact leave-one-out or by splits.

    Parameters
    ----------
    alphas : float or list of float, default=(0.1, 1.0, 10.0)
        Strengths to try, above 0.
    fit_intercept : bool, default=True
        Whether to fit b, which is not penalised; otherwise it is 0.
    scoring : str, callable or None, default=None
        Score of the predictions of held-out rows; larger is better. None is the
        negative mean squared error for leave-one-out and R2 with `cv`.
    cv : int, splitter, iterable of splits or None, default=None
        None leaves out one row at a time, exactly and without refits. Held-out rows
        count by their weights.
    gcv_mode : {None, "auto", "svd", "eigen"}, default=None
        "svd" decomposes the triangle of X; the others take the smaller of its two
        Gram matrices where that keeps the digits. All give the same. A sparse X has
        no use for "svd", which warns and is "eigen" then, as in scikit-learn.
    store_cv_results : bool, default=False
        Whether to keep `cv_results_`; only with cv=None.
    alpha_per_target : bool, default=False
        Whether to choose alpha for each target; only with cv=None.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or array of shape (n_targets,)
    alpha_ : float or array of shape (n_targets,)
    best_score_ : float or array of shape (n_targets,)
    cv_results_ : array of shape (n, n_alphas) or (n, n_targets, n_alphas)
        Squared errors of the rows left out, times their weights; with `scoring` the
        predictions.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import RidgeCV
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = RidgeCV([0.01, 0.1, 1.0, 10.0]).fit(X, [1, 2, 2, 4])
    >>> model.alpha_, round(model.best_score_, 6)
    (0.01, -0.743419)
    """

    alphas: Positive | NumberList = (0.1, 1.0, 10.0)
    _: KW_ONLY
    fit_intercept: Flag = True
    scoring: str | Callable | None = None
    cv: Splits = None
    gcv_mode: Literal["auto", "svd", "eigen"] | None = None
    store_cv_results: Flag = False
    alpha_per_target: Flag = False

    def fit(self, X, y, sample_weight=None, **params):
        """Choose alpha by eq. (1) and fit with it.

        Further keywords, groups say, go to splitter and scorer by metadata routing.
        """
        splits, score = route_fit_metadata(self, params, sample_weight, scored=True)
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="numbers", accept_sparse="csr"
        )
        Y, flat = target_columns(y, X)
        model = PredictedValues()
        default = None if self.cv is None and self.scoring is None else True
        scorer = default and check_scoring(model, self.scoring)
        result = search_alpha(
            self,
            X,
            Y,
            w,
            HeldOutScorer(scorer, model, params=checked_score_params(score, w)),
            y,
            splits=splits,
            way=decomposition_of(self.gcv_mode, X),
            per_target=self.alpha_per_target,
        )
        store_alpha_search(self, result, flat, per_target=self.alpha_per_target)
        store_coefficients(self, X, result.B, result.b, flat)
        flatten_single_target(self)
        return self

    def get_metadata_routing(self):
        """scikit-learn's router: splitter and scorer may ask for metadata of `fit`."""
        return ridge_cv_router(self)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
