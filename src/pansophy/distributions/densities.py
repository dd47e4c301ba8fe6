"""Maximum-likelihood fits of named families, and the histogram.

    fit(X, "normal")   the family's parameters of highest likelihood             (1)
    histogram          p(x) = P_b / h_b for x in bin b, P_b the share of rows    (2)

Each family learns from sums over rows (see `base`), so (1) is one pass. In (2) the
shares are the maximum-likelihood masses of the bins; the density integrates to 1.
Everything that comes out gives `log_prob` and `sample`.

Shapes    X (n, d), or (n,) for one coordinate   edges (b + 1,)   mass (b,)
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.arrays import arrays
from ..core.numerics import safe_log, xlogy
from .base import SufficientStatistics, float_parameter, require_all
from .categorical import Categorical, Multinomial, checked_probabilities
from .counts import Bernoulli, Binomial, Poisson
from .gaussian.covariance import SHAPES
from .gaussian.normal import Normal
from .priors import Beta, Dirichlet, Gamma


@dataclass(frozen=True, eq=False)
class Histogram:
    """A density that is constant in each bin, eq. (2).

    Parameters
    ----------
    edges : array of shape (b + 1,)
        Rising; a bin holds its left edge, the last one its right edge too.
    mass : array of shape (b,)
        Probability of each bin.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.distributions import Histogram
    >>> h = Histogram.fit([0.5, 1.5, 1.6, 3.0], bins=[0, 1, 2, 4])
    >>> h.mass, h.density([0.2, 1.0, 3.0, 9.0])
    (array([0.25, 0.5 , 0.25]), array([0.25 , 0.5  , 0.125, 0. ]))
    """

    edges: Any
    mass: Any

    def __post_init__(self):
        edges = float_parameter(self.edges)
        mass = checked_probabilities(self.mass, "mass")
        if edges.ndim != 1 or mass.ndim != 1 or edges.shape[0] != mass.shape[0] + 1:
            raise ValueError("a histogram of b masses has b + 1 edges.")
        require_all(edges[1:] > edges[:-1], "edges must rise.")
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "mass", arrays.asarray(mass, like=edges))

    @classmethod
    def fit(cls, X, bins="auto", weights=None) -> "Histogram":
        """Count rows X (n,) in bins: edges, a number of bins, or a rule of NumPy's."""
        x = float_parameter(X)
        x = x[:, 0] if x.ndim == 2 and x.shape[1] == 1 else x
        if x.ndim != 1 or x.shape[0] == 0:
            raise ValueError(f"a histogram is of numbers (n,), got {tuple(x.shape)}.")
        if not arrays.all_finite(x):
            raise ValueError("a histogram needs finite numbers.")
        edges = np.histogram_bin_edges(arrays.to_numpy(x).astype(float), bins)
        edges = arrays.asarray(edges, like=x)
        b = edges.shape[0] - 1
        uniform = cls(edges, arrays.asarray(np.full(b, 1 / b), like=x))
        return uniform.from_stats(uniform.stats(x, weights))

    @property
    def widths(self):
        return self.edges[1:] - self.edges[:-1]

    @property
    def mean(self):
        return arrays.namespace(self.mass).sum(
            self.mass * (self.edges[1:] + self.edges[:-1]) / 2
        )

    @property
    def variance(self):
        middle = (self.edges[1:] + self.edges[:-1]) / 2 - self.mean
        return arrays.namespace(self.mass).sum(
            self.mass * (middle**2 + self.widths**2 / 12)
        )

    @property
    def entropy(self):
        """Entropy of the density, in nats."""
        return -arrays.namespace(self.mass).sum(
            xlogy(self.mass, self.mass / self.widths)
        )

    def bins(self, X):
        """The bin of each number, and whether it is inside at all."""
        xp = arrays.namespace(self.edges)
        x = X if arrays.is_foreign(X) else np.asarray(X)
        x = x[:, 0] if x.ndim == 2 and x.shape[1] == 1 else x
        x = arrays.asarray(x, like=self.edges)
        bin_index = xp.searchsorted(self.edges, x, side="right") - 1
        bin_index = xp.where(
            x == self.edges[-1],
            xp.full_like(bin_index, self.mass.shape[0] - 1),
            bin_index,
        )
        inside = (bin_index >= 0) & (bin_index < self.mass.shape[0])
        return xp.clip(bin_index, 0, self.mass.shape[0] - 1), inside

    def density(self, X):
        """Eq. (2): (n,), 0 outside."""
        xp = arrays.namespace(self.edges)
        bin_index, inside = self.bins(X)
        p = xp.take(self.mass / self.widths, bin_index, axis=0)
        return xp.where(inside, p, xp.zeros_like(p))

    def log_prob(self, X):
        """The logarithm of eq. (2): (n,), -inf outside."""
        return safe_log(self.density(X))

    def sample(self, n: int, rng: np.random.Generator):
        """n draws: a bin, and a place in it."""
        p = arrays.to_numpy(self.mass).astype(float)
        edges = arrays.to_numpy(self.edges)
        bin_index = rng.choice(len(p), size=n, p=p / p.sum())
        draws = edges[bin_index] + rng.random(n) * np.diff(edges)[bin_index]
        return arrays.asarray(draws, like=self.edges)

    def stats(self, X, weights=None) -> SufficientStatistics:
        """Weighted counts of the bins."""
        bin_index, inside = self.bins(X)
        require_all(inside, "a number is outside of the edges of the histogram.")
        bin_index = arrays.to_numpy(bin_index)
        w = None if weights is None else arrays.to_numpy(weights)
        counts = np.bincount(bin_index, w, minlength=int(self.mass.shape[0])).astype(
            float
        )
        counts = arrays.asarray(counts, like=self.edges)
        return SufficientStatistics(arrays.namespace(counts).sum(counts), (counts,))

    def from_stats(self, stats: SufficientStatistics, prior=None) -> "Histogram":
        """A histogram on the same edges; with a `Dirichlet` prior the MAP."""
        family = Categorical.from_stats(stats, prior)
        return Histogram(self.edges, family.prob)


def _n_columns(X) -> int:
    return 1 if X.ndim == 1 else int(X.shape[1])


def _n_symbols(X) -> int:
    """Number of symbols in X."""
    xp = arrays.namespace(X)
    return int(xp.max(X)) + 1


def _n_trials(X, trials) -> int:
    """The number of trials given, or the largest count; no count may be above it."""
    top = int(arrays.namespace(X).max(X))
    trials = max(top, 1) if trials is None else trials
    if trials != int(trials) or trials < max(top, 1):
        raise ValueError(f"trials must be a whole number of {max(top, 1)} or more.")
    return int(trials)


# name -> a member of the family that fits rows X, whatever its parameters
FAMILIES: dict[str, Callable[..., Any]] = {
    "bernoulli": lambda X: Bernoulli(np.full(_n_columns(X), 0.5)),
    "binomial": lambda X, trials=None: Binomial(
        _n_trials(X, trials), np.full(_n_columns(X), 0.5)
    ),
    "poisson": lambda X: Poisson(np.ones(_n_columns(X))),
    "categorical": lambda X, m=None: Categorical(
        _equal_probabilities(m or _n_symbols(X))
    ),
    "multinomial": lambda X: Multinomial(_equal_probabilities(_n_columns(X))),
    "dirichlet": lambda X: Dirichlet(np.ones(_n_columns(X))),
    "beta": lambda X: Beta(np.ones(_n_columns(X)), np.ones(_n_columns(X))),
    "gamma": lambda X: Gamma(np.ones(_n_columns(X)), np.ones(_n_columns(X))),
}


def _equal_probabilities(m):
    return np.full(m, 1 / m)


def _any_normal(X, shape="full"):
    """A Normal over the columns of X with a covariance of this shape."""
    if shape not in SHAPES:
        raise ValueError(f"shape must be one of {', '.join(SHAPES)}, got {shape!r}.")
    d = _n_columns(X)
    cov = {"diag": np.ones(d), "spherical": 1.0}.get(shape, np.eye(d))
    return Normal(np.zeros(d), cov, shape)


FAMILIES["normal"] = _any_normal


def fit(X, family="normal", weights=None, *, prior=None, ddof=0, **options):
    """The maximum-likelihood distribution of a named family, eq. (1).

    Parameters
    ----------
    X : array of shape (n, d) or (n,)
        Rows.
    family : str
        "normal" (option `shape`), "bernoulli", "binomial" (option `trials`, the largest
        count if not given), "poisson", "categorical" (option `m`,
        the number of symbols), "multinomial", "dirichlet", "beta", "gamma" or
        "histogram" (option `bins`).
    weights : array of shape (n,), optional
        A weight of 3 counts as three copies of the row.
    prior : distribution, optional
        The conjugate prior of the family, for the MAP.
    ddof : {0, 1}, default=0
        1 divides the scatter of a "normal" by n - 1, for an unbiased covariance,
        instead of by n, for that of highest likelihood.

    Returns
    -------
    distribution : object with `log_prob` and `sample`

    Examples
    --------
    >>> from pansophy.distributions import fit
    >>> p = fit([1.0, 2.0, 3.0], "normal")
    >>> p.mean, p.cov.round(6)
    (array([2.]), array([[0.666667]]))
    >>> fit([1.0, 2.0, 3.0], "normal", ddof=1).cov.round(6)
    array([[1.]])
    >>> fit([2, 3, 1, 2], "binomial", trials=5).prob
    array([0.4])
    """
    X = X if arrays.is_foreign(X) else np.asarray(X)
    if X.ndim not in (1, 2) or X.shape[0] == 0:
        raise ValueError(f"X must be rows (n, d) or (n,), got shape {tuple(X.shape)}.")
    if family == "histogram":
        if ddof:
            raise ValueError("ddof is an option of 'normal', not of 'histogram'.")
        result = Histogram.fit(X, weights=weights, **options)
        return (
            result
            if prior is None
            else result.from_stats(result.stats(X, weights), prior)
        )
    if family not in FAMILIES:
        names = ", ".join(sorted([*FAMILIES, "histogram"]))
        raise ValueError(f"family must be one of {names}, got {family!r}.")
    if ddof and family != "normal":
        raise ValueError(f"ddof is an option of 'normal', not of {family!r}.")
    member = FAMILIES[family](X, **options)
    stats = member.stats(X, weights)
    if family == "normal":
        return Normal.from_stats(stats, prior=prior, ddof=ddof)
    if family == "binomial":
        return Binomial.from_stats(stats, prior=prior, trials=member.trials)
    return type(member).from_stats(stats, prior=prior)
