"""Scores of network structures: decomposable criteria of the fit of a graph.

With N_juc the weight of rows where node j is in state c and its parents in u, q_j
states of the parents, m_j own states and n rows,

    L      = sum_j sum_uc N_juc log(N_juc / N_ju)          fitted log-likelihood (1)
    BIC    = L - (log n / 2) sum_j q_j (m_j - 1)                                 (2)
    AIC    = L - sum_j q_j (m_j - 1)                                             (3)
    log p(rows | G) = sum_ju [ lG(a_ju) - lG(a_ju + N_ju)
                     + sum_c lG(a_juc + N_juc) - lG(a_juc) ]     lG = log Gamma  (4)

K2 is (4) with a_juc = 1, BDeu with a_juc = s / (q_j m_j). All are maximised and are
sums over families, so a change of one parent set changes one term. (1), (2), (3) and
BDeu are equal for Markov equivalent graphs; K2 is not.

Columns of numbers with linear Gaussian families have scores of the same forms: (1) is
-n/2 (log(2 pi s_j) + 1) with s_j the residual variance given the parents, and BGe is
the marginal likelihood under a Normal-Wishart prior, f(P + j) - f(P) with f the
marginal likelihood of a set of columns. Both need the scatter matrix only.

Cost      a family: one contingency table, or O(parents^3) for numbers
Shapes    codes (n, d)   parents d tuples
Refs      [Schwarz1978]; [CooperHerskovits1992] K2; [Heckerman1995] BDeu;
          [GeigerHeckerman1994], [Kuipers2014] BGe
"""

import math
from typing import Protocol

import numpy as np
from scipy.special import gammaln, multigammaln

from ...core.arrays.weighted import check_sample_weight
from ...core.numerics import LOG_2PI
from ...distributions.gaussian.normal import moments
from ..networks.dags import parse_parents
from ..networks.table_encoding import (
    continuous_columns,
    drop_zero_weight_codes,
    encode_table,
)
from . import _contingency_tables as loops
from .contingency_tables import ContingencyTables

DISCRETE_SCORES = ("bic", "aic", "bdeu", "k2", "log_likelihood")
MIN_SPARSE_CELLS = 1 << 20  # from which only occurring cells are counted
GAUSSIAN_SCORES = ("gaussian_bic", "gaussian_aic", "gaussian_log_likelihood", "bge")


class FamilyScores(Protocol):
    """Contract of a structure search: scores of a node with its parents."""

    d: int
    n: float  # rows

    def score(self, y: int, parents) -> float: ...
    def adds(self, y: int, parents, others) -> np.ndarray: ...


class DiscreteFamilyScores:
    """Scores (1) to (4) of families of coded columns."""

    def __init__(
        self, counts: ContingencyTables, kind: str, equivalent_size: float = 10.0
    ):
        self.counts = counts.pack()
        self.d = counts.d
        self.n = counts.n
        half = 0.5 * math.log(max(counts.total, 1.0))
        free = {"log_likelihood": 0.0, "bic": half, "aic": 1.0}
        dirichlet = {"k2": (1, 1.0), "bdeu": (2, float(equivalent_size))}
        self.rule = (0, free[kind]) if kind in free else dirichlet[kind]

    def score(self, y: int, parents) -> float:
        """The score of node y with these parents."""
        if parents:
            *given_parents, z = parents
            return float(self.adds(y, tuple(given_parents), (z,))[0])
        N = self.counts.table((y,))
        return loops.family_score(N, 1, len(N), 1, 1.0, *self.rule)

    def adds(self, y: int, parents, others) -> np.ndarray:
        """Scores of y with its parents and, in addition, each of the others."""
        sizes = self.counts.sizes
        r = sizes[np.asarray(others, np.int64)]
        out = np.empty(len(others))
        full = float(np.prod(sizes[list(parents)].astype(float)))
        if min(full, self.n) * sizes[y] * max(r, default=1) > max(
            16 * self.n, MIN_SPARSE_CELLS
        ):
            return np.array([self.sparse(y, (*parents, z)) for z in others])
        tables, offset, q = self.counts.tables_with_each(y, parents, others)
        loops.family_scores(tables, offset, q, int(sizes[y]), r, full, *self.rule, out)
        return out

    def sparse(self, y: int, parents) -> float:
        """The score from the cells that occur, for a table that is mostly empty."""
        N, parent_counts = self.counts.occurring_cells(y, parents)
        sizes = self.counts.sizes
        (marginal, number) = self.rule
        m, q = float(sizes[y]), float(np.prod(sizes[list(parents)].astype(float)))
        if marginal == 0:
            L = float(N @ np.log(N) - parent_counts @ np.log(parent_counts))
            return L - number * (m - 1) * q
        a = number if marginal == 1 else number / (q * m)
        rise = lambda a, x: float((gammaln(a + x) - gammaln(a)).sum())
        return rise(a, N) - rise(a * m, parent_counts)


class GaussianFamilyScores:
    """Scores of linear Gaussian families of columns of numbers."""

    def __init__(self, X, kind: str, weights=None):
        stats = moments(np.asarray(X, np.float64), weights)
        self.n = float(stats.weight)
        self.S = np.asarray(stats.scatter)
        self.d = len(self.S)
        penalty = {"gaussian_bic": 0.5 * math.log(self.n), "gaussian_aic": 1.0}
        self.penalty = penalty.get(kind, 0.0)
        self.bge = kind == "bge"
        self.t = (
            0.5  # prior scatter t I; prior weight 1 of the mean, d + 2 of the scatter
        )

    def score(self, y: int, parents) -> float:
        """The score of node y with these parents."""
        if self.bge:
            return self.marginal((*parents, y)) - self.marginal(parents)
        P = list(parents)
        b = np.linalg.lstsq(self.S[np.ix_(P, P)], self.S[P, y], rcond=None)[0]
        return float(self.fitted(self.S[y, y] - b @ self.S[P, y], y, len(P)))

    def adds(self, y: int, parents, others) -> np.ndarray:
        """Scores of y with its parents and, in addition, each of the others."""
        if self.bge:
            return np.array([self.score(y, (*parents, z)) for z in others])
        P, Z = list(parents), list(others)
        B = np.linalg.lstsq(self.S[np.ix_(P, P)], self.S[P], rcond=None)[0]
        residual = self.S - self.S[:, P] @ B  # scatter given the parents
        candidate_scatter, joint = np.diag(residual)[Z], residual[y, Z]
        is_new = (
            candidate_scatter > 1e-10 * np.diag(self.S)[Z]
        )  # not a linear function of the parents
        gain = np.divide(
            joint**2, candidate_scatter, out=np.zeros(len(Z)), where=is_new
        )
        return self.fitted(residual[y, y] - gain, y, len(P) + 1)

    def fitted(self, residual_scatter, y, p):
        """Eq. (1) for the residual scatter of y given p parents, less the penalty."""
        s = np.maximum(residual_scatter, 1e-12 * max(self.S[y, y], 1e-300)) / self.n
        return -0.5 * self.n * (LOG_2PI + np.log(s) + 1) - self.penalty * (p + 2)

    def marginal(self, columns) -> float:
        """log f of a set of columns under the Normal-Wishart prior of BGe."""
        P = list(columns)
        n = self.n
        k = len(columns)
        if k == 0:
            return 0.0
        v = 2 + k  # degrees of freedom d + 2 less the d - k columns left out
        logdet = np.linalg.slogdet(self.S[np.ix_(P, P)] + self.t * np.eye(k))[1]
        return float(
            -0.5 * k * n * math.log(math.pi)
            - 0.5 * k * math.log(n + 1)
            + multigammaln(0.5 * (n + v), k)
            - multigammaln(0.5 * v, k)
            + 0.5 * v * k * math.log(self.t)
            - 0.5 * (n + v) * logdet
        )


class CachedFamilyScores:
    """Family scores with a cache: no family is scored twice."""

    def __init__(self, families: FamilyScores):
        self.families = families
        self.d = families.d
        self.n = families.n
        self.memory: dict = {}

    def score(self, y: int, parents) -> float:
        key = (y, frozenset(parents))
        if key not in self.memory:
            self.memory[key] = self.families.score(y, tuple(parents))
        return self.memory[key]

    def adds(self, y: int, parents, others) -> np.ndarray:
        base = frozenset(parents)
        keys = [(y, base | {int(z)}) for z in others]
        new = [z for key, z in zip(keys, others) if key not in self.memory]
        if new:
            scores = self.families.adds(y, tuple(parents), new).tolist()
            self.memory.update({(y, base | {int(z)}): s for z, s in zip(new, scores)})
        return np.array([self.memory[key] for key in keys])


def _family_scores_of(data, kind, *, weights=None, equivalent_size=10.0, columns=None):
    """The family scores of a table for a score by name, and its variables."""
    if kind in GAUSSIAN_SCORES:
        X, space = continuous_columns(data, columns)
        return GaussianFamilyScores(X, kind, weights), space
    if kind not in DISCRETE_SCORES:
        known = ", ".join((*DISCRETE_SCORES, *GAUSSIAN_SCORES))
        raise ValueError(f"score must be one of {known}; got {kind!r}.")
    codes, space = encode_table(data, columns=columns)
    if (codes < 0).any():
        j = int(np.flatnonzero((codes < 0).any(axis=0))[0])
        raise ValueError(
            f"column {space.names[j]!r} has missing values (NaN), which structure "
            "scores cannot use: fill them in or leave those rows out."
        )
    w = check_sample_weight(weights, len(codes))
    codes, space, w = drop_zero_weight_codes(codes, space, w)
    counts = ContingencyTables(codes, space.sizes, w)
    return DiscreteFamilyScores(counts, kind, equivalent_size), space


def structure_score(
    data, graph, score: str = "bic", *, weights=None, equivalent_size: float = 10.0
) -> float:
    """The score of a graph for a table of rows; larger is better.

    Parameters
    ----------
    data : array of shape (n, d), data frame or dict of columns
    graph : parents of each column, edges, or a network
        Tuples of column numbers, a dict of names, or a list of pairs (parent, child).
    score : {"bic", "aic", "bdeu", "k2", "log_likelihood", "gaussian_bic", \
"gaussian_aic", "gaussian_log_likelihood", "bge"}
    weights : array of shape (n,), optional
        A weight of 3 counts as three copies of the row.
    equivalent_size : float, default=10
        s of "bdeu".

    Examples
    --------
    >>> from pansophy.graphical import structure_score
    >>> rows = [[0, 0], [0, 1], [1, 0], [1, 1], [1, 0], [0, 1], [0, 0]]
    >>> round(structure_score(rows, [(), (0,)], "log_likelihood"), 6)
    -9.462488
    """
    families, space = _family_scores_of(
        data, score, weights=weights, equivalent_size=equivalent_size
    )
    parents = parse_parents(graph, space.names)
    return float(
        sum(families.score(j, parents_of_j) for j, parents_of_j in enumerate(parents))
    )


def log_likelihood_score(data, graph, *, weights=None) -> float:
    """Fitted log-likelihood of a graph, eq. (1)."""
    return structure_score(data, graph, "log_likelihood", weights=weights)


def bic_score(data, graph, *, weights=None) -> float:
    """Bayesian information criterion of a graph, eq. (2), to be maximised.

    Examples
    --------
    >>> from pansophy.graphical import bic_score
    >>> rows = [[0, 0], [0, 1], [1, 0], [1, 1], [1, 0], [0, 1], [0, 0]]
    >>> [round(bic_score(rows, g), 6) for g in ([(), ()], [(), (0,)], [(1,), ()])]
    [-11.506624, -12.381353, -12.381353]
    """
    return structure_score(data, graph, "bic", weights=weights)


def aic_score(data, graph, *, weights=None) -> float:
    """Akaike information criterion of a graph, eq. (3), to be maximised."""
    return structure_score(data, graph, "aic", weights=weights)


def bdeu_score(data, graph, *, equivalent_size: float = 10.0, weights=None) -> float:
    """log marginal likelihood with the BDeu prior, eq. (4)."""
    return structure_score(
        data, graph, "bdeu", weights=weights, equivalent_size=equivalent_size
    )


def k2_score(data, graph, *, weights=None) -> float:
    """log marginal likelihood with a uniform prior on each table row, eq. (4)."""
    return structure_score(data, graph, "k2", weights=weights)
