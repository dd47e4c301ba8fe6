"""Maximum likelihood and MAP estimation of the tables of a Bayesian network.

Complete rows. The log-likelihood is a sum over the families of the network,

    log p(x) = sum_j sum_u sum_c N_juc log t_juc,    sum_c t_juc = 1             (1)

with N_juc the weight of rows in which node j is in state c and its parents in u. So
every row of every table is estimated by itself:

    t_juc = (N_juc + a_juc) / (N_ju + a_ju)                                      (2)

where pseudo-counts a (0 for maximum likelihood) are a Dirichlet prior: 1 each is
Laplace's rule and the prior of the K2 score, s / (cells of the table) the prior of the
BDeu score with equivalent size s. A row without any count is uniform. With softmax rows
t = softmax(h), the gradient of (1) is

    d log p / d h_juc = N_juc - N_ju t_juc                                       (3)

which is 0 at (2): gradient ascent gives the same tables.

Missing values and hidden nodes. EM replaces the counts by their expectations,

    E   N_juc = sum_i P(x_ij = c, parents of j = u | observed part of row i)     (4)
    M   tables from N by eq. (2)                                                 (5)

which never lowers the likelihood (with a prior, the posterior) [Lauritzen1995], if
values are missing at random. (4) needs the joint posterior of every family. Families
that a row shows completely are counted once. The missing nodes of a row fall into
groups that share no family and are independent given the rest; all rows that miss a
group are treated together, and rows that agree in the families it touches are merged.
For such a group the tables are sliced at what each row shows, and an elimination order
of its nodes v_1, v_2, ... makes a chain of buckets, each with the tables whose first
node it sums out:

    up      m_k = sum over v_k of  f_k,    f_k = tables and messages in bucket k (6)
    down    b_k = f_k  (marginal of the next bucket) / m_k                       (7)

for all rows at once: b_k is the posterior of its bucket, and the sums of the last m are
the likelihoods of the rows. Messages are rescaled, so that nothing underflows.

Cost      complete rows: O(n family) for each table; an EM iteration: distinct rows
          times the cells of the buckets
Shapes    codes (n, d), -1 missing   tables: axes of the parents in order, own last
          f, b (rows of a group, sizes of the bucket)
Refs      [Heckerman1995] priors; [Dempster1977]; [Lauritzen1995]; [KollerFriedman2009]
          ch. 17, 19
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from ...core.drivers.em import em
from ...core.drivers.iterate import Result, best_of, iterate
from ...core.drivers.progress import SILENT, FitTask
from ...core.numerics import log_softmax, safe_log, softmax
from ...core.random import make_rng, spawn_rngs
from ...distributions.categorical import estimated_probabilities
from ...graphs.directed import elimination_order, moral_graph, topological_order
from .contingency_tables import ContingencyTables, for_each_item

MAX_BUCKET_CELLS = 1 << 20  # of one bucket in a block of rows


def _pseudo_counts(shape, prior=None, equivalent_size: float = 10.0) -> float:
    """The pseudo-count of each cell of a table, from the name of a prior."""
    if prior is None:
        return 0.0
    if isinstance(prior, str):
        if prior in ("k2", "laplace"):
            return 1.0
        if prior == "bdeu":
            return equivalent_size / float(np.prod(shape))
        raise ValueError(
            f"prior must be None, 'k2', 'laplace', 'bdeu' or a number: {prior!r}."
        )
    if not prior >= 0:
        raise ValueError(f"prior must be at least 0, got {prior}.")
    return float(prior)


def node_families(parents) -> list[tuple[int, ...]]:
    """The axes of each table: the parents in order, then the node."""
    return [(*node_parents, j) for j, node_parents in enumerate(parents)]


def family_counts(codes, parents, sizes, weights=None) -> list[np.ndarray]:
    """N of eq. (1) for each node, from the rows that show its whole family."""
    counts = ContingencyTables(codes, sizes, weights)
    families = node_families(parents)
    columns = set(range(counts.d))
    if len(parents) != counts.d or not all(columns.issuperset(f) for f in families):
        raise ValueError(f"parents must be {counts.d} tuples of column numbers.")
    topological_order(parents)
    tables: list = [None] * len(families)

    def count_family(j):
        tables[j] = counts.table(families[j])

    for_each_item(count_family, range(len(families)), counts.n * len(families))
    return tables


def estimate_tables(N, prior=None, equivalent_size=10.0) -> list[np.ndarray]:
    """Tables by eq. (2) from the counts of every family."""
    return [
        estimated_probabilities(c + _pseudo_counts(c.shape, prior, equivalent_size))
        for c in N
    ]


def fit_tables(
    codes, parents, sizes, *, weights=None, prior=None, equivalent_size: float = 10.0
) -> list[np.ndarray]:
    """Tables of a network from counts, eq. (2).

    Parameters
    ----------
    codes : array of shape (n, d)
        States as integers; a row is left out of families with a missing value (-1).
    parents : sequence of tuples of int
        Parents of each node.
    sizes : sequence of int
        Number of states of each node.
    weights : array of shape (n,), optional
    prior : None, "k2", "laplace", "bdeu" or float
        Pseudo-counts a.
    equivalent_size : float, default=10
        s of "bdeu".

    Returns
    -------
    tables : list of arrays
        P(node | parents): axes of the parents in order, own states last.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.graphical import fit_tables
    >>> rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 0], [0, 1], [0, 0]])
    >>> fit_tables(rows, [(), (0,)], (2, 2))[1].round(4)
    array([[0.5   , 0.5   ], [0.6667, 0.3333]])
    """
    N = family_counts(codes, parents, sizes, weights)
    return estimate_tables(N, prior, equivalent_size)


class SoftmaxTables(NamedTuple):
    """Logits h of every table, and minus the mean log-likelihood."""

    logits: list
    objective: float


def fit_tables_gradient(
    codes,
    parents,
    sizes,
    *,
    weights=None,
    max_iter: int = 1000,
    tol: float = 1e-12,
    step: float = 1.0,
    task: FitTask = SILENT,
) -> Result:
    """Tables by gradient ascent on softmax rows, eq. (3), from uniform ones.

    `step` is in units of the weight of a row; up to 2 the likelihood rises in every
    iteration. Returns a Result whose state has `logits`; the tables are their softmax
    over the last axis.
    """
    N = family_counts(codes, parents, sizes, weights)
    goal = estimate_tables(N)
    scale = max(sum(float(c.sum()) for c in N), 1e-300)

    def evaluate(h):
        loglik = sum(float((c * log_softmax(x)).sum()) for c, x in zip(N, h))
        return SoftmaxTables(h, -loglik / scale)

    def ascend(state):
        pairs = zip(state.logits, goal, strict=True)
        return evaluate([h + step * (g - softmax(h, axis=-1)) for h, g in pairs])

    start = evaluate([np.zeros(c.shape) for c in N])
    return iterate(ascend, start, max_iter=max_iter, tol=tol, task=task)


class FamilySlice(NamedTuple):
    """A family with missing nodes, and how to slice its table at the observed ones."""

    family: int
    observed: tuple[int, ...]  # axes of the table that are observed
    hidden: tuple[int, ...]  # other axes, by ascending node
    scope: tuple[int, ...]  # the nodes of `hidden`
    index: Any  # (rows,) joint state of the observed axes
    bucket: int


class MissingPattern(NamedTuple):
    """Rows that miss a group of nodes, and the buckets that sum it out."""

    weight: Any  # (rows,)
    slices: list[FamilySlice]
    cliques: list[tuple[int, ...]]  # bucket k sums out the node order[k]
    order: list[int]
    receiver: list[int]  # the bucket that the message of k goes to, or -1


def _missing_node_groups(codes, parents, sizes, weights=None) -> list[MissingPattern]:
    """The groups of missing nodes that share families, with the rows that miss them."""
    incomplete = (codes < 0).any(axis=1)
    rows = codes[incomplete]
    w = (
        np.ones(len(rows))
        if weights is None
        else np.asarray(weights, float)[incomplete]
    )
    kinds, pattern_of_row = np.unique(rows < 0, axis=0, return_inverse=True)
    order = np.argsort(pattern_of_row.ravel(), kind="stable")
    ends = np.searchsorted(pattern_of_row.ravel()[order], np.arange(len(kinds) + 1))
    neighbors = moral_graph(parents)
    rows_of_group: dict = {}
    for k, kind in enumerate(kinds):
        for group in _connected_groups(set(np.flatnonzero(kind).tolist()), neighbors):
            rows_of_group.setdefault(group, []).append(order[ends[k] : ends[k + 1]])
    patterns = []
    for group, parts in rows_of_group.items():
        pattern_of_row = np.concatenate(parts)
        merged = _merge_equal_rows(
            rows[pattern_of_row], w[pattern_of_row], group, parents, sizes
        )
        patterns += _missing_pattern_blocks(*merged, group, parents, sizes)
    return patterns


def _connected_groups(missing: set[int], neighbors) -> list[tuple[int, ...]]:
    """Missing nodes in groups that share no family."""
    groups = []
    remaining = set(missing)
    while remaining:
        stack = [remaining.pop()]
        group = []
        while stack:
            v = stack.pop()
            group.append(v)
            reached = neighbors[v] & remaining
            remaining -= reached
            stack.extend(reached)
        groups.append(tuple(sorted(group)))
    return groups


def _merge_equal_rows(rows, weight, group, parents, sizes):
    """Rows that agree in the families of a group merged into one, weights added."""
    touched = [f for f in node_families(parents) if set(f) & set(group)]
    observed = sorted(set().union(*touched) - set(group))
    axis = None
    if np.prod([float(sizes[v]) for v in observed]) < 2**62:
        index = np.zeros(len(rows), np.int64)
        for v in observed:
            index = index * sizes[v] + rows[:, v]
    else:  # the joint state does not fit into an integer
        index = rows[:, observed]
        axis = 0
    _, first, merged_row = np.unique(
        index, return_index=True, return_inverse=True, axis=axis
    )
    return rows[first], np.bincount(merged_row.ravel(), weight, len(first))


def _missing_pattern_blocks(
    rows, weight, missing, parents, sizes
) -> list[MissingPattern]:
    """A group in blocks of rows with at most MAX_BUCKET_CELLS cells in a bucket."""
    hidden = {int(v) for v in missing}
    touched = [j for j, f in enumerate(node_families(parents)) if hidden & set(f)]
    neighbors: list[set[int]] = [set() for _ in parents]
    for j in touched:
        inside = hidden & {j, *parents[j]}
        for v in inside:
            neighbors[v] |= inside - {v}
    order, cliques = elimination_order(neighbors, sizes, nodes=hidden)
    place = {v: k for k, v in enumerate(order)}
    first_bucket = lambda scope: min((place[v] for v in scope), default=-1)
    receiver = [first_bucket(set(c) - {order[k]}) for k, c in enumerate(cliques)]
    widest = max(float(np.prod([sizes[v] for v in c])) for c in cliques)
    step = max(1, int(MAX_BUCKET_CELLS // widest))
    blocks = []
    for lo in range(0, len(rows), step):
        part = rows[lo : lo + step]
        slices = [
            _slice_family(j, part, parents, sizes, hidden, first_bucket)
            for j in touched
        ]
        w = weight[lo : lo + step]
        blocks.append(MissingPattern(w, slices, cliques, order, receiver))
    return blocks


def _slice_family(j, rows, parents, sizes, hidden, first_bucket) -> FamilySlice:
    """Slices of the table of node j at the observed values of rows."""
    family = (*parents[j], j)
    observed = tuple(a for a, v in enumerate(family) if v not in hidden)
    rest = [a for a, v in enumerate(family) if v in hidden]
    rest = tuple(sorted(rest, key=lambda a: family[a]))
    index = np.zeros(len(rows), np.int64)
    for a in observed:
        index = index * sizes[family[a]] + rows[:, family[a]]
    scope = tuple(family[a] for a in rest)
    return FamilySlice(j, observed, rest, scope, index, first_bucket(scope))


def _broadcast_over_clique(values, scope, clique):
    """Values over scope, with axes of length 1 for the other nodes of a clique."""
    size = dict(zip(scope, values.shape[1:], strict=True))
    return values.reshape(len(values), *(size.get(v, 1) for v in clique))


def _sum_to_scope(values, clique, scope):
    """Values summed over the nodes of a clique that are not in scope."""
    axes = tuple(1 + a for a, v in enumerate(clique) if v not in scope)
    return values.sum(axis=axes) if axes else values


def _bucket_posteriors(p: MissingPattern, tables, sizes):
    """Posteriors of the buckets and log-likelihoods of the rows, eq. (6) and (7)."""
    R = len(p.weight)
    f = [np.ones((R, *(sizes[v] for v in c))) for c in p.cliques]
    for s in p.slices:
        t = np.transpose(tables[s.family], (*s.observed, *s.hidden))
        t = t.reshape(-1, *t.shape[len(s.observed) :])[s.index]
        f[s.bucket] *= _broadcast_over_clique(t, s.scope, p.cliques[s.bucket])
    messages = []
    log_z = np.zeros(R)
    for k, v in enumerate(p.order):
        m = f[k].sum(axis=1 + p.cliques[k].index(v))
        top = m.reshape(R, -1).max(axis=1)
        log_z += safe_log(top)
        m = m / np.where(top > 0, top, 1.0).reshape(R, *(1,) * (m.ndim - 1))
        messages.append((m, top))
        if p.receiver[k] >= 0:
            rest = tuple(u for u in p.cliques[k] if u != v)
            f[p.receiver[k]] *= _broadcast_over_clique(
                m, rest, p.cliques[p.receiver[k]]
            )
    for k in range(len(p.order) - 1, -1, -1):
        m, top = messages[k]
        rest = tuple(u for u in p.cliques[k] if u != p.order[k])
        shape = (R, *(1,) * (m.ndim - 1))
        unscaled = m * np.where(top > 0, top, 1.0).reshape(shape)
        upward = np.ones(R)
        if p.receiver[k] >= 0:
            upward = _sum_to_scope(f[p.receiver[k]], p.cliques[p.receiver[k]], rest)
        ratio = np.divide(
            upward, unscaled, out=np.zeros_like(unscaled), where=unscaled > 0
        )
        f[k] *= _broadcast_over_clique(ratio, rest, p.cliques[k])
    return f, log_z


def _add_expected_counts(p: MissingPattern, beliefs, stats) -> None:
    """Add the expected counts of the families of a group to `stats`."""
    for s in p.slices:
        b = _sum_to_scope(beliefs[s.bucket], p.cliques[s.bucket], s.scope)
        b = b.reshape(len(b), -1) * p.weight[:, None]
        table = stats[s.family]
        order = (*s.observed, *s.hidden)
        shape = [table.shape[a] for a in order]
        q = int(np.prod(shape[: len(s.observed)]))
        cells = [np.bincount(s.index, b[:, c], q) for c in range(b.shape[1])]
        back = np.argsort(order)
        table += np.stack(cells, axis=1).reshape(shape).transpose(back)


def fit_tables_em(
    codes,
    parents,
    sizes,
    *,
    weights=None,
    prior=None,
    equivalent_size: float = 10.0,
    tables=None,
    n_init: int = 1,
    max_iter: int = 100,
    tol: float = 1e-6,
    random_state=None,
    task: FitTask = SILENT,
) -> Result:
    """Tables of a network from rows with missing values or hidden nodes, by EM.

    The parameters of `fit_tables`, and

    tables : list of arrays, optional
        Initial tables. By default the frequencies in rows that show the whole family,
        or random rows where there are none.
    n_init : int, default=1
        Number of initialisations; the most likely result is kept.
    max_iter, tol : int and float
        Maximum number of iterations, and change of the mean log-likelihood per row
        at which to stop.

    Returns
    -------
    result : Result
        `result.state.params` are the tables; `result.objective` is minus the mean
        log-likelihood (plus log-prior) per row.
    """
    codes = np.asarray(codes)
    fixed = family_counts(codes, parents, sizes, weights)
    patterns = _missing_node_groups(codes, parents, sizes, weights)
    n = float(len(codes) if weights is None else np.sum(weights))
    a = [_pseudo_counts(c.shape, prior, equivalent_size) for c in fixed]

    if tables is not None:
        shapes = [np.shape(t) for t in tables]
        expected = [c.shape for c in fixed]
        if shapes != expected:
            raise ValueError(
                f"tables to start from need shapes {expected}, got {shapes}."
            )

    def expect(tables):
        loglik = sum(float(xlogy(c, t).sum()) for c, t in zip(fixed, tables))
        stats = [c.copy() for c in fixed]
        for p in patterns:
            beliefs, log_z = _bucket_posteriors(p, tables, sizes)
            loglik += float(p.weight @ log_z)
            _add_expected_counts(p, beliefs, stats)
        return stats, loglik

    def run_em(i, child):
        first = _initial_tables(fixed, rngs[i]) if tables is None else list(tables)
        return em(
            expect,
            lambda N: estimate_tables(N, prior, equivalent_size),
            first,
            n=max(n, 1.0),
            log_prior=lambda t: sum(float(xlogy(b, x).sum()) for b, x in zip(a, t)),
            max_iter=max_iter,
            tol=tol,
            task=child,
        )

    n_runs = n_init if tables is None else 1
    rngs = spawn_rngs(make_rng(random_state), n_runs)
    return best_of(n_runs, run_em, task=task)


def _initial_tables(N, rng) -> list[np.ndarray]:
    """Frequencies of counts plus 1; random rows for a family that is never observed."""
    tables = []
    for c in N:
        drawn = rng.dirichlet(np.ones(c.shape[-1]), size=c.shape[:-1])
        tables.append(estimated_probabilities(c + 1.0) if c.any() else drawn)
    return tables
