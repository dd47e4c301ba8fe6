"""Networks made of parts that were learned or read: names, parents, nodes."""

import numpy as np

from .bayesian_network import BayesianNetwork
from .hill_climbing import parents_from_adjacency
from .contingency_tables import ContingencyTables
from .conditional_distributions import LinearGaussian, ConditionalTable
from .tables import estimate_tables, node_families


def discrete_tables(network):
    """Space, parents and tables of a network, if all its nodes are tables."""
    for name, node in zip(network.space.names, network.nodes, strict=True):
        if not isinstance(node, ConditionalTable):
            raise ValueError(f"{name!r} is continuous and has no table.")
    return network.space, network.parents, [node.prob for node in network.nodes]


def network_from_counts(
    counts: ContingencyTables, space, parents, prior=None, equivalent_size=10.0, columns=None
):
    """A network with tables from counts, in which node j is columns[j] (or j)."""
    at = range(len(parents)) if columns is None else columns
    N = [counts.table([at[v] for v in family]) for family in node_families(parents)]
    tables = estimate_tables(N, prior, equivalent_size)
    return BayesianNetwork.from_nodes(
        space, parents, tables, prior=prior, equivalent_size=equivalent_size
    )


def network_from_regressions(X, space, parents, weights=None):
    """A network of linear Gaussian nodes."""
    nodes = []
    for j, above in enumerate(parents):
        shape = LinearGaussian(0.0, np.zeros(len(above)))
        stats = shape.stats(X[:, j], X[:, list(above)], weights)
        nodes.append(LinearGaussian.from_stats(stats))
    return BayesianNetwork.from_nodes(space, parents, nodes, kinds="gaussian")


def permute_parents(parents, order) -> tuple:
    """Parents of graph nodes renamed by order: node k of the graph is order[k]."""
    A = np.zeros((len(order), len(order)), dtype=bool)
    for j, above in enumerate(parents):
        A[[order[p] for p in above], order[j]] = True
    return parents_from_adjacency(A)
