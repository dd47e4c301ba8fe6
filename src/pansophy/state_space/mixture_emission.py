"""What states emit that are mixtures of Normals: k states of m components each.

    log b_j(x) = log sum_l exp(log w_jl + log N(x; m_jl, S_jl))                  (1)

The k m Normals are one `NormalEmission`, with the log-weights in its densities, so the
quick way, missing values, empty components and floors are those of any Normals. The
posteriors of the states are split over the components by their shares of (1).

Shapes    counts (n, k)   joint (n, k m)   w (k, m)
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ..core.filtering import Evidence
from ..core.numerics import logsumexp, safe_log
from ..core.rows import Rows
from ..distributions.normal import Moments, Normal
from ..distributions.normal_prior import NormalPrior, normal_log_prior
from .normal_emission import EMPTY, NormalEmission


class MixturePrior(NamedTuple):
    """Pseudo-counts of the weights, and what is believed of the k m Normals."""

    alpha: np.ndarray  # (k, m)
    normals: NormalPrior  # with leading axes (k, m), or (k,) for psi where tied


def flat(prior: NormalPrior, tied: bool) -> NormalPrior:
    """The prior of all k m Normals as one batch."""
    join = lambda a: np.reshape(a, (-1, *np.shape(a)[2:]))
    psi = None if prior.psi is None or tied else join(prior.psi)
    return NormalPrior(join(prior.m0), join(prior.kappa), psi, join(prior.extra))


def mixtures(weights, normal: Normal, min_covar, tied) -> "MixtureEmission":
    """Mixtures with these weights (k, m) of these k m Normals."""
    k, m = weights.shape
    names = tuple(
        f"component {c} of state {j}" if m > 1 else f"state {j}"
        for j in range(k)
        for c in range(m)
    )
    logs = safe_log(weights).reshape(-1)
    inner = NormalEmission(normal, min_covar, log_weights=logs, names=names)
    return MixtureEmission(weights, inner, tied)


@dataclass(frozen=True, eq=False)
class MixtureEmission:
    """Mixtures of Normals as the emission of a hidden Markov model."""

    weights: np.ndarray  # (k, m)
    inner: NormalEmission  # of k m Normals, full ones where tied
    tied: bool
    notes: tuple = ()
    last: list = field(default_factory=list)  # X, joint, log b of the last evidence

    def parts(self, X):
        """Joint (n, k m) of eq. (1) and its sums (n, k), kept for the statistics."""
        if not self.last or self.last[0] is not X:
            k, m = self.weights.shape
            joint = self.inner.log_prob(X)
            add = lambda J: logsumexp(J.reshape(-1, k, m), axis=2)
            L = Rows(joint).map(add)
            if self.inner.table(X).whole is not None:
                L[np.isnan(X).all(axis=1)] = 0.0
            self.last[:] = [X, joint, L]
        return self.last[1:]

    def log_prob(self, X):
        return self.parts(X)[1]

    def evidence(self, X, ends) -> Evidence:
        return Evidence(self.log_prob(X), None, ends)

    def stats(self, X, R) -> Moments:
        """`Moments` of all components under posteriors R (n, k) of the states."""
        k, m = self.weights.shape
        joint, L = self.parts(X)

        def split(J, L, R):
            gone = ~np.isfinite(L)
            E = np.exp(J.reshape(-1, k, m) - np.where(gone, 0.0, L)[:, :, None])
            E *= np.where(gone, 0.0, R)[:, :, None]
            return E.reshape(len(J), -1)

        return self.inner.stats(X, Rows(joint, L, R).map(split))

    def expected(self, X, counts) -> Moments:
        return self.stats(X, counts)

    def learn(self, stats: Moments, prior, letters) -> "MixtureEmission":
        """M-step of the weights ("w"), means ("m"), covariances ("c") or all ("e")."""
        (k, m), own = self.weights.shape, set(letters)
        alpha = np.ones((k, m)) if prior is None else prior.alpha
        normals = NormalPrior() if prior is None else prior.normals
        w = self.weights
        if {"w", "e"} & own:
            counts = np.maximum(stats.weight.reshape(k, m) + alpha - 1, 0.0)
            total = counts.sum(axis=1, keepdims=True)
            w = np.where(total > EMPTY, counts / np.maximum(total, EMPTY), w)
        inner = self.inner
        if {"m", "c", "e"} & own:
            learn = self.tied_learn if self.tied else self.inner.learn
            inner = learn(stats, normals if self.tied else flat_or_none(prior), own)
        inner = replace(inner, log_weights=safe_log(w).reshape(-1))
        return replace(self, weights=w, inner=inner, notes=inner.notes, last=[])

    def state(self, j) -> NormalEmission:
        """The Normals of state j, with one covariance for all."""
        m = self.weights.shape[1]
        at, q = slice(j * m, (j + 1) * m), self.inner.normal
        normal = Normal(q.mean[at], q.cov[j * m], "tied")
        return replace(
            self.inner, normal=normal, names=self.inner.names[at], log_weights=0.0
        )

    def tied_learn(self, stats, prior, letters) -> NormalEmission:
        """State by state, where the components of a state share a covariance."""
        k, m = self.weights.shape
        means, covs, notes = [], [], []
        for j in range(k):
            at = slice(j * m, (j + 1) * m)
            own = Moments(
                stats.weight[at], stats.mean[at], stats.scatter[at].sum(axis=0), "tied"
            )
            new = self.state(j).learn(own, of_state(prior, j), letters)
            means.append(new.normal.mean)
            covs += [new.normal.cov] * m
            notes += [n.replace("covariance tied", f"covariance of state {j}")
                      for n in new.notes]  # fmt: skip
        normal = Normal(np.concatenate(means), np.stack(covs), "full")
        return replace(self.inner, normal=normal, notes=tuple(notes))

    def log_prior(self, prior) -> float:
        """The part of the objective that comes from the prior, up to a constant."""
        if prior is None:
            return 0.0
        some = (prior.alpha != 1) & (self.weights > 0)
        out = float(((prior.alpha - 1)[some] * np.log(self.weights[some])).sum())
        if not self.tied:
            return out + normal_log_prior(self.inner.normal, flat(prior.normals, False))
        each = (
            normal_log_prior(self.state(j).normal, of_state(prior.normals, j))
            for j in range(len(self.weights))
        )
        return out + sum(each)

    def draw(self, z, rng):
        m = self.weights.shape[1]
        edges = np.cumsum(self.weights, axis=1)
        u = rng.random(len(z)) * edges[z, -1]
        c = np.minimum((u[:, None] >= edges[z]).sum(axis=1), m - 1)
        return self.inner.normal.draw(np.asarray(z) * m + c, rng)

    @property
    def free(self) -> dict:
        """Free numbers by letter."""
        (k, m), own = self.weights.shape, self.inner.free
        if self.tied:
            own = {**own, "c": own["c"] // m}
        return {**own, "w": k * (m - 1)}


def flat_or_none(prior) -> NormalPrior | None:
    return None if prior is None else flat(prior.normals, False)


def of_state(prior: NormalPrior, j) -> NormalPrior:
    """What is believed of the Normals of one state."""
    at = lambda a: a if np.ndim(a) == 0 else a[j]
    psi = None if prior.psi is None else prior.psi[j]
    return NormalPrior(at(prior.m0), at(prior.kappa), psi, at(prior.extra))
