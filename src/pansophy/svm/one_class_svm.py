"""One-class support vector machine: a region that holds all but a share nu of the rows.

With weights w_i and W = sum_i w_i,

    minimise  1/2 |v|^2 - nu W rho + sum_i w_i max(0, rho - v.phi(x_i))            (1)

the hyperplane in feature space that lies between the rows and the origin, as far from
it as possible. nu is an upper bound on the share of rows outside (decision value below
0) and a lower bound on the share of support vectors. The dual
(`optim/constraints/smo.py`) has multipliers in [0, w_i] that add up to nu W; rho is the
multiplier of their sum.

Refs      [Scholkopf2001] [Chang2011]
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from ..base import OneClass
from ..optim.constraints.smo import DualProblem, group_multipliers
from .device_rows import answer_like
from .kernel_machine import AbstractKernelSum, Nu, fill_up, kept_rows

EDGE = 1e-8  # share of the offset below which a decision value is rounding error


@dataclass(eq=False, repr=False)
class OneClassSVM(OneClass, AbstractKernelSum):
    """One-class support vector machine. See the module text.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter
        As in `SVC`.
    nu : float, default=0.5
        Above 0 and at most 1: the largest share of rows outside, the least of support
        vectors.

    Attributes
    ----------
    offset_ : float
        rho: `decision_function` is `score_samples` less this.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, \
fit_status_, history_
        As in `SVR`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.svm import OneClassSVM
    >>> X = np.array([[0.0], [0.44], [0.45], [0.46], [1.0]])
    >>> OneClassSVM(gamma="auto").fit(X).predict(X)
    array([-1,  1,  1,  1, -1])
    """

    _: KW_ONLY
    nu: Nu = 0.5

    def fit(self, X, y=None, sample_weight=None):
        """Fit to rows X; y is not used."""
        X, _, w = self._check_machine_data(X, None, sample_weight, None)
        rows, w = kept_rows(X, w)
        n = len(rows)
        zero = np.zeros(n)
        problem = DualProblem(
            np.arange(n),
            zero,
            zero,
            w,
            np.zeros(n, dtype=np.int64),
            fill_up(w, self.nu * w.sum()),
        )
        run = self._solve_sum(X, rows, w, problem, float(w.max()))
        s = run.state
        intercept = group_multipliers(-s.products, s.beta, problem)[0]
        self._store_machine(X, rows, s.beta, intercept)
        self.offset_ = -self.intercept_
        return self

    def score_samples(self, X):
        """sum_i b_i k(x_i, x): larger inside the region."""
        return answer_like(self._signed_scores(X) + self.offset_, X)

    def decision_function(self, X):
        """Signed score: above 0 inside the region, and 0 on its edge.

        Free support vectors lie on the edge; what rounding makes of their 0 is removed.
        """
        return answer_like(self._signed_scores(X), X)

    def _signed_scores(self, X):
        f = self._raw_decision(X)
        f[np.abs(f) <= EDGE * np.abs(self.offset_)] = 0.0
        return f

    def predict(self, X):
        """1 for rows inside the region or on its edge, -1 for the others."""
        return answer_like(np.where(self._signed_scores(X) >= 0, 1, -1), X)
