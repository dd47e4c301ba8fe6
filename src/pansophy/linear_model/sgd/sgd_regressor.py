"""Linear regression by stochastic gradient descent, including least mean squares.

The method is that of `sgd.py`, with one problem. With loss "squared_error" and no
penalty, eq. (2) there is the LMS or delta rule, w <- w + eta (y - w . x) x, which
approaches least squares: with a batch of all rows for eta below 2 over the largest
eigenvalue of mean_i x_i x_i^T, by single rows with a falling eta.

"poisson" and "gamma" are likelihoods with log link: their prediction is exp(f).

Refs      [WidrowHoff1960]; [Bottou2012]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal, get_args

import numpy as np

from ... import losses
from ...base import Regressor
from ...core.random import make_rng
from ...params import (
    Count,
    Flag,
    Fraction,
    NonNegative,
    OpenFraction,
    Positive,
    Verbosity,
)
from ...typing import Seed
from . import sgd
from .sgd import AbstractSGD, arrays_in_memory, check_stream_chunk
from .sgd_classifier import (
    EPSILON,
    OwnLoss,
    loss_table,
    loss_without_loop,
    sgd_loss,
    sgd_rule_of,
)

RegressionLoss = Literal[
    "squared_error",
    "absolute_error",
    "huber",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
    "quantile",
    "poisson",
    "gamma",
]


def weighted_r2(y, f, w):
    """Weighted R2: the share of the variance of y that f explains."""
    left = np.average((y - f) ** 2, weights=w)
    spread = np.average((y - np.average(y, weights=w)) ** 2, weights=w)
    return float(1 - left / spread) if spread > 0 else float(left == 0)


@dataclass(eq=False, repr=False)
class SGDRegressor(Regressor, AbstractSGD):
    """Linear regression by stochastic gradient descent: any loss, penalty and step.

    The module text of `sgd.py` gives the method.

    Parameters
    ----------
    loss : str or Loss, default="squared_error"
        "squared_error" (half the square), "absolute_error", "huber",
        "epsilon_insensitive", "squared_epsilon_insensitive", "quantile", "poisson" or
        "gamma". Or a `losses.Loss`: one of your own is called once a batch, so that a
        larger `batch_size` makes it quicker.
    penalty : "l2", "l1", "elasticnet" or None, default="l2"
    alpha : float, default=1e-4
        Strength of the penalty; "optimal" steps by it too.
    l1_ratio : float or None, default=0.15
        Share rho of L1 in "elasticnet".
    fit_intercept : bool, default=True
    max_iter : int, default=1000
        Most passes over the rows.
    tol : float or None, default=1e-3
        Stop when eq. (1), or the score on rows held out, has gained less than this in
        n_iter_no_change passes in a row. None for all of max_iter.
    shuffle : bool, default=True
        Whether to visit the rows in a new random order at each pass.
    verbose : int, default=0
        Above 0 shows a progress bar.
    epsilon : float, default=0.1
        Parameter of "huber" and of the two epsilon-insensitive losses.
    random_state : int, RandomState, Generator or None
    learning_rate : str, default="invscaling"
        "constant", "optimal", "invscaling", "adaptive", "pa1" or "pa2" (these two with
        "epsilon_insensitive"), "momentum", "nesterov", "adagrad", "rmsprop" or "adam".
    eta0 : float, default=0.01
        First step, or the aggressiveness of "pa1" and "pa2"; "optimal" needs none.
    power_t : float, default=0.25
        Exponent of "invscaling".
    early_stopping : bool, default=False
        Whether to hold out rows and stop by R2 on them.
    validation_fraction : float, default=0.1
        Share of rows to hold out.
    n_iter_no_change : int, default=5
    warm_start : bool, default=False
        Start at the coefficients of the last fit.
    average : bool or int, default=False
        Keep the mean of the coefficients over updates, from that update on.
    batch_size : int, default=1
        Rows of an update, which takes their mean gradient; n for gradient descent.
    momentum : float, default=0.9
        Of "momentum" and "nesterov".
    quantile : float, default=0.5
        Level of loss "quantile".

    Attributes
    ----------
    coef_ : array of shape (d,)
    intercept_ : array of shape (1,)
    n_iter_ : int
        Passes.
    t_ : float
        Updates plus 1.
    history_ : dict of arrays
        "objective", eq. (1) met during each pass.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import SGDRegressor
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> options = dict(penalty=None, learning_rate="constant", eta0=0.4, tol=None)
    >>> model = SGDRegressor(batch_size=3, max_iter=500, **options).fit(X, [1, 3, 5])
    >>> model.coef_.round(6), model.intercept_.round(6)
    (array([2.]), array([1.]))
    """

    loss: RegressionLoss | OwnLoss = "squared_error"
    _: KW_ONLY
    penalty: Literal["l2", "l1", "elasticnet"] | None = "l2"
    alpha: NonNegative = 0.0001
    l1_ratio: Fraction | None = 0.15
    fit_intercept: Flag = True
    max_iter: Count = 1000
    tol: NonNegative | None = 1e-3
    shuffle: Flag = True
    verbose: Verbosity = 0
    epsilon: NonNegative = EPSILON
    random_state: Seed = None
    learning_rate: sgd.LearningRate = "invscaling"
    eta0: Positive = 0.01
    power_t: NonNegative = 0.25
    early_stopping: Flag = False
    validation_fraction: OpenFraction = 0.1
    n_iter_no_change: Count = 5
    warm_start: Flag = False
    average: Flag | Count = False
    batch_size: Count = 1
    momentum: Fraction = 0.9
    quantile: OpenFraction = 0.5

    loss_functions = loss_table(get_args(RegressionLoss))

    _on_devices = False

    def fit(self, X, y, coef_init=None, intercept_init=None, sample_weight=None):
        """Fit to rows X and numbers y, from 0 or from the coefficients given."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="number", accept_sparse="csr"
        )
        X, y, w = self._prepared(X, y, w)
        rule = self._rule()
        W, b = self._start(X, 1, coef_init, intercept_init)
        memory = sgd.initial_memory(1, X.shape[1], W.dtype, rule, b)
        problem = self._problem(X, y, w, rule)
        self._run_sgd(problem, W, memory, max_iter=self.max_iter, X=X, y=y)
        return self

    def partial_fit(self, X, y, sample_weight=None):
        """One pass over rows X, from where the last call stopped."""
        first = not hasattr(self, "coef_")
        X, y, w = check_stream_chunk(self, X, y, sample_weight, "number", first)
        X, y, w = self._prepared(X, y, w)
        if self.early_stopping:
            raise ValueError("early_stopping should be False with partial_fit")
        rule = self._rule()
        W, memory = self._resume(X, 1, rule)
        problem = self._problem(X, y, w, rule)._replace(tol=None)
        self._run_sgd(problem, W, memory, max_iter=1, X=X, y=y)
        return self

    def _prepared(self, X, y, w):
        X, y, w = arrays_in_memory(self, X, y, w)
        y = np.ascontiguousarray(y, dtype=X.dtype)
        domain = self._loss().domain
        low = {"nonnegative": 0.0, "positive": np.nextafter(0, 1)}.get(domain, -np.inf)
        if y.min() < low:
            kind = "above 0" if domain == "positive" else "of at least 0"
            raise ValueError(f"loss={self.loss!r} needs y {kind}, got {y.min():g}.")
        return X, y, w

    def _loss(self):
        if self.loss == "quantile":
            return losses.quantile(self.quantile)
        return sgd_loss(self, ("real", "nonnegative", "positive"))

    def _rule(self):
        return sgd_rule_of(self, self._loss(), "epsilon_insensitive")

    def _problem(self, X, y, w, rule) -> sgd.SGDProblem:
        rng = make_rng(self.random_state)
        order, held = self._hold_out(rng, y, w, stratify=False)
        score = None
        if held is not None:
            Xh = X[held]
            yh = y[held]
            wh = None if w is None else w[held]
            mean = self._loss().link.inverse
            score = lambda c, u, b: weighted_r2(yh, mean(Xh @ u + b), wh)
        return sgd.SGDProblem(
            rows=sgd.rows_for_loops(X),
            order=order,
            target=lambda c: y,
            v=np.empty(0, X.dtype) if w is None else w,
            factors=np.ones((1, 2)),
            rule=rule,
            y_is_sign=False,
            rng=rng if self.shuffle else None,
            tol=self.tol,
            patience=self.n_iter_no_change,
            score=score,
            own_loss=loss_without_loop(self._loss()),
        )

    def _fitted_attributes(self, state, rule):
        attributes = super()._fitted_attributes(state, rule)
        return {**attributes, "coef_": attributes["coef_"][0]}

    def predict(self, X):
        """w . x + b for every row, or its exponential with a log link."""
        F = self._raw_prediction(X)
        return self._loss().link.inverse(F[:, 0] if F.ndim == 2 else F)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
