"""Loopy belief propagation and mean field: approximate marginals of any factor graph.

On a graph with loops the messages of `message_passing` are iterated, each normalised,
until none changes by more than `tol`. A fixed point is a stationary point of the Bethe
free energy [Yedidia2005],

    log Z ~ sum_f log Z_f + sum_v log Z_v - sum_{(f, v)} log Z_fv                  (1)
    Z_v = sum b_v,  Z_f = sum phi_f prod q,  Z_fv = sum q_{v>f} m_{f>v}

which is exact on trees. With loops, evidence is counted more than once, so marginals
tend to be overconfident. A share `damping` of the old message is kept, which changes
the path but not the fixed points.

Schedules     parallel: all messages from the old ones; sequential: each message is used
              at once, forwards and backwards along the variables; residual: always the
              message that would change most [Elidan2006]
Mean field    b_v(x) ~ exp(sum_f E_{b of the others}[log phi_f]), one variable after
              the other; its value is a lower bound of log Z                       (2)

Cost      O(E a c) an iteration, for E edges, factors of a variables and c cells
"""

from typing import Any, Literal, NamedTuple

import numpy as np

from ...core.drivers.iterate import iterate
from ..networks.variables import zero_probability_error
from ._message_passing import (
    factor_to_variable,
    message_sweep,
    residual_sweep,
    variable_log_beliefs,
    variable_to_factor,
)
from .factor_graph import to_factor_graph
from .fixed_point import FixedPointState, last_change, warn_not_converged
from .message_passing import (
    Beliefs,
    log_constant_of,
    log_evidence_vector,
    message_buffers,
)


def check_propagation_options(damping, max_iter, tol):
    """Raise if an option is out of range."""
    if not 0 <= damping < 1:
        raise ValueError(f"damping must be at least 0 and below 1, got {damping}.")
    if max_iter < 1 or tol < 0:
        raise ValueError("max_iter must be at least 1 and tol at least 0.")


def uniform_messages(flat):
    """Uniform messages, as logarithms."""
    return -np.log(np.repeat(flat.sizes[flat.variable], np.diff(flat.message)))


def loopy_bp(
    model,
    evidence=None,
    *,
    damping: float = 0.0,
    schedule: Literal["parallel", "sequential", "residual"] = "sequential",
    kind: Literal["sum", "max"] = "sum",
    max_iter: int = 200,
    tol: float = 1e-8,
) -> Beliefs:
    """Approximate marginals of any factor graph; exact on trees.

    Parameters
    ----------
    model : FactorGraph, BayesianNetwork, MarkovRandomField or grid
    evidence : dict, optional
        Observed states, by name.
    damping : float, default=0.0
        Weight of the old message in an update.
    schedule : {"parallel", "sequential", "residual"}, default="sequential"
    kind : {"sum", "max"}, default="sum"
        Marginals, or max-marginals, whose largest states approximate the best
        assignment.
    max_iter : int, default=200
        Maximum number of iterations; each updates as many messages as there are edges.
    tol : float, default=1e-8
        Largest change of a message at convergence.

    Returns
    -------
    Beliefs
        `run` is the Result of the iteration; a ConvergenceWarning tells if it did not
        converge. `log_z` is that of eq. (1).

    Examples
    --------
    >>> from pansophy.graphical import MarkovRandomField, loopy_bp
    >>> T = [[2, 1], [1, 2]]
    >>> edges = {("a", "b"): T, ("b", "c"): T, ("c", "d"): T, ("d", "a"): T}
    >>> field = MarkovRandomField(edges, {"a": [3, 1]})
    >>> b = loopy_bp(field)
    >>> b["a"].round(6), b.converged
    (array([0.754644, 0.245356]), True)
    """
    check_propagation_options(damping, max_iter, tol)
    if schedule not in ("parallel", "sequential", "residual"):
        raise ValueError(
            "schedule must be 'parallel', 'sequential' or 'residual', got "
            f"{schedule!r}."
        )
    if kind not in ("sum", "max"):
        raise ValueError(f"kind must be 'sum' or 'max', got {kind!r}.")
    graph = to_factor_graph(model)
    flat = graph.flat
    u = log_evidence_vector(graph, evidence)
    M = uniform_messages(flat)
    r = np.ones(len(flat.variable))
    step = _propagation_step(flat, schedule, int(kind == "max"), M, u, r, damping)
    run = iterate(
        step, FixedPointState(M, np.inf), max_iter=max_iter, tol=tol, change=last_change
    )
    warn_not_converged(run, "loopy_bp", "raise damping or max_iter")
    b = variable_log_beliefs(flat, M, u, r)
    log_z = log_constant_of(graph)
    top = np.maximum.reduceat(b, flat.start[:-1])
    if np.isfinite(top).all():
        log_z += _bethe_log_partition(flat, M, u, r, int(kind == "max"))
    if not (np.isfinite(top).all() and log_z > -np.inf):
        raise zero_probability_error(evidence or {})
    return Beliefs(graph, flat, M, u, r, log_z, run)


def _propagation_step(flat, schedule, kind, M, u, r, damping):
    """The step function of an iteration over messages M, for the driver."""
    buffers = message_buffers(flat)
    E = len(flat.variable)
    forward = flat.edges.copy()
    order = np.concatenate([forward, forward[::-1]])
    order = np.arange(E) if schedule == "parallel" else order
    pending = M.copy()
    half = 1 << max(1, (max(E, 1) - 1).bit_length())
    residuals = np.zeros(2 * half)
    is_first = [True]

    def step(state):
        if schedule == "residual":
            gap = residual_sweep(
                flat,
                kind,
                M,
                u,
                r,
                damping,
                pending,
                residuals,
                E,
                is_first[0],
                buffers,
            )
            is_first[0] = False
        else:
            new = M.copy() if schedule == "parallel" else M
            gap = message_sweep(flat, order, kind, M, new, u, r, damping, True, buffers)
            M[:] = new
        return FixedPointState(M, float(gap))

    return step


def _bethe_log_partition(flat, M, u, r, kind=0) -> float:
    """The right-hand side of eq. (1)."""
    w, q, message_out = message_buffers(flat)
    combine = np.logaddexp.reduce if kind == 0 else np.max
    b = variable_log_beliefs(flat, M, u, r)
    total = 0.0
    for v in range(len(flat.sizes)):
        total += combine(b[flat.start[v] : flat.start[v + 1]])
    for e, v in enumerate(flat.variable):
        n, m = flat.sizes[v], M[flat.message[e] : flat.message[e + 1]]
        variable_to_factor(flat, e, M, u, r, q)
        back = q[:n].copy()
        total -= combine(back + m)
        if e == flat.first[flat.factor[e]]:
            factor_to_variable(flat, e, kind, M, u, r, q, w, message_out)
            total += combine(back + message_out[:n])
    return float(total)


class MeanFieldState(NamedTuple):
    """Beliefs of a mean field, and minus its lower bound of log Z."""

    b: Any
    objective: float


def mean_field(model, evidence=None, *, max_iter: int = 200, tol: float = 1e-8):
    """Mean field: the closest product of marginals, and a lower bound of log Z.

    Parameters
    ----------
    model : FactorGraph, MarkovRandomField or grid
        With factors above 0.
    evidence : dict, optional
    max_iter : int, default=200
    tol : float, default=1e-8

    Returns
    -------
    marginals : dict of arrays
    bound : float
        At most log Z, eq. (2).

    Examples
    --------
    >>> from pansophy.graphical import FactorGraph, mean_field
    >>> parts = [("a", [3, 1]), (("a", "b"), [[2, 1], [1, 2]])]
    >>> graph = FactorGraph({"a": 2, "b": 2}, parts)
    >>> marginals, bound = mean_field(graph)
    >>> bool(bound <= graph.log_partition())
    True
    """
    from ...sampling.densities.conjugate_models import DiscreteField

    check_propagation_options(0.0, max_iter, tol)
    graph = to_factor_graph(model)
    known = graph.space.codes(evidence)
    field = DiscreteField(graph.sizes, graph.reduced(evidence or {}).factors)
    first = field.start()
    for v, code in known.items():
        first[f"z{v}"] = np.eye(graph.sizes[v])[code]
    free = [v for v in range(len(graph.sizes)) if v not in known]

    def step(state):
        b = dict(state.b)
        for v in free:
            b[f"z{v}"] = field.update(b, v)  # eq. (2)
        return MeanFieldState(b, -field.bound(b))

    run = iterate(step, MeanFieldState(first, np.inf), max_iter=max_iter, tol=tol)
    warn_not_converged(run, "mean_field", "raise max_iter")
    names = graph.space.names
    return dict(zip(names, run.state.b.values(), strict=True)), -run.objective
