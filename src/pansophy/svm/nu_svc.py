"""Support vector classifier whose number of margin errors is chosen, by nu.

With weights w_i (sample and class weights) and a margin rho that is found,

    minimise  1/2 |v|^2 - nu rho + (1 / W) sum_i w_i max(0, rho - y_i (v.phi(x_i) + b))

with W = sum_i w_i. nu is an upper bound on the share of rows inside the margin and a
lower bound on the share of support vectors. The dual (`optim/constraints/smo.py`) has
multipliers in [0, w_i] whose sum over each class is nu W / 2, so nu W / 2 must not
exceed the weight of either class. The result is scaled by 1 / rho: it is the solution
of `SVC` for C = 1 / rho, and has the same layout.

rho and b are the multipliers of the two sums: the means over the free rows of each
class, or the middle of the optimal interval where there are none.

Refs      [Scholkopf2000] [Chang2011]
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from ..core.drivers.iterate import Result
from ..optim.constraints.smo import DualProblem, group_multipliers
from .kernel_machine import Nu, fill_up
from .pairwise_classifier import AbstractPairwiseClassifier, PairSolution


def nu_classifier_dual(sign, weights, nu) -> DualProblem:
    """The dual of one pair of classes, with a feasible start.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.svm.nu_svc import nu_classifier_dual
    >>> sign = np.array([1.0, 1.0, -1.0, -1.0])
    >>> nu_classifier_dual(sign, np.ones(4), 0.5).start
    array([ 1.,  0., -1.,  0.])
    """
    n = len(sign)
    total = nu * weights.sum() / 2
    start = np.zeros(n)
    for side in (1.0, -1.0):
        in_class = sign == side
        if total > weights[in_class].sum() * (1 + 1e-12):
            raise ValueError(
                f"specified nu is infeasible: nu={nu} needs a weight of {total:g} in "
                f"each class, but one has {weights[in_class].sum():g}."
            )
        start[in_class] = side * fill_up(weights[in_class], total) + 0.0
    low = np.where(sign > 0, 0.0, -weights)
    high = np.where(sign > 0, weights, 0.0)
    group = (sign < 0).astype(np.int64)
    return DualProblem(np.arange(n), np.zeros(n), low, high, group, start)


@dataclass(eq=False, repr=False)
class NuSVC(AbstractPairwiseClassifier):
    """Support vector classifier by the share of margin errors. See the module text.

    Parameters
    ----------
    nu : float, default=0.5
        Above 0 and at most 1: the largest share of margin errors, the least of support
        vectors.
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size, verbose, \
max_iter, decision_function_shape, break_ties, random_state
        As in `SVC`.
    class_weight : dict, "balanced" or None
        Factors on the weights of the rows of a class.

    Attributes
    ----------
    classes_, support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, \
n_iter_, fit_status_, history_
        As in `SVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.svm import NuSVC
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> model = NuSVC(kernel="linear").fit(X, [0, 0, 1, 1])
    >>> model.coef_.round(6), model.predict([[0.5]])
    (array([[0.666667]]), array([1]))
    """

    _: KW_ONLY
    nu: Nu = 0.5

    def _largest_bound(self, weights):
        return float(weights.max())

    def _solve_pair(self, pair, weights, start, solve) -> Result:
        problem = nu_classifier_dual(pair.sign, weights, self.nu)
        run = solve(problem)
        s = run.state
        upper, lower = group_multipliers(-s.products, s.beta, problem)
        margin = (lower - upper) / 2
        # where v = 0 is the optimum, what is left of the margin is rounding: below what
        # the solver resolves, and tiny beside the multipliers that add up to it
        unresolved = min(s.violation, 1e-9 * float(abs(s.beta).sum()))
        if not margin > max(unresolved, 1e-12 * max(abs(upper), abs(lower))):
            raise ValueError(
                f"nu={self.nu} leaves no margin between the classes: take a larger "
                "nu, or columns in other units if they hardly differ."
            )
        intercept = (upper + lower) / 2 / margin
        solution = PairSolution(
            s.beta / margin, intercept, s.steps, s.objective, s.violation
        )
        return run._replace(state=solution)
