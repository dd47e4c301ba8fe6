"""Chow-Liu tree: the best network in which every node has at most one parent.

With I_jk the mutual information of columns j and k in the data, the log-likelihood of
a tree T with fitted tables is

    L(T) = n sum_{(j, k) in T} I_jk - n sum_j H_j                                (1)

so the likeliest tree is the spanning tree of largest total information, whichever node
is taken as its root: directions only write the same distribution in other ways.

    I_jk = sum_ab p_ab log(p_ab / (p_a p_b)),      p relative frequencies         (2)

Cost      d^2 / 2 tables of two columns (`counts`), then O(d^2) for the tree
Shapes    X (n, d)   I (d, d)
Refs      [ChowLiu1968]
"""

import numpy as np
import scipy.sparse as sp

from ..base import check_weights
from ..graphs.spanning_trees import minimum_spanning_tree
from .contingency_tables import ContingencyTables, for_each_item, g_statistics
from .structure_learning import network_from_counts
from .table_encoding import (
    drop_zero_weight_rows,
    encode_table,
    reject_continuous_columns,
)


def mutual_information_matrix(counts: ContingencyTables, given=()) -> np.ndarray:
    """I_jk of all pairs of columns, eq. (2), or I_jk given others; nats."""
    free = [j for j in range(counts.d) if j not in given]
    out = np.zeros((counts.d, counts.d))
    counts.ready()

    def one(place):
        others = free[place + 1 :]
        G, _ = g_statistics(counts, free[place], tuple(given), others)
        out[free[place], others] = G / (2 * max(counts.total, 1e-300))

    for_each_item(one, range(len(free) - 1), counts.n * len(free) ** 2)
    return out + out.T


def maximum_spanning_parents(
    info, root: int = 0, nodes=None
) -> tuple[tuple[int, ...], ...]:
    """Parents of each node in the spanning tree of largest total weight."""
    d = len(info)
    nodes = list(range(d)) if nodes is None else list(nodes)
    x, y = (np.array(nodes)[k] for k in np.triu_indices(len(nodes), 1))
    cost = info.max(initial=0.0) - info[x, y]
    tree = minimum_spanning_tree(sp.coo_array((cost, (x, y)), shape=(d, d)))
    near: list[list[int]] = [[] for _ in range(d)]
    for a, b in zip(tree.left.tolist(), tree.right.tolist(), strict=True):
        near[a].append(b)
        near[b].append(a)
    parents: list[tuple[int, ...]] = [()] * d
    todo, met = [root], {root}
    while todo:
        v = todo.pop()
        for u in sorted(set(near[v]) - met):
            parents[u] = (v,)
            met.add(u)
            todo.append(u)
    return tuple(parents)


def chow_liu(
    data, *, root=None, sample_weight=None, prior=None, equivalent_size: float = 10.0
):
    """The likeliest tree-shaped Bayesian network of a table, eq. (1).

    Parameters
    ----------
    data : array of shape (n, d), data frame or dict of columns
        Each different value of a column is a state, and columns of real numbers are
        refused; rows that miss one of two values are left out of that pair.
    root : name or number of a column, optional
        Where the arrows start; the first column by default.
    sample_weight : array of shape (n,), optional
        A weight of 3 counts as three copies of the row.
    prior : None, "laplace", "k2", "bdeu" or float
        Pseudo-counts of the tables.
    equivalent_size : float, default=10
        Rows that the prior "bdeu" is worth.

    Returns
    -------
    network : BayesianNetwork

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.graphical import chow_liu
    >>> rng = np.random.default_rng(0)
    >>> a = rng.integers(0, 2, 500)
    >>> b = a ^ (rng.random(500) < 0.1)
    >>> c = b ^ (rng.random(500) < 0.1)
    >>> chow_liu({"c": c, "a": a, "b": b}, root="a").edges
    [('b', 'c'), ('a', 'b')]
    """
    reject_continuous_columns(data, "chow_liu")
    codes, space = encode_table(data)
    w = check_weights(sample_weight, np.empty((len(codes), 1)))
    codes, space, w = drop_zero_weight_rows(codes, space, w)
    counts = ContingencyTables(codes, space.sizes, w)
    first = 0 if root is None else space.number(root)
    parents = maximum_spanning_parents(mutual_information_matrix(counts), first)
    return network_from_counts(counts, space, parents, prior, equivalent_size)
