"""Small networks, random and by hand, which tests of exact inference share."""

import numpy as np
from hypothesis import strategies as st

from pansophy.graphical import (
    BayesianNetwork,
    ConditionalLinearGaussian,
    ConditionalTable,
    LinearGaussian,
    VariableSpace,
)
from tests.oracles import networks as slow


@st.composite
def small_networks(draw, zeros=0.0, largest=6):
    """(rng, parents, sizes, tables) of a network of few variables."""
    d = draw(st.integers(2, largest))
    seed = draw(st.integers(0, 2**20))
    rng = np.random.default_rng(seed)
    sizes = tuple(int(s) for s in rng.integers(1, 4, d))
    rank = rng.permutation(d)
    parents = []
    for i in range(d):
        above = [int(j) for j in range(d) if rank[j] < rank[i] and rng.random() < 0.45]
        parents.append(tuple(rng.permutation(above[:3]).astype(int).tolist()))
    tables = slow.random_tables(rng, parents, sizes, zeros)
    return rng, parents, sizes, tables


def made(parents, sizes, tables, **params):
    """The network of these tables."""
    nodes = [ConditionalTable(t) for t in tables]
    return BayesianNetwork.from_nodes(
        VariableSpace.of_sizes(sizes), parents, nodes, **params
    )


def network_of_five():
    """Edges 1->2, 1->3, 2->4, 3->4, 3->5, 4->5; the table of 4 is the given one."""
    return BayesianNetwork.from_tables(
        {
            "1": [0.3, 0.7],
            "2 | 1": [[0.2, 0.8], [0.6, 0.4]],
            "3 | 1": [[0.5, 0.5], [0.9, 0.1]],
            "4 | 2, 3": [[[0, 1], [1, 0]], [[0.7, 0.3], [0.1, 0.9]]],
            "5 | 3, 4": [[[0.4, 0.6], [0.3, 0.7]], [[0.8, 0.2], [0.5, 0.5]]],
        }
    )


def network_of_four():
    """x1 -> x2 <- x3 -> x4 with a deterministic x2."""
    return BayesianNetwork.from_tables(
        {
            "x1": [0.01, 0.99],
            "x3": [0.01, 0.99],
            "x2 | x1, x3": [[[1, 0], [1, 0]], [[1, 0], [0, 1]]],
            "x4 | x3": [[0.3, 0.7], [0.8, 0.2]],
        }
    )


def mixed_network():
    """Two discrete variables and three numbers."""
    return BayesianNetwork.from_tables(
        {
            "k": [0.3, 0.7],
            "m | k": [[0.9, 0.1], [0.4, 0.6]],
            "a": LinearGaussian(1.0, (), 2.0),
            "b | k, a": ConditionalLinearGaussian(
                [0.0, 1.0], [[1.0], [2.0]], [1.0, 2.0], (0,)
            ),
            "c | b": LinearGaussian(0.5, [1.5], 1.0),
        }
    )
