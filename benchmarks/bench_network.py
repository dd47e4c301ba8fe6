"""Bayesian networks: exact posteriors, rows filled in, and samples, against pgmpy."""

import logging

import numpy as np

from .runner import Case


def network_of(n_nodes, n_edges, states):
    from pansophy.graphical import random_network

    network = random_network(n_nodes, n_edges, states=states, seed=1)
    return network, to_pgmpy(network)


def to_pgmpy(network):
    """The same network as an object of pgmpy."""
    logging.getLogger("pgmpy").setLevel(logging.ERROR)
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    names, sizes = network.space.names, network.space.sizes
    model = DiscreteBayesianNetwork(
        [(names[p], names[i]) for i, a in enumerate(network.parents) for p in a]
    )
    model.add_nodes_from(names)
    for i, above in enumerate(network.parents):
        values = network.nodes[i].prob.reshape(-1, sizes[i]).T
        given = [names[p] for p in above] or None
        cards = [sizes[p] for p in above] or None
        model.add_cpds(TabularCPD(names[i], sizes[i], values, given, cards))
    return model


def questions(network, m, seed=0):
    """m single variables, each with three others observed."""
    rng = np.random.default_rng(seed)
    names, sizes = network.space.names, network.space.sizes
    out = []
    for _ in range(m):
        v = rng.permutation(len(names))[:4]
        seen = {names[u]: int(rng.integers(sizes[u])) for u in v[1:]}
        out.append((names[v[0]], seen))
    return out


def make_queries(size):
    n_nodes, n_edges, low, high, m = size
    ours, theirs = network_of(n_nodes, n_edges, (low, high))
    return ours, theirs, questions(ours, m)


def ask_ours(payload):
    network, _, asked = payload
    return [network.query(v, seen).prob for v, seen in asked]


def ask_pgmpy(payload):
    from pgmpy.inference import VariableElimination

    _, model, asked = payload
    engine = VariableElimination(model)
    return [
        engine.query([v], evidence=seen, show_progress=False).values
        for v, seen in asked
    ]


def query_error(payload, result):
    """Largest difference from junction-tree answers."""
    from pansophy.graphical import JunctionTree

    network, _, asked = payload
    worst = 0.0
    for (v, seen), p in list(zip(asked, result, strict=True))[:20]:
        exact = JunctionTree(network).observe(seen).marginal(v).prob
        worst = max(worst, float(np.abs(exact - p).max()))
    return worst


def make_rows(size):
    n_nodes, n_edges, n = size
    import pandas as pd

    ours, theirs = network_of(n_nodes, n_edges, (2, 4))
    rows = pd.DataFrame(ours.sample(n, random_state=0), columns=ours.space.names)
    return ours, theirs, rows.drop(columns=["x3", "x11"]), rows


def fill_ours(payload):
    network, _, rows, _ = payload
    return network.predict(rows)


def fill_pgmpy(payload):
    _, model, rows, _ = payload
    return (
        model.predict(rows, show_progress=False)
        if accepts(model)
        else model.predict(rows)
    )


def accepts(model):
    import inspect

    return "show_progress" in inspect.signature(model.predict).parameters


def wrong(payload, result):
    """Share of hidden values that were filled in wrongly."""
    truth = payload[3]
    got = [np.asarray(result[c]) for c in ("x3", "x11")]
    want = [np.asarray(truth[c]) for c in ("x3", "x11")]
    return float(np.mean([np.mean(g != w) for g, w in zip(got, want, strict=True)]))


def make_samples(size):
    n_nodes, n_edges, n = size
    return (*network_of(n_nodes, n_edges, (2, 4)), n)


def draw_ours(payload, seed=0):
    network, _, n = payload
    return network.sample(n, random_state=seed)


def draw_pgmpy(payload, seed=0):
    from pgmpy.sampling import BayesianModelSampling

    network, model, n = payload
    rows = BayesianModelSampling(model).forward_sample(
        n, seed=seed, show_progress=False
    )
    return rows[list(network.space.names)].to_numpy()


def marginal_error(payload, rows):
    """Mean difference of sampled from exact marginals."""
    from pansophy.graphical import JunctionTree

    network, _, n = payload
    exact = JunctionTree(network).marginals()
    gaps = []
    for j, name in enumerate(network.space.names):
        seen = np.bincount(rows[:, j].astype(int), minlength=len(exact[name])) / n
        gaps.append(np.abs(seen - exact[name]).max())
    return float(np.mean(gaps))


CASES = [
    Case(
        name="network_posteriors",
        what="single-variable posteriors given 3 observed, 2 to 4 states "
        "(nodes, edges, states from, to, queries)",
        sizes=[(12, 14, 2, 4, 20), (24, 30, 2, 4, 60), (37, 46, 2, 4, 200)],
        data=make_queries,
        ours=ask_ours,
        peers={"pgmpy": ask_pgmpy},
        quality=query_error,
        tolerance=1e-8,
        target=50.0,
    ),
    Case(
        name="network_posteriors_ternary",
        what="single-variable posteriors given 3 observed, ternary variables "
        "(nodes, edges, states from, to, queries)",
        sizes=[(10, 14, 3, 3, 20), (20, 28, 3, 3, 60), (30, 45, 3, 3, 200)],
        data=make_queries,
        ours=ask_ours,
        peers={"pgmpy": ask_pgmpy},
        quality=query_error,
        tolerance=1e-8,
        target=50.0,
    ),
    Case(
        name="network_fill",
        what="rows with two columns missing (nodes, edges, rows)",
        sizes=[(12, 14, 50), (24, 30, 100), (37, 46, 200)],
        data=make_rows,
        ours=fill_ours,
        peers={"pgmpy": fill_pgmpy},
        quality=wrong,
        tolerance=1e-9,
        target=50.0,
    ),
    Case(
        name="network_samples",
        what="ancestral samples, 2 to 4 states (nodes, edges, rows)",
        sizes=[(12, 14, 1000), (24, 30, 10_000), (37, 46, 100_000)],
        data=make_samples,
        ours=draw_ours,
        peers={"pgmpy": draw_pgmpy},
        quality=marginal_error,
        tolerance=2e-3,
        target=5.0,
    ),
]
