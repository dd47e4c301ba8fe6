"""Proportional odds: logistic regression for classes that are in order.

Classes 0 < 1 < ... < K - 1 are cut out of one linear score by increasing thresholds,

    log odds(y <= k | x) = t_k - x^T B,    t_0 < t_1 < ... < t_{K-2},            (1)

so that a column shifts the odds of all "at most k" by one factor. With s the logistic
function, u = t_y - x^T B and l = t_{y-1} - x^T B (infinite at the two ends),

    -log p(y | x) = log(1 + e^-u) + log(1 + e^l) - log(1 - e^-(t_y - t_{y-1})),  (2)

whose last term does not depend on x. Over the weights v_i of sum V,

    minimise  1/V sum_i v_i (-log p(y_i | x_i)) + 1/(2 C V) |B|^2,               (3)

which is convex in (B, t) [Pratt1981]. Newton's steps with the Hessian as a matrix,
shortened until the objective falls and the thresholds stay in order, reach the optimum
in a few iterations. For two classes this is logistic regression.

Time O(n (d + K)^2) an iteration; memory one matrix (n, d) beyond X.

Shapes    X (n, d)   B (d,)   t (K - 1,)
Refs      [McCullagh1980]; [Pratt1981]
"""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from ...base import Classifier
from ...core.arrays.labels import class_codes
from ...params import Count, NonNegative, Positive
from ...predictors.abstract_linear import AbstractLinearEstimator

SHORTEST_STEP = 1e-10


def threshold_sides(t, scores, y):
    """(u, l) of eq. (2) for scores x^T B and class codes y."""
    ends = np.concatenate([[-np.inf], t, [np.inf]])
    return ends[y + 1] - scores, ends[y] - scores


def ordered_log_probability(t, scores, y):
    """log p(y | x), eq. (2)."""
    u, low = threshold_sides(t, scores, y)
    width = np.concatenate([[np.inf], np.diff(t), [np.inf]])[y]
    with np.errstate(divide="ignore"):
        inside = np.log(-np.expm1(-width))
    return inside - np.logaddexp(0, -u) - np.logaddexp(0, low)


def ordered_newton_terms(X, y, v, B, t):
    """Gradient (d + K - 1,) and Hessian of the weighted sum of eq. (2)."""
    d = len(B)
    k = len(t)
    u, low = threshold_sides(t, X @ B, y)
    above, below = expit(-u), expit(low)
    curve_u, curve_l = v * above * (1 - above), v * below * (1 - below)
    g = np.zeros(d + k)
    H = np.zeros((d + k, d + k))
    g[:d] = X.T @ (v * (above - below))
    H[:d, :d] = X.T @ (X * (curve_u + curve_l)[:, None])
    # thresholds: t_y from above, t_{y-1} from below
    g[d:] -= np.bincount(y, v * above, k + 1)[:k]
    g[d:] += np.bincount(y, v * below, k + 1)[1:]
    diagonal = np.bincount(y, curve_u, k + 1)[:k] + np.bincount(y, curve_l, k + 1)[1:]
    H[d:, d:] = np.diag(diagonal)
    for j in range(k):
        at = (y == j) * curve_u + (y == j + 1) * curve_l
        H[:d, d + j] = H[d + j, :d] = -(X.T @ at)
    mass = np.bincount(y, v, k + 1)[1:k]
    width = np.diff(t)
    slope = -mass / np.expm1(width)
    bend = mass * np.exp(-width) / np.expm1(-width) ** 2
    for j in range(k - 1):
        g[d + j : d + j + 2] += slope[j] * np.array([-1.0, 1.0])
        pair = bend[j] * np.array([[1.0, -1.0], [-1.0, 1.0]])
        H[d + j : d + j + 2, d + j : d + j + 2] += pair
    return g, H


@dataclass(eq=False, repr=False)
class ProportionalOdds(Classifier, AbstractLinearEstimator):
    """Logistic regression for ordered classes. See the module text.

    Classes are ordered as they sort: code them as numbers if their names do not.

    Parameters
    ----------
    C : float, default=1.0
        Inverse of the strength of the L2 penalty, eq. (3).
    max_iter : int, default=100
        Most iterations.
    tol : float, default=1e-6
        Stop when no entry of the gradient of eq. (3) exceeds this.

    Attributes
    ----------
    classes_ : array of shape (K,)
        In order.
    coef_ : array of shape (n_features,)
        B: a positive entry speaks for later classes.
    thresholds_ : array of shape (K - 1,)
        t.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model import ProportionalOdds
    >>> X = np.arange(12.0)[:, None]
    >>> model = ProportionalOdds(C=10.0).fit(X, [0, 0, 0, 1, 0, 1, 1, 2, 1, 2, 2, 2])
    >>> model.predict([[0.0], [5.0], [11.0]])
    array([0, 1, 2])
    >>> bool(np.all(np.diff(model.thresholds_) > 0))
    True
    """

    C: Positive = 1.0
    max_iter: Count = 100
    tol: NonNegative = 1e-6

    _tensors = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # classes that are in no order cannot be cut out of one score
        tags.classifier_tags.poor_score = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Fit to rows X and ordered classes y."""
        X, y, w = self._check_training_data(X, y, sample_weight, y_kind="class")
        self.classes_, y = class_codes(y)
        if len(self.classes_) < 2:
            raise ValueError(
                "y of ProportionalOdds must hold at least two classes, got one class."
            )
        X = np.asarray(X, dtype=float)
        v = np.ones(len(y)) if w is None else np.asarray(w, dtype=float)
        v = v / v.sum()
        strength = 1 / (self.C * (len(y) if w is None else float(np.sum(w))))
        center = v @ X
        B, t = self._newton(X - center, y, v, strength)
        self.coef_ = B
        self.thresholds_ = t + center @ B
        return self

    def _newton(self, X, y, v, strength):
        d = X.shape[1]
        k = len(self.classes_) - 1
        share = np.cumsum(np.bincount(y, v, k + 1) + 1e-3 / (k + 1))[:-1] / (1 + 1e-3)
        t = np.log(share / (1 - share))
        B = np.zeros(d)
        penalty = np.concatenate([np.full(d, strength), np.zeros(k)])

        def objective(B, t):
            if np.any(np.diff(t) <= 0):
                return np.inf
            fit = -(v @ ordered_log_probability(t, X @ B, y))
            return fit + strength / 2 * (B @ B)

        value = objective(B, t)
        for iteration in range(1, self.max_iter + 1):
            self.n_iter_ = iteration
            g, H = ordered_newton_terms(X, y, v, B, t)
            g[:d] += strength * B
            if np.max(np.abs(g)) <= self.tol:
                return B, t
            H[np.diag_indices(d + k)] += penalty + 1e-12 * (1 + np.diag(H))
            step = np.linalg.lstsq(H, -g, rcond=None)[0]
            length = 1.0
            while length > SHORTEST_STEP:
                new = objective(B + length * step[:d], t + length * step[d:])
                if new <= value + 1e-4 * length * (g @ step):
                    break
                length /= 2
            else:
                return B, t  # no descent is left in these digits
            B, t, value = B + length * step[:d], t + length * step[d:], new
        warnings.warn(
            f"ProportionalOdds did not converge in {self.max_iter} iterations; raise "
            "max_iter or scale the columns.",
            ConvergenceWarning,
            stacklevel=3,
        )
        return B, t

    def predict_proba(self, X):
        """Probabilities (n, K), eq. (1)."""
        scores = np.asarray(self._check_new_data(X), dtype=float) @ self.coef_
        at_most = expit(self.thresholds_ - scores[:, None])
        n = len(at_most)
        ends = np.column_stack([np.zeros(n), at_most, np.ones(n)])
        return np.diff(ends, axis=1)

    def predict(self, X):
        """The most probable class of each row."""
        most_probable = self.predict_proba(X).argmax(1)
        return self.classes_[most_probable]
