"""Learning Bayesian networks against pgmpy: graphs, trees, tables, missing values.

The network of 37 nodes and 46 edges has the size of the one for monitoring patients
that is often used for this. Peers get a frame of categories, which is what they are
fastest with; ours reads the same frame. Minus the score of the graph found is the
quality of a search, so a faster search for a worse graph does not count.
"""

import logging
import warnings

import numpy as np

from .runner import Case


def frame_of(X, names):
    import pandas as pd

    return pd.DataFrame(X, columns=list(names)).astype("category")


def monitored(size):
    """Rows of a random network of 37 nodes and 46 edges, as a frame."""
    from pansophy.graphical import random_network

    (n,) = size
    network = random_network(37, 46, seed=0)
    return frame_of(network.sample(n, random_state=0), network.space.names), network


def binary(size):
    """Rows of a random network of d nodes with two states."""
    from pansophy.graphical import random_network

    n, d = size
    network = random_network(d, d + d // 2, states=(2, 2), max_parents=3, seed=1)
    return frame_of(network.sample(n, random_state=0), network.space.names), network


def quiet():
    warnings.simplefilter("ignore")
    logging.getLogger("pgmpy").setLevel(logging.ERROR)


def search_ours(payload, **how):
    from pansophy.graphical import StructureSearch

    return StructureSearch("bic", **how).fit(payload[0]).edges_


def search_pgmpy(payload, **how):
    from pgmpy.causal_discovery import HillClimbSearch

    quiet()
    search = HillClimbSearch(
        scoring_method="bic-d", show_progress=False, return_type="dag", **how
    )
    return list(search.fit(payload[0]).causal_graph_.edges())


def three_ours(payload):
    return search_ours(payload, max_parents=3)


def three_pgmpy(payload):
    return search_pgmpy(payload, max_indegree=3)


def minus_bic(payload, edges):
    from pansophy.graphical import bic_score

    frame, _ = payload
    names = list(frame.columns)
    graph = {v: [a for a, b in edges if b == v] for v in names}
    return -bic_score(frame, graph)


def tree_ours(payload):
    from pansophy.graphical import chow_liu

    return chow_liu(payload[0]).edges


def tree_pgmpy(payload):
    from pgmpy.estimators import TreeSearch

    quiet()
    frame = payload[0]
    search = TreeSearch(frame, root_node=frame.columns[0], n_jobs=1)
    return list(search.estimate(show_progress=False).edges())


def minus_likelihood(payload, edges):
    from pansophy.graphical import log_likelihood_score

    graph = {v: [a for a, b in edges if b == v] for v in payload[0].columns}
    return -log_likelihood_score(payload[0], graph)


def pc_ours(payload):
    from pansophy.graphical import PC

    found = PC(alpha=0.01, max_given=2).fit(payload[0]).class_
    return [*found.directed, *found.undirected]


def pc_pgmpy(payload):
    from pgmpy.causal_discovery import PC

    quiet()
    search = PC(
        variant="stable", ci_test="log_likelihood", significance_level=0.01,
        max_cond_vars=2, show_progress=False, n_jobs=1,
    )  # fmt: skip
    return list(search.fit(payload[0]).causal_graph_.edges())


def wrong_edges(payload, edges):
    """Edges that are missing or too many, whatever their direction."""
    found = {frozenset(map(str, e)) for e in edges}
    return float(len(found ^ {frozenset(e) for e in payload[1].edges}))


def tables_ours(payload):
    from pansophy.graphical import BayesianNetwork

    frame, network = payload
    return BayesianNetwork(network.edges, kinds="discrete").fit(frame)


def tables_pgmpy(payload):
    from pgmpy.models import DiscreteBayesianNetwork

    quiet()
    frame, network = payload
    model = DiscreteBayesianNetwork(network.edges)
    model.add_nodes_from(frame.columns)
    return model.fit(frame)


def minus_fitted(payload, model):
    """Minus the mean log-likelihood of the complete rows."""
    from pansophy.graphical import read_bif, write_bif

    frame = payload[0].dropna().astype(str)
    if not hasattr(model, "score_samples"):
        from pgmpy.readwrite import BIFWriter

        model = read_bif(str(BIFWriter(model)))
    else:
        model = read_bif(write_bif(model))
    return -float(np.mean(model.score_samples(frame)))


CASES = [
    Case(
        name="bn_structure_37",
        what="search by BIC, 37 nodes, 46 edges, n=100k",
        sizes=[(2_000,), (20_000,), (100_000,)],
        data=monitored,
        ours=search_ours,
        peers={"pgmpy": search_pgmpy},
        quality=minus_bic,
        tolerance=1e-6,
        target=50.0,
        rounds=1,
    ),
    Case(
        name="bn_structure",
        what="search by BIC, 20 binary nodes, at most 3 parents, n=20k",
        sizes=[(1_000, 8), (5_000, 12), (20_000, 20)],
        data=binary,
        ours=three_ours,
        peers={"pgmpy": three_pgmpy},
        quality=minus_bic,
        tolerance=1e-6,
        target=50.0,
        rounds=3,
    ),
    Case(
        name="chow_liu",
        what="Chow-Liu tree of 37 nodes, n=100k",
        sizes=[(2_000,), (20_000,), (100_000,)],
        data=monitored,
        ours=tree_ours,
        peers={"pgmpy": tree_pgmpy},
        quality=minus_likelihood,
        tolerance=1e-6,
        target=20.0,
        rounds=3,
    ),
    Case(
        name="bn_pc",
        what="PC, stable, at most 2 conditions, 20 binary nodes, n=20k",
        sizes=[(1_000, 8), (5_000, 12), (20_000, 20)],
        data=binary,
        ours=pc_ours,
        peers={"pgmpy": pc_pgmpy},
        quality=wrong_edges,
        tolerance=2.0,
        target=20.0,
        rounds=1,
    ),
    Case(
        name="bn_tables",
        what="tables of 37 nodes by counts, n=100k",
        sizes=[(2_000,), (20_000,), (100_000,)],
        data=monitored,
        ours=tables_ours,
        peers={"pgmpy": tables_pgmpy},
        quality=minus_fitted,
        tolerance=1e-6,
        target=2.0,
    ),
]
