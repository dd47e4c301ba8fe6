"""Networks made of parts that were learned or read: names, parents, nodes."""

import numpy as np

from .climbing import parents_in
from .counts import Counts
from .dags import edges_of
from .names import Space
from .nodes import LinearGaussian, Table
from .tables import estimate, families


def network_of(space: Space, parents, tables, **params):
    """A BayesianNetwork of these tables (arrays or nodes)."""
    from .bayesian_network import BayesianNetwork

    states = {v: list(s) for v, s in zip(*space, strict=True) if s}
    network = BayesianNetwork(edges_of(parents, space.names), states=states, **params)
    network.space_ = space
    network.parents_ = tuple(tuple(int(p) for p in above) for above in parents)
    network.nodes_ = tuple(Table(t) if isinstance(t, np.ndarray) else t for t in tables)
    network.n_features_in_ = len(space.names)
    network.feature_names_in_ = np.array(space.names, dtype=object)
    return network


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
    return network_of(
        space, parents, tables, prior=prior, equivalent_size=equivalent_size
    )


def regressed_network(X, space, parents, weights=None):
    """A network of linear Gaussian nodes."""
    nodes = []
    for j, above in enumerate(parents):
        shape = LinearGaussian(0.0, np.zeros(len(above)))
        stats = shape.stats(X[:, j], X[:, list(above)], weights)
        nodes.append(LinearGaussian.from_stats(stats))
    return network_of(space, parents, nodes, kinds="gaussian")


def reordered(parents, order) -> tuple:
    """Parents of graph nodes renamed by order: node k of the graph is order[k]."""
    A = np.zeros((len(order), len(order)), dtype=bool)
    for j, above in enumerate(parents):
        A[[order[p] for p in above], order[j]] = True
    return parents_in(A)
