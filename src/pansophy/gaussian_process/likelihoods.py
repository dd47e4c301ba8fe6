"""Likelihoods p(y | f) of a latent Gaussian process: losses read as densities.

A loss l(y, f) whose exponential can be normalised is a likelihood,

    log p(y | f) = -l(y / s, f / s) - log s + c(y),                               (1)

where the scale s is learnt for losses of residuals (and is 1 for others), and c makes
p a density of y. So a likelihood is data: a loss of `losses`, c, and what inference
asks for beside value, gradient and curvature: the third derivative in f, and the
variance of y given f.

    normal         half_squared       s^2 is the noise of the process: `alpha`, White
    student_t      student_t(df)      c = log Gamma((df+1)/2) - log Gamma(df/2)
                                          - log(df pi) / 2
    bernoulli      logistic           c = 0
    poisson        poisson            c = -log y!
    categorical    softmax            c = 0; one latent process for each class

`loss_likelihood` makes one of any loss of residuals, such as Huber's; c is then an
integral, computed once, and the third derivative comes by differences. E over a Normal
f is Gauss-Hermite quadrature, and for several latent values a fixed set of
quasi-random points.

Shapes    y (n,)   f (n,), or (n, k) for k classes
Refs      [Rasmussen2006] 3.3, 9.3; [Vanhatalo2009]
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import scipy.integrate
import scipy.special
import scipy.stats

from .. import losses
from ..links import identity
from ..losses import Loss
from ..params import ParameterError

NODES = 40  # of Gauss-Hermite quadrature
POINTS = 256  # quasi-random, for several latent values
STEP = 1e-4  # of the third derivative by differences
HALF_LOG_2PI = 0.5 * float(np.log(2 * np.pi))


@dataclass(frozen=True)
class Likelihood:
    """log p(y | f) of eq. (1) and its derivatives in f and in log s.

    `get_likelihood`, `student_t_likelihood` and `loss_likelihood` make them.

    Parameters
    ----------
    name : str
    loss_name : str
        As `losses.get_loss` takes it.
    parameter : float or None, default=None
        Of the loss: degrees of freedom, ...
    scale : float or None, default=None
        s where it is learnt, for losses of residuals.
    log_mass : float, default=0.0
        Logarithm of the integral of exp(-l) over residuals: -c.
    unit_variance : float, default=1.0
        Variance of residuals at s = 1.
    offset : float, default=0.0
        Added to f: the mean of the latent process.
    own_loss : Loss or None, default=None
        In place of `loss_name`, for a loss that has no name.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.gaussian_process import get_likelihood
    >>> poisson = get_likelihood("poisson")
    >>> poisson.log_prob(np.array([2.0]), np.array([0.0])).round(6)
    array([-1.693147])
    """

    name: str
    loss_name: str
    parameter: float | None = None
    scale: float | None = None
    log_mass: float = 0.0
    unit_variance: float = 1.0
    offset: float = 0.0
    own_loss: Loss | None = None

    @property
    def loss(self) -> Loss:
        if self.own_loss is not None:
            return self.own_loss
        return _named_loss(self.loss_name, self.parameter)

    @property
    def _s(self):
        return 1.0 if self.scale is None else self.scale

    def _scaled(self, y, f):
        """y and f in units of s; labels stay as they are."""
        f = f + self.offset
        return (y, f) if self.scale is None else (y / self._s, f / self._s)

    # -- the density and its derivatives in f --------------------------------------

    def log_prob(self, y, f):
        """log p(y | f), (n,)."""
        z, g = self._scaled(y, f)
        c = -self.log_mass - np.log(self._s)
        if self.name == "poisson":
            c = -scipy.special.gammaln(y + 1)
        return c - self.loss.value(z, g)

    def gradient(self, y, f):
        """d log p / df."""
        return -self.loss.gradient(*self._scaled(y, f)) / self._s

    def curvature(self, y, f):
        """W = -d2 log p / df2 (its diagonal for several classes)."""
        return self.loss.curvature(*self._scaled(y, f)) / self._s**2

    def third(self, y, f):
        """d3 log p / df3."""
        z, g = self._scaled(y, f)
        return -self._loss_third(z, g) / self._s**3

    def _loss_third(self, z, g):
        if self.name in THIRD_DERIVATIVES:
            return THIRD_DERIVATIVES[self.name](z, g, self.loss.parameter)
        h = STEP * (1 + np.abs(g))
        bend = self.loss.curvature
        near = (bend(z, g + h) - bend(z, g - h)) / (2 * h)
        wide = (bend(z, g + 2 * h) - bend(z, g - 2 * h)) / (4 * h)
        return (4 * near - wide) / 3

    # -- log s ---------------------------------------------------------------------

    @property
    def parameters(self) -> np.ndarray:
        """log s where it is learnt."""
        return np.empty(0) if self.scale is None else np.array([np.log(self.scale)])

    @property
    def parameter_names(self) -> tuple[str, ...]:
        return () if self.scale is None else ("scale",)

    def with_parameters(self, phi) -> "Likelihood":
        return (
            self if self.scale is None else replace(self, scale=float(np.exp(phi[0])))
        )

    def scale_slopes(self, y, f):
        """Derivatives in log s of log p, d log p / df and W; each (n,)."""
        z, g = self._scaled(y, f)
        r = g - z
        first = self.loss.gradient(z, g)
        second = self.loss.curvature(z, g)
        s = self._s
        return (
            first * r - 1.0,
            (second * r + first) / s,
            -(self._loss_third(z, g) * r + 2 * second) / s**2,
        )

    # -- y given f -----------------------------------------------------------------

    def mean(self, f):
        """E[y | f]."""
        return self.loss.link.inverse(f + self.offset)

    def variance(self, f):
        """Var[y | f]."""
        if self.name in VARIANCES:
            return VARIANCES[self.name](f + self.offset)
        return np.full(np.shape(f), self._s**2 * self.unit_variance)

    def moments(self, mean, variance):
        """E[y] and the variances of E[y | f] and of y, for f ~ N(mean, variance)."""
        z, w = hermite_rule()
        f = mean[:, None] + np.sqrt(variance)[:, None] * z
        inner = self.mean(f)
        center = inner @ w
        spread = np.maximum((inner - center[:, None]) ** 2 @ w, 0.0)
        return center, spread, spread + self.variance(f) @ w

    def predictive_log_density(self, y, mean, variance):
        """log E[p(y | f)] for f ~ N(mean, variance)."""
        z, w = hermite_rule()
        f = mean[:, None] + np.sqrt(variance)[:, None] * z
        values = self.log_prob(np.broadcast_to(y[:, None], f.shape), f)
        return scipy.special.logsumexp(values, b=w, axis=1)

    def __repr__(self):
        scale = "" if self.scale is None else f", scale={self.scale:.6g}"
        return f"Likelihood({self.name!r}{scale})"


@lru_cache
def _named_loss(name, parameter) -> Loss:
    return losses.get_loss(name, parameter)


@lru_cache
def hermite_rule(n=NODES):
    """Nodes and weights of E over a standard Normal."""
    z, w = np.polynomial.hermite_e.hermegauss(n)
    return z, w / w.sum()


@lru_cache
def normal_points(k, count=POINTS):
    """Quasi-random points of k independent standard Normals, (count, k)."""
    sobol = scipy.stats.qmc.Sobol(k, scramble=True, rng=0)
    z = scipy.special.ndtri(sobol.random(count // 2))
    return np.vstack([z, -z])  # odd moments are exact


def _logistic_third(y, f, a):
    p = scipy.special.expit(f)
    return p * (1 - p) * (1 - 2 * p)


def _student_t_third(y, f, v):
    r = f - y
    return -2 * (v + 1) * r * (3 * v - r * r) / (v + r * r) ** 3


# of the loss in f; others by differences
THIRD_DERIVATIVES = {
    "normal": lambda y, f, a: np.zeros(np.shape(f)),
    "student_t": _student_t_third,
    "bernoulli": _logistic_third,
    "poisson": lambda y, f, a: np.exp(f),
}
# of y given f, where they depend on f
VARIANCES = {
    "bernoulli": lambda f: scipy.special.expit(f) * scipy.special.expit(-f),
    "poisson": np.exp,
}


def student_t_likelihood(df=4.0, scale=1.0) -> Likelihood:
    """Student's t about f with `df` degrees of freedom; its scale is learnt.

    Examples
    --------
    >>> from pansophy.gaussian_process import student_t_likelihood
    >>> student_t_likelihood(3.0)
    Likelihood('student_t', scale=1)
    """
    losses.student_t(df)  # refuses what is no degree of freedom
    gammaln = scipy.special.gammaln
    c = gammaln((df + 1) / 2) - gammaln(df / 2) - 0.5 * np.log(df * np.pi)
    spread = df / (df - 2) if df > 2 else np.inf
    return Likelihood(
        "student_t",
        "student_t",
        parameter=float(df),
        scale=float(scale),
        log_mass=-float(c),
        unit_variance=spread,
    )


def loss_likelihood(loss: Loss, scale=1.0) -> Likelihood:
    """The density exp(-l(r / s)) / const of a loss of residuals, eq. (1).

    Parameters
    ----------
    loss : Loss
        Of residuals f - y, with a second derivative: `losses.huber()`, ...
    scale : float, default=1.0
        s at the start of the search.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import losses
    >>> from pansophy.gaussian_process import loss_likelihood
    >>> half = loss_likelihood(losses.half_squared)  # the standard Normal
    >>> half.log_prob(np.array([0.0]), np.array([1.0])).round(6)
    array([-1.418939])
    """
    if loss.domain != "real" or loss.link is not identity:
        raise ParameterError(
            f"{loss!r} is not a loss of residuals, so that no likelihood is made of it."
        )
    if loss.name == "student_t":
        return student_t_likelihood(loss.parameter, scale)
    density_at = lambda r: float(np.exp(-loss.value(np.zeros(1), np.array([r]))[0]))
    if density_at(1e8) > 0:
        raise ParameterError(
            f"{loss!r} is bounded: its exponential has no finite integral, so that no "
            "likelihood is made of it."
        )
    mass, _ = scipy.integrate.quad(density_at, -np.inf, np.inf, limit=500)
    square, _ = scipy.integrate.quad(
        lambda r: r * r * density_at(r), -np.inf, np.inf, limit=500
    )
    named = loss.name in losses.FACTORIES or loss in losses.LOSSES
    return Likelihood(
        loss.name,
        loss.name,
        parameter=loss.parameter if loss.name in losses.FACTORIES else None,
        scale=float(scale),
        log_mass=float(np.log(mass)),
        unit_variance=square / mass,
        own_loss=None if named else loss,
    )


# the noise of the process is its scale: see the module text
normal_likelihood = Likelihood("normal", "half_squared", log_mass=HALF_LOG_2PI)
LIKELIHOODS = {
    "normal": normal_likelihood,
    "student_t": student_t_likelihood(),
    "poisson": Likelihood("poisson", "poisson"),
    "bernoulli": Likelihood("bernoulli", "logistic"),
    "categorical": Likelihood("categorical", "softmax"),
}


def get_likelihood(likelihood) -> Likelihood:
    """A likelihood from a name, a loss of residuals, or itself."""
    if isinstance(likelihood, Likelihood):
        return likelihood
    if isinstance(likelihood, Loss):
        return loss_likelihood(likelihood)
    if likelihood in LIKELIHOODS:
        return LIKELIHOODS[likelihood]
    known = ", ".join(repr(name) for name in LIKELIHOODS)
    raise ParameterError(
        f"likelihood must be {known}, a Likelihood or a loss, got {likelihood!r}."
    )
