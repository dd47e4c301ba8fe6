"""Exact inference with continuous nodes: joint Normals given the discrete parents.

Given the discrete nodes, a network of linear Gaussian nodes is one Normal. In
topological order, with b the coefficients of node i on its continuous parents p,

    mean_i = a + b'mean_p,   cov_ij = b'cov_pj (j before i),
    cov_ii = s + b'cov_pp b                                                      (1)

and evidence on continuous nodes is conditioning. Discrete nodes have no continuous
parents, so with k the configurations of the discrete parents of the relevant continuous
nodes,

    P(k, d | e) ~ P(k, d | e_d) N(e_c; mean_k, cov_k)                            (2)

where the first factor comes from elimination among discrete nodes alone and the second
is computed for all configurations k at once. The posterior of a continuous variable is
a mixture over k, and one Normal if there are no discrete parents.

Cost      (configurations k) * (relevant continuous nodes)^3
Shapes    mean (k, c)   cov (k, c, c)
Refs      [LauritzenJensen2001]; [KollerFriedman2009] ch. 14
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ...core.numerics import safe_log
from ...distributions.gaussian.normal import Normal
from ...graphs.directed import ancestors
from ..networks.conditional_distributions import LinearGaussian, log_normal_density
from .clique_tree import InferenceCost, check_table_size

DETERMINISTIC_SHARE = 1e-13  # share of the variance below which a node is deterministic
DETERMINISTIC_TOL = (
    1e-9  # relative distance at which a value equals a deterministic one
)


class ContinuousPart(NamedTuple):
    """Joint Normals of the relevant continuous nodes, for every configuration k."""

    nodes: tuple[int, ...]
    given: tuple[int, ...]  # unobserved discrete parents, the axes of k
    mean: Any  # (k, c)
    cov: Any  # (k, c, c)


def _joint_normals(model, variables, evidence) -> ContinuousPart:
    """Joint Normals of continuous nodes and their continuous ancestors, eq. (1).

    `model` has `space`, `parents`, `nodes` and `max_table`; `evidence` is by number.
    """
    space, parents, nodes = model.space, model.parents, model.nodes
    needed = set(variables) | ancestors(parents, variables)
    order = [i for i in model.order if i in needed and not space.is_discrete(i)]
    discrete_parents = {p for i in order for p in parents[i] if space.is_discrete(p)}
    configuration = tuple(sorted(discrete_parents - set(evidence)))
    sizes = [space.sizes[v] for v in configuration]
    k = math.prod(sizes)
    c = len(order)
    names = tuple(space.names[v] for v in configuration)
    check_table_size(InferenceCost((), k * c * c, names, k * c * c), model.max_table)
    grid = np.indices(sizes).reshape(len(sizes), -1) if sizes else np.zeros((0, 1), int)
    codes = {v: grid[j] for j, v in enumerate(configuration)}
    codes |= {v: np.full(k, int(evidence[v])) for v in discrete_parents & set(evidence)}
    place = {i: j for j, i in enumerate(order)}
    mean, cov = np.zeros((k, c)), np.zeros((k, c, c))
    for j, i in enumerate(order):
        a, b, s = _node_coefficients(nodes[i], parents[i], codes, space, k)
        p = [place[q] for q in parents[i] if not space.is_discrete(q)]
        mean[:, j] = a + (b * mean[:, p]).sum(axis=1)
        row = np.einsum("kp,kpj->kj", b, cov[:, p, :])
        cov[:, j, :], cov[:, :, j] = row, row
        cov[:, j, j] = s + np.einsum("kp,kp->k", b, row[:, p])
    return ContinuousPart(tuple(order), configuration, mean, cov)


def joint_normal_of(model) -> Normal:
    """The joint Normal of a linear Gaussian network, in the order of the columns."""
    discrete = [n for n, s in zip(*model.space, strict=True) if s]
    if discrete:
        raise ValueError(f"{discrete[0]!r} is discrete: query gives a mixture instead.")
    normals = _joint_normals(model, range(len(model.nodes)), {})
    column_order = np.argsort(normals.nodes)
    return Normal(
        normals.mean[0][column_order],
        normals.cov[0][np.ix_(column_order, column_order)],
    )


def _node_coefficients(node, node_parents, codes, space, k):
    """a (k,), b (k, p), s (k,) of a node for every configuration."""
    if isinstance(node, LinearGaussian):
        ones = np.ones(k)
        return node.intercept * ones, np.tile(node.coef, (k, 1)), node.variance * ones
    configuration = tuple(codes[q] for q in node_parents if space.is_discrete(q))
    return (
        node.intercept[configuration],
        node.coef[configuration],
        node.variance[configuration],
    )


def _condition_normals(normals: ContinuousPart, evidence):
    """Condition on observed nodes: unobserved nodes, their means and covariances, log
    density of the observed values, and how many of these were deterministic.

    One observed node after another, parents first: with g = S_j / S_jj,
    mean += g (x_j - mean_j) and S -= g S_j'. A node whose variance is then 0 is a
    point mass: its log density is 0 at its value and -inf elsewhere.
    """
    m = normals.mean.copy()
    S = normals.cov.copy()
    log_p, n_certain = np.zeros(len(m)), np.zeros(len(m), dtype=np.int64)
    unobserved = [j for j, i in enumerate(normals.nodes) if i not in evidence]
    for j, i in enumerate(normals.nodes):
        if i not in evidence:
            continue
        x = evidence[i]
        v = S[:, j, j].copy()
        gap = x - m[:, j]
        deterministic = v <= DETERMINISTIC_SHARE * normals.cov[:, j, j]
        matches = deterministic & (np.abs(gap) <= DETERMINISTIC_TOL * (1 + abs(x)))
        v[deterministic], gap[matches] = 0.0, 0.0
        n_certain += matches
        log_p += log_normal_density(gap, v)
        g = np.where(
            deterministic[:, None],
            0.0,
            S[:, j, :] / np.where(deterministic, 1.0, v)[:, None],
        )
        m += g * gap[:, None]
        S -= g[:, :, None] * S[:, j, :][:, None, :]
    return (
        unobserved,
        m[:, unobserved],
        S[:, unobserved][:, :, unobserved],
        log_p,
        n_certain,
    )


def _reweight_configurations(table, log_p, n_certain, sizes):
    """Eq. (2): the table over (d, k) times the likelihoods of k, normalised, and log Z.

    A point mass outweighs any density: if configurations differ in the number of values
    that they make certain, only those with the largest number are kept.
    """
    score = safe_log(table) + log_p.reshape(sizes)
    n_certain = n_certain.reshape(sizes)
    most_certain = np.where(score > -np.inf, n_certain, -1).max()
    score = np.where(n_certain == most_certain, score, -np.inf)
    log_top = score.max()
    if log_top == -np.inf:
        return None, -np.inf
    weights = np.exp(score - log_top)
    return weights / weights.sum(), log_top + np.log(weights.sum())


def query_mixed_network(model, engine, query, evidence):
    """P(query | evidence) of a network with continuous nodes, and the log evidence.

    For discrete variables a table; for continuous ones weights (k,), means (k, m) and
    covariances (k, m, m), in the order of the query.
    """
    space = model.space
    observed_discrete = {v: c for v, c in evidence.items() if space.is_discrete(v)}
    observed_continuous = {
        v: x for v, x in evidence.items() if not space.is_discrete(v)
    }
    query_discrete = tuple(v for v in query if space.is_discrete(v))
    query_continuous = tuple(v for v in query if not space.is_discrete(v))
    normals = _joint_normals(
        model, {*query_continuous, *observed_continuous}, observed_discrete
    )
    free_discrete = tuple(v for v in query_discrete if v not in normals.given)
    table, _ = engine.posterior((*free_discrete, *normals.given), observed_discrete)
    if table is None:
        return None, -np.inf
    unobserved, mean, cov, log_p, n_certain = _condition_normals(
        normals, observed_continuous
    )
    sizes = [space.sizes[v] for v in normals.given]
    table, log_z = _reweight_configurations(
        table, log_p, n_certain, [1] * len(free_discrete) + sizes
    )
    if table is None:
        return None, -np.inf
    log_z += engine.log_evidence(observed_discrete)
    axes = (*free_discrete, *normals.given)
    if query_discrete:
        summed = tuple(j for j, v in enumerate(axes) if v not in query_discrete)
        kept = [v for v in axes if v in query_discrete]
        return table.sum(axis=summed).transpose(
            [kept.index(v) for v in query_discrete]
        ), log_z
    place = {normals.nodes[j]: k for k, j in enumerate(unobserved)}
    columns = [place[v] for v in query_continuous]
    w = table.reshape(-1)
    is_possible = w > 0
    return (
        w[is_possible],
        mean[is_possible][:, columns],
        cov[is_possible][:, columns][:, :, columns],
    ), log_z
