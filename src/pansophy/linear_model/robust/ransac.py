"""RANSAC: robust regression by fits to random small subsets.

    draw k rows, fit, count the rows with loss <= t, keep the best        (1)

until a model free of outliers has been drawn with probability P: if a share a of all
rows agrees with the best model so far, N draws miss all clean subsets with probability
(1 - a^k)^N, so that

    N = log(1 - P) / log(1 - a^k)                                         (2)

draws are enough. Of equal counts the better score on the agreeing rows wins. At the
end the model is fitted to all rows that agree.

For linear least squares (the default) the subsets are fitted and their residuals on
all rows computed a batch at a time; any other regressor is fitted subset by subset.

Shapes    X (n, d)   y (n,) or (n, t)
Refs      [Fischler1981]
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import has_fit_parameter

from ...base import Regressor
from ...core.random import make_rng
from ...params import Count, Fraction, Infinite, NonNegative, ParameterRule
from ...predictors.abstract_linear import AbstractLinearEstimator
from ...typing import Seed
from ..least_squares.linear_regression import LinearRegression
from .random_subsets import draw_row_subsets, least_squares_batch

FIRST = 4  # subsets in the first batch
LARGEST = 64  # subsets in the largest batch
RESIDUALS = 1 << 22  # numbers in a batch of residuals


def is_regressor_like(value):
    """Whether a value has the methods of a regressor."""
    names = ("fit", "predict", "score", "get_params")
    return all(hasattr(value, name) for name in names) and not isinstance(value, type)


RegressorLike = Annotated[
    Any, ParameterRule("a regressor (fit, predict, score)", is_regressor_like)
]
ExtendedReal = Annotated[
    float, ParameterRule("a real number or an infinity", lambda v: v == v + 0)
]


class RANSACCandidate(NamedTuple):
    """Predictions of the model of one subset, or why it is invalid."""

    predictions: Any
    invalid: str = ""  # "data", "model" or ""


def trials_needed(inliers, n, k, probability):
    """The number of draws, eq. (2)."""
    clean = (inliers / n) ** k
    if probability <= 0 or clean >= 1:
        return 1.0 if clean >= 1 else 0.0
    if clean <= 0 or probability >= 1:
        return math.inf
    return abs(float(math.ceil(math.log(1 - probability) / math.log1p(-clean))))


def loss_per_row(loss, y, f):
    """Loss per row, summed over targets."""
    if callable(loss):
        return loss(y, f)
    r = np.abs(y - f) if loss == "absolute_error" else (y - f) ** 2
    return r if y.ndim == 1 else r.sum(axis=1)


@dataclass(eq=False, repr=False)
class RANSACRegressor(Regressor, AbstractLinearEstimator):
    """A regressor fitted to the rows that agree with each other.

    Parameters
    ----------
    estimator : regressor or None, default=None
        What is fitted; None is `LinearRegression()`.
    min_samples : int, float in (0, 1) or None, default=None
        k, rows of a subset, or its share of all rows; None is one more than columns,
        for linear least squares only.
    residual_threshold : float or None, default=None
        t of eq. (1); None is the median absolute deviation of y.
    is_data_valid : function or None, default=None
        `is_data_valid(X, y)` says whether a subset may be fitted.
    is_model_valid : function or None, default=None
        `is_model_valid(model, X, y)` says whether the fit of a subset may be used.
    max_trials : float, default=100
        Most subsets.
    max_skips : float, default=inf
        Most subsets left out or with fewer agreeing rows than the best.
    stop_n_inliers : float, default=inf
        Stop when this many rows agree.
    stop_score : float, default=inf
        Stop when the score on the agreeing rows reaches this.
    stop_probability : float, default=0.99
        P of eq. (2).
    loss : {"absolute_error", "squared_error"} or function, default="absolute_error"
        What is compared with the threshold; a function of y and predictions gives one
        number per row.
    random_state : int, RandomState, Generator or None, default=None
        Draws the subsets.

    Attributes
    ----------
    estimator_ : regressor
        Fitted to all rows that agree.
    inlier_mask_ : boolean array of shape (n_samples,)
    n_trials_ : int
    n_skips_no_inliers_, n_skips_invalid_data_, n_skips_invalid_model_ : int
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import RANSACRegressor
    >>> X = np.arange(10.0)[:, None]
    >>> y = np.append(2 * X[:8, 0] + 1, [90.0, -70.0])
    >>> model = RANSACRegressor(random_state=0, residual_threshold=0.5).fit(X, y)
    >>> model.estimator_.coef_.round(6), int(model.inlier_mask_.sum())
    (array([2.]), 8)
    """

    estimator: RegressorLike | None = None
    _: KW_ONLY
    min_samples: Count | Fraction | None = None
    residual_threshold: NonNegative | None = None
    is_data_valid: Callable | None = None
    is_model_valid: Callable | None = None
    max_trials: NonNegative = 100
    max_skips: NonNegative | Infinite = math.inf
    stop_n_inliers: NonNegative | Infinite = math.inf
    stop_score: ExtendedReal = math.inf
    stop_probability: Fraction = 0.99
    loss: Literal["absolute_error", "squared_error"] | Callable = "absolute_error"
    random_state: Seed = None

    _tensors = False

    def fit(self, X, y, sample_weight=None, **fit_params):
        """Search for the model that most rows agree with, eq. (1)."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="numbers", accept_sparse="csr"
        )
        y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        if w is not None:
            fit_params = {**fit_params, "sample_weight": w}
        model = self._model(fit_params)
        rng = make_rng(self.random_state)
        k = self._subset_size(model, *X.shape)
        best = self._search(model, X, y, k, rng, fit_params)
        self._report(best)
        model.fit(X[best], y[best], **subset_fit_params(fit_params, best, len(y)))
        self.estimator_ = model
        self.inlier_mask_ = best
        return self

    def _model(self, fit_params):
        model = LinearRegression() if self.estimator is None else clone(self.estimator)
        if "random_state" in model.get_params(deep=False):
            model.set_params(random_state=self.random_state)
        if "sample_weight" in fit_params and not has_fit_parameter(
            model, "sample_weight"
        ):
            raise ValueError(f"{type(model).__name__} does not support sample_weight.")
        return model

    def _subset_size(self, model, n, d):
        k = self.min_samples
        if k is None:
            if not is_least_squares(model):
                raise ValueError(
                    "`min_samples` needs to be explicitly set when estimator is not a "
                    "LinearRegression."
                )
            k = d + 1
        elif 0 < k < 1:
            k = math.ceil(k * n)
        if k > n:
            raise ValueError(
                f"`min_samples` may not be larger than number of samples: n_samples = "
                f"{n}."
            )
        return max(int(k), 1)

    def _search(self, model, X, y, k, rng, fit_params):
        """The rows that agree with the best model, or None."""
        t = self.residual_threshold
        t = float(np.median(np.abs(y - np.median(y)))) if t is None else t
        best = None
        most = 1
        score = -math.inf
        self.n_skips_no_inliers_ = self.n_skips_invalid_data_ = 0
        self.n_skips_invalid_model_ = self.n_trials_ = 0
        limit = self.max_trials
        for candidate in self._candidates(model, X, y, k, rng, fit_params):
            if self.n_trials_ >= limit or self._skips() > self.max_skips:
                break
            self.n_trials_ += 1
            if candidate.invalid:
                name = f"n_skips_invalid_{candidate.invalid}_"
                setattr(self, name, getattr(self, name) + 1)
                continue
            agree = loss_per_row(self.loss, y, candidate.predictions) <= t
            count = int(np.count_nonzero(agree))
            if count < most:
                self.n_skips_no_inliers_ += 1
                continue
            new = mean_r2(y[agree], candidate.predictions[agree])
            if count == most and new < score:
                continue
            best = agree
            most = count
            score = new
            limit = min(limit, trials_needed(most, len(y), k, self.stop_probability))
            if most >= self.stop_n_inliers or score >= self.stop_score:
                break
        return best

    def _skips(self):
        return (
            self.n_skips_no_inliers_
            + self.n_skips_invalid_data_
            + self.n_skips_invalid_model_
        )

    def _candidates(self, model, X, y, k, rng, fit_params):
        """An endless stream of `RANSACCandidate`s of random subsets."""
        n = X.shape[0]
        size = FIRST
        fast = (
            is_least_squares(model)
            and self.is_model_valid is None
            and not fit_params
            and y.ndim == 1
        )
        valid = self.is_data_valid or (lambda X, y: True)
        while True:
            index = draw_row_subsets(rng, n, k, size)
            good = np.array([bool(valid(X[i], y[i])) for i in index])
            F = iter(batch_predictions(model, X, y, index[good]) if fast else ())
            for i, ok in zip(index, good, strict=True):
                if not ok:
                    yield RANSACCandidate(None, "data")
                elif fast:
                    yield RANSACCandidate(next(F))
                else:
                    yield self._fit_subset(model, X, y, i, fit_params)
            size = min(2 * size, LARGEST, max(1, RESIDUALS // n))

    def _fit_subset(self, model, X, y, i, fit_params):
        with warnings.catch_warnings():  # few rows may not determine all columns
            warnings.simplefilter("ignore", np.exceptions.RankWarning)
            model.fit(X[i], y[i], **subset_fit_params(fit_params, i, len(y)))
        valid = self.is_model_valid
        if valid is not None and not valid(model, X[i], y[i]):
            return RANSACCandidate(None, "model")
        return RANSACCandidate(np.asarray(model.predict(X)))

    def _report(self, best):
        """Raise if no model was found, warn if the search ended early."""
        early = self._skips() > self.max_skips
        if best is None:
            why = (
                "skipped more iterations than `max_skips` without finding a valid "
                "consensus set"
                if early
                else f"could not find a valid consensus set in {self.n_trials_} subsets"
            )
            raise ValueError(f"RANSAC {why}. See the attributes n_skips_* for why.")
        if early:
            warnings.warn(
                "RANSAC found a valid consensus set but exited early due to skipping "
                "more iterations than `max_skips`. See estimator attributes for "
                "diagnostics.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def predict(self, X):
        """Predictions of `estimator_`."""
        X = self._check_new_data(X, accept_sparse="csr")
        return self.estimator_.predict(X)

    def score(self, X, y, sample_weight=None):
        """The score of `estimator_`."""
        X = self._check_new_data(X, accept_sparse="csr")
        if sample_weight is None:
            return self.estimator_.score(X, y)
        return self.estimator_.score(X, y, sample_weight=sample_weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags


def is_least_squares(model):
    """Whether model is a plain LinearRegression, ours or scikit-learn's."""
    if type(model).__name__ != "LinearRegression":
        return False
    return not getattr(model, "positive", False)


def batch_predictions(model, X, y, index):
    """Predictions of least squares on every subset, one row for each."""
    if len(index) == 0:
        return []
    intercept = bool(model.fit_intercept)
    C = least_squares_batch(X, y, index, intercept=intercept)
    W, b = (C[:, 1:], C[:, :1]) if intercept else (C, 0.0)
    return (X @ W.T).T + b if sp.issparse(X) else W @ X.T + b


def mean_r2(y, f):
    """R^2, averaged over targets; 1 for an exact fit, 0 for others of a constant y."""
    left = np.atleast_1d(np.sum((y - f) ** 2, axis=0))
    total = np.atleast_1d(np.sum((y - y.mean(axis=0)) ** 2, axis=0))
    share = np.divide(left, total, out=1.0 * (left > 0), where=total > 0)
    return float(np.mean(1 - share))


def subset_fit_params(params, index, n):
    """The parameters of `fit`, those with one entry per row cut to `index`."""
    rows = lambda v: np.ndim(v) > 0 and len(v) == n
    return {name: v[index] if rows(v) else v for name, v in params.items()}
