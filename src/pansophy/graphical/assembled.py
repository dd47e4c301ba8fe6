"""Networks made of parts that were learned or read: names, parents, nodes."""

import numpy as np

from .bayesian_network import BayesianNetwork
from .climbing import parents_in
from .counts import Counts
from .nodes import LinearGaussian, Table
from .tables import estimate, families


def tables_of(network):
    """Space, parents and tables of a network, if all its nodes are tables."""
    for name, node in zip(network.space.names, network.nodes, strict=True):
        if not isinstance(node, Table):
            raise ValueError(f"{name!r} is continuous and has no table.")
    return network.space, network.parents, [node.prob for node in network.nodes]


def counted_network(
    counts: Counts, space, parents, prior=None, equivalent_size=10.0, columns=None
):
    """A network with tables from counts, in which node j is columns[j] (or j)."""
    at = range(len(parents)) if columns is None else columns
    N = [counts.table([at[v] for v in family]) for family in families(parents)]
    tables = estimate(N, prior, equivalent_size)
    return BayesianNetwork.from_nodes(
        space, parents, tables, prior=prior, equivalent_size=equivalent_size
    )


def regressed_network(X, space, parents, weights=None):
    """A network of linear Gaussian nodes."""
    nodes = []
    for j, above in enumerate(parents):
        shape = LinearGaussian(0.0, np.zeros(len(above)))
        stats = shape.stats(X[:, j], X[:, list(above)], weights)
        nodes.append(LinearGaussian.from_stats(stats))
    return BayesianNetwork.from_nodes(space, parents, nodes, kinds="gaussian")


def reordered(parents, order) -> tuple:
    """Parents of graph nodes renamed by order: node k of the graph is order[k]."""
    A = np.zeros((len(order), len(order)), dtype=bool)
    for j, above in enumerate(parents):
        A[[order[p] for p in above], order[j]] = True
    return parents_in(A)
