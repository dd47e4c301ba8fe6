"""Results of queries: tables with the states of their axes, mixtures of Normals."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...core.numerics import safe_log
from ...distributions.gaussian.normal import Normal
from ...distributions.joint_table import JointTable


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(JointTable):
    """A joint table with the states of its variables.

    Parameters
    ----------
    prob, names, n
        As in `JointTable`.
    states : tuple of tuples
        States along each axis.

    Examples
    --------
    >>> from pansophy.graphical import sprinkler_network
    >>> p = sprinkler_network().query("rain", {"wet": True})
    >>> round(p[True], 4), p.best
    (0.7079, True)
    """

    states: tuple = ()

    def __post_init__(self):
        pass  # made from checked parts

    @classmethod
    def of(cls, prob, names, states) -> "Posterior":
        """Made without the checks of a frozen class, which slow down small queries."""
        self = object.__new__(cls)
        self.__dict__.update(prob=prob, names=names, n=None, states=states)
        return self

    def __getitem__(self, state) -> float:
        """The probability of a state, or of a tuple of states."""
        wanted = state if len(self.names) > 1 else (state,)
        if len(wanted) != len(self.names):
            raise ValueError(
                f"the table has {len(self.names)} variables: {self.names}."
            )
        cell = []
        for name, s, known in zip(self.names, wanted, self.states, strict=True):
            if s not in known:
                listed = ", ".join(map(repr, known))
                raise ValueError(
                    f"{name!r} has no state {s!r}; its states are {listed}."
                )
            cell.append(known.index(s))
        return float(self.prob[tuple(cell)])

    @property
    def best(self):
        """The most probable state (a tuple for several variables)."""
        cell = np.unravel_index(int(np.argmax(self.prob)), self.prob.shape)
        states = tuple(s[k] for s, k in zip(self.states, cell, strict=True))
        return states if len(states) > 1 else states[0]

    def __repr__(self):
        head = ", ".join(map(str, self.names))
        largest = np.argsort(-self.prob, axis=None, kind="stable")[:12]
        lines = []
        for flat in largest:
            cell = np.unravel_index(flat, self.prob.shape)
            row = ", ".join(str(s[k]) for s, k in zip(self.states, cell, strict=True))
            lines.append(f"  {row}: {self.prob[cell]:.6g}")
        ellipsis = ["  ..."] if self.prob.size > 12 else []
        return "\n".join([f"P({head})", *lines, *ellipsis])


class MostProbableExplanation(NamedTuple):
    """The most probable joint state and its log probability given the evidence."""

    states: dict
    log_prob: float


class ParameterCounts(NamedTuple):
    """Numbers of parameters of a network: all entries, and free ones."""

    cells: int
    free: int


@dataclass(frozen=True, eq=False)
class NormalMixture:
    """sum_k weights_k N(x; mean_k, cov_k): a continuous posterior given discrete nodes.

    Attributes
    ----------
    weights : array of shape (k,)
    components : Normal
        A batch of k.
    names : tuple
        Names of the coordinates.
    """

    weights: Any
    components: Normal
    names: tuple = ()

    @property
    def mean(self):
        """Mean (d,) of the mixture."""
        return self.weights @ self.components.mean

    @property
    def cov(self):
        """Covariance (d, d): within and between components."""
        gap = self.components.mean - self.mean
        mean_cov = np.einsum("k,kij->ij", self.weights, self.components.cov)
        return mean_cov + np.einsum("k,ki,kj->ij", self.weights, gap, gap)

    @property
    def variance(self):
        """Variances (d,)."""
        return np.diag(self.cov)

    def log_prob(self, X):
        """Log density of rows: (n,)."""
        log_p = self.components.log_prob(X) + safe_log(self.weights)
        top = log_p.max(axis=1)
        return top + np.log(np.exp(log_p - top[:, None]).sum(axis=1))

    def sample(self, n: int, rng: np.random.Generator):
        """n rows (n, d)."""
        z = rng.choice(len(self.weights), size=n, p=self.weights / self.weights.sum())
        return self.components.draw(z, rng)
