"""Graph cuts: the global minimum of a submodular binary energy by maximum flow.

    E(x) = sum_i c_i(x_i) + sum_{(i, j)} t_ij(x_i, x_j),   x_i in {0, 1}           (1)
    submodular:  t(0, 1) + t(1, 0) >= t(0, 0) + t(1, 1)                            (2)

A pair with w = t(0,1) + t(1,0) - t(0,0) - t(1,1) >= 0 is a sum of terms of one
variable and w/2 |x_i - x_j|. So E is, up to a constant, the weight of a cut between a
source (label 0) and a sink (label 1): terms of one variable are arcs to these, pairs
are arcs of w/2 both ways [Kolmogorov2004]. The minimum cut is found by maximum flow,
see `_max_flow`.

Many labels    alpha-expansion [Boykov2001] for Potts energies: for each label alpha
               every pixel keeps its label or takes alpha, the best such move being a
               minimum cut; until no move lowers the energy. Within a factor 2 of the
               minimum for costs of at least 0, exact for two labels.

Cost      in practice about linear in pixels on grids; O(n^2 m C) at worst
Shapes    unary (n, 2) costs   pairs (m, 2)   tables (m, 2, 2) or (2, 2)
"""

from typing import Any, NamedTuple

import numpy as np

from ._max_flow import build_arcs, minimum_cut

SUBMODULARITY_TOL = 1e-9  # tolerance of eq. (2) for rounding, relative to the table


class CutResult(NamedTuple):
    """A labelling and its energy."""

    labels: Any
    energy: float


def _check_node_pairs(pairs, n):
    """Pairs (m, 2) of different nodes as int32."""
    pairs = np.asarray(pairs)
    pairs = pairs.reshape(0, 2) if pairs.size == 0 else pairs
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"pairs must have shape (m, 2), got {pairs.shape}.")
    if len(pairs) and pairs.dtype.kind not in "iu":
        raise ValueError(f"pairs must be whole numbers, got {pairs.dtype}.")
    if len(pairs) and (pairs.min() < 0 or pairs.max() >= n):
        raise ValueError(f"pairs must number nodes 0 to {n - 1}, got {pairs.max()}.")
    if (pairs[:, 0] == pairs[:, 1]).any():
        raise ValueError("a pair joins two different nodes.")
    return np.ascontiguousarray(pairs, dtype=np.int32)


def binary_cut(unary, pairs, tables) -> CutResult:
    """Labels 0 and 1 of the lowest energy (1), and that energy.

    Parameters
    ----------
    unary : array of shape (n, 2)
        c: cost of each label of each node.
    pairs : array of shape (m, 2)
        Nodes of each pair.
    tables : array of shape (m, 2, 2) or (2, 2)
        t: cost of the labels of each pair, or one table for all.

    Examples
    --------
    >>> from pansophy.graphical import binary_cut
    >>> binary_cut([[0, 3], [1, 0]], [[0, 1]], [[0, 2], [2, 0]])
    CutResult(labels=array([0, 0]), energy=1.0)
    """
    c = np.asarray(unary, dtype=float)
    if c.ndim != 2 or c.shape[1] != 2:
        raise ValueError(f"unary must have shape (n, 2), got {c.shape}.")
    n = len(c)
    pairs = _check_node_pairs(pairs, n)
    t = np.asarray(tables, dtype=float)
    if t.shape not in ((2, 2), (len(pairs), 2, 2)):
        raise ValueError(f"tables must have shape ({len(pairs)}, 2, 2), got {t.shape}.")
    t = np.broadcast_to(t, (len(pairs), 2, 2))
    if not (np.isfinite(c).all() and np.isfinite(t).all()):
        raise ValueError("unary and tables must be finite.")
    w = t[:, 0, 1] + t[:, 1, 0] - t[:, 0, 0] - t[:, 1, 1]  # eq. (2)
    not_submodular = w < -SUBMODULARITY_TOL * np.abs(t).sum(axis=(1, 2))
    if not_submodular.any():
        k = int(np.argmax(not_submodular))
        raise ValueError(
            f"the pair {tuple(pairs[k].tolist())} is not submodular: its costs "
            f"{t[k].tolist()} prefer different labels, which a graph cut cannot "
            "minimise."
        )
    w = 0.5 * np.maximum(w, 0.0)
    terminal = c[:, 1] - c[:, 0]
    ends = (t[:, 1, 0] - t[:, 0, 0] - w, t[:, 1, 1] - t[:, 1, 0] + w)
    for side, gain in enumerate(ends):
        terminal = terminal + np.bincount(pairs[:, side], gain, minlength=n)
    first, head, residual, twin = build_arcs(n, pairs, w, w)
    x = (minimum_cut(terminal, first, head, residual, twin) != 1).astype(np.int64)
    pair = t[np.arange(len(pairs)), x[pairs[:, 0]], x[pairs[:, 1]]]
    return CutResult(x, float(c[np.arange(n), x].sum() + pair.sum()))


def graph_cut(model) -> CutResult:
    """The most probable labelling of a binary field with submodular pairs.

    Parameters
    ----------
    model : IsingGrid, FactorGraph, MarkovRandomField or BayesianNetwork
        With two states for each variable and factors of one or two variables. Costs
        are minus the logarithms of the factors.

    Returns
    -------
    Cut
        `labels`: an image of spins for a grid, otherwise a state for each name;
        `energy`: minus the logarithm of the product of the factors.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.graphical import IsingGrid, graph_cut
    >>> h = np.array([[1.0, 1.0, 1.0], [1.0, -0.5, 1.0]])
    >>> graph_cut(IsingGrid((2, 3), coupling=0.5, field=h)).labels
    array([[1, 1, 1], [1, 1, 1]], dtype=int8)
    """
    from ..inference.factor_graph import to_factor_graph
    from .ising_grid import IsingGrid

    if isinstance(model, IsingGrid):
        result = binary_cut(-model.unary.reshape(-1, 2), model.pairs, -model.pair)
        image = (2 * result.labels - 1).astype(np.int8).reshape(tuple(model.shape))
        return CutResult(image, result.energy)
    graph = to_factor_graph(model)
    n = len(graph.sizes)
    if any(size != 2 for size in graph.sizes):
        name = graph.space.names[[s != 2 for s in graph.sizes].index(True)]
        raise ValueError(f"a graph cut needs two states, {name!r} has another number.")
    c = np.zeros((n, 2))
    constant = 0.0
    pairs = []
    tables = []
    for f in graph.factors:
        if len(f.variables) > 2:
            raise ValueError(
                f"a graph cut takes factors of at most two variables, got one of "
                f"{len(f.variables)}."
            )
        if not (f.values > 0).all():
            raise ValueError("a graph cut needs factors without zeros.")
        cost = -np.log(f.values)
        constant -= f.log_scale
        if len(f.variables) == 2:
            pairs.append(f.variables)
            tables.append(cost)
        elif f.variables:
            c[f.variables[0]] += cost
        else:
            constant += float(cost)
    shaped = np.array(tables).reshape(-1, 2, 2)
    result = binary_cut(c, np.array(pairs, int), shaped)
    return CutResult(graph.state_names(result.labels), result.energy + constant)


def alpha_expansion(
    unary, pairs, weights, *, start=None, max_iter: int = 20
) -> CutResult:
    """Labels of a low Potts energy: sum_i c_i(x_i) + sum_ij w_ij [x_i != x_j].

    Parameters
    ----------
    unary : array of shape (n, q)
    pairs : array of shape (m, 2)
    weights : float or array of shape (m,)
        w >= 0.
    start : array of shape (n,), optional
        Initial labels; the cheapest of each node by default.
    max_iter : int
        Maximum number of cycles over all labels.

    Examples
    --------
    >>> from pansophy.graphical import alpha_expansion
    >>> alpha_expansion([[0, 2, 2], [1, 0, 2], [2, 2, 0]], [[0, 1], [1, 2]], 0.8)
    CutResult(labels=array([0, 1, 2]), energy=1.6)
    """
    c = np.asarray(unary, dtype=float)
    if c.ndim != 2 or c.shape[1] < 1 or not np.isfinite(c).all():
        raise ValueError(f"unary must be finite of shape (n, q), got {c.shape}.")
    n, q = c.shape
    pairs = _check_node_pairs(pairs, n)
    w = np.broadcast_to(np.asarray(weights, dtype=float), len(pairs))
    if (w < 0).any():
        raise ValueError("weights of pairs must not be negative: that is not a metric.")
    x = c.argmin(axis=1) if start is None else np.array(start, dtype=np.int64)
    if x.shape != (n,) or not ((x >= 0) & (x < q)).all():
        raise ValueError(f"start must hold {n} labels from 0 to {q - 1}.")
    i = pairs[:, 0]
    j = pairs[:, 1]
    nodes = np.arange(n)

    def energy(x):
        return float(c[nodes, x].sum() + w[x[i] != x[j]].sum())

    if q == 2:  # one cut is the global minimum
        t = w[:, None, None] * (1.0 - np.eye(2))
        return binary_cut(c, pairs, t)
    best = energy(x)
    for _ in range(max_iter):
        old_best = best
        for alpha in range(q):
            t = np.zeros((len(pairs), 2, 2))  # 1: take alpha, 0: keep
            t[:, 0, 0] = w * (x[i] != x[j])
            t[:, 0, 1], t[:, 1, 0] = w * (x[i] != alpha), w * (x[j] != alpha)
            move = binary_cut(np.stack([c[nodes, x], c[:, alpha]], 1), pairs, t).labels
            new = np.where(move == 1, alpha, x)
            if (value := energy(new)) < best - 1e-12 * abs(best):
                x, best = new, value
        if best == old_best:
            break
    return CutResult(x, best)
