"""Models with closed-form mean-field updates, for `MeanField`.

    GaussianTarget   z ~ N(mu, Lambda^-1), one factor a coordinate or block
    NormalSample     x_i ~ N(m, 1/t), m ~ N(m0, 1/(k0 t)), t ~ Gamma(a0, b0)
    LinearARD        y_i ~ N(x_i' w, 1/t), w_j ~ N(0, 1/alpha_j), alpha_j ~ Gamma, t ~
                     Gamma: columns that do not help get a large alpha_j and w_j near 0
    DiscreteField    p(z) proportional to a product of tables over discrete variables:
                     Markov fields, Bayesian networks with evidence

Each gives `start`, `updates` and `bound`; the bound is the sum over the parts of
E log p and the entropies of the factors. Factors are distributions of
`pansophy.distributions`, or arrays of probabilities for discrete variables.

Refs      [Bishop2006] sections 10.1 and 10.3; [Mackay1994] relevance;
          [Wainwright2008] fields
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln

from ...core.linalg.linalg import cholesky
from ...core.numerics import LOG_2PI, softmax, xlogy
from ...distributions import Gamma, Normal


def _expected_log_gamma(g):
    """E log t of a Gamma."""
    return digamma(g.shape) - np.log(g.rate)


def _expected_gamma_log_density(g, a, b):
    """E log Gamma(t; a, b) under a Gamma g, summed over coordinates."""
    value = a * np.log(b) - gammaln(a) + (a - 1) * _expected_log_gamma(g) - b * g.mean
    return float(np.sum(value))


@dataclass(frozen=True, eq=False)
class GaussianTarget:
    """A Gaussian given by its precision, approximated by independent blocks.

    Parameters
    ----------
    mean : array of shape (d,)
    precision : array of shape (d, d)
    blocks : list of index lists or None
        Coordinates of each factor z0, z1, ...; None is one coordinate each.
    """

    mean: Any
    precision: Any
    blocks: Any = None

    @cached_property
    def parts(self):
        d = len(np.atleast_1d(self.mean))
        blocks = self.blocks or [[j] for j in range(d)]
        return {f"z{i}": np.array(b, dtype=int) for i, b in enumerate(blocks)}

    def start(self):
        return {
            k: Normal(np.zeros(len(b)), np.eye(len(b))) for k, b in self.parts.items()
        }

    @property
    def updates(self):
        return {name: lambda q, name=name: self.update(q, name) for name in self.parts}

    def mean_vector(self, q):
        """Means of all factors in coordinate order."""
        m = np.empty(len(np.atleast_1d(self.mean)))
        for name, b in self.parts.items():
            m[b] = q[name].mean
        return m

    def update(self, q, name):
        """Normal with precision Lambda_bb and the mean given those of the others."""
        mu = np.asarray(self.mean)
        P = np.asarray(self.precision)
        b = self.parts[name]
        gap = self.mean_vector(q) - mu
        gap[b] = 0.0
        C = np.linalg.inv(P[np.ix_(b, b)])
        return Normal(mu[b] - C @ (P[b] @ gap), C)

    def bound(self, q):
        """-KL(q || p): the target is normalised."""
        mu, P = np.asarray(self.mean), np.asarray(self.precision)
        gap = self.mean_vector(q) - mu
        trace = sum(np.sum(P[np.ix_(b, b)] * q[k].dense) for k, b in self.parts.items())
        log_det = np.linalg.slogdet(P)[1]
        fit = 0.5 * (log_det - len(mu) * LOG_2PI - gap @ P @ gap - trace)
        return float(fit + sum(float(q[name].entropy) for name in self.parts))


@dataclass(frozen=True, eq=False)
class NormalSample:
    """Normal data of unknown mean and precision; q(mean) q(precision).

    Parameters
    ----------
    x : array of shape (n,)
    mean, strength : float
        m0 and k0: the prior mean is worth k0 observations.
    shape, rate : float
        a0 and b0 of the prior of the precision.
    """

    x: Any
    mean: float = 0.0
    strength: float = 1e-3
    shape: float = 1e-3
    rate: float = 1e-3

    def start(self):
        x = np.asarray(self.x, dtype=float)
        variance = max(float(x.var()), 1e-12)
        return {"mean": Normal(x.mean(), variance), "precision": Gamma(1.0, variance)}

    @property
    def updates(self):
        return {"mean": self.update_mean, "precision": self.update_precision}

    def update_mean(self, q):
        x = np.asarray(self.x, dtype=float)
        k0 = self.strength
        m = (k0 * self.mean + x.sum()) / (k0 + len(x))
        return Normal(m, 1.0 / ((k0 + len(x)) * q["precision"].mean))

    def squares(self, q):
        """E of sum (x - m)^2 and of (m - m0)^2."""
        x = np.asarray(self.x, dtype=float)
        m, v = float(q["mean"].mean[0]), float(q["mean"].cov[0, 0])
        return np.sum((x - m) ** 2) + len(x) * v, (m - self.mean) ** 2 + v

    def update_precision(self, q):
        data_square, prior_square = self.squares(q)
        a = self.shape + 0.5 * (len(np.asarray(self.x)) + 1)
        return Gamma(a, self.rate + 0.5 * (data_square + self.strength * prior_square))

    def bound(self, q):
        t = q["precision"]
        n = len(np.asarray(self.x))
        k0 = self.strength
        data_square, prior_square = self.squares(q)
        log_t = float(_expected_log_gamma(t))
        fit = 0.5 * (n * (log_t - LOG_2PI) - float(t.mean) * data_square)
        fit += 0.5 * (np.log(k0) + log_t - LOG_2PI - float(t.mean) * k0 * prior_square)
        fit += _expected_gamma_log_density(t, self.shape, self.rate)
        return float(fit + float(q["mean"].entropy) + float(t.entropy))


@dataclass(frozen=True, eq=False)
class LinearARD:
    """Linear regression with a precision for every weight; q(w) q(alpha) q(noise).

    Parameters
    ----------
    X : array of shape (n, d)
        Add a column of ones for an intercept.
    y : array of shape (n,)
    shape, rate : float
        Of the Gamma priors of each alpha_j and of the noise precision.
    """

    X: Any
    y: Any
    shape: float = 1e-3
    rate: float = 1e-3

    @cached_property
    def sums(self):
        """Sufficient statistics X'X, X'y, y'y, n."""
        X, y = (np.asarray(a, dtype=float) for a in (self.X, self.y))
        return X.T @ X, X.T @ y, float(y @ y), len(y)

    def start(self):
        _, b, yy, n = self.sums
        d = len(b)
        variance = max(yy / n, 1e-12)
        ones = np.ones(d)
        factors = {"alpha": Gamma(ones, ones), "noise": Gamma(1.0, variance)}
        return {"w": self.update_w(factors)} | factors

    @property
    def updates(self):
        return {
            "w": self.update_w,
            "alpha": self.update_alpha,
            "noise": self.update_noise,
        }

    def update_w(self, q):
        G, b, _, _ = self.sums
        t = float(q["noise"].mean)
        P = t * G + np.diag(q["alpha"].mean)
        C = np.linalg.inv(P)
        return Normal(t * np.linalg.solve(P, b), 0.5 * (C + C.T))

    def update_alpha(self, q):
        square = q["w"].mean ** 2 + np.diag(q["w"].cov)
        return Gamma(self.shape + 0.5, self.rate + 0.5 * square)

    def error(self, q):
        """E |y - X w|^2."""
        G, b, yy, _ = self.sums
        m, C = q["w"].mean, q["w"].cov
        return yy - 2 * m @ b + m @ G @ m + np.sum(G * C)

    def update_noise(self, q):
        n = self.sums[3]
        return Gamma(self.shape + 0.5 * n, self.rate + 0.5 * self.error(q))

    def bound(self, q):
        n = self.sums[3]
        w = q["w"]
        t = q["noise"]
        alpha = q["alpha"]
        square = w.mean**2 + np.diag(w.cov)
        fit = 0.5 * (
            n * (float(_expected_log_gamma(t)) - LOG_2PI)
            - float(t.mean) * self.error(q)
        )
        fit += 0.5 * np.sum(_expected_log_gamma(alpha) - LOG_2PI - alpha.mean * square)
        for g in (t, alpha):
            fit += _expected_gamma_log_density(g, self.shape, self.rate) + float(
                g.entropy
            )
        d = len(w.mean)
        log_det = 2 * np.sum(np.log(np.diag(cholesky(w.cov)[0])))
        return float(fit + 0.5 * (d * (1 + LOG_2PI) + log_det))


@dataclass(frozen=True, eq=False)
class DiscreteField:
    """Discrete variables under a product of tables; q(z) = q_0(z_0) q_1(z_1) ...

    Parameters
    ----------
    sizes : tuple of int
        Number of states of each variable.
    factors : list of (variables, values), or of objects with these fields
        Non-negative tables, one axis a variable, such as
        `graphical.inference.factors.Factor`. Tables must be positive: a zero would make
        the bound -inf.
    """

    sizes: tuple
    factors: Any

    @cached_property
    def logs(self):
        """(variables, log table) of each factor."""
        log_tables = []
        for f in self.factors:
            pair = (f.variables, f.values) if hasattr(f, "variables") else f
            variables = tuple(pair[0])
            values = np.asarray(pair[1], dtype=float)
            want = tuple(self.sizes[v] for v in variables)
            if values.shape != want:
                raise ValueError(
                    f"a table over variables {variables} must have shape {want}, got "
                    f"{values.shape}."
                )
            if not (values > 0).all():
                raise ValueError(
                    f"the table over variables {variables} holds values that are not "
                    "positive; mean field needs positive tables."
                )
            log_tables.append(
                (variables, np.log(values) + getattr(f, "log_scale", 0.0))
            )
        return log_tables

    @cached_property
    def touching(self):
        """Factors of each variable."""
        factors_of: list[list] = [[] for _ in self.sizes]
        for f in self.logs:
            for v in f[0]:
                factors_of[v].append(f)
        return factors_of

    def start(self):
        return {f"z{v}": np.full(k, 1.0 / k) for v, k in enumerate(self.sizes)}

    @property
    def updates(self):
        numbers = range(len(self.sizes))
        return {f"z{v}": lambda q, v=v: self.update(q, v) for v in numbers}

    def update(self, q, v):
        """softmax of the expected log tables given each state of v."""
        total = np.zeros(self.sizes[v])
        for variables, table in self.touching[v]:
            total += _expected_table(table, variables, q, keep=v)
        return softmax(total)

    def bound(self, q):
        fit = sum(float(_expected_table(t, v, q)) for v, t in self.logs)
        entropies = -sum(float(np.sum(xlogy(p, p))) for p in q.values())
        return fit + entropies


def _expected_table(table, variables, q, keep=None):
    """Expected table under q over all its variables except `keep`."""
    for axis in reversed(range(len(variables))):
        if variables[axis] != keep:
            table = np.moveaxis(table, axis, -1) @ q[f"z{variables[axis]}"]
    return table
