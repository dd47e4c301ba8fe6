"""Chow-Liu tree: the most likely network in which every node has at most one parent.

With I_jk the mutual information of columns j and k in the data, the log-likelihood of
a tree T with fitted tables is

    L(T) = n sum_{(j, k) in T} I_jk - n sum_j H_j                                (1)

so the most likely tree is the spanning tree of largest total mutual information,
whichever node is its root: directions do not change the distribution.

    I_jk = sum_ab p_ab log(p_ab / (p_a p_b)),      p relative frequencies         (2)

Cost      d^2 / 2 tables of two columns (`contingency_tables`), then O(d^2) for the tree
Shapes    X (n, d)   I (d, d)
Refs      [ChowLiu1968]
"""

import numpy as np
import scipy.sparse as sp

from ...core.arrays.weighted import check_sample_weight
from ...graphs.spanning_trees import minimum_spanning_tree
from ..networks.table_encoding import (
    drop_zero_weight_codes,
    encode_table,
    reject_continuous_columns,
)
from .contingency_tables import ContingencyTables, for_each_item, g_statistics
from .structure_learning import network_from_counts


def mutual_information_matrix(counts: ContingencyTables, given=()) -> np.ndarray:
    """I_jk of all pairs of columns in nats, eq. (2), or conditional on others."""
    columns = [j for j in range(counts.d) if j not in given]
    info = np.zeros((counts.d, counts.d))
    counts.pack()

    def fill_row(k):
        remaining = columns[k + 1 :]
        G, _ = g_statistics(counts, columns[k], tuple(given), remaining)
        info[columns[k], remaining] = G / (2 * max(counts.total, 1e-300))

    for_each_item(fill_row, range(len(columns) - 1), counts.n * len(columns) ** 2)
    return info + info.T


def maximum_spanning_parents(
    info, root: int = 0, nodes=None
) -> tuple[tuple[int, ...], ...]:
    """Parents of each node in the maximum spanning tree of a weight matrix."""
    d = len(info)
    nodes = list(range(d)) if nodes is None else list(nodes)
    x, y = (np.array(nodes)[k] for k in np.triu_indices(len(nodes), 1))
    cost = info.max(initial=0.0) - info[x, y]
    tree = minimum_spanning_tree(sp.coo_array((cost, (x, y)), shape=(d, d)))
    neighbors: list[list[int]] = [[] for _ in range(d)]
    for a, b in zip(tree.left.tolist(), tree.right.tolist(), strict=True):
        neighbors[a].append(b)
        neighbors[b].append(a)
    parents: list[tuple[int, ...]] = [()] * d
    stack = [root]
    visited = {root}
    while stack:
        v = stack.pop()
        for u in sorted(set(neighbors[v]) - visited):
            parents[u] = (v,)
            visited.add(u)
            stack.append(u)
    return tuple(parents)


def chow_liu(
    data, *, root=None, sample_weight=None, prior=None, equivalent_size: float = 10.0
):
    """The most likely tree-shaped Bayesian network of a table, eq. (1).

    Parameters
    ----------
    data : array of shape (n, d), data frame or dict of columns
        Each distinct value of a column is a state; continuous columns raise. Rows that
        miss one of two values are left out of that pair.
    root : name or number of a column, optional
        Root of the tree; the first column by default.
    sample_weight : array of shape (n,), optional
        A weight of 3 counts as three copies of the row.
    prior : None, "laplace", "k2", "bdeu" or float
        Pseudo-counts of the tables.
    equivalent_size : float, default=10
        Weight of the prior "bdeu", in rows.

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
    w = check_sample_weight(sample_weight, len(codes))
    codes, space, w = drop_zero_weight_codes(codes, space, w)
    counts = ContingencyTables(codes, space.sizes, w)
    first = 0 if root is None else space.number(root)
    parents = maximum_spanning_parents(mutual_information_matrix(counts), first)
    return network_from_counts(counts, space, parents, prior, equivalent_size)
