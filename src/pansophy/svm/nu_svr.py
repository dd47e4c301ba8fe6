"""Support vector regression whose number of support vectors is chosen, by nu.

With weights w_i, W = sum_i w_i and a tube epsilon that is found,

    minimise  1/2 |v|^2 + C (nu W epsilon + sum_i w_i max(0, |y_i - f(x_i)| - epsilon))

nu is an upper bound on the share of rows outside the tube and a lower bound on the
share of support vectors. The dual (`optim/constraints/smo.py`) has two multipliers in
[0, C w_i] for each row, whose sums are C nu W / 2 each; epsilon and the intercept are
the multipliers of these sums. The result is the solution of `SVR` for that epsilon.

Refs      [Scholkopf2000] [Chang2011]
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from ..base import Regressor
from ..optim.constraints.smo import DualProblem, group_multipliers
from ..params import Positive
from .device_rows import answer_like
from .kernel_machine import AbstractKernelSum, Nu, fill_up
from .svr import checked_regression_rows, regressor_dual


def _nu_regressor_dual(y, bounds, nu) -> DualProblem:
    """The dual, with a feasible start: both multipliers of the first rows full."""
    problem = regressor_dual(y, bounds, 0.0)
    full = fill_up(bounds, nu * bounds.sum() / 2)
    group = np.repeat(np.arange(2), len(y))
    return problem._replace(group=group, start=np.concatenate([full, -full]))


@dataclass(eq=False, repr=False)
class NuSVR(Regressor, AbstractKernelSum):
    """Support vector regression by the share of support vectors. See the module text.

    Parameters
    ----------
    nu : float, default=0.5
        Above 0 and at most 1: the largest share of rows outside the tube, the least of
        support vectors.
    C : float, default=1.0
        Cost of an error outside the tube.
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter
        As in `SVR`.

    Attributes
    ----------
    epsilon_ : float
        Half-width of the tube that was found.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, \
fit_status_, history_
        As in `SVR`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.svm import NuSVR
    >>> X = np.arange(6.0)[:, None]
    >>> model = NuSVR(kernel="linear", C=100).fit(X, 2 * X[:, 0] + 1)
    >>> model.predict([[7.0]]).round(6), round(model.epsilon_, 6)
    (array([15.]), 0.0)
    """

    _: KW_ONLY
    nu: Nu = 0.5
    C: Positive = 1.0

    def fit(self, X, y, sample_weight=None):
        """Fit to rows X and numbers y."""
        X, rows, y, w = checked_regression_rows(self, X, y, sample_weight)
        bounds = self.C * w
        problem = _nu_regressor_dual(y, bounds, self.nu)
        run = self._solve_sum(X, rows, w, problem, float(bounds.max()))
        s = run.state
        scores = problem.target - s.products[problem.row]
        upper, lower = group_multipliers(scores, s.beta, problem)
        self.epsilon_ = (upper - lower) / 2
        coef = problem.row_sums(s.beta, len(rows))
        self._store_machine(X, rows, coef, (upper + lower) / 2)
        return self

    def predict(self, X):
        """The target of each row."""
        return answer_like(self._raw_decision(X), X)
