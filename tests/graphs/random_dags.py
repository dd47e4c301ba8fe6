"""Random acyclic graphs as lists of parents."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def random_dags(draw):
    """The parents of each node, in a random order of nodes."""
    d = draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    rank = rng.permutation(d)
    return [
        tuple(j for j in range(d) if rank[j] < rank[i] and rng.random() < 0.4)
        for i in range(d)
    ]
