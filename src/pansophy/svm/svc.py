"""Support vector classifier with a kernel: the widest margin in feature space.

With signs y_i, costs C_i = C times sample and class weights, and phi the feature map of
the kernel k(x, z) = phi(x).phi(z),

    minimise  1/2 |w|^2 + sum_i C_i max(0, 1 - y_i (w.phi(x_i) + b))              (1)

The intercept b is not penalised. The dual (see `optim/constraints/smo.py`) has a
multiplier a_i in [0, C_i] for each row, and w = sum_i a_i y_i phi(x_i): rows with a_i =
0, those outside the margin, do not matter. C = inf is the hard margin,

    minimise  1/2 |w|^2   subject to  y_i (w.phi(x_i) + b) >= 1                    (2)

which exists only if the classes are separable in feature space; otherwise the dual is
unbounded and `fit` refuses. Its margin has the width 2 / |w|.

b is the mean of y_i - w.phi(x_i) over the free rows, 0 < a_i < C_i. If there is none,
every b of an interval is optimal, and its middle is taken.

More than two classes, probabilities and the shapes of fitted attributes are in
`pairwise_classifier.py`. A sample weight k equals k repeated rows.

Time between O(n^2) and O(n^3), memory O(n) plus `cache_size`.

Shapes    X (n, d)   a, y, C (n,)   dual_coef_ (K - 1, n_support)
Refs      [Cortes1995] [Chang2011]
"""

import math
from dataclasses import KW_ONLY, dataclass
from itertools import combinations

import numpy as np
import scipy.sparse as sp

from ..core.arrays import arrays
from ..core.drivers.iterate import Result
from ..optim.constraints.smo import classifier_dual, group_multipliers
from ..params import Flag, Infinite, Positive
from .kernel_machine import NOT_SEPARABLE, largest_diagonal, to_dense
from .kernel_rows import take_training_rows
from .pairwise_classifier import (
    AbstractPairwiseClassifier,
    PairSolution,
    pair_coefficients,
)


@dataclass(eq=False, repr=False)
class SVC(AbstractPairwiseClassifier):
    """Support vector classifier with a kernel. See the module text.

    Parameters
    ----------
    C : float, default=1.0
        Cost of a row inside the margin; inf is the hard margin, eq. (2).
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"}, function or kernel \
of `pansophy.kernels`, default="rbf"
        With "precomputed", X is the kernel matrix. A function is called with two sets
        of rows.
    degree : int, default=3
        Of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        Of "rbf", "poly" and "sigmoid": 1 / (d variance of X), 1 / d, or a number.
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    shrinking : bool, default=True
        Whether rows that seem decided are left out until the others have converged.
    probability : bool, default=False
        Whether `predict_proba` is fitted, in five folds. `predict` is then the most
        probable class.
    tol : float, default=1e-3
        Largest violation of the optimality conditions.
    cache_size : float, default=200
        Megabytes of kernel rows that are kept.
    class_weight : dict, "balanced" or None
        Factors on C for the classes.
    warm_start : bool, default=False
        Whether a fit to the same rows starts from the last multipliers, as along a
        path of C.
    verbose : int, default=0
        Above 0 shows a progress bar.
    max_iter : int, default=-1
        Most pair steps for each pair of classes; -1 for no limit.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Scores of classes or of pairs of classes.
    break_ties : bool, default=False
        Whether `predict` tells classes of equally many wins apart by "ovr" scores.
    random_state : int, RandomState, Generator or None
        For the folds of `probability`.

    Attributes
    ----------
    classes_ : array of shape (K,)
    support_ : array of int, shape (n_support,)
        Rows of the support vectors, class by class.
    support_vectors_ : array of shape (n_support, d)
    n_support_ : array of int, shape (K,)
    dual_coef_ : array of shape (K - 1, n_support)
        Multipliers times signs.
    intercept_ : array of shape (K (K - 1) / 2,)
    coef_ : array of shape (K (K - 1) / 2, d)
        For the linear kernel.
    dual_objective_ : array of shape (K (K - 1) / 2,)
        The dual that was minimised: minus eq. (1) at the optimum.
    n_iter_ : array of int, shape (K (K - 1) / 2,)
        Pair steps.
    fit_status_ : int
        0 if converged, 1 if `max_iter` was reached, steps no longer helped, or the
        fit was interrupted.
    history_ : dict of arrays
        "objective" and "violation" after each iteration, a working set each.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.svm import SVC
    >>> X = np.array([[1.0, 1], [-1, -1], [1, -1], [-1, 1]])
    >>> model = SVC(kernel="poly", degree=2, gamma=1, coef0=1).fit(X, [0, 0, 1, 1])
    >>> model.dual_coef_.round(6)
    array([[-0.125, -0.125,  0.125,  0.125]])
    >>> model.decision_function(X).round(6)
    array([-1., -1.,  1.,  1.])
    """

    _: KW_ONLY
    C: Positive | Infinite = 1.0
    warm_start: Flag = False

    def fit(self, X, y, sample_weight=None):
        """Fit to rows X and labels y."""
        self._previous_C = getattr(self, "_fitted_C", self.C)
        super().fit(X, y, sample_weight)
        self._fitted_C = float(self.C)
        return self

    def _largest_bound(self, weights):
        return float(self.C * weights.max())

    def _solve_pair(self, pair, weights, start, solve) -> Result:
        bounds = self.C * weights
        problem = classifier_dual(pair.sign, bounds)
        limit = -math.inf
        if math.isinf(self.C):
            limit = -0.5 * NOT_SEPARABLE / max(self._largest_diagonal, 1e-300)
        if start is not None:
            start = scaled_start(start, bounds, self.C / self._previous_C)
        run = solve(problem, beta=start, limit=limit)
        s = run.state
        if run.reason == "unbounded":
            first, second = self.classes_[[pair.first, pair.second]].tolist()
            raise ValueError(
                f"C=inf asks for a hard margin, but classes {first!r} and {second!r} "
                "are not separable with this kernel: take a finite C."
            )
        scores = problem.target - s.products
        intercept = group_multipliers(scores, s.beta, problem)[0]
        solution = PairSolution(s.beta, intercept, s.steps, s.objective, s.violation)
        return run._replace(state=solution)

    def _training_rows(self, X, w, bound):
        training = super()._training_rows(X, w, bound)
        if math.isinf(self.C):
            largest = np.diag(X).max() if self._precomputed else None
            largest = (
                largest_diagonal(self._spec, X) if largest is None else float(largest)
            )
            self._largest_diagonal = largest
        return training

    def _previous_coefficients(self, X, y, rows):
        """Multipliers of the last fit, for each pair, if it was to the same rows."""
        if not self.warm_start or not hasattr(self, "support_"):
            return None
        if not is_same_support(self, X) or not np.isin(self.support_, rows).all():
            return None
        if not np.array_equal(np.unique(y[rows]), self.classes_):
            return None
        codes = np.searchsorted(self.classes_, y[rows])
        support_places = np.searchsorted(rows, self.support_)
        k = len(self.classes_)
        if (np.bincount(codes[support_places], minlength=k) != self.n_support_).any():
            return None
        coef = to_dense(self.dual_coef_)
        coef = -coef if k == 2 else pair_coefficients(coef, self.n_support_)
        multipliers = np.zeros((len(coef), len(rows)))
        multipliers[:, support_places] = coef
        members = [np.flatnonzero(codes == c) for c in range(k)]
        return [
            multipliers[p, np.concatenate([members[i], members[j]])]
            for p, (i, j) in enumerate(combinations(range(k), 2))
        ]


def scaled_start(beta, bounds, ratio):
    """Multipliers of an earlier fit, scaled to other bounds.

    `ratio` is that of the costs: rows at their bounds stay there, and sums that are 0
    stay 0.
    """
    moved = beta != 0
    fits = float((bounds[moved] / np.abs(beta[moved])).min(initial=math.inf))
    scale = min(ratio, fits)
    start = beta * (scale if 0 < scale < math.inf else 0.0)
    at_bound = np.abs(start) >= (1 - 1e-12) * bounds
    return np.where(at_bound, np.sign(start) * bounds, start)


def is_same_support(model, X) -> bool:
    """Whether the support vectors of a fitted model are rows of X still."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if tuple(model.shape_fit_)[:1] != (n,) or not len(model.support_):
        return False
    if model._precomputed:
        return True
    vectors = model.support_vectors_
    if not (hasattr(X, "shape") and hasattr(vectors, "shape")):
        return False
    rows = take_training_rows(X, model.support_)
    rows = arrays.to_numpy(rows) if arrays.is_foreign(rows) else rows
    if rows.shape != vectors.shape or sp.issparse(rows) != sp.issparse(vectors):
        return False
    if sp.issparse(rows):
        return (rows != vectors).nnz == 0
    return bool(np.all(rows == vectors))
