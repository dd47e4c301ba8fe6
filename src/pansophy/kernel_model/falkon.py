"""Falkon: kernel models of many rows, by Nystroem features and conjugate gradients.

m rows of the n are drawn as centres z_j, and

    min  sum_i w_i l(y_i, f(x_i) + b) + alpha / 2 |f|^2,
         f(x) = sum_j c_j k(x, z_j)                                                (1)

is solved over such f only. For the squared loss (l half the squared error) it is
kernel ridge regression as m reaches n; about sqrt(n) centres already give its rate of
learning. Other smooth losses take Newton steps, each a weighted problem of the same
kind (`feature_newton.py` has the systems and the preconditioner).

Memory is O(n + m^2), or O(n m) while that is below 512 MB; products with the kernel go
by tiles.

Cost      n m a step of conjugate gradients, and m^3
Shapes    X (n, d)   c (m,) or (m, t)
Refs      [Rudi2017]; [MarteauFerey2019]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal

import numpy as np

from ..base import Classifier, Regressor
from ..core.numerics import sigmoid
from ..core.numerics import softmax as probabilities
from ..core.random import make_rng
from ..losses import Loss, get_loss, half_squared, softmax
from ..params import (
    Count,
    Flag,
    NonNegative,
    ParameterError,
    ParameterRule,
    Positive,
    Verbosity,
)
from ..persist.saved_state import NumberArray, saved_state
from ..predictors.abstract_kernel_model import AbstractKernelModel
from ..typing import Seed
from .feature_newton import (
    SmoothProblem,
    fit_smooth_loss,
    fit_squared_loss,
    nystroem_features,
)
from .kernel_classes import encode_classes, labels_from_scores, signs_against_rest

KINKED = {
    "absolute",
    "quantile",
    "epsilon_insensitive",
    "hinge",
    "perceptron",
    "zero_one",
    "multiclass_hinge",
    "softmax",
}
LossParameter = Annotated[
    str | Loss,
    ParameterRule("the name of a loss or a Loss", lambda v: isinstance(v, (str, Loss))),
]


def _smooth_loss(loss) -> Loss:
    """A loss by name or itself; one without curvature is refused."""
    if isinstance(loss, str):
        loss = half_squared if loss == "squared_error" else get_loss(loss)
    if loss.name in KINKED or not loss.convex:
        raise ParameterError(
            f"loss must be smooth and convex for Newton steps, {loss.name!r} is not."
        )
    return loss


def _check_targets(loss, y):
    """Refuse targets outside the domain of a loss."""
    low = {"nonnegative": 0.0, "positive": np.nextafter(0, 1), "fraction": 0.0}
    bad = loss.domain in low and y.min() < low[loss.domain]
    bad |= loss.domain == "fraction" and y.max() > 1
    bad |= loss.domain == "sign" and not np.isin(y, (-1, 1)).all()
    if bad:
        raise ValueError(
            f"the loss {loss.name!r} needs targets of the kind {loss.domain!r}, y "
            f"ranges from {y.min():.3g} to {y.max():.3g}."
        )


@dataclass(eq=False, repr=False)
class AbstractFalkon(AbstractKernelModel):
    """Centres, features and the expansion: what both models share."""

    alpha: Positive = 1.0
    _: KW_ONLY
    n_components: Count = 1000
    fit_intercept: Flag = True
    max_iter: Count = 200
    tol: NonNegative = 1e-8
    random_state: Seed = None
    verbose: Verbosity = 0

    def _check_rows(self, X, y, sample_weight, y_kind):
        if self._precomputed:
            raise ParameterError(
                f"{type(self).__name__} computes the kernel by tiles: a precomputed "
                "one is for KernelRidge and KernelLogisticRegression."
            )
        return self._check_kernel_data(X, y, sample_weight, y_kind)

    def _features(self, X, w):
        live = np.arange(X.shape[0]) if w is None else np.flatnonzero(w > 0)
        rng = make_rng(self.random_state)
        m = min(self.n_components, len(live))
        centers = live if m == len(live) else np.sort(rng.choice(live, m, False))
        return nystroem_features(self.kernel_, X, centers)

    def _store(self, X, features, V, b):
        rows, _ = self.kernel_.as_rows(X)
        self.X_fit_ = rows[features.rows]
        self.dual_coef_ = features.coefficients(V)
        self.intercept_ = b

    def _scores(self, X):
        return self._expansion(self._check_new_rows(X), self.dual_coef_)

    def _newton(self, X, y, problem):
        return self._run_driver(
            lambda task: fit_smooth_loss(
                problem, max_iter=self.max_iter, tol=self.tol, task=task
            ),
            total=self.max_iter,
            X=X,
            y=y,
        )


@saved_state(dual_coef_=NumberArray("rows", ...))
@dataclass(eq=False, repr=False)
class FalkonRegressor(Regressor, AbstractFalkon):
    """Regression with a kernel for many rows; the module text gives the method.

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty, above 0; that of `KernelRidge` for the squared error.
    n_components : int, default=1000
        m, the centres drawn.
    kernel, gamma, degree, coef0
        As for `KernelRidge`, without "precomputed"; the defaults are "rbf", None, 3
        and 0.
    loss : str or Loss, default="squared_error"
        A smooth loss of `pansophy.losses`: "huber", "poisson", "gamma", ...
    fit_intercept : bool, default=True
    max_iter : int, default=200
        Most steps: of conjugate gradients for the squared error, else of Newton.
    tol : float, default=1e-8
        Relative residual at which to stop; for other losses slope over the weights.
    random_state : int, RandomState, Generator or None
        For the draw of the centres.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    dual_coef_ : array of shape (m,) or (m, t)
        c.
    intercept_ : float or array of shape (t,)
        b.
    X_fit_ : array of shape (m, d)
        The centres; fewer than asked for if some depend on others.
    kernel_ : kernel
    n_iter_ : int
    history_ : dict
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.kernel_model import FalkonRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = FalkonRegressor(1e-3, n_components=30, random_state=0)
    >>> bool(abs(model.fit(X, np.sin(X[:, 0])).predict([[1.0]]) - np.sin(1.0)) < 0.01)
    True
    """

    _: KW_ONLY
    loss: LossParameter = "squared_error"

    def fit(self, X, y, sample_weight=None):
        """Minimise eq. (1) over sums of kernels at the centres."""
        X, y, w = self._check_rows(X, y, sample_weight, "numbers")
        loss = _smooth_loss(self.loss)
        Y = np.asarray(y, np.float64)
        Y2 = Y if Y.ndim == 2 else Y[:, None]
        features = self._features(X, w)
        weights = np.ones(len(Y2)) if w is None else np.asarray(w, np.float64)
        if loss is half_squared:
            V, b = self._squared(X, features, Y2, weights)
        else:
            if Y2.shape[1] > 1:
                raise ParameterError(
                    f"loss={loss.name!r} of FalkonRegressor takes one output; several "
                    "need 'squared_error'."
                )
            _check_targets(loss, Y2[:, 0])
            problem = SmoothProblem(
                features, loss, Y2[:, 0], weights, self.alpha, 1, self.fit_intercept
            )
            result = self._newton(X, Y, problem)
            V, b = problem.unpack(result.state.position)
        flat = Y.ndim == 1
        b = float(b[0]) if flat else b.copy()
        self._store(X, features, V[:, 0] if flat else V, b)
        return self

    def _squared(self, X, features, Y, w):
        result = self._run_driver(
            lambda task: fit_squared_loss(
                features,
                Y,
                w,
                self.alpha,
                intercept=self.fit_intercept,
                max_iter=self.max_iter,
                tol=self.tol,
                task=task,
            ),
            total=self.max_iter,
            X=X,
            y=Y,
        )
        S = result.state.X
        return S[:-1], S[-1]

    def predict(self, X):
        """The mean of the targets: the inverse link of f + b."""
        f = self._scores(X) + self.intercept_
        return _smooth_loss(self.loss).link.inverse(f)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


@saved_state(dual_coef_=NumberArray("rows", ...))
@dataclass(eq=False, repr=False)
class FalkonClassifier(Classifier, AbstractFalkon):
    """Classification with a kernel for many rows; the module text gives the method.

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty, above 0; 1 / C of `KernelLogisticRegression`.
    n_components, kernel, gamma, degree, coef0, fit_intercept, random_state, verbose
        As for `FalkonRegressor`.
    loss : "logistic", "squared_hinge", "modified_huber" or "squared_error"
        "logistic" has probabilities, of the softmax for more than two classes; the
        others tell one class from the rest.
    class_weight : dict, "balanced" or None
        Factors on the weights of the classes.
    max_iter : int, default=200
        Most Newton steps.
    tol : float, default=1e-10
        Largest slope over the sum of the weights at which to stop.

    Attributes
    ----------
    classes_ : array of shape (k,)
    dual_coef_ : array of shape (m,), or (m, k) for more than two classes
        c.
    intercept_ : array of shape (1,) or (k,)
        b.
    X_fit_, kernel_, n_iter_, history_, n_features_in_
        As for `FalkonRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.kernel_model import FalkonClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = (X[:, 0] * X[:, 1] > 0).astype(int)
    >>> model = FalkonClassifier(0.01, n_components=50, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _: KW_ONLY
    loss: Literal["logistic", "squared_hinge", "modified_huber", "squared_error"] = (
        "logistic"
    )
    class_weight: dict | Literal["balanced"] | None = None
    tol: NonNegative = 1e-10

    def fit(self, X, y, sample_weight=None):
        """Minimise eq. (1) over sums of kernels at the centres."""
        X, y, w = self._check_rows(X, y, sample_weight, "class")
        codes, w = encode_classes(self, y, w)
        features = self._features(X, w)
        weights = np.ones(len(codes)) if w is None else np.asarray(w, np.float64)
        solutions = [
            self._solution(X, y, features, loss, targets, weights, outputs)
            for loss, targets, outputs in self._problems(codes)
        ]
        V = np.column_stack([s.V for s in solutions])
        b = np.concatenate([s.b for s in solutions]).copy()
        self._store(X, features, V[:, 0] if V.shape[1] == 1 else V, b)
        return self

    def _problems(self, codes):
        """(loss, targets, columns of scores) of each problem to solve."""
        k = len(self.classes_)
        if self.loss == "logistic":
            loss = get_loss("logistic")
            return [(loss, (codes == 1) * 1.0, 1) if k == 2 else (softmax, codes, k)]
        loss = _smooth_loss(self.loss)
        return [(loss, y, 1) for y in signs_against_rest(codes, k).T]

    def _solution(self, X, y, features, loss, targets, w, outputs):
        problem = SmoothProblem(
            features, loss, targets, w, self.alpha, outputs, self.fit_intercept
        )
        result = self._newton(X, y, problem)
        return problem.centred(result.state.position)

    def decision_function(self, X):
        """f + b: (m,) for two classes, else (m, k)."""
        f = self._scores(X)
        return f + (self.intercept_[0] if f.ndim == 1 else self.intercept_)

    def predict_proba(self, X):
        """Probabilities of the classes, for loss="logistic"."""
        if self.loss != "logistic":
            raise AttributeError(
                f"predict_proba needs loss='logistic', not {self.loss!r}."
            )
        f = self.decision_function(X)
        if f.ndim == 2:
            return probabilities(f)
        p = sigmoid(f)
        return np.column_stack([1 - p, p])

    def predict(self, X):
        """The class of the sign, or of the largest score."""
        return labels_from_scores(self, self.decision_function(X))
