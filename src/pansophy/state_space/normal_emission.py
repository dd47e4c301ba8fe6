"""What Gaussian states emit: densities, statistics and the M-step of k Normals.

Rows come in three kinds. Of a whole row the log-densities of all states are one
matrix product, and so are the statistics of all rows (`distributions.natural_parameters`), where
that keeps nine digits; else state by state. Of a row with some values missing the
density of the rest counts, and its statistics are those expected (`missing`). A row
with nothing says nothing about its state.

The M-step is `distributions.normal_prior`: means and covariances of highest likelihood, or
posterior. Two things keep it sound. A state to which no row belongs keeps what it
has. A covariance that collapses stays above a floor, S - diag(f) >= 0: the likeliest
S of that kind has the eigenvalues of f^-1/2 S f^-1/2 below 1 raised to 1, so that EM
never falls. f is `min_covar`, or 1e-8 of the variance of the column if that is less.
Both are told in `notes`.

Shapes    X (n, d)   counts (n, k), the posteriors of the states   f (d,)
Refs      [LittleRubin2002]; [GauvainLee1994]
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..core.filtering import Evidence
from ..core.rows import as_rows
from ..distributions import natural_parameters
from ..distributions.covariance import factor_analysis
from ..distributions.missing import expected_moments, observed_log_prob
from ..distributions.normal import Moments, Normal
from ..distributions.normal_prior import NormalPrior, normal_log_prior, posterior_modes

EMPTY = 1e-8  # rows that belong to a state, below which it keeps what it has
COLLAPSED = 1e-8  # of the variance of a column


class Table(NamedTuple):
    """Rows made ready for E-steps."""

    X: np.ndarray  # as given
    whole: np.ndarray | None  # rows without gaps, None for all of them
    broken: np.ndarray  # rows with some values, not all
    rows: np.ndarray  # X[whole]
    frame: natural_parameters.Coordinates | None  # None where no row is whole
    variance: np.ndarray  # (d,) of what was seen of each column


def table_of(X, shape: str) -> Table:
    """Which rows are whole, and the coordinates for them."""
    gone = np.isnan(X)
    if gone.any():
        whole = np.flatnonzero(~gone.any(axis=1))
        broken = np.flatnonzero(gone.any(axis=1) & ~gone.all(axis=1))
        some = np.maximum((~gone).sum(axis=0), 1)
        D = np.where(gone, 0.0, X - np.where(gone, 0.0, X).sum(axis=0) / some)
        variance = (D * D).sum(axis=0) / some
        part = X[whole]
    else:
        whole, broken, part, variance = None, np.zeros(0, np.int64), X, None
    frame = None
    if len(part):
        with np.errstate(over="ignore", invalid="ignore"):
            total = natural_parameters.pooled_moments(as_rows(part), shape)
        if not np.isfinite(total.scatter).all():
            raise ValueError("values of X are too large to square: scale its columns.")
        frame = natural_parameters.standard_coordinates(as_rows(part), shape, total)
        if variance is None:
            S = total.scatter / total.weight
            variance = np.diagonal(S) if S.ndim == 2 else S
    return Table(X, whole, broken, part, frame, variance)


@dataclass(frozen=True, eq=False)
class NormalEmission:
    """A batch of k Normals as the emission of a hidden Markov model."""

    normal: Normal
    min_covar: float = 0.0
    log_weights: Any = 0.0  # added to the log-densities: weights of mixtures
    notes: tuple = ()
    memory: list = field(default_factory=list)  # of one table, handed on by `learn`
    names: tuple = ()  # of the Normals in notes; "state 0", ... if there are none

    @cached_property
    def wide(self) -> Normal:
        """The same Normals, each with a covariance of its own."""
        q = self.normal
        return Normal(q.mean, q.dense, "full") if q.shape == "tied" else q

    def table(self, X) -> Table:
        """X made ready, once for all turns of a fit."""
        if not self.memory or self.memory[0].X is not X:
            self.memory[:] = [table_of(X, self.wide.shape)]
        return self.memory[0]

    @cached_property
    def _coefficients(self) -> dict:
        return {}

    def quick(self, frame):
        """Natural parameters where they keep nine digits, else None."""
        if id(frame) not in self._coefficients:
            B, _, error = natural_parameters.natural_coefficients(
                self.wide, self.log_weights, frame
            )
            self._coefficients[id(frame)] = (
                B if error <= natural_parameters.ERROR else None
            )
        return self._coefficients[id(frame)]

    def log_prob(self, X):
        """log-densities (n, k) of what was seen of each row."""
        t = self.table(X)
        found = None
        if t.frame is not None:
            B = self.quick(t.frame)
            if B is not None:
                found = natural_parameters.log_densities(t.rows, t.frame, B)
            else:
                found = as_rows(t.rows).map(self.normal.log_prob) + self.log_weights
        if t.whole is None:
            return found
        out = np.zeros((len(X), self.normal.k))
        out[t.broken] = observed_log_prob(self.normal, X[t.broken]) + self.log_weights
        if found is not None:
            out[t.whole] = found
        return out

    def evidence(self, X, ends) -> Evidence:
        return Evidence(self.log_prob(X), None, ends)

    def stats(self, X, R) -> Moments:
        """`Moments` of all states under weights R (n, k)."""
        t = self.table(X)
        parts = []
        if t.frame is not None:
            Rw = R if t.whole is None else R[t.whole]
            if self.quick(t.frame) is not None:
                S = natural_parameters.weighted_features(t.rows, Rw, t.frame)
                parts.append(
                    natural_parameters.moments_from_features(
                        S, t.frame, self.normal.shape
                    )
                )
            else:
                parts.append(as_rows(t.rows, Rw).sum(self.normal.stats))
        if len(t.broken):
            parts.append(expected_moments(self.normal, X[t.broken], R[t.broken]))
        if not parts:  # nothing was seen at all: no row, the means as they are
            none = np.zeros((1, self.normal.d))
            parts.append(self.normal.stats(none, np.zeros((1, self.normal.k))))
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]

    def expected(self, X, counts) -> Moments:
        return self.stats(X, counts)

    @property
    def floor(self) -> np.ndarray:
        """f: what variances may not fall below, for each column."""
        low = np.full(self.normal.d, float(self.min_covar))
        V = self.memory[0].variance[: len(low)] if self.memory else 0 * low
        return np.where(V > 0, np.minimum(low, COLLAPSED * V), low)

    def learn(self, stats: Moments, prior, letters) -> "NormalEmission":
        """M-step of the means ("m"), the covariances ("c") or all ("e")."""
        q, prior = self.normal, NormalPrior() if prior is None else prior
        move, turn = {"m", "e"} & set(letters), {"c", "e"} & set(letters)
        mean, cov = posterior_modes(stats, prior, None if move else q.mean)
        empty = stats.weight < EMPTY
        mean = np.where(empty[:, None], q.mean, mean)
        notes = list(empty_notes(empty, self.names))
        if turn:
            cov, raised = lifted(cov, stats.shape, self.floor)
            cov = kept(cov, q, empty, stats.shape)
            raised = raised if stats.shape == "tied" else raised & ~empty
            notes += floor_notes(raised, stats.shape, self.names)
            if q.shape == "low_rank":
                psi, rank = q.cov[..., -1], q.cov.shape[-1] - 1
                cov = factor_analysis(cov, rank, psi, floor=self.floor.min())
        else:
            cov = q.cov
        new = Normal(mean, cov, q.shape)
        return replace(self, normal=new, notes=tuple(notes))

    def log_prior(self, prior) -> float:
        return 0.0 if prior is None else normal_log_prior(self.normal, prior)

    def draw(self, z, rng):
        return self.normal.draw(z, rng)

    @property
    def free(self) -> dict:
        """Free numbers by letter."""
        q = self.normal
        return {"m": q.k * q.d, "c": q.free - q.k * q.d}


def listed(which, names):
    """The Normals marked, in words."""
    at = np.flatnonzero(which)
    return (
        ", ".join(names[j] for j in at) if names else f"state {', '.join(map(str, at))}"
    )


def empty_notes(empty, names=()):
    if empty.any():
        yield (
            f"no row belongs to {listed(empty, names)}, which keeps its old parameters."
        )


def floor_notes(raised, shape, names=()):
    if raised.any():
        whose = "tied" if shape == "tied" else f"of {listed(raised, names)}"
        yield f"covariance {whose} has collapsed and is kept at the floor, min_covar."


def kept(cov, old: Normal, empty, shape):
    """Covariances, those of states without rows as they were."""
    if not empty.any():
        return cov
    if shape == "tied":
        return old.cov if empty.all() else cov
    was = old.dense if old.shape == "low_rank" else old.cov
    return np.where(empty.reshape(-1, *[1] * (cov.ndim - 1)), was, cov)


def lifted(cov, shape, floor):
    """The likeliest covariances above diag(floor), and for which that mattered."""
    k = 1 if shape == "tied" else len(cov)
    if not floor.any():
        return cov, np.zeros(k, bool)
    if shape in ("diag", "spherical"):
        low = floor if shape == "diag" else floor.mean()
        below = cov < low
        return np.maximum(cov, low), below.any(axis=1) if shape == "diag" else below
    root = np.sqrt(np.maximum(floor, np.finfo(float).tiny))
    scale = root[:, None] * root
    values, U = np.linalg.eigh(cov / scale)
    below = (values < 1).any(axis=-1).reshape(k)
    if not below.any():
        return cov, below
    C = (U * np.maximum(values, 1.0)[..., None, :]) @ np.swapaxes(U, -1, -2) * scale
    C = 0.5 * (C + np.swapaxes(C, -1, -2))
    return np.where(below[:, None, None], C, cov).reshape(cov.shape), below
