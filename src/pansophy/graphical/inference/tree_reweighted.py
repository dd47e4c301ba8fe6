"""Tree-reweighted belief propagation: marginals and an upper bound of log Z.

A pairwise field is written as an average of spanning trees, in which edge f appears
with probability r_f. By convexity of log Z, the average log Z of the trees is at least
log Z of the field, and the best such bound is a concave problem with a unique solution:

    log Z <= max_b  <theta, b> + sum_v H(b_v) - sum_f r_f I_f(b)                   (1)

over locally consistent beliefs; H is entropy, I_f the
mutual information of the two ends of edge f. Its solution is a fixed point of messages

    q_{v>f} = u_v prod_g m_{g>v}^{r_g} / m_{f>v},
    m_{f>v} = sum phi_f^{1/r_f} q                                                  (2)

With all r_f = 1 this is belief propagation, which is exact on trees. Here r belongs to
a uniformly random spanning tree: r_f is the effective resistance of edge f in the graph
as a network of unit resistors. For large graphs it is estimated from sampled trees.

Refs      [Wainwright2005]; [Kirchhoff1847] resistances
"""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

from ...core.drivers.iterate import iterate
from ...core.numerics import softmax
from ...distributions import entropy
from ._message_passing import message_sweep, variable_log_beliefs, variable_to_factor
from .factor_graph import FactorGraph, flatten_factors, to_factor_graph
from .factors import factor_product
from .fixed_point import FixedPointState, last_change, warn_not_converged
from .loopy_belief_propagation import check_propagation_options, uniform_messages
from .message_passing import Beliefs, log_evidence_vector, message_buffers

MAX_EXACT_VARIABLES = 1500  # up to which resistances are computed
N_SAMPLED_TREES = 200  # spanning trees for larger graphs


def edge_appearance_probabilities(n: int, edges) -> np.ndarray:
    """r of each edge (m, 2): the share of spanning trees that contain it.

    Examples
    --------
    >>> from pansophy.graphical.inference.tree_reweighted import (
    ...     edge_appearance_probabilities,
    ... )
    >>> edge_appearance_probabilities(3, [(0, 1), (1, 2), (2, 0)]).round(6)
    array([0.666667, 0.666667, 0.666667])
    """
    edges = np.asarray(edges, dtype=int).reshape(-1, 2)
    i, j = edges.T
    if n <= MAX_EXACT_VARIABLES:
        L = np.zeros((n, n))
        np.add.at(L, (i, i), 1.0)
        np.add.at(L, (j, j), 1.0)
        np.add.at(L, (i, j), -1.0)
        np.add.at(L, (j, i), -1.0)
        G = np.linalg.pinv(L, hermitian=True)
        return np.clip(G[i, i] + G[j, j] - 2 * G[i, j], 0.0, 1.0)
    rng = np.random.default_rng(0)
    used = np.zeros(len(edges))
    for t in range(N_SAMPLED_TREES):
        # rarely used edges get small weights, so that every edge is in some tree
        weight = 1.0 + used / (t + 1) + rng.random(len(edges))
        tree = minimum_spanning_tree(coo_array((weight, (i, j)), shape=(n, n)))
        kept = tree.toarray()[i, j] > 0 if n <= 4000 else tree.tocsr()[i, j] > 0
        used += np.asarray(kept).ravel()
    return np.maximum(used, 0.5) / N_SAMPLED_TREES


def _merge_factors_by_scope(graph: FactorGraph) -> FactorGraph:
    """An equal graph with one factor for each set of at most two variables."""
    by_scope: dict = {}
    for f in graph.factors:
        if len(f.variables) > 2:
            raise ValueError(
                "tree-reweighting takes factors of at most two variables, got one of "
                f"{len(f.variables)}."
            )
        if (f.values <= 0).any():
            raise ValueError("tree-reweighting needs factors without zeros.")
        by_scope.setdefault(f.variables, []).append(f)
    return FactorGraph(graph.space, [factor_product(fs) for fs in by_scope.values()])


def tree_reweighted_bp(
    model,
    evidence=None,
    *,
    damping: float = 0.3,
    max_iter: int = 1000,
    tol: float = 1e-9,
) -> Beliefs:
    """Tree-reweighted marginals; `log_z` is an upper bound of log Z, eq. (1).

    Parameters
    ----------
    model : FactorGraph, MarkovRandomField or grid
        Positive factors of one or two variables.
    evidence : dict, optional
        Observed states, by name.
    damping : float, default=0.3
        Weight of the old message in an update.
    max_iter : int, default=1000
    tol : float, default=1e-9
        Largest change of a message at convergence.

    Examples
    --------
    >>> from pansophy.graphical import MarkovRandomField, tree_reweighted_bp
    >>> T = [[2, 1], [1, 2]]
    >>> edges = {("a", "b"): T, ("b", "c"): T, ("c", "d"): T, ("d", "a"): T}
    >>> field = MarkovRandomField(edges, {"a": [3, 1]})
    >>> tree_reweighted_bp(field).log_z > field.log_partition()
    True
    """
    check_propagation_options(damping, max_iter, tol)
    graph = _merge_factors_by_scope(to_factor_graph(model).reduced(evidence or {}))
    pair = [len(f.variables) == 2 for f in graph.factors]
    ends = [f.variables for f in graph.factors if len(f.variables) == 2]
    share = np.ones(len(graph.factors))
    if ends:
        share[pair] = edge_appearance_probabilities(len(graph.sizes), ends)
    u = log_evidence_vector(graph, evidence)
    powered = [
        f._replace(values=(f.values / f.values.max()) ** (1.0 / s))
        for f, s in zip(graph.factors, share, strict=True)
    ]
    flat = flatten_factors(graph.sizes, powered)
    M = uniform_messages(flat)
    r = share[flat.factor]
    order = np.concatenate([flat.edges, flat.edges[::-1]])
    buffers = message_buffers(flat)

    def step(state):
        gap = message_sweep(flat, order, 0, M, M, u, r, damping, True, buffers)
        return FixedPointState(M, float(gap))

    run = iterate(
        step, FixedPointState(M, np.inf), max_iter=max_iter, tol=tol, change=last_change
    )
    warn_not_converged(run, "tree_reweighted_bp", "raise damping or max_iter")
    bound = _upper_bound(flat, M, u, r, share) + sum(
        f.log_scale + float(np.log(f.values.max())) for f in graph.factors
    )
    return Beliefs(graph, flat, M, u, r, bound, run)


def _upper_bound(flat, M, u, r, share) -> float:
    """The right-hand side of eq. (1) at the beliefs of messages M."""
    b = np.split(variable_log_beliefs(flat, M, u, r), flat.start[1:-1])
    b = [softmax(logs) for logs in b]
    counting = np.ones(len(b))
    np.add.at(counting, flat.variable, -r)
    total = sum(a * entropy(p) for a, p in zip(counting, b, strict=True))
    q = np.empty(max(flat.sizes))
    for f, s in enumerate(share):
        logs = np.log(flat.table[flat.cell[f] : flat.cell[f + 1]])
        scope = range(flat.first[f], flat.first[f + 1])
        if not len(scope):
            continue
        joint = logs.reshape([flat.sizes[flat.variable[e]] for e in scope])
        for k, e in enumerate(scope):
            variable_to_factor(flat, e, M, u, r, q)
            n = flat.sizes[flat.variable[e]]
            joint = joint + q[:n].reshape(
                [-1 if j == k else 1 for j in range(len(scope))]
            )
        p = softmax(joint, axis=None)
        positive = p > 0
        total += s * float((p[positive] * logs.reshape(p.shape)[positive]).sum())
        total += s * entropy(p.ravel())
    return float(total)
