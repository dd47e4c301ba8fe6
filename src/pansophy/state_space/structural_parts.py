"""Structural time series: a series as the sum of components, each a small chain.

    y_t = level_t + season_t + cycle_t + x_t'b + e_t,    e_t ~ Normal(0, s_e)      (1)
    level_t+1 = level_t + trend_t + Normal(0, s_l)
    trend_t+1 = trend_t + Normal(0, s_t)
    season_t+1 = -(season_t + ... + season_t-s+2) + Normal(0, s_s)       dummies   (2)
    (g, g*)_t+1 = turn(2 pi j / s) (g, g*)_t + Normal(0, s_s I)          harmonics (3)
    (c, c*)_t+1 = rho turn(w) (c, c*)_t + Normal(0, s_c I)               cycle     (4)

where turn(w) rotates by the angle w; the season of (3) is the sum of g over the
harmonics j. Together they are one linear Gaussian chain with blocks on the diagonal,
in which coefficients b are states that stay as they are. All start diffuse, but for a
damped cycle (rho < 1), which has a stationary start of variance s_c / (1 - rho^2).

The variances s, w and rho maximise the diffuse likelihood. In v they are roots of
variances in units of the series, so that a variance may be 0, and logits:

    d log p / ds = sum over the block of (d/dQ)_ii,  d/dw = <d/dF, dF/dw>          (5)

Refs      [Harvey1989]; [DurbinKoopman2012] ch. 3
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.special import expit, logit

from .kalman_learning import by_covariance, by_noise, by_transition, later
from .kalman_passes import run_filter, run_smoother
from .linear_gaussian import Model


class Block(NamedTuple):
    """A component: its chain, what of it is seen, and which states have which noise."""

    name: str
    F: np.ndarray
    H: np.ndarray
    noise: dict  # name of a variance -> states that have it


def turn(w):
    """Rotation by an angle."""
    return np.array([[np.cos(w), np.sin(w)], [-np.sin(w), np.cos(w)]])


def level(stochastic: bool, trend: str | None) -> Block:
    noise = {"level": [0]} if stochastic else {}
    if trend is None:
        return Block("level", np.eye(1), np.ones(1), noise)
    noise |= {"trend": [1]} if trend == "stochastic" else {}
    return Block("level", np.array([[1.0, 1.0], [0, 1]]), np.array([1.0, 0]), noise)


def dummies(period: int, stochastic: bool) -> Block:
    """Eq. (2)."""
    F = np.eye(period - 1, k=-1)
    F[0] = -1.0
    H = np.eye(period - 1)[0]
    return Block("seasonal", F, H, {"seasonal": [0]} if stochastic else {})


def harmonics(period: int, number: int | None, stochastic: bool) -> Block:
    """Eq. (3); the last harmonic of an even period has one state."""
    most = period // 2
    if number is not None and number > most:
        raise ValueError(f"a period of {period} has {most} harmonics, not {number}.")
    blocks, seen = [], []
    for j in range(1, (number or most) + 1):
        half = 2 * j == period
        blocks.append(np.array([[-1.0]]) if half else turn(2 * np.pi * j / period))
        seen += [1.0] if half else [1.0, 0.0]
    F = scipy.linalg.block_diag(*blocks)
    noise = {"seasonal": list(range(len(F)))} if stochastic else {}
    return Block("seasonal", F, np.array(seen), noise)


def cycle(stochastic: bool) -> Block:
    noise = {"cycle": [0, 1]} if stochastic else {}
    return Block("cycle", np.eye(2), np.array([1.0, 0.0]), noise)


class Layout(NamedTuple):
    """The whole chain: blocks, and where each begins."""

    blocks: list
    irregular: bool
    damped: bool
    periods: tuple  # shortest and longest period of the cycle
    n_exog: int

    @property
    def k(self) -> int:
        return sum(len(b.H) for b in self.blocks) + self.n_exog

    def where(self, name) -> slice:
        """The states of a component."""
        begin = 0
        for b in self.blocks:
            if b.name == name:
                return slice(begin, begin + len(b.H))
            begin += len(b.H)
        return slice(begin, self.k)  # coefficients

    @property
    def variances(self) -> dict:
        """States that have the noise of each variance; none for the irregular."""
        out = {"irregular": []} if self.irregular else {}
        for b in self.blocks:
            begin = self.where(b.name).start
            out |= {name: [begin + i for i in rows] for name, rows in b.noise.items()}
        return out

    @property
    def has_cycle(self) -> bool:
        return any(b.name == "cycle" for b in self.blocks)


class Values(NamedTuple):
    """The numbers that are learned for one series."""

    variances: dict
    frequency: float = 0.0  # w of the cycle
    damping: float = 1.0  # rho


def model_of(layout: Layout, values: Values, exog=None) -> Model:
    """The chain of eq. (1) to (4)."""
    k = layout.k
    F = scipy.linalg.block_diag(*(b.F for b in layout.blocks), np.eye(layout.n_exog))
    if layout.has_cycle:
        at = layout.where("cycle")
        F[at, at] = values.damping * turn(values.frequency)
    Q = np.zeros((k, k))
    for name, rows in layout.variances.items():
        Q[rows, rows] = values.variances[name]
    H = np.concatenate([*(b.H for b in layout.blocks), np.zeros(layout.n_exog)])[None]
    if layout.n_exog and exog is not None:
        H = np.repeat(H[None], len(exog), axis=0)
        H[:, 0, k - layout.n_exog :] = exog
    R = np.array([[values.variances.get("irregular", 0.0)]])
    zero, P, free = np.zeros(k), np.zeros((k, k)), np.eye(k)
    if layout.damped:
        at = layout.where("cycle")
        free[at, at] = 0.0
        P[at, at] = Q[at, at] / (1 - values.damping**2)
    return Model(F, Q, H, R, zero, np.zeros(1), zero, P, free)


class Vector(NamedTuple):
    """Values to and from the vector v that the solver moves."""

    layout: Layout
    unit: float  # standard deviation that stands for 1
    floor: float  # of the first variance, so that a perfect fit has a likelihood

    def first(self):
        n = len(self.layout.variances)
        v = np.full(n, 0.3)
        v[:1] = 0.7
        cycle = [0.0, 2.0][: 1 + self.layout.damped] if self.layout.has_cycle else []
        return np.concatenate([v, cycle])

    def values(self, v) -> Values:
        names = list(self.layout.variances)
        s = (v[: len(names)] * self.unit) ** 2
        s[:1] += self.floor
        variances = {name: float(x) for name, x in zip(names, s, strict=True)}
        if not self.layout.has_cycle:
            return Values(variances)
        low, high = self.angles
        w = low + (high - low) * expit(v[len(names)])
        rho = min(expit(v[-1]), 1 - 1e-9) if self.layout.damped else 1.0
        return Values(variances, float(w), float(rho))

    @property
    def angles(self):
        short, long = self.layout.periods
        return (0.0 if np.isinf(long) else 2 * np.pi / long), 2 * np.pi / short

    def slope(self, v, values, back):
        """Eq. (5)."""
        run, rho = back.forward, values.damping
        G = np.diag(by_covariance(back, later(run))).copy()
        names, out, GP = self.layout.variances, [], np.zeros(0)
        if self.layout.damped:
            at = self.layout.where("cycle")
            GP = np.diag(by_covariance(back, np.append(0, run.ends[:-1])))[at]
            G[at] += GP / (1 - rho**2)
        for x, (name, rows) in zip(v, names.items(), strict=False):
            g = by_noise(back) if name == "irregular" else G[rows].sum()
            out.append(2 * g * x * self.unit**2)
        if self.layout.has_cycle:
            at = self.layout.where("cycle")
            GF, (low, high) = by_transition(back)[at, at], self.angles
            p, w = expit(v[len(names)]), values.frequency
            by_w = rho * turn(w + np.pi / 2)  # the derivative of a rotation
            out.append((GF * by_w).sum() * (high - low) * p * (1 - p))
            if self.layout.damped:
                wide = 2 * rho * values.variances["cycle"] / (1 - rho**2) ** 2
                slope = (GF * turn(w)).sum() + GP.sum() * wide
                out.append(slope * rho * (1 - rho))
        return np.array(out)


def objective(vector: Vector, y, ends, exog, steady=True):
    """v -> (-log p / n, its gradient)."""

    def f(v):
        values = vector.values(v)
        run = run_filter(model_of(vector.layout, values, exog), y, ends, steady=steady)
        loglik = run.logliks.sum()
        if not np.isfinite(loglik):
            return np.inf, np.zeros_like(v)
        back = run_smoother(run, keep=True)
        return -loglik / len(y), -vector.slope(v, values, back) / len(y)

    return f


def starts(vector: Vector):
    """Vectors to start from: mostly noise, mostly movement, and slow or fast cycles."""
    v = vector.first()
    n = len(vector.layout.variances)
    flipped = v.copy()
    flipped[:n] = np.where(np.arange(n) < 1, 0.2, 0.6)
    out = [v, flipped]
    if vector.layout.has_cycle:
        for a in (logit(0.1), logit(0.02)):
            other = v.copy()
            other[n] = a
            out.append(other)
    return out
