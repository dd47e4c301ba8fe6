"""Exact inference with continuous nodes: joint Normals given discrete parents.

Given the discrete nodes, a network of linear Gaussian nodes is one Normal. In
topological order, with b the coefficients of node i on its continuous parents p,

    mean_i = a + b'mean_p,   cov_ij = b'cov_pj (j before i),
    cov_ii = s + b'cov_pp b                                                      (1)

and evidence on continuous nodes is conditioning. Discrete nodes have no continuous
parents, so with k the discrete parents of the continuous nodes that matter,

    P(k, d | e) ~ P(k, d | e_d) N(e_c; mean_k, cov_k)                            (2)

where the first term comes from elimination among discrete nodes alone and the second
is computed for all configurations k at once. The answer for a continuous variable is
a mixture over k, one Normal if there are none.

Cost      (configurations of k) * (continuous nodes that matter)^3
Shapes    mean (k, c)   cov (k, c, c)
Refs      [LauritzenJensen2001]; [KollerFriedman2009] ch. 14
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..core.numerics import safe_log
from ..distributions.normal import Normal
from ..graphs.directed import ancestors
from .clique_tree import InferenceCost
from .limits import check_table_size
from .conditional_distributions import LinearGaussian, log_normal_density

DETERMINISTIC_SHARE = 1e-13  # share of its variance from which a node counts as known
DETERMINISTIC_TOL = 1e-9  # how near a value must be to what is certain


class ContinuousPart(NamedTuple):
    """The continuous part of a question, for every configuration k."""

    nodes: tuple[int, ...]
    given: tuple[int, ...]  # the unobserved discrete parents
    mean: Any  # (k, c)
    cov: Any  # (k, c, c)


def joint_normals(model, wanted, evidence) -> ContinuousPart:
    """The joint Normals of continuous nodes and what stands above them, eq. (1).

    `model` has `space`, `parents`, `nodes` and `max_table`; `evidence` is by number.
    """
    space, parents, nodes = model.space, model.parents, model.nodes
    chosen = set(wanted) | ancestors(parents, wanted)
    mine = [i for i in model.order if i in chosen and not space.is_discrete(i)]
    above = {p for i in mine for p in parents[i] if space.is_discrete(p)}
    given = tuple(sorted(above - set(evidence)))
    sizes = [space.sizes[v] for v in given]
    k, c = math.prod(sizes), len(mine)
    names = tuple(space.names[v] for v in given)
    check_table_size(InferenceCost((), k * c * c, names, k * c * c), model.max_table)
    grid = np.indices(sizes).reshape(len(sizes), -1) if sizes else np.zeros((0, 1), int)
    codes = {v: grid[j] for j, v in enumerate(given)}
    codes |= {v: np.full(k, int(evidence[v])) for v in above & set(evidence)}
    place = {i: j for j, i in enumerate(mine)}
    mean, cov = np.zeros((k, c)), np.zeros((k, c, c))
    for j, i in enumerate(mine):
        a, b, s = node_coefficients(nodes[i], parents[i], codes, space, k)
        p = [place[q] for q in parents[i] if not space.is_discrete(q)]
        mean[:, j] = a + (b * mean[:, p]).sum(axis=1)
        row = np.einsum("kp,kpj->kj", b, cov[:, p, :])
        cov[:, j, :], cov[:, :, j] = row, row
        cov[:, j, j] = s + np.einsum("kp,kp->k", b, row[:, p])
    return ContinuousPart(tuple(mine), given, mean, cov)


def joint_normal_of(model) -> Normal:
    """The joint Normal of a network of linear Gaussian nodes, in column order."""
    discrete = [n for n, s in zip(*model.space, strict=True) if s]
    if discrete:
        raise ValueError(f"{discrete[0]!r} is discrete: query gives a mixture instead.")
    whole = joint_normals(model, range(len(model.nodes)), {})
    at = np.argsort(whole.nodes)
    return Normal(whole.mean[0][at], whole.cov[0][np.ix_(at, at)])


def node_coefficients(node, above, codes, space, k):
    """a (k,), b (k, p), s (k,) of a node for every configuration."""
    if isinstance(node, LinearGaussian):
        ones = np.ones(k)
        return node.intercept * ones, np.tile(node.coef, (k, 1)), node.variance * ones
    at = tuple(codes[q] for q in above if space.is_discrete(q))
    return node.intercept[at], node.coef[at], node.variance[at]


def condition_normals(part: ContinuousPart, evidence):
    """Means and covariances of the other nodes given some, the log density of those,
    and how many of them were certain anyway: (k, m), (k, m, m), (k,), (k,).

    One observed node after another, parents first: with g = S_j / S_jj,
    mean += g (x_j - mean_j) and S -= g S_j'. A node whose variance is 0 by then is a
    point mass: of log density 0 at its place and -inf elsewhere.
    """
    m, S = part.mean.copy(), part.cov.copy()
    log_p, certain = np.zeros(len(m)), np.zeros(len(m), dtype=np.int64)
    rest = [j for j, i in enumerate(part.nodes) if i not in evidence]
    for j, i in enumerate(part.nodes):
        if i not in evidence:
            continue
        x, v = evidence[i], S[:, j, j].copy()
        gap, flat = x - m[:, j], v <= DETERMINISTIC_SHARE * part.cov[:, j, j]
        hit = flat & (np.abs(gap) <= DETERMINISTIC_TOL * (1 + abs(x)))
        v[flat], gap[hit] = 0.0, 0.0
        certain += hit
        log_p += log_normal_density(gap, v)
        g = np.where(flat[:, None], 0.0, S[:, j, :] / np.where(flat, 1.0, v)[:, None])
        m += g * gap[:, None]
        S -= g[:, :, None] * S[:, j, :][:, None, :]
    return rest, m[:, rest], S[:, rest][:, :, rest], log_p, certain


def reweight_configurations(table, log_p, certain, sizes):
    """Eq. (2): the table over (d, k) with k's likelihoods in, normalised, and log Z.

    A point mass outweighs any density: where configurations differ in how many values
    they make certain, those with most are left.
    """
    score, certain = safe_log(table) + log_p.reshape(sizes), certain.reshape(sizes)
    most = np.where(score > -np.inf, certain, -1).max()
    score = np.where(certain == most, score, -np.inf)
    top = score.max()
    if top == -np.inf:
        return None, -np.inf
    out = np.exp(score - top)
    return out / out.sum(), top + np.log(out.sum())


def query_mixed_network(model, engine, query, evidence):
    """P(query | evidence) with continuous nodes about; also the log evidence.

    For discrete variables a table; for continuous ones weights (k,), means (k, m) and
    covariances (k, m, m), in the order asked.
    """
    space = model.space
    seen_d = {v: c for v, c in evidence.items() if space.is_discrete(v)}
    seen_c = {v: x for v, x in evidence.items() if not space.is_discrete(v)}
    asked_d = tuple(v for v in query if space.is_discrete(v))
    asked_c = tuple(v for v in query if not space.is_discrete(v))
    normals = joint_normals(model, {*asked_c, *seen_c}, seen_d)
    others = tuple(v for v in asked_d if v not in normals.given)
    table, _ = engine.posterior((*others, *normals.given), seen_d)
    if table is None:
        return None, -np.inf
    rest, mean, cov, log_p, certain = condition_normals(normals, seen_c)
    sizes = [space.sizes[v] for v in normals.given]
    table, log_z = reweight_configurations(table, log_p, certain, [1] * len(others) + sizes)
    if table is None:
        return None, -np.inf
    log_z += engine.log_evidence(seen_d)
    held = (*others, *normals.given)
    if asked_d:
        gone = tuple(j for j, v in enumerate(held) if v not in asked_d)
        left = [v for v in held if v in asked_d]
        return table.sum(axis=gone).transpose([left.index(v) for v in asked_d]), log_z
    place = {normals.nodes[j]: k for k, j in enumerate(rest)}
    at = [place[v] for v in asked_c]
    w = table.reshape(-1)
    keep = w > 0
    return (w[keep], mean[keep][:, at], cov[keep][:, at][:, :, at]), log_z
