"""`minimize`: common entry point of all solvers; picks a method from its arguments.

    METHODS      every solver by name: what it needs and what it supports
    auto         constraints -> constrained; a penalty -> proximal; bounds -> lbfgs;
                 a Hessian -> newton; products H v -> newton_cg; otherwise bfgs, or
                 lbfgs for many unknowns; no starting point -> multi_start

Every method ends in the same `Result`: `state.position`, `objective`, `history`,
`n_iter` and the `reason` of stopping ("tolerance", "max_iter", "callback", "stalled",
"diverged", "interrupted"; "kkt" where a constrained run does not meet its conditions).
"""

from collections.abc import Callable

import numpy as np

from ..core.arrays.arrays import is_torch
from ..core.drivers.iterate import Result, best_of
from ..core.linalg.linalg import NotPositiveDefiniteError
from ..core.random import make_rng
from .constraints.duality import bounds_array
from .method_table import METHODS, MinimizeProblem, checked_method, default_method
from .numeric_derivatives import numeric_gradient
from .trajectory import Trajectory


def value_and_gradient(f: Callable, x, gradient):
    """f as x -> (value, gradient), and as x -> value."""
    if callable(gradient):
        return lambda u: (f(u), gradient(u)), f
    if gradient == "autodiff" or (gradient is None and is_torch(x)):
        from .autodiff import value_and_grad

        return value_and_grad(f), lambda u: float(f(u))
    if gradient not in (None, "numeric"):
        raise ValueError(
            "gradient must be a function, 'numeric', 'autodiff' or None, got "
            f"{gradient!r}."
        )
    if gradient is None and isinstance(f(x), tuple):
        return f, lambda u: f(u)[0]
    return lambda u: (f(u), numeric_gradient(f, u)), f


def minimize(
    f: Callable,
    x=None,
    method: str = "auto",
    *,
    gradient=None,
    hessian: Callable | None = None,
    product: Callable | None = None,
    bounds=None,
    constraints=(),
    penalty=None,
    callback: Callable | None = None,
    trajectory: bool = False,
    max_iter: int | None = None,
    tol: float | None = None,
    random_state=None,
    **options,
) -> Result:
    """Minimise f by the given method, or by one chosen from the arguments.

    Parameters
    ----------
    f : function of x
        Gives a number, or a pair (value, gradient).
    x : array or tensor, optional
        Start; may be left out where bounds are given.
    method : str
        "auto" or a name of `optim.METHODS`.
    gradient : function of x, "numeric", "autodiff" or None
        None uses the pair that f returns; otherwise central differences, or autograd
        if x is a tensor.
    hessian : function x -> H, product : function x -> (v -> H v)
    bounds : pairs (low, high), one per coordinate or one for all
        None or an infinite number is no bound.
    constraints : `optim.equality_constraint(h)` and `optim.inequality_constraint(g)`
    penalty : of `pansophy.penalties`
        Added to f; may have kinks, or be the indicator of a set.
    callback : function of the state
        Called after each step; the run stops when it returns True.
    trajectory : bool
        Whether to record `history["position"]`: the start and the point of each step.
    max_iter, tol
        Those of the method if None.
    random_state : int, Generator or None
    **options
        For the method: `rule=` of gradient, `beta=` of conjugate, `n_starts=` ...

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> f = lambda x: (x[0] - 3) ** 2 + (x[1] + 1) ** 4
    >>> optim.minimize(f, np.zeros(2), bounds=(0, 2)).state.position.round(3)
    array([2., 0.])
    """
    rng = make_rng(random_state)
    shape = None
    if x is not None and not is_torch(x):
        x = np.array(x, dtype=float)
        shape = x.shape
        if x.ndim != 1:
            f = _flattened_objective(f, shape)
            gradient = _flattened_objective(gradient, shape)
            x = x.ravel()
    if bounds is not None:
        d = len(x) if x is not None else len(bounds)
        bounds = [tuple(pair) for pair in bounds_array(bounds, d)]
    middle = x if x is not None else np.mean(bounds, axis=1) if bounds else None
    if middle is None:
        raise ValueError("minimize needs a start x, or bounds to search within.")
    joint, value = value_and_gradient(f, middle, gradient)
    problem = MinimizeProblem(
        f=joint,
        value=value,
        x=x,
        hessian=hessian,
        product=product,
        bounds=bounds,
        constraints=tuple(constraints),
        penalty=penalty,
        rng=rng,
    )
    name = default_method(problem) if method == "auto" else method
    chosen = checked_method(name, problem)
    recorder = Trajectory(x, callback, keep=trajectory)
    options |= {
        k: v for k, v in (("max_iter", max_iter), ("tol", tol)) if v is not None
    }
    try:
        run = chosen.run(problem, task=recorder, **options)
    except NotPositiveDefiniteError:
        if method != "auto":
            raise
        # f is not convex here: Newton's method does not apply
        run = METHODS["bfgs"].run(problem, task=recorder, **options)
    if trajectory:
        run = run._replace(history=run.history | {"position": recorder.positions})
    if shape is not None and len(shape) != 1:
        state = run.state
        run = run._replace(state=state._replace(position=state.position.reshape(shape)))
    return run


def _flattened_objective(f, shape):
    """f of an array of the given shape, as a function of a vector."""
    if not callable(f):
        return f

    def g(u):
        value = f(u.reshape(shape))
        if isinstance(value, tuple):
            return value[0], np.asarray(value[1]).ravel()
        return np.asarray(value).ravel() if np.ndim(value) else value

    return g


def multi_start(
    f: Callable, starts, method: str = "auto", *, task=None, **options
) -> Result:
    """Run `minimize` from each start and return the run with the lowest objective.

    `history["optima"]` holds the objective reached from each start, which shows how
    many local minima there are.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> f = lambda x: np.sum(x**4 - 8 * x**2 + x)
    >>> run = optim.multi_start(f, [[3.0], [-3.0], [1.0]])
    >>> run.history["optima"].round(3), run.state.position.round(3)
    (array([-14.016, -18.015, -14.016]), array([-2.031]))
    """
    optima = []
    if task is not None:
        options = {"callback": task.end, **options}

    def run_from(i, child):
        run = minimize(f, starts[i], method, **options)
        optima.append(run.objective)
        return run

    best = best_of(len(starts), run_from)
    return best._replace(history=best.history | {"optima": np.array(optima)})
