"""Ridge and least-squares classifiers: linear regression on class indicators.

Each class k has a target of +1 on its rows and -1 elsewhere (two classes share one),

    J = sum_i w_i sum_k (y_ik - b_k - B_k^T x_i)^2 + alpha sum_k |B_k|^2          (1)

and a row goes to the class with the largest f_k = b_k + B_k^T x. With an intercept,
the outputs (1 + f_k) / 2, which is what targets of 1 and 0 would give, sum to 1
on every row. They are not probabilities: a row far on the right side of the boundary
costs as much as one on the wrong side, and pulls the boundary towards it.

All of it is ridge regression with several targets, `linear_model.least_squares.ridge`,
and the choice of alpha that of `linear_model.least_squares.ridge_cv`.

Shapes    X (n, d)   y (n,) or (n, k) of 0 and 1   B (k, d), (d,) for two classes
Refs      [Bishop2006] 4.1.3; [Hoerl1970]
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.utils.validation import check_is_fitted

from ...core.arrays import arrays
from ...core.arrays.class_weight import compute_class_weight
from ...core.arrays.labels import class_codes
from ...core.drivers.routing import routing_enabled
from ...core.linalg.least_squares import least_squares
from ...params import Count, Flag, NonNegative, Positive
from ...predictors.abstract_linear import (
    AbstractLinearClassifier,
    is_wide_sparse,
    raw_prediction,
    solve_lsmr,
    store_coefficients,
    warn_rank_deficient,
)
from ...typing import NumberList, Seed, Splits
from ..least_squares.ridge import Ridge, flatten_single_target
from ..least_squares.ridge_cv import (
    HeldOutScorer,
    PredictedScores,
    checked_score_params,
    ridge_cv_router,
    search_alpha,
    store_alpha_search,
)
from ..metadata_routing import route_fit_metadata


def signed_targets(y, X, class_weight, w):
    """Classes, targets of +1 and -1 (n, k) or (n, 1), weights, codes of the rows.

    A y of several columns of 0 and 1 marks several labels per row.
    """
    if y.ndim == 2 and y.shape[1] > 1:
        xp = arrays.namespace(y)
        Y = 2.0 * xp.astype(y, xp.float64) - 1
        if class_weight is not None:
            raise ValueError("class_weight is for one label per row.")
        return xp.arange(Y.shape[1], device=arrays.device(Y)), Y, w, None
    classes, codes = class_codes(y if y.ndim == 1 else y[:, 0], X)
    xp = arrays.namespace(codes)
    k = int(classes.shape[0])
    if k <= 2:  # a single class has targets of -1, and is what is predicted
        Y = 2.0 * xp.astype(codes[:, None], xp.float64) - 1
    else:
        every = xp.arange(k, device=arrays.device(codes))
        Y = 2.0 * xp.astype(codes[:, None] == every[None, :], xp.float64) - 1
    if class_weight is not None:
        names = arrays.to_numpy(classes)
        at = arrays.to_numpy(codes)
        given = None if w is None else arrays.to_numpy(w)
        factors = compute_class_weight(
            class_weight, classes=names, codes=at, sample_weight=given
        )[at]
        w = factors if given is None else given * factors
        w = arrays.asarray(w, X) if arrays.is_foreign(codes) else w
    return classes, Y, w, codes


def store_classes_of_targets(model, X, y, w):
    """`signed_targets` of y, its weights and its codes; sets the classes of a model."""
    model.classes_, Y, w, codes = signed_targets(y, X, model.class_weight, w)
    model._multilabel = codes is None
    return Y, w, codes


def predict_indicators(model, X):
    """1 for every label whose score is above 0, else 0: (n, labels)."""
    F = model.decision_function(X)
    xp = arrays.namespace(F)
    return xp.astype(F > 0, xp.int64)


def multi_label_tags(tags):
    """Tags of classifiers that also take several labels for each row."""
    tags.classifier_tags.multi_label = True
    return tags


@dataclass(eq=False, repr=False)
class RidgeClassifier(AbstractLinearClassifier):
    """Ridge regression on labels of +1 and -1.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty; 0 is the least-squares classifier.
    fit_intercept : bool, default=True
        Whether to fit b, which is not penalised; otherwise it is 0.
    copy_X : bool, default=True
        scikit-learn's permission to overwrite X, of which no use is made.
    max_iter : int or None, default=None
        Most steps of "lsqr" and "sparse_cg"; None for ten times the larger side.
    tol : float, default=1e-4
        Where "lsqr" and "sparse_cg" stop; the direct solvers go to rounding.
    class_weight : dict, "balanced" or None, default=None
        Factors on the weights of the rows of each class.
    solver : {"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"}, \
            default="auto"
        As in `Ridge`.
    positive : bool, default=False
        Whether to hold the coefficients at 0 or above.
    random_state : int, RandomState, Generator or None, default=None
        For scikit-learn's "sag" and "saga"; the solvers here draw nothing.

    Attributes
    ----------
    coef_ : array of shape (n_features,) for two classes, else (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,), or 0.0
    classes_ : array of shape (n_classes,)
    n_iter_ : array of shape (n_targets,), or None
    solver_ : str
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import RidgeClassifier
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0], [5.0], [6.0]])
    >>> model = RidgeClassifier().fit(X, list("aaabbb"))
    >>> model.predict([[2.9], [3.1]])
    array(['a', 'b'], dtype='<U1')
    """

    alpha: NonNegative = 1.0
    _: KW_ONLY
    fit_intercept: Flag = True
    copy_X: Flag = True
    max_iter: Count | None = None
    tol: NonNegative = 1e-4
    class_weight: dict | Literal["balanced"] | None = None
    solver: Literal[
        "auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"
    ] = "auto"
    positive: Flag = False
    random_state: Seed = None

    def fit(self, X, y, sample_weight=None):
        """Minimise eq. (1)."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="labels", accept_sparse="csr"
        )
        Y, w, _ = store_classes_of_targets(self, X, y, w)
        inner = Ridge(
            alpha=self.alpha,
            fit_intercept=self.fit_intercept,
            max_iter=self.max_iter,
            tol=self.tol,
            solver=self.solver,
            positive=self.positive,
        )
        inner.n_features_in_ = self.n_features_in_
        B, b = inner._solve(X, Y, w)
        self.solver_ = inner.solver_
        self.n_iter_ = inner.n_iter_
        store_coefficients(self, X, B, b, y_is_1d=False)
        flatten_single_target(self)
        return self

    def predict(self, X):
        """The class with the best score, or 0 and 1 for every label."""
        check_is_fitted(self)
        return predict_indicators(self, X) if self._multilabel else super().predict(X)

    def __sklearn_tags__(self):
        tags = multi_label_tags(super().__sklearn_tags__())
        tags.input_tags.sparse = self.solver != "svd"
        return tags


@dataclass(eq=False, repr=False)
class RidgeClassifierCV(AbstractLinearClassifier):
    """Ridge classifier with alpha chosen by exact leave-one-out or by splits.

    Parameters
    ----------
    alphas : float or list of float, default=(0.1, 1.0, 10.0)
        Strengths to try, above 0.
    fit_intercept : bool, default=True
        Whether to fit b, which is not penalised; otherwise it is 0.
    scoring : str, callable or None, default=None
        Score of the held-out rows; larger is better. None is the negative mean
        squared error for leave-one-out and the accuracy with `cv`.
    cv : int, splitter, iterable of splits or None, default=None
        None leaves out one row at a time, exactly and without refits.
    class_weight : dict, "balanced" or None, default=None
        Factors on the weights of the rows of each class.
    store_cv_results : bool, default=False
        Whether to keep `cv_results_`; only with cv=None.

    Attributes
    ----------
    coef_ : array of shape (n_features,) for two classes, else (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,), or 0.0
    alpha_ : float
    best_score_ : float
    cv_results_ : array of shape (n, n_targets, n_alphas)
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import RidgeClassifierCV
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0], [5.0], [6.0]])
    >>> RidgeClassifierCV([0.1, 1.0, 100.0]).fit(X, list("aaabbb")).alpha_
    1.0
    """

    alphas: Positive | NumberList = (0.1, 1.0, 10.0)
    _: KW_ONLY
    fit_intercept: Flag = True
    scoring: str | Callable | None = None
    cv: Splits = None
    class_weight: dict | Literal["balanced"] | None = None
    store_cv_results: Flag = False

    def fit(self, X, y, sample_weight=None, **params):
        """Choose alpha and minimise eq. (1).

        Further keywords, groups say, go to splitter and scorer by metadata routing.
        """
        splits, score = route_fit_metadata(self, params, sample_weight, scored=True)
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="labels", accept_sparse="csr"
        )
        Y, w, codes = store_classes_of_targets(self, X, y, w)
        scorer = HeldOutScorer(None, None)
        if not (self.cv is None and self.scoring is None):
            classes = arrays.to_numpy(self.classes_)
            model = PredictedScores(classes, multilabel=codes is None)
            if w is not None and not routing_enabled():
                score = {"sample_weight": w}  # class weights included
            scorer = HeldOutScorer(
                check_scoring(model, self.scoring),
                model,
                arrays.to_numpy(y),
                checked_score_params(score, w),
            )
        result = search_alpha(self, X, Y, w, scorer, y, splits=splits)
        store_alpha_search(self, result, flat=False)
        store_coefficients(self, X, result.B, result.b, y_is_1d=False)
        flatten_single_target(self)
        return self

    def predict(self, X):
        """The class with the best score, or 0 and 1 for every label."""
        check_is_fitted(self)
        return predict_indicators(self, X) if self._multilabel else super().predict(X)

    def __sklearn_tags__(self):
        return multi_label_tags(super().__sklearn_tags__())

    def get_metadata_routing(self):
        """scikit-learn's router: splitter and scorer may ask for metadata of `fit`."""
        return ridge_cv_router(self)


@dataclass(eq=False, repr=False)
class LeastSquaresClassifier(AbstractLinearClassifier):
    """Least squares on labels: `RidgeClassifier` at alpha 0, of the smallest norm.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit b; otherwise it is 0.
    class_weight : dict, "balanced" or None, default=None
        Factors on the weights of the rows of each class.

    Attributes
    ----------
    coef_ : array of shape (n_features,) for two classes, else (n_classes, n_features)
    intercept_ : array of shape (1,) or (n_classes,), or 0.0
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import LeastSquaresClassifier
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0], [5.0], [6.0]])
    >>> model = LeastSquaresClassifier().fit(X, [0, 0, 0, 1, 1, 1])
    >>> round(float(-model.intercept_[0] / model.coef_[0]), 6)
    3.0
    >>> model.outputs([[3.0]]).round(6)
    array([[0.5, 0.5]])
    """

    _: KW_ONLY
    fit_intercept: Flag = True
    class_weight: dict | Literal["balanced"] | None = None

    _any_scale = _any_target = True  # `core.linalg.least_squares` scales the columns

    def fit(self, X, y, sample_weight=None):
        """Minimise eq. (1) at alpha 0."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="labels", accept_sparse="csr"
        )
        Y, w, _ = store_classes_of_targets(self, X, y, w)
        if is_wide_sparse(X):
            B, b, _ = solve_lsmr(
                X,
                Y,
                w,
                alpha=np.zeros(Y.shape[1]),
                intercept=self.fit_intercept,
                tol=1e-10,
                max_iter=None,
                name="LeastSquaresClassifier",
            )
        else:
            result = least_squares(X, Y, w, intercept=self.fit_intercept)
            warn_rank_deficient(self, result, *X.shape)
            B = result.coef
            b = result.intercept
        store_coefficients(self, X, B, b, y_is_1d=False)
        flatten_single_target(self)
        return self

    def predict(self, X):
        """The class with the best score, or 0 and 1 for every label."""
        check_is_fitted(self)
        return predict_indicators(self, X) if self._multilabel else super().predict(X)

    def __sklearn_tags__(self):
        return multi_label_tags(super().__sklearn_tags__())

    def outputs(self, X):
        """The fit to targets of 1 and 0, (n, n_classes); rows sum to 1 with b."""
        X = self._check_new_data(X, accept_sparse="csr")
        F: Any = raw_prediction(self, X)
        if F.ndim == 1:
            F = arrays.namespace(F).stack([-F, F], axis=1)
        return (1 + F) / 2
