"""Mixture of experts: a gate says, row by row, how far to trust each model.

    p(y | x) = sum_k g_k(x) p_k(y | x),    g(x) = softmax(A^T (1, x))             (1)

Experts p_k are regressors with Normal noise, N(f_k(x), s_k^2), or classifiers with
probabilities. Which expert made a row is hidden, so the likelihood is climbed by EM:

    E   r_ik = g_k(x_i) p_k(y_i | x_i) / sum_j g_j(x_i) p_j(y_i | x_i)           (2)
    M   expert k: fitted with weights w_i r_ik;  s_k^2 = weighted mean of (y - f_k)^2
        gate: a Newton step on sum_ik w_i r_ik log g_k(x_i) - alpha/2 |A|^2      (3)

A new expert or gate is taken only if its own part of the expected log-likelihood does
not fall, so the likelihood never falls either, whatever the experts do inside (their
penalties, early stops, greedy splits). A gate that does not look at x ("constant") has
g_k = mean of r_ik, and the prediction sum_k g_k f_k(x) is voting with those weights.

A start cuts the rows into k slabs of equal weight along a random direction; of several,
the likeliest after a few turns goes on. Time: k weighted fits a turn, and O(n (k d)^2)
for the gate.

Shapes    X (n, d)   r, g (n, k)   A (1 + d, k), last column 0   s (k,)
Refs      [Jacobs1991]; [JordanJacobs1994]
"""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from ..base import Classifier, Estimator, Regressor
from ..core import arrays
from ..core.em import em
from ..core.iterate import best_of
from ..core.labels import class_codes
from ..core.numerics import log_softmax
from ..core.progress import SILENT
from ..core.random import rng_from, spawn
from ..params import Count, NonNegative, ParameterError, Verbosity
from ..typing import Fittable, Seed
from .committee import is_named_estimator_list, class_probabilities
from .gating import ExpertParams, ExpertRows, expert_responsibilities, fit_expert, gate_newton_step, expert_noise_variance, refit_expert, slab_responsibilities
from .members import require_in_memory

TRIAL_ITERATIONS = 8  # turns after which the starts are compared


class AbstractMixtureOfExperts(Estimator):
    """EM over a gate and experts."""

    estimator: Any
    n_experts: Any
    gate: Any
    alpha: Any
    tol: Any
    max_iter: Any
    n_init: Any
    random_state: Any

    @abstractmethod
    def _default(self): ...

    def _templates(self):
        given = self.estimator
        if is_named_estimator_list(given):
            found = [e for _, e in given]
        elif isinstance(given, (list, tuple)):
            found = list(given)
        else:
            found = [self._default() if given is None else given] * self.n_experts
        for e in found:
            if not has_fit_parameter(e, "sample_weight"):
                raise ParameterError(
                    f"an expert of {type(self).__name__} must take sample_weight, "
                    f"{type(e).__name__} does not."
                )
        return found

    def _run(self, t: ExpertRows):
        """The best of several starts, by EM."""
        templates = self._templates()
        k, constant = len(templates), self.gate == "constant"
        rngs = spawn(rng_from(self.random_state), self.n_init)

        def maximise(stats):
            R, p = stats[2:]
            A = p.A
            if k > 1:
                A = gate_newton_step(A, R, t, self.alpha, constant=constant)
            pairs = [refit_expert(e, R, j, stats, t) for j, e in enumerate(templates)]
            return ExpertParams(A, [e for e, _ in pairs], np.array([s for _, s in pairs]))

        def start(rng):
            R = slab_responsibilities(t, k, rng)
            experts = [fit_expert(e, t, t.w * R[:, j]) for j, e in enumerate(templates)]
            noise = np.array(
                [
                    1.0 if t.K else expert_noise_variance(e, t.w * R[:, j], t)
                    for j, e in enumerate(experts)
                ]
            )
            A = np.zeros((t.Z.shape[1], k))
            for _ in range(3 if k > 1 else 0):
                A = gate_newton_step(A, R, t, max(self.alpha, 1e-3), constant=constant)
            return ExpertParams(A, experts, noise)

        def climb(params, turns, task=SILENT):
            return em(
                lambda p: expert_responsibilities(p, t),
                maximise,
                params,
                n=float(t.w.sum()),
                max_iter=turns,
                tol=self.tol,
                task=task,
            )

        def run(task):
            """A few turns of every start, then the best of them to its end."""
            few = min(TRIAL_ITERATIONS, self.max_iter)
            if self.n_init == 1:
                return climb(start(rngs[0]), self.max_iter, task)
            first = best_of(self.n_init, lambda i, _: climb(start(rngs[i]), few))
            if first.reason != "max_iter" or few == self.max_iter:
                return first
            rest = climb(first.state, self.max_iter - few, task)
            history = {
                name: np.concatenate([first.history[name], values])
                for name, values in rest.history.items()
            }
            return rest._replace(n_iter=few + rest.n_iter, history=history)

        return self._drive(run, total=self.max_iter)

    def _fit(self, X, y, w, K):
        X = np.asarray(X, np.float64)
        w = np.ones(len(X)) if w is None else np.asarray(w, np.float64)
        if np.any(w == 0):
            kept = w > 0
            X, y, w = X[kept], y[kept], w[kept]
        center = w @ X / w.sum()
        with np.errstate(over="ignore", invalid="ignore"):  # refused below
            scale = np.sqrt(w @ (X - center) ** 2 / w.sum())
        scale[~(scale > 1e-12 * np.abs(center).clip(1e-300))] = 1.0
        if not np.all(np.isfinite(scale)):
            raise ValueError("X holds values too large to be squared.")
        Z = np.hstack([np.ones((len(X), 1)), (X - center) / scale])
        result = self._run(ExpertRows(X, y, w, Z, K))
        p = result.state.params
        self.estimators_, self.noise_ = p.experts, p.noise
        self.gate_coef_ = p.A[1:] / scale[:, None]
        self.gate_intercept_ = p.A[0] - center @ self.gate_coef_
        self.log_likelihood_ = -result.objective
        return self

    def gate_weights(self, X):
        """g of eq. (1): (n, k), rows sum to 1."""
        X = np.asarray(arrays.to_numpy(self._ready(X)), np.float64)
        return np.exp(log_softmax(X @ self.gate_coef_ + self.gate_intercept_, axis=1))


@dataclass(eq=False, repr=False)
class MixtureOfExperts(Regressor, AbstractMixtureOfExperts):
    """Regressors that share the rows between them by a gate.

    Parameters
    ----------
    estimator : regressor, list of regressors or None, default=None
        The expert, of which `n_experts` copies are fitted, or the experts themselves.
        None takes linear regression.
    n_experts : int, default=2
        Number of copies; not used if `estimator` is a list.
    gate : {"softmax", "constant"}, default="softmax"
        Whether the weights of the experts depend on the row.
    alpha : float, default=1e-3
        Penalty on the coefficients of the gate, for columns of variance 1.
    tol : float, default=1e-3
        Stop when a turn changes the mean log-likelihood by no more than this.
    max_iter : int, default=200
        Most turns.
    n_init : int, default=2
        Number of starts; the likeliest after a few turns goes on.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the starts.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    estimators_ : list of fitted experts
    noise_ : array of shape (k,)
        Variance of each expert's errors.
    gate_coef_ : array of shape (d, k)
    gate_intercept_ : array of shape (k,)
    log_likelihood_ : float
        Mean over rows.
    n_iter_ : int
    history_ : dict of arrays
    converged_ : bool
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.ensemble import MixtureOfExperts
    >>> X = np.linspace(-2, 2, 80)[:, None]
    >>> model = MixtureOfExperts(random_state=0).fit(X, np.abs(X[:, 0]))
    >>> model.predict([[-1.5], [1.0]]).round(3)
    array([1.5, 1. ])
    """

    estimator: Fittable | list | tuple | None = None
    _: KW_ONLY
    n_experts: Count = 2
    gate: Literal["softmax", "constant"] = "softmax"
    alpha: NonNegative = 1e-3
    tol: NonNegative = 1e-3
    max_iter: Count = 200
    n_init: Count = 2
    random_state: Seed = None
    verbose: Verbosity = 0

    def _default(self):
        from ..linear_model import LinearRegression

        return LinearRegression()

    def fit(self, X, y, sample_weight=None):
        """Climb the likelihood of eq. (1)."""
        X, y, w = self._begin(require_in_memory(self, X), y, sample_weight, y_kind="number")
        X, y = arrays.to_numpy(X), arrays.to_numpy(y).astype(float)
        return self._fit(X, y, None if w is None else arrays.to_numpy(w), 0)

    def predict(self, X):
        """The experts' answers, weighted by the gate."""
        X = self._ready(X)
        outputs = np.stack([np.asarray(e.predict(X)) for e in self.estimators_], axis=1)
        return np.sum(self.gate_weights(X) * outputs, axis=1)


@dataclass(eq=False, repr=False)
class MixtureOfExpertsClassifier(Classifier, AbstractMixtureOfExperts):
    """Classifiers that share the rows between them by a gate.

    Parameters
    ----------
    estimator : classifier, list of classifiers or None, default=None
        The expert, of which `n_experts` copies are fitted, or the experts themselves.
        None takes logistic regression.
    n_experts : int, default=2
        Number of copies; not used if `estimator` is a list.
    gate : {"softmax", "constant"}, default="softmax"
        Whether the weights of the experts depend on the row.
    alpha : float, default=1e-3
        Penalty on the coefficients of the gate, for columns of variance 1.
    tol : float, default=1e-3
        Stop when a turn changes the mean log-likelihood by no more than this.
    max_iter : int, default=200
        Most turns.
    n_init : int, default=2
        Number of starts; the likeliest after a few turns goes on.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the starts.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : array of shape (K,)
    estimators_ : list of fitted experts
        Fitted to whole numbers in the place of the classes.
    gate_coef_ : array of shape (d, k)
    gate_intercept_ : array of shape (k,)
    log_likelihood_ : float
        Mean over rows.
    n_iter_ : int
    history_ : dict of arrays
    converged_ : bool
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.ensemble import MixtureOfExpertsClassifier
    >>> X = np.linspace(-3, 3, 90)[:, None]
    >>> y = np.where(np.abs(X[:, 0]) < 1, "in", "out")
    >>> MixtureOfExpertsClassifier(random_state=0).fit(X, y).predict([[-2], [0], [2]])
    array(['out', 'in', 'out'], dtype='<U3')
    """

    estimator: Fittable | list | tuple | None = None
    _: KW_ONLY
    n_experts: Count = 2
    gate: Literal["softmax", "constant"] = "softmax"
    alpha: NonNegative = 1e-3
    tol: NonNegative = 1e-3
    max_iter: Count = 200
    n_init: Count = 2
    random_state: Seed = None
    verbose: Verbosity = 0

    def _default(self):
        from ..linear_model import LogisticRegression

        return LogisticRegression(tol=1e-8, warm_start=True)

    def fit(self, X, y, sample_weight=None):
        """Climb the likelihood of eq. (1)."""
        X, y, w = self._begin(require_in_memory(self, X), y, sample_weight, y_kind="class")
        classes, codes = class_codes(arrays.to_numpy(y))
        if len(classes) < 2:
            raise ValueError(
                "MixtureOfExpertsClassifier needs at least 2 classes, got 1 class."
            )
        w = None if w is None else arrays.to_numpy(w)
        self._fit(arrays.to_numpy(X), codes, w, len(classes))
        self.classes_ = classes
        return self

    def predict_proba(self, X):
        """The experts' probabilities, weighted by the gate: (n, K)."""
        X = self._ready(X)
        K = len(self.classes_)
        shares = np.stack([class_probabilities(e, X, K) for e in self.estimators_], axis=1)
        return np.einsum("nk,nkc->nc", self.gate_weights(X), shares)

    def predict(self, X):
        """The most likely class."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]
