"""Messages, grids and cuts: Gibbs sweeps, belief propagation, maximum flow."""

import numpy as np

from .runner import Case

# -- Gibbs sampling of an Ising grid without field ----------------------------------

COUPLING = 0.3  # below the critical 0.4407: a chain that mixes in a few sweeps


def square(size):
    side, sweeps = size
    k = 2 * np.sinh(2 * COUPLING) / np.cosh(2 * COUPLING) ** 2
    from scipy.special import ellipk

    half = 2 * np.tanh(2 * COUPLING) ** 2 - 1
    energy = -(1 + 2 / np.pi * half * ellipk(k**2)) / np.tanh(2 * COUPLING)
    return {"side": side, "sweeps": sweeps, "energy": COUPLING * energy}


def per_site(spins):
    """Energy a site of a periodic grid."""
    s = spins.astype(np.int64)
    ends = np.roll(s, 1, -1) + np.roll(s, 1, -2)
    return float(-COUPLING * (s * ends).mean())


def ours_spins(payload, seed=0):
    from pansophy.graphical import IsingGrid

    side = payload["side"]
    grid = IsingGrid((side, side), coupling=COUPLING, boundary="periodic")
    return grid.sample(1, burn_in=payload["sweeps"], random_state=seed)[0]


def numpy_spins(payload, seed=0):
    """A checkerboard in plain NumPy, with the chances in a table."""
    side, rng = payload["side"], np.random.default_rng(seed)
    s = 2 * rng.integers(0, 2, (side, side), dtype=np.int8) - 1
    black = np.indices(s.shape).sum(axis=0) % 2 == 0
    chance = 1 / (1 + np.exp(-2 * COUPLING * np.arange(-4, 5))).astype(np.float32)
    for _ in range(payload["sweeps"]):
        for colour in (black, ~black):
            n = (
                np.roll(s, 1, 0) + np.roll(s, -1, 0)
                + np.roll(s, 1, 1) + np.roll(s, -1, 1)
            )  # fmt: skip
            up = rng.random(s.shape, dtype=np.float32) < chance[n + 4]
            s = np.where(colour, np.where(up, 1, -1), s).astype(np.int8)
    return s


def energy_error(payload, spins):
    """Distance to Onsager's energy of the infinite grid."""
    return abs(per_site(spins) - payload["energy"])


# -- marginals of a tree --------------------------------------------------------------


def tree(size):
    d, k = size
    rng = np.random.default_rng(0)
    parent = [0, *(int(rng.integers(0, i)) for i in range(1, d))]
    tables = [0.1 + rng.random((k, k)) for _ in range(d)]
    up = [np.ones(k) for _ in range(d)]
    for i in range(d - 1, 0, -1):
        m = tables[i] @ up[i]
        up[parent[i]] = up[parent[i]] * m / m.sum()
    belief = [up[0] / up[0].sum()]
    for i in range(1, d):
        down = belief[parent[i]] / (tables[i] @ up[i])
        b = up[i] * (down @ tables[i])
        belief.append(b / b.sum())
    return {"parent": parent, "tables": tables, "marginals": np.array(belief)}


def ours_tree(payload):
    from pansophy.graphical import FactorGraph, sum_product

    parent, tables = payload["parent"], payload["tables"]
    d, k = payload["marginals"].shape
    graph = FactorGraph([k] * d, [((parent[i], i), tables[i]) for i in range(1, d)])
    b = sum_product(graph)
    return np.array([b[i] for i in range(d)])


def pgmpy_tree(payload):
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.inference import BeliefPropagation
    from pgmpy.models import DiscreteMarkovNetwork

    parent, tables = payload["parent"], payload["tables"]
    d, k = payload["marginals"].shape
    name = [f"x{i}" for i in range(d)]
    net = DiscreteMarkovNetwork([(name[parent[i]], name[i]) for i in range(1, d)])
    for i in range(1, d):
        ends = [name[parent[i]], name[i]]
        net.add_factors(DiscreteFactor(ends, [k, k], tables[i]))
    solver = BeliefPropagation(net)
    solver.calibrate()
    out = [solver.query([v], show_progress=False) for v in name]
    return np.array([f.values / f.values.sum() for f in out])


def marginal_error(payload, marginals):
    return float(np.abs(marginals - payload["marginals"]).max())


# -- the least cut of a noisy picture -------------------------------------------------


def picture(size):
    (side,) = size
    rng = np.random.default_rng(0)
    i, j = np.indices((side, side)) / side - 0.5
    clean = np.where(np.hypot(i, j) < 0.35, 1, -1)
    noisy = clean * np.where(rng.random(clean.shape) < 0.2, -1, 1)
    return {"noisy": noisy, "J": 1}


def ours_cut(payload):
    from pansophy.graphical import IsingGrid, graph_cut

    s = payload["noisy"]
    return graph_cut(IsingGrid(s.shape, coupling=float(payload["J"]), field=s)).labels


def scipy_cut(payload):
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    s, J = payload["noisy"], payload["J"]
    n = s.size
    at = np.arange(n).reshape(s.shape)
    a = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    b = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    plus, minus = at[s > 0], at[s < 0]
    rows = np.concatenate([a, b, np.full(len(plus), n), minus])
    cols = np.concatenate([b, a, plus, np.full(len(minus), n + 1)])
    room = np.full(len(rows), 2 * J, np.int32)
    graph = csr_array((room, (rows, cols)), shape=(n + 2, n + 2))
    left = graph - maximum_flow(graph, n, n + 1).flow
    left.data = np.maximum(left.data, 0)
    left.eliminate_zeros()
    reached = breadth_first_order(left, n, return_predecessors=False)
    labels = np.full(n + 2, -1)
    labels[reached] = 1
    return labels[:n].reshape(s.shape)


def cut_energy(payload, labels):
    s, J = payload["noisy"], payload["J"]
    x = labels.astype(np.int64)
    pairs = (x[:, 1:] * x[:, :-1]).sum() + (x[1:] * x[:-1]).sum()
    return float(-J * pairs - (s * x).sum())


# -- Gibbs sampling of a network of eight binary variables ----------------------------


def network(size):
    (sweeps,) = size
    rng = np.random.default_rng(0)
    d = 8
    parents = [(), *((i - 1,) if i < 3 else (i - 1, i - 3) for i in range(1, d))]
    tables = []
    for above in parents:
        p = 0.2 + 0.6 * rng.random((2,) * len(above))
        tables.append(np.stack([p, 1 - p], axis=-1))
    joint = np.ones((2,) * d)
    for i, (above, table) in enumerate(zip(parents, tables, strict=True)):
        scope = (*above, i)
        order = np.argsort(scope)
        shape = [2 if v in scope else 1 for v in range(d)]
        joint = joint * table.transpose(order).reshape(shape)
    exact = [joint.sum(axis=tuple(k for k in range(d) if k != v))[1] for v in range(d)]
    return {"parents": parents, "tables": tables, "sweeps": sweeps, "exact": exact}


def ours_gibbs(payload, seed=0):
    from pansophy.graphical import BayesianNetwork, gibbs_sample

    tables = {}
    for i, above in enumerate(payload["parents"]):
        given = ", ".join(f"v{p}" for p in above)
        key = f"v{i} | {given}" if above else f"v{i}"
        tables[key] = payload["tables"][i]
    model = BayesianNetwork.from_tables(tables)
    draws = gibbs_sample(model, payload["sweeps"], random_state=seed)
    return draws.codes[0].mean(axis=0)


def pgmpy_gibbs(payload, seed=0):
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.global_vars import config
    from pgmpy.models import DiscreteBayesianNetwork
    from pgmpy.sampling import GibbsSampling

    config.set_show_progress(False)
    d = len(payload["parents"])
    edges = [(f"v{p}", f"v{i}") for i in range(d) for p in payload["parents"][i]]
    model = DiscreteBayesianNetwork(edges)
    for i, above in enumerate(payload["parents"]):
        values = np.moveaxis(payload["tables"][i], -1, 0).reshape(2, -1)
        given = [f"v{p}" for p in above] or None
        card = [2] * len(above) or None
        model.add_cpds(TabularCPD(f"v{i}", 2, values, given, card))
    frame = GibbsSampling(model).sample(size=payload["sweeps"], seed=seed)
    return frame[[f"v{i}" for i in range(d)]].to_numpy().astype(float).mean(axis=0)


def share_error(payload, means):
    return float(np.abs(np.asarray(means) - payload["exact"]).max())


CASES = [
    Case(
        name="ising_gibbs",
        what="Gibbs sweeps of a periodic Ising grid, checkerboard, side and sweeps",
        sizes=[(64, 500), (128, 500), (256, 500)],
        data=square,
        ours=ours_spins,
        peers={"numpy": numpy_spins},
        written=("numpy",),
        quality=energy_error,
        tolerance=0.02,
        target=5.0,
        notes="33 million site updates at the largest size",
    ),
    Case(
        name="bp_tree",
        what="all marginals of a tree of d variables with k states",
        sizes=[(6, 2), (10, 2), (16, 3)],
        data=tree,
        ours=ours_tree,
        peers={"pgmpy": pgmpy_tree},
        quality=marginal_error,
        tolerance=1e-9,
        target=50.0,
        rounds=3,
    ),
    Case(
        name="graph_cut",
        what="least energy of a noisy picture, side x side",
        sizes=[(64,), (128,), (256,)],
        data=picture,
        ours=ours_cut,
        peers={"scipy": scipy_cut},
        quality=cut_energy,
        tolerance=1e-6,
        target=1.5,
    ),
    Case(
        name="bn_gibbs",
        what="Gibbs sampling of 8 binary variables, sweeps",
        sizes=[(500,), (2000,), (5000,)],
        data=network,
        ours=ours_gibbs,
        peers={"pgmpy": pgmpy_gibbs},
        quality=share_error,
        tolerance=0.05,
        target=1000.0,
        rounds=3,
    ),
]
