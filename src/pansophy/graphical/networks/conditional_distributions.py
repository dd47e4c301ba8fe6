"""Conditional distributions of the nodes of a Bayesian network, given their parents.

With u the discrete and v the continuous parents of x, in the order of the graph,

    ConditionalTable              P(x | u) = prob[u, x]                          (1)
    LinearGaussian                x | v ~ N(a + b'v, s)                          (2)
    ConditionalLinearGaussian     x | u, v ~ N(a_u + b_u'v, s_u)                 (3)

Each is estimated from sufficient statistics that add up over blocks of rows: counts for
(1), weight, mean and scatter of (v, x) for (2), the same for each u in (3). The maximum
likelihood b solves S_vv b = S_vx (the shortest solution where S_vv is singular),
a = m_x - b'm_v, s = (S_xx - b'S_vx) / weight. A configuration u without rows takes the
fit to all rows.

Codes and numbers share one array: U (n, m) has a column for each parent, with the codes
of discrete parents as whole numbers.

Shapes    x (n,)   U (n, m)   prob (sizes of the parents, own size)
Refs      [KollerFriedman2009] ch. 5, 7, 14; [Lauritzen1992] (3)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.numerics import LOG_2PI, safe_log
from ...distributions.categorical import estimated_probabilities
from ...distributions.gaussian.normal import Moments, moments
from . import _conditional_distributions as loops


def _parent_configuration(U, sizes) -> np.ndarray:
    """Number (n,) of the joint state of the discrete parents, first parent slowest."""
    if not len(sizes):
        return np.zeros(len(U), dtype=np.int64)
    z = U[:, 0].astype(np.int64)
    for j, r in enumerate(sizes[1:], 1):
        z *= r
        z += U[:, j].astype(np.int64)
    return z


@dataclass(frozen=True, eq=False)
class ConditionalTable:
    """P(x | u), eq. (1).

    Parameters
    ----------
    prob : array
        An axis for each parent, in their order, and one of own states, summing to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.graphical.networks.conditional_distributions import (
    ...     ConditionalTable,
    ... )
    >>> node = ConditionalTable([[0.9, 0.1], [0.2, 0.8]])
    >>> node.log_prob(np.array([1, 1]), np.array([[0], [1]])).round(4)
    array([-2.3026, -0.2231])
    """

    prob: Any

    def __post_init__(self):
        object.__setattr__(self, "prob", np.asarray(self.prob, dtype=np.float64))

    @property
    def rows(self) -> np.ndarray:
        """The table with one row for each configuration of the parents."""
        return self.prob.reshape(-1, self.prob.shape[-1])

    @property
    def cells(self) -> int:
        """Number of entries."""
        return self.prob.size

    @property
    def free(self) -> int:
        """Number of free parameters: one less than states in each row."""
        return self.prob.size - self.rows.shape[0]

    def log_prob(self, x, U) -> np.ndarray:
        """log P(x_i | U_i) for rows: (n,)."""
        z = _parent_configuration(U, self.prob.shape[:-1])
        return safe_log(self.rows[z, np.asarray(x).astype(np.int64)])

    def draw(self, U, rng: np.random.Generator) -> np.ndarray:
        """A state for each row of parents: (n,)."""
        z = _parent_configuration(U, self.prob.shape[:-1])
        return loops.sample_from_rows(
            np.cumsum(self.rows, axis=1), z, rng.random(len(z))
        )

    def stats(self, x, U, weights=None) -> np.ndarray:
        """Counts in the shape of the table."""
        z = _parent_configuration(U, self.prob.shape[:-1]) * self.prob.shape[-1]
        cell = z + np.asarray(x).astype(np.int64)
        return np.bincount(cell, weights, self.prob.size).reshape(self.prob.shape)

    @classmethod
    def from_stats(cls, stats, prior: float = 0.0) -> "ConditionalTable":
        """Relative frequencies of counts plus `prior`; uniform where there are none."""
        return cls(estimated_probabilities(np.asarray(stats, dtype=np.float64) + prior))


@dataclass(frozen=True, eq=False)
class LinearGaussian:
    """N(a + b'v, s), eq. (2).

    Parameters
    ----------
    intercept : float
    coef : array of shape (m,)
        b, one number for each parent.
    variance : float
        s, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.graphical.networks.conditional_distributions import LinearGaussian
    >>> v, x = np.arange(4.0)[:, None], np.array([1.0, 3.0, 5.0, 7.0])
    >>> node = LinearGaussian(0.0, [0.0], 1.0)
    >>> fitted = LinearGaussian.from_stats(node.stats(x, v))
    >>> fitted.intercept, fitted.coef, fitted.variance
    (1.0, array([2.]), 0.0)
    """

    intercept: Any
    coef: Any = ()
    variance: Any = 1.0

    def __post_init__(self):
        coef = np.asarray(self.coef, dtype=np.float64).reshape(-1)
        object.__setattr__(self, "intercept", float(self.intercept))
        object.__setattr__(self, "coef", coef)
        object.__setattr__(self, "variance", float(self.variance))

    @property
    def cells(self) -> int:
        """Number of parameters."""
        return len(self.coef) + 2

    free = cells

    def log_prob(self, x, U) -> np.ndarray:
        """log density of each row: (n,)."""
        return log_normal_density(x - self.intercept - U @ self.coef, self.variance)

    def draw(self, U, rng: np.random.Generator) -> np.ndarray:
        """A number for each row of parents: (n,)."""
        noise = rng.standard_normal(len(U))
        return self.intercept + U @ self.coef + np.sqrt(self.variance) * noise

    def stats(self, x, U, weights=None) -> Moments:
        """Weight, mean and scatter of (v, x)."""
        return moments(np.column_stack([U, x]).astype(np.float64), weights)

    @classmethod
    def from_stats(cls, stats: Moments, prior: float = 0.0) -> "LinearGaussian":
        """The maximum likelihood node; `prior` is the smallest variance allowed."""
        return cls(
            *_regression_from_moments(stats.weight, stats.mean, stats.scatter, prior)
        )


@dataclass(frozen=True, eq=False)
class ConditionalLinearGaussian:
    """N(a_u + b_u'v, s_u), eq. (3): a linear Gaussian for each configuration u.

    Parameters
    ----------
    intercept : array with an axis for each discrete parent
    coef : array with the same axes and one of continuous parents
    variance : array with the axes of intercept
    discrete : tuple of int
        Positions of the discrete parents among all parents.
    """

    intercept: Any
    coef: Any
    variance: Any
    discrete: tuple[int, ...]

    def __post_init__(self):
        for name in ("intercept", "coef", "variance"):
            value = np.asarray(getattr(self, name), dtype=np.float64)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "discrete", tuple(int(i) for i in self.discrete))
        shape = self.intercept.shape
        fits = self.variance.shape == shape and self.coef.shape[:-1] == shape
        if not fits or len(self.discrete) != len(shape):
            raise ValueError(
                "intercept, coef and variance need an axis for each discrete parent, "
                f"got shapes {shape}, {self.coef.shape} and {self.variance.shape}."
            )

    @property
    def cells(self) -> int:
        """Number of parameters."""
        return self.intercept.size + self.coef.size + self.variance.size

    free = cells

    def split(self, U):
        """Configurations (n,) of the discrete parents, and the continuous ones."""
        discrete = list(self.discrete)
        rest = [j for j in range(U.shape[1]) if j not in self.discrete]
        return _parent_configuration(U[:, discrete], self.intercept.shape), U[:, rest]

    def means(self, U):
        """Mean and variance of each row: (n,), (n,)."""
        z, V = self.split(U)
        b = self.coef.reshape(self.intercept.size, V.shape[1])[z]
        mean = self.intercept.reshape(-1)[z] + (b * V).sum(axis=1)
        return mean, self.variance.reshape(-1)[z]

    def log_prob(self, x, U) -> np.ndarray:
        """log density of each row: (n,)."""
        mean, variance = self.means(U)
        return log_normal_density(x - mean, variance)

    def draw(self, U, rng: np.random.Generator) -> np.ndarray:
        """A number for each row of parents: (n,)."""
        mean, variance = self.means(U)
        return mean + np.sqrt(variance) * rng.standard_normal(len(U))

    def stats(self, x, U, weights=None) -> Moments:
        """Moments of (v, x) for each configuration."""
        z, V = self.split(U)
        w = np.ones(len(z)) if weights is None else np.asarray(weights)
        rows = np.column_stack([V, x]).astype(np.float64)
        k = self.intercept.size
        d = rows.shape[1]
        weight, mean, scatter = np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d))
        order = np.argsort(z, kind="stable")
        ends = np.searchsorted(z[order], np.arange(k + 1))
        for u in range(k):
            rows_of_u = order[ends[u] : ends[u + 1]]
            if len(rows_of_u):
                m = moments(rows[rows_of_u], w[rows_of_u])
                weight[u], mean[u], scatter[u] = m.weight, m.mean, m.scatter
        return Moments(weight, mean, scatter)

    def from_stats(
        self, stats: Moments, prior: float = 0.0
    ) -> "ConditionalLinearGaussian":
        """Maximum likelihood node of this shape; `prior` is the smallest variance."""
        total = Moments(stats.weight[:0].sum(), stats.mean[0] * 0, stats.scatter[0] * 0)
        for u in range(len(stats.weight)):
            part = Moments(stats.weight[u], stats.mean[u], stats.scatter[u])
            total = total + part
        pooled = _regression_from_moments(
            total.weight, total.mean, total.scatter, prior
        )
        parts = [
            _regression_from_moments(w, m, S, prior) if w > 0 else pooled
            for w, m, S in zip(stats.weight, stats.mean, stats.scatter, strict=True)
        ]
        shape = self.intercept.shape
        return ConditionalLinearGaussian(
            np.array([p[0] for p in parts]).reshape(shape),
            np.array([p[1] for p in parts]).reshape(self.coef.shape),
            np.array([p[2] for p in parts]).reshape(shape),
            self.discrete,
        )


Node = ConditionalTable | LinearGaussian | ConditionalLinearGaussian


def as_conditional(value) -> Node:
    """A node as it is; an array of probabilities as a `ConditionalTable`."""
    return ConditionalTable(value) if isinstance(value, np.ndarray) else value


def _regression_from_moments(weight, mean, scatter, floor=0.0):
    """Intercept, coefficients and variance of the last coordinate on the others."""
    S = np.asarray(scatter)
    v = S.shape[0] - 1
    b = np.linalg.lstsq(S[:v, :v], S[:v, v], rcond=None)[0] if v else np.zeros(0)
    residual_variance = float(S[v, v] - b @ S[:v, v]) / max(
        float(weight), np.finfo(float).tiny
    )
    return float(mean[v] - b @ mean[:v]), b, max(residual_variance, 0.0, floor)


def log_normal_density(gap, variance):
    """log N(gap; 0, variance); a variance of 0 is a point mass (0 or -inf)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = -0.5 * (LOG_2PI + np.log(variance) + gap**2 / variance)
    point_mass = np.where(gap == 0, 0.0, -np.inf)
    return np.where(np.asarray(variance) == 0, point_mass, value)
