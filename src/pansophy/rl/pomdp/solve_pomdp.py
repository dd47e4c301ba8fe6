"""One entry to the solvers of POMDPs: which of them answers with alpha vectors.

| method      | values                     | for                                   |
|-------------|----------------------------|---------------------------------------|
| exact       | to a stated bound          | a few states and observations         |
| point-based | from below, where reached  | up to thousands of states             |
| fib         | from above                 | a bound; a policy that may hesitate   |
| qmdp        | from above                 | where nothing needs to be found out   |
"""

from .belief_value_iteration import belief_value_iteration
from .point_based import point_based_value_iteration
from .pomdp import POMDP, AlphaVectors
from .qmdp import fast_informed_bound, qmdp

SOLVERS = {
    "exact": lambda model, gamma, **options: (
        belief_value_iteration(model, gamma, **options).policy
    ),
    "point-based": lambda model, gamma, **options: (
        point_based_value_iteration(model, gamma, **options).policy
    ),
    "fib": fast_informed_bound,
    "qmdp": qmdp,
}


def solve_pomdp(
    model: POMDP, gamma=0.95, *, method="point-based", **options
) -> AlphaVectors:
    """Values and policy of beliefs by a method of choice.

    Parameters
    ----------
    model : POMDP
    gamma : float
        Discount below 1.
    method : {"exact", "point-based", "fib", "qmdp"}
        See the module text.
    options
        Further parameters of `belief_value_iteration`, `point_based_value_iteration`,
        `fast_informed_bound` or `qmdp`.

    Examples
    --------
    >>> from pansophy.rl import solve_pomdp, tiger_problem
    >>> policy = solve_pomdp(tiger_problem(), gamma=0.95, method="exact")
    >>> [policy.action([p, 1 - p]) for p in (0.02, 0.5, 0.98)]  # open left, listen, ...
    [1, 0, 2]
    """
    if method not in SOLVERS:
        raise ValueError(f"method must be one of {list(SOLVERS)}, got {method!r}.")
    return SOLVERS[method](model, gamma, **options)
