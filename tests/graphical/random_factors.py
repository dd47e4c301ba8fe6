"""Random graphs of factors, which tests of message passing share."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def random_factors(draw, tree=True, top=6, zeros=True):
    """A random graph of factors of one to three variables, and its parts."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    d = int(rng.integers(1, top + 1))
    sizes = tuple(int(s) for s in rng.integers(1, 4, d))
    scopes, done = [], [0]
    while len(done) < d:  # a new factor joins one old variable and one or two new ones
        new = list(range(len(done), min(d, len(done) + int(rng.integers(1, 3)))))
        scopes.append((int(rng.choice(done)), *new))
        done += new
    scopes += [(int(v),) for v in rng.integers(0, d, int(rng.integers(0, 3)))]
    if not tree and d > 2:
        some = rng.choice(d, (2, 2), replace=True)
        scopes += [tuple(int(v) for v in p) for p in some if p[0] != p[1]]
    factors = []
    for scope in scopes:
        scope = tuple(rng.permutation(scope).tolist())
        table = rng.gamma(1.0, size=[sizes[v] for v in scope])
        if zeros and rng.random() < 0.3:
            table[rng.random(table.shape) < 0.2] = 0.0
        factors.append((scope, table))
    v = int(rng.integers(0, d))
    evidence = {v: int(rng.integers(0, sizes[v]))} if rng.random() < 0.5 else {}
    return sizes, factors, evidence, int(rng.integers(0, d))
