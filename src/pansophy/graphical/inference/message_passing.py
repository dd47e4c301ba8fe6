"""Sum-product, max-product and min-sum belief propagation: exact inference on trees.

A variable v and a factor f exchange two messages, functions of the states of v:

    q_{v>f}(x) = u_v(x) prod_{g at v, g != f} m_{g>v}(x)                           (1)
    m_{f>v}(x) = sum_{x_f: x_v = x} phi_f(x_f) prod_{w in f, w != v} q_{w>f}(x_w)  (2)
    b_v(x)     = u_v(x) prod_{f at v} m_{f>v}(x)                                   (3)

u_v is 1, or the evidence: 1 at the observed state and 0 elsewhere. On a tree each
message is needed once, towards a root and back; b_v is then the marginal of v times Z,
whatever the root, and its sum is Z = p(evidence) at every variable. With max in place
of the sum, b_v is the value of the best assignment with x_v = x, and backtracking from
the root gives that assignment. Min-sum is the same in energies -log phi, where products
are sums. All messages are kept as logarithms, so that nothing underflows.

Cost      O(E a c) for E edges, factors of a variables and c cells
Shapes    messages over the states of one variable
Refs      [Pearl1988]; [Kschischang2001]; [Viterbi1967] on a chain
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...core.numerics import softmax
from ..networks.variables import zero_probability_error
from ._message_passing import (
    decode_assignment,
    message_sweep,
    tree_schedule,
    variable_log_beliefs,
    variable_to_factor,
)
from .factor_graph import FactorGraph, FlatFactorGraph, to_factor_graph


class Message(NamedTuple):
    """The messages between a factor and a variable."""

    factor: int
    variable: str
    to_variable: np.ndarray  # m of eq. (2)
    to_factor: np.ndarray  # q of eq. (1)


class Beliefs(Mapping):
    """Marginals by name, log Z, and the messages they are made of.

    Attributes
    ----------
    graph : FactorGraph
    log_z : float
        Logarithm of Z, the probability of the evidence in a network. Exact on trees,
        otherwise the approximation or bound of the method.
    unnormalised : dict of arrays
        b of eq. (3).
    messages : list of Message
    run : Result or None
        How an iterative method ended: `converged`, `n_iter`, `history`.

    `beliefs[name]` is the marginal of a variable.
    """

    def __init__(self, graph, flat, M, u, r, log_z, run=None):
        self.graph: FactorGraph = graph
        self.log_z = float(log_z)
        self.run = run
        self._parts = flat, M, u, r

    @cached_property
    def _logs(self):
        flat, M, u, r = self._parts
        b = variable_log_beliefs(flat, M, u, r)
        return np.split(b, flat.start[1:-1])

    @cached_property
    def unnormalised(self) -> dict[str, np.ndarray]:
        constant = self.graph.log_constant
        names = self.graph.space.names
        return {n: np.exp(b + constant) for n, b in zip(names, self._logs, strict=True)}

    def __getitem__(self, name):
        b = self._logs[self.graph.space.number(name)]
        return softmax(b)

    def __iter__(self):
        return iter(self.graph.space.names)

    def __len__(self):
        return len(self.graph.space.names)

    def __repr__(self):
        ending = (
            "" if self.run is None else f", {self.run.reason} after {self.run.n_iter}"
        )
        return f"Beliefs({len(self)} variables, log_z={self.log_z:.6g}{ending})"

    @property
    def converged(self) -> bool:
        """Whether the messages converged; always true on trees."""
        return self.run is None or self.run.converged

    @cached_property
    def messages(self) -> list[Message]:
        flat, M, u, r = self._parts
        message_list = []
        q = np.empty(max(flat.sizes, default=0))
        for e, v in enumerate(flat.variable):
            variable_to_factor(flat, e, M, u, r, q)
            m = np.exp(M[flat.message[e] : flat.message[e + 1]])
            back = np.exp(q[: flat.sizes[v]])
            name = self.graph.space.names[v]
            message_list.append(Message(int(flat.factor[e]), name, m, back))
        return message_list


class Assignment(NamedTuple):
    """A best joint state and the logarithm of its (unnormalised) probability."""

    states: dict[str, Any]
    log_value: float


def log_evidence_vector(graph: FactorGraph, evidence) -> np.ndarray:
    """u of eq. (1) as logarithms: 0 where possible, -inf where the evidence differs."""
    flat = graph.flat
    u = np.zeros(flat.start[-1])
    for v, code in graph.space.codes(evidence).items():
        u[flat.start[v] : flat.start[v + 1]] = -np.inf
        u[flat.start[v] + code] = 0.0
    return u


def message_buffers(flat: FlatFactorGraph):
    """Scratch arrays of the loops: a table and two messages."""
    cells = int(np.diff(flat.cell).max(initial=1))
    largest = int(flat.sizes.max(initial=1))
    return np.empty(cells), np.empty(largest), np.empty(largest)


def _tree_factor_graph(model, evidence) -> FactorGraph:
    """The factor graph, reduced by the evidence if it has loops."""
    graph = to_factor_graph(model)
    if graph.is_tree:
        return graph
    reduced = graph.reduced(evidence) if evidence else graph
    if not reduced.is_tree:
        raise ValueError(
            "the graph has loops: use loopy_bp, cutset_conditioning or a junction tree."
        )
    return reduced


def _tree_messages(graph: FactorGraph, evidence, root, kind):
    """All messages of a tree, eq. (2): flat graph, schedule, roots, M, u, weights."""
    flat = graph.flat
    u = log_evidence_vector(graph, evidence)
    if kind == 2:
        with np.errstate(divide="ignore"):
            flat = flat._replace(table=np.log(flat.table))
    order, roots, _ = tree_schedule(flat, graph.space.number(root))
    M = np.zeros(flat.message[-1])
    r = np.ones(len(flat.variable))
    message_sweep(flat, order, kind, M, M, u, r, 0.0, False, message_buffers(flat))
    return flat, order, roots, M, u, r


def log_constant_of(graph: FactorGraph) -> float:
    """Logarithm of the factors without variables and of the scales of all others."""
    constants = [float(f.values) for f in graph._rescaled_factors if not f.variables]
    with np.errstate(divide="ignore"):
        return graph.log_constant + float(np.log(constants).sum())


def sum_product(model, evidence=None, *, root=0) -> Beliefs:
    """Exact marginals and Z of a tree of factors, eq. (1) to (3).

    Parameters
    ----------
    model : FactorGraph, BayesianNetwork, MarkovRandomField or grid
        Without loops, or with loops that the evidence breaks.
    evidence : dict, optional
        Observed states, by name.
    root : name or number, default=0
        Root of the tree; the result does not depend on it.

    Examples
    --------
    >>> from pansophy.graphical import FactorGraph, sum_product
    >>> T = [[0.4, 0.6], [2 / 3, 1 / 3]]
    >>> chain = FactorGraph([2] * 5, [("x0", [0.5, 0.5])] + [
    ...     ((f"x{i}", f"x{i + 1}"), T) for i in range(4)])
    >>> b = sum_product(chain, {"x4": 1})
    >>> b["x2"].round(6), round(float(b.unnormalised["x0"].sum()), 6)
    (array([0.487014, 0.512986]), 0.473817)
    """
    graph = _tree_factor_graph(model, evidence)
    flat, _, roots, M, u, r = _tree_messages(graph, evidence, root, 0)
    b = variable_log_beliefs(flat, M, u, r)
    log_z = log_constant_of(graph)
    for v in roots:
        log_z += np.logaddexp.reduce(b[flat.start[v] : flat.start[v + 1]])
    if not log_z > -np.inf:
        raise zero_probability_error(evidence or {})
    return Beliefs(graph, flat, M, u, r, log_z)


def _best_assignment(model, evidence, root, kind) -> Assignment:
    """The best assignment of a tree by the messages of a kind (1 or 2)."""
    graph = _tree_factor_graph(model, evidence)
    flat, order, roots, M, u, r = _tree_messages(graph, evidence, root, kind)
    b = variable_log_beliefs(flat, M, u, r)
    top = log_constant_of(graph)
    top += sum(b[flat.start[v] : flat.start[v + 1]].max() for v in roots)
    if not top > -np.inf:
        raise zero_probability_error(evidence or {})
    x = np.zeros(len(flat.sizes), np.int64)
    q = np.empty(max(flat.sizes))
    decode_assignment(flat, order, roots, kind, M, u, r, q, x)
    return Assignment(graph.state_names(x), float(top))


def max_product(model, evidence=None, *, root=0) -> Assignment:
    """The most probable joint state of a tree of factors, by max-product.

    The parameters are those of `sum_product`. Ties go to the lowest state at the root,
    and so on down.

    Examples
    --------
    >>> from pansophy.graphical import FactorGraph, max_product
    >>> parts = [("a", [3, 1]), (("a", "b"), [[2, 1], [1, 8]])]
    >>> graph = FactorGraph({"a": 2, "b": 2}, parts)
    >>> max_product(graph).states
    {'a': 1, 'b': 1}
    """
    return _best_assignment(model, evidence, root, 1)


def min_sum(model, evidence=None, *, root=0) -> Assignment:
    """The most probable joint state of a tree, by min-sum of energies -log phi.

    Examples
    --------
    >>> from pansophy.graphical import FactorGraph, min_sum
    >>> parts = [("a", [3, 1]), (("a", "b"), [[2, 1], [1, 8]])]
    >>> graph = FactorGraph({"a": 2, "b": 2}, parts)
    >>> min_sum(graph)
    Assignment(states={'a': 1, 'b': 1}, log_value=2.07...)
    """
    return _best_assignment(model, evidence, root, 2)
