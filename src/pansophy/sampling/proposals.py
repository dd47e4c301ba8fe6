"""Where a chain may go next: moves q(y | x) for Metropolis-Hastings.

A proposal is called as `proposal(rng, x)` and gives y, or (y, h) with the Hastings term

    h = log q(x | y) - log q(y | x)                                             (1)

which is 0 for a symmetric move and may then be left out. Any function of one position
x of shape (d,) will do. A proposal with `batched = True` takes all chains at once,
x (m, d), and gives y (m, d) and h (m,).

Refs      [Hastings1970]
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class RandomWalk:
    """y = x + scale * N(0, covariance): symmetric.

    Parameters
    ----------
    scale : float or None
        Size of the moves. None starts at 2.38 / sqrt(d), which is best for a Gaussian
        target with this covariance in many dimensions [Roberts1997].
    covariance : array of shape (d, d) or (d,), or None
        Shape of the moves; (d,) holds variances, None is the identity.
    learn : bool
        Whether warm-up learns scale and covariance from the chains.
    """

    scale: float | None = None
    covariance: Any = None
    learn: bool = True

    batched = True

    def __post_init__(self):
        if self.scale is not None and not 0 < self.scale < np.inf:
            raise ValueError(
                f"scale of RandomWalk must be a number above 0, got {self.scale!r}."
            )

    @cached_property
    def root(self):
        """A square root of the covariance, or of its diagonal, or None."""
        if self.covariance is None:
            return None
        C = np.asarray(self.covariance, dtype=float)
        if C.ndim == 1 and (C > 0).all():
            return np.sqrt(C)
        try:
            return np.linalg.cholesky(C).T
        except np.linalg.LinAlgError:  # also when C is not a square matrix
            raise ValueError(
                "covariance of RandomWalk must be positive definite."
            ) from None

    def sized(self, d) -> "RandomWalk":
        """The walk for d dimensions, its scale filled in."""
        if self.root is not None and self.root.shape[-1] != d:
            raise ValueError(
                f"covariance of RandomWalk is for {self.root.shape[-1]} dimensions, "
                f"but the chains have {d}."
            )
        return self if self.scale is not None else self.rescaled(2.38 / np.sqrt(d))

    def rescaled(self, scale) -> "RandomWalk":
        """The same walk with another scale; the root is not worked out again."""
        new = replace(self, scale=float(scale))
        if "root" in self.__dict__:
            new.__dict__["root"] = self.root
        return new

    def __call__(self, rng, x):
        z = rng.standard_normal(x.shape)
        if self.root is not None:
            z = z @ self.root if self.root.ndim == 2 else z * self.root
        z *= self.scale
        z += x
        return z


@dataclass(frozen=True, eq=False)
class IndependenceProposal:
    """y drawn from a fixed distribution, wherever x is: h = log q(x) - log q(y).

    Parameters
    ----------
    distribution : Distribution
        Anything with `sample(n, rng)` and `log_prob(X)`; its tails should be no
        lighter than those of the target.
    """

    distribution: Any

    batched = True

    def __call__(self, rng, x):
        q = self.distribution
        y = np.asarray(q.sample(len(x), rng)).reshape(x.shape)
        h = np.asarray(q.log_prob(x)) - np.asarray(q.log_prob(y))
        return y, h.reshape(len(x))


def propose_moves(proposal, rng, x):
    """(y, h) for all chains, whatever way the proposal likes to be called."""
    if getattr(proposal, "batched", False):
        out = proposal(rng, x)
        return out if isinstance(out, tuple) else (out, 0.0)
    outs = [proposal(rng, row) for row in x]
    if isinstance(outs[0], tuple):
        y, h = zip(*outs, strict=True)
        return np.asarray(y).reshape(x.shape), np.asarray(h, dtype=float).reshape(-1)
    return np.asarray(outs).reshape(x.shape), 0.0
