"""Small random networks of tables, which tests of exact inference share."""

import numpy as np
from hypothesis import strategies as st

from pansophy.graphical import BayesianNetwork, ConditionalTable, VariableSpace
from tests.oracles import networks as slow


@st.composite
def small_networks(draw, zeros=0.0, largest=6):
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
    nodes = [ConditionalTable(t) for t in tables]
    return BayesianNetwork.from_nodes(
        VariableSpace.of_sizes(sizes), parents, nodes, **params
    )
