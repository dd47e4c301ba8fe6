"""Mixture of experts: a gate weights several models, row by row.

    p(y | x) = sum_k g_k(x) p_k(y | x),    g(x) = softmax(A^T (1, x))             (1)

Experts p_k are regressors with normal noise, N(f_k(x), s_k^2), or classifiers with
probabilities. Which expert generated a row is hidden, so the likelihood is maximised by
EM:

    E   r_ik = g_k(x_i) p_k(y_i | x_i) / sum_j g_j(x_i) p_j(y_i | x_i)           (2)
    M   expert k: fitted with weights w_i r_ik;  s_k^2 = weighted mean of (y - f_k)^2
        gate: a Newton step on sum_ik w_i r_ik log g_k(x_i) - alpha/2 |A|^2      (3)

A new expert or gate is accepted only if its own part of the expected log-likelihood
does not fall, so the likelihood never falls either, whatever the experts do inside
(penalties, early stopping, greedy splits). A gate that does not depend on x
("constant") has g_k = mean of r_ik, and the prediction sum_k g_k f_k(x) is voting with
those weights.

An initialisation cuts the rows into k slabs of equal weight along a random direction;
of several, the one of highest likelihood after a few iterations is continued. Time: k
weighted fits an iteration, and O(n (k d)^2) for the gate.

Shapes    X (n, d)   r, g (n, k)   A (1 + d, k), last column 0   s (k,)
Refs      [Jacobs1991]; [JordanJacobs1994]
"""

import warnings
from abc import abstractmethod
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import has_fit_parameter

from ..base import Classifier, Estimator, Regressor
from ..core.arrays import arrays
from ..core.arrays.labels import class_codes
from ..core.drivers.em import em
from ..core.drivers.iterate import best_of
from ..core.drivers.progress import SILENT
from ..core.numerics import LOG_2PI, log_softmax, logsumexp
from ..core.random import make_rng, spawn_rngs
from ..params import Count, NonNegative, ParameterError, Verbosity
from ..typing import Fittable, Seed
from .committee import is_named_estimator_list
from .members import class_probabilities, require_in_memory

NOISE_FLOOR = 1e-6  # least noise, as a share of the variance of y
MIN_PROBABILITY = 1e-12  # least probability of a class
TRIAL_ITERATIONS = 8  # iterations after which the initialisations are compared


class ExpertParams(NamedTuple):
    """The parameters that EM estimates."""

    A: np.ndarray  # gate
    experts: list  # fitted
    noise: np.ndarray  # s_k^2; of classifiers 1


class ExpertRows(NamedTuple):
    """The rows, with standardised columns for the gate."""

    X: np.ndarray
    y: np.ndarray
    w: np.ndarray
    Z: np.ndarray  # (1, x) with x standardised, for the gate
    K: int  # classes, 0 for numbers


def log_gate_weights(Z, A):
    """log g of eq. (1)."""
    return log_softmax(Z @ A, axis=1)


def expert_log_likelihood(expert, s2, t: ExpertRows):
    """log p_k(y_i | x_i) for each row."""
    if t.K:
        p = class_probabilities(expert, t.X, t.K)[np.arange(len(t.y)), t.y]
        return np.log(np.maximum(p, MIN_PROBABILITY))
    error = t.y - np.asarray(expert.predict(t.X), float)
    return -0.5 * (error**2 / s2 + np.log(s2) + LOG_2PI)


def expert_responsibilities(p: ExpertParams, t: ExpertRows):
    """Eq. (2): (log g, log p_k, r, params) and the log-likelihood."""
    G = log_gate_weights(t.Z, p.A)
    L = np.stack(
        [expert_log_likelihood(e, s, t) for e, s in zip(p.experts, p.noise)], axis=1
    )
    norm = logsumexp(G + L, axis=1)
    return (G, L, np.exp(G + L - norm[:, None]), p), float(t.w @ norm)


def gate_newton_step(A, R, t: ExpertRows, alpha, *, constant=False):
    """Eq. (3): a Newton step, halved until the unpenalised sum does not fall."""
    if constant:
        share = t.w @ R / t.w.sum()
        logs = np.log(np.maximum(share, 1e-300))
        A = np.zeros_like(A)
        A[0] = logs - logs[-1]
        return A
    k = A.shape[1]
    value = lambda B: float(t.w @ (R * log_gate_weights(t.Z, B)).sum(axis=1))
    G = np.exp(log_gate_weights(t.Z, A))
    W = t.w[:, None]
    grad = t.Z.T @ (W * (R - G))[:, :-1] - alpha * A[:, :-1]
    m = t.Z.shape[1]
    H = np.empty((k - 1, m, k - 1, m))
    for a in range(k - 1):
        for b in range(a + 1):
            c = t.w * G[:, a] * ((a == b) - G[:, b])
            H[a, :, b] = H[b, :, a] = t.Z.T @ (c[:, None] * t.Z)
    H = H.reshape((k - 1) * m, -1)
    H[np.diag_indices_from(H)] += alpha + 1e-10 * t.w.sum()
    step = np.linalg.solve(H, grad.T.ravel()).reshape(k - 1, m).T
    old = value(A)
    new = A.copy()
    for halvings in range(30):
        new[:, :-1] = A[:, :-1] + 0.5**halvings * step
        if value(new) >= old:
            return new
    return A


def refit_expert(template, R, k, stats, t: ExpertRows):
    """Expert k fitted with its responsibilities, or the old one if that is better."""
    _, L, _, p = stats
    r = t.w * R[:, k]
    old, s2 = p.experts[k], p.noise[k]
    if r.sum() <= 1e-8 * t.w.sum():
        return old, s2
    new = fit_expert(template, t, r, old)
    if t.K:
        better = r @ expert_log_likelihood(new, 1.0, t) >= r @ L[:, k]
        return (new if better else old), 1.0
    pairs = [
        (new, expert_noise_variance(new, r, t)),
        (old, expert_noise_variance(old, r, t)),
    ]
    return min(pairs, key=lambda pair: pair[1])


def fit_expert(template, t: ExpertRows, r, old=None):
    """A copy fitted with weights r, from where the old one was under warm_start."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        r = r * (t.w.sum() / r.sum())  # a penalty inside weighs the same for all
        warm = old is not None and getattr(template, "warm_start", False)
        new = deepcopy(old) if warm else clone(template)
        new.fit(t.X, t.y, sample_weight=np.maximum(r, 1e-10 * t.w))
        return new


def expert_noise_variance(expert, r, t: ExpertRows):
    """s^2 of eq. (3)."""
    error = t.y - np.asarray(expert.predict(t.X), float)
    mean = t.w @ t.y / t.w.sum()
    floor = NOISE_FLOOR * (t.w @ (t.y - mean) ** 2) / t.w.sum()
    return max(r @ error**2 / r.sum(), floor, 1e-300)


def slab_responsibilities(t: ExpertRows, k, rng):
    """Initial r: rows cut into k slabs of equal weight along a random direction."""
    direction = rng.standard_normal(t.Z.shape[1])
    values, group = np.unique(
        np.round(t.Z @ direction, 9), return_inverse=True
    )  # equal rows stay together, whatever the order of the sum
    mass = np.bincount(group, t.w, len(values))
    middle = np.cumsum(mass) - 0.5 * mass
    slab = np.minimum((k * middle / mass.sum()).astype(int), k - 1)[group]
    R = np.full((len(t.y), k), 0.1 / k)
    R[np.arange(len(t.y)), slab] += 0.9
    return R


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

    _tensors = False

    @abstractmethod
    def _default_expert(self): ...

    def _templates(self):
        given = self.estimator
        if is_named_estimator_list(given):
            experts = [e for _, e in given]
        elif isinstance(given, (list, tuple)):
            experts = list(given)
        else:
            experts = [
                self._default_expert() if given is None else given
            ] * self.n_experts
        for e in experts:
            if not has_fit_parameter(e, "sample_weight"):
                raise ParameterError(
                    f"an expert of {type(self).__name__} must take sample_weight, "
                    f"{type(e).__name__} does not."
                )
        return experts

    def _run_em(self, t: ExpertRows):
        """EM from several initialisations; the result of the best."""
        templates = self._templates()
        k = len(templates)
        constant = self.gate == "constant"
        rngs = spawn_rngs(make_rng(self.random_state), self.n_init)

        def maximise(stats):
            R, p = stats[2:]
            A = p.A
            if k > 1:
                A = gate_newton_step(A, R, t, self.alpha, constant=constant)
            pairs = [refit_expert(e, R, j, stats, t) for j, e in enumerate(templates)]
            return ExpertParams(
                A, [e for e, _ in pairs], np.array([s for _, s in pairs])
            )

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

        def run_em(params, max_iter, task=SILENT):
            return em(
                lambda p: expert_responsibilities(p, t),
                maximise,
                params,
                n=float(t.w.sum()),
                max_iter=max_iter,
                tol=self.tol,
                task=task,
            )

        def run(task):
            """A few iterations from every start, then the best of them to its end."""
            few = min(TRIAL_ITERATIONS, self.max_iter)
            if self.n_init == 1:
                return run_em(start(rngs[0]), self.max_iter, task)
            first = best_of(self.n_init, lambda i, _: run_em(start(rngs[i]), few))
            if first.reason != "max_iter" or few == self.max_iter:
                return first
            rest = run_em(first.state, self.max_iter - few, task)
            history = {
                name: np.concatenate([first.history[name], values])
                for name, values in rest.history.items()
            }
            return rest._replace(n_iter=few + rest.n_iter, history=history)

        return self._run_driver(run, total=self.max_iter)

    def _fit_experts(self, X, y, w, K):
        """Standardise the columns for the gate, run EM and store the parameters."""
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
        result = self._run_em(ExpertRows(X, y, w, Z, K))
        p = result.state.params
        self.estimators_ = p.experts
        self.noise_ = p.noise
        self.gate_coef_ = p.A[1:] / scale[:, None]
        self.gate_intercept_ = p.A[0] - center @ self.gate_coef_
        self.log_likelihood_ = -result.objective
        return self

    def gate_weights(self, X):
        """g of eq. (1): (n, k), rows sum to 1."""
        X = np.asarray(arrays.to_numpy(self._check_new_data(X)), np.float64)
        return np.exp(log_softmax(X @ self.gate_coef_ + self.gate_intercept_, axis=1))


@dataclass(eq=False, repr=False)
class MixtureOfExperts(Regressor, AbstractMixtureOfExperts):
    """Regressors whose predictions are weighted by a gate.

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
        Stop when an iteration changes the mean log-likelihood by no more than this.
    max_iter : int, default=200
        Most iterations.
    n_init : int, default=2
        Number of initialisations; the best after a few iterations is continued.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the initialisations.
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

    def _default_expert(self):
        from ..linear_model import LinearRegression

        return LinearRegression()

    def fit(self, X, y, sample_weight=None):
        """Maximise the likelihood of eq. (1)."""
        X, y, w = self._check_training_data(
            require_in_memory(self, X), y, sample_weight, y_kind="number"
        )
        y = y.astype(float)
        return self._fit_experts(X, y, None if w is None else arrays.to_numpy(w), 0)

    def predict(self, X):
        """The experts' predictions, weighted by the gate."""
        X = self._check_new_data(X)
        outputs = np.stack([np.asarray(e.predict(X)) for e in self.estimators_], axis=1)
        return np.sum(self.gate_weights(X) * outputs, axis=1)


@dataclass(eq=False, repr=False)
class MixtureOfExpertsClassifier(Classifier, AbstractMixtureOfExperts):
    """Classifiers whose probabilities are weighted by a gate.

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
        Stop when an iteration changes the mean log-likelihood by no more than this.
    max_iter : int, default=200
        Most iterations.
    n_init : int, default=2
        Number of initialisations; the best after a few iterations is continued.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the initialisations.
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

    def _default_expert(self):
        from ..linear_model import LogisticRegression

        return LogisticRegression(tol=1e-8, warm_start=True)

    def fit(self, X, y, sample_weight=None):
        """Maximise the likelihood of eq. (1)."""
        X, y, w = self._check_training_data(
            require_in_memory(self, X), y, sample_weight, y_kind="class"
        )
        classes, codes = class_codes(arrays.to_numpy(y))
        if len(classes) < 2:
            raise ValueError(
                "MixtureOfExpertsClassifier needs at least 2 classes, got 1 class."
            )
        w = None if w is None else arrays.to_numpy(w)
        self._fit_experts(X, codes, w, len(classes))
        self.classes_ = classes
        return self

    def predict_proba(self, X):
        """The experts' probabilities, weighted by the gate: (n, K)."""
        X = self._check_new_data(X)
        K = len(self.classes_)
        shares = np.stack(
            [class_probabilities(e, X, K) for e in self.estimators_], axis=1
        )
        return np.einsum("nk,nkc->nc", self.gate_weights(X), shares)

    def predict(self, X):
        """The most likely class."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]
