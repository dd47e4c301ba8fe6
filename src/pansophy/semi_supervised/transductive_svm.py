"""Transductive support vector machine: a boundary in regions of low density.

For labels y = -1, 1 on l rows and u rows without one, f(x) = w.x + b,

    J = |w|^2 / 2 + C sum_l c_i max(0, 1 - y_i f(x_i))^2 + C' sum_u c_i U(f(x_i)) (1)
    U(f) = exp(-3 f^2), or the entropy of P = 1 / (1 + exp(-4 f)) in bits         (2)

U is 1 at f = 0 and falls to 0 on both sides, so it pushes the boundary away from
unlabelled rows, into the gaps between clusters. The entropy is that of the class given
x; its tails reach further. It is not convex. So C' grows from C'/2^k in
steps, each starting from the solution before (continuation), the first one from the
supervised machine. The trivial solution with all rows on one side is excluded by

    mean_u f(x_i) = m                                                            (3)

with m = 2 r - 1, r being the share of the class among the labelled rows, or given.
(3) is linear: with rows relative to the mean of the unlabelled ones it says b = m. With
C' = 0 the solution is `LinearSVC`, without (3).

More than two classes: one machine for each against the rest, the largest f wins.
Linear in x: put `KernelPCA` or random features before it for curved boundaries.

Cost      steps times those of L-BFGS, O(n d) each
Shapes    X (n, d)   w (d,)   y (n,)   -1 (or the empty text) for no label
Refs      [Joachims1999] the problem; [Chapelle2005] eq. (1); [Grandvalet2005] entropy
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal, NamedTuple

import numpy as np

from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.drivers.iterate import iterate
from ..core.drivers.progress import SILENT
from ..core.numerics import log1pexp, sigmoid
from ..optim import lbfgs
from ..params import (
    Count,
    Fraction,
    NonNegative,
    ParameterError,
    Positive,
    Verbosity,
)
from ..svm import LinearSVC
from .abstract_semi_supervised import AbstractSemiSupervised

SHARPNESS = 3.0  # of exp in eq. (2)
STEEPNESS = 4.0  # of P in eq. (2): the same curvature at 0, nearly


class ContinuationState(NamedTuple):
    """The boundary at one weight of the unlabelled rows."""

    objective: float  # J at the last weight
    w: np.ndarray
    weight: float  # C'
    step: int = 0


class TransductiveProblem(NamedTuple):
    """Rows and constants of eq. (1), relative to the mean of the unlabelled rows."""

    X: np.ndarray  # labelled rows
    y: np.ndarray  # -1 or 1
    c: np.ndarray  # their weights
    Z: np.ndarray  # unlabelled rows
    e: np.ndarray  # their weights
    b: float  # intercept of eq. (3)
    C: float
    entropy: bool = False  # U of eq. (2)


def transductive_risk(problem: TransductiveProblem, w, weight):
    """Eq. (1) and its gradient in w, with C' = weight."""
    X, y, c, Z, e, b, C, entropy = problem
    gap = np.maximum(0.0, 1.0 - y * (X @ w + b))
    U, dU = (entropy_cost if entropy else _gaussian_cost)(Z @ w + b)
    J = w @ w / 2 + C * c @ (gap * gap) + weight * e @ U
    slope = w - 2 * C * (X.T @ (c * gap * y))
    return J, slope + weight * (Z.T @ (e * dU))


def _gaussian_cost(f):
    """exp(-3 f^2) of eq. (2) and its derivative."""
    U = np.exp(-SHARPNESS * f * f)
    return U, -2 * SHARPNESS * f * U


def entropy_cost(f):
    """The entropy of eq. (2) in bits, and its derivative."""
    s = STEEPNESS * f
    p = sigmoid(s)
    q = sigmoid(-s)
    H = p * log1pexp(-s) + q * log1pexp(s)
    return H / np.log(2), -STEEPNESS * s * p * q / np.log(2)


def _minimise_by_continuation(problem, w, *, weight, steps, tol, max_iter, task=SILENT):
    """Minimise eq. (1) from w while C' doubles up to `weight` in some steps."""

    def step(state):
        weight_now = weight * 2.0 ** (-steps + 1 + state.step)
        f = lambda w: transductive_risk(problem, w, weight_now)
        w = lbfgs(f, state.w, max_iter=max_iter, tol=tol).state.position
        J = float(transductive_risk(problem, w, weight)[0])
        return ContinuationState(J, w, weight_now, state.step + 1)

    start = ContinuationState(float(transductive_risk(problem, w, weight)[0]), w, 0.0)
    change = lambda old, new: 0.0 if new.weight >= weight else 1.0
    return iterate(
        step,
        start,
        max_iter=steps,
        tol=0.0,
        change=change,
        watch=("weight",),
        task=task,
    )


@dataclass(eq=False, repr=False)
class TransductiveSVM(AbstractSemiSupervised):
    """Linear support vector machine whose boundary avoids unlabelled rows.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a labelled row inside the margin.
    unlabeled_weight : float, default=0.1
        C', the cost of an unlabelled row near the boundary; 0 is `LinearSVC`.
    unlabeled_loss : {"exp", "entropy"}, default="exp"
        U of eq. (2).
    balance : float or None, default=None
        Share of the second class among the unlabelled rows (two classes only); None
        takes that of the labelled rows.
    steps : int, default=8
        Number of weights from small to C'.
    tol : float, default=1e-5
        Largest entry of the gradient at which a step ends.
    max_iter : int, default=500
        Most iterations of a step.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    classes_ : array
        The known labels.
    coef_ : array of shape (1, d) or (K, d)
    intercept_ : array of shape (1,) or (K,)
    transduction_ : array of shape (n,)
        The labels of the training rows, known or predicted.
    n_iter_, history_
        Steps taken; J at C' and the weight after each.

    Examples
    --------
    >>> from pansophy.semi_supervised import TransductiveSVM
    >>> X = [[0.0], [4.0], [5.0], [8.0], [8.5], [9.0]]
    >>> model = TransductiveSVM().fit(X, [0, -1, -1, -1, -1, 1])
    >>> model.transduction_.tolist()  # halfway between the labels is 4.5
    [0, 0, 0, 1, 1, 1]
    """

    C: Positive = 1.0
    _: KW_ONLY
    unlabeled_weight: NonNegative = 0.1
    unlabeled_loss: Literal["exp", "entropy"] = "exp"
    balance: Fraction | None = None
    steps: Count = 8
    tol: NonNegative = 1e-5
    max_iter: Count = 500
    verbose: Verbosity = 0
    estimator = None  # the supervised machine is fixed
    _tensors = False

    def _inner_estimator(self):
        return LinearSVC(C=self.C)

    def fit(self, X, y, sample_weight=None):
        """Find the boundary.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
            Labels; -1, or the empty text, where there is none.
        sample_weight : array of shape (n,), optional
            Weight of each row's cost.
        """
        X, codes, w = self._check_partial_labels(
            X, y, sample_weight, accept_sparse=False
        )
        X = np.ascontiguousarray(X, float)
        refuse_overflowing_squares(self, X)
        if len(self.classes_) < 2:
            raise ValueError("y must hold at least 2 classes, got 1 class.")
        if self.balance is not None and len(self.classes_) > 2:
            raise ParameterError(
                f"balance is for two classes, and y holds {len(self.classes_)}."
            )
        w = np.ones(len(codes)) if w is None else w
        try:
            machine = self._fit_labelled(self._inner_estimator(), X, codes, w)
        except np.linalg.LinAlgError:
            raise ValueError(
                "the columns of X differ so much in scale that TransductiveSVM cannot "
                "fit the labelled rows: scale them, with StandardScaler for instance."
            ) from None
        coef = machine.coef_.copy()
        bias = np.array(machine.intercept_, float)
        free = codes < 0
        if self.unlabeled_weight > 0 and np.any(w[free] > 0):
            coef, bias = self._fit_boundaries(X, codes, w, coef)
        else:
            self.n_iter_ = 0
            self.history_ = {}
        self.coef_ = coef
        self.intercept_ = bias.reshape(-1)
        labels = self._labels_of_codes(codes)
        if free.any():
            labels[free] = self.predict(X[free])
        self.transduction_ = labels
        return self

    def _fit_boundaries(self, X, codes, w, coef):
        """Coefficients and intercepts of each boundary, by continuation."""
        free = codes < 0
        labelled = ~free & (w > 0)
        middle = np.average(X[free], axis=0, weights=w[free])
        new = coef.copy()
        bias = np.empty(len(coef))
        for k in range(len(coef)):
            positive = codes[labelled] == (k if len(coef) > 1 else 1)
            y = np.where(positive, 1.0, -1.0)
            r = np.average(positive, weights=w[labelled])
            if self.balance is not None:
                r = self.balance
            problem = TransductiveProblem(
                X[labelled] - middle,
                y,
                w[labelled],
                X[free] - middle,
                w[free],
                2 * r - 1,
                self.C,
                self.unlabeled_loss == "entropy",
            )
            run = lambda task, problem=problem, k=k: _minimise_by_continuation(
                problem,
                coef[k],
                weight=self.unlabeled_weight,
                steps=self.steps,
                tol=self.tol,
                max_iter=self.max_iter,
                task=task,
            )
            new[k] = self._run_driver(run, total=self.steps).state.w
            bias[k] = 2 * r - 1 - new[k] @ middle
        return new, bias

    def decision_function(self, X):
        """f(x): (n,), or (n, K)."""
        X = self._check_new_data(X, order="C")
        f = X @ self.coef_.T + self.intercept_
        return f[:, 0] if f.shape[1] == 1 else f

    def predict(self, X):
        """The class of each row."""
        f = self.decision_function(X)
        return self.classes_[(f > 0).astype(int) if f.ndim == 1 else f.argmax(axis=1)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
