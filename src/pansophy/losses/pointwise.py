"""Losses with one raw prediction f per row.

With residual r = f - y, margin z = y f for signs y, and fractions t for y:

    squared      r^2                      half_squared  r^2 / 2                  (1)
    absolute     |r|                      quantile      max(q (-r), (1-q) r)     (2)
    huber        r^2/2 up to d, then d |r| - d^2/2                               (3)
    epsilon_insensitive  max(|r| - e, 0); squared_epsilon_insensitive its square (4)
    logistic     log(1 + exp f) - t f                                            (5)
    hinge        max(1 - z, 0)            squared_hinge its square               (6)
    perceptron   max(-z, 0)               exponential   exp(-z)                  (7)
    poisson      exp f - y f              gamma         y exp(-f) + f            (8)
    modified_huber       max(1 - z, 0)^2 from z = -1 on, -4 z before             (9)

Eq. (5) is minus the Bernoulli log-likelihood with logit link, eq. (8) minus the
Poisson and Gamma ones with log link, up to terms free of f. Zero-one loss, which no
gradient can follow, is `zero_one`; eqs. (5) over log 2, (6) and (7, right) bound it
from above.

Shapes    y, f, result (n,)
Refs      [Huber1964] [Koenker1978] [Freund1997] [McCullagh1989] [Zhang2004] eq. (9)
"""

from ..core.arrays.arrays import namespace
from ..core.arrays.weighted import weighted_quantile
from ..core.numerics import log1pexp, sigmoid
from ..core.recipes import remakeable
from ..links import log, logit
from ..links import sigmoid_slope as logistic_slope
from . import base as kinds
from .base import Loss, constant_by_bisection, weighted_row_mean


def positive_part(x):
    xp = namespace(x)
    return xp.maximum(x, xp.zeros_like(x))


def _zero_curvature(y, f, a):
    """Curvature of a loss made of straight pieces."""
    return namespace(f).zeros_like(f)


def _mask_as_float(condition, like):
    return namespace(like).astype(condition, like.dtype)


# -- residual losses -------------------------------------------------------------


def _absolute_gradient(y, f, a):
    return namespace(f).sign(f - y)


def _quantile_value(y, f, q):
    xp = namespace(f)
    return xp.maximum(q * (y - f), (1 - q) * (f - y))


def _quantile_gradient(y, f, q):
    xp = namespace(f)
    slope = _mask_as_float(f > y, f) - q
    return xp.where(f == y, xp.zeros_like(f), slope)


def _huber_value(y, f, d):
    xp = namespace(f)
    size = xp.abs(f - y)
    near = xp.minimum(size, xp.full_like(size, d))
    return near * (size - near / 2)


def _huber_gradient(y, f, d):
    return namespace(f).clip(f - y, -d, d)


def _huber_curvature(y, f, d):
    return _mask_as_float(namespace(f).abs(f - y) <= d, f)


def _tube_value(y, f, e):
    return positive_part(namespace(f).abs(f - y) - e)


def _tube_gradient(y, f, e):
    xp = namespace(f)
    return xp.sign(f - y) * _mask_as_float(xp.abs(f - y) > e, f)


def _tube_constant(y, w, e):
    """Eq. (4) is (|r - e| + |r + e|) / 2 - e: the median of all y - e and y + e."""
    xp = namespace(y)
    w = None if w is None else xp.concat([w, w])
    return weighted_quantile(xp.concat([y - e, y + e]), w, 0.5)


def _squared_tube_gradient(y, f, e):
    return 2 * namespace(f).sign(f - y) * _tube_value(y, f, e)


def _squared_tube_curvature(y, f, e):
    return 2 * _mask_as_float(namespace(f).abs(f - y) > e, f)


# -- margin losses ---------------------------------------------------------------


def _positive_frequency(y, w=None):
    """Weight of the positive rows over all weight, for signs y."""
    return weighted_row_mean((y + 1) / 2, w)


def _hinge_gradient(y, f, a):
    return -y * _mask_as_float(y * f < 1, f)


def _hinge_constant(y, w, a):
    return namespace(y).sign(2 * _positive_frequency(y, w) - 1)


def _squared_hinge_gradient(y, f, a):
    return -2 * y * positive_part(1 - y * f)


def _perceptron_gradient(y, f, a):
    return -y * _mask_as_float(y * f <= 0, f)


def _exponential_value(y, f, a):
    return namespace(f).exp(-y * f)


def _modified_huber_value(y, f, a):
    """Eq. (9)."""
    xp = namespace(f)
    z = y * f
    return xp.where(z >= -1, positive_part(1 - z) ** 2, -4 * z)


def _modified_huber_gradient(y, f, a):
    xp = namespace(f)
    z = y * f
    return xp.where(z >= -1, -2 * y * positive_part(1 - z), -4 * y)


def _modified_huber_curvature(y, f, a):
    return 2 * _mask_as_float((y * f >= -1) & (y * f < 1), f)


# -- likelihoods with log link ---------------------------------------------------


def _poisson_gradient(y, f, a):
    return namespace(f).exp(f) - y


def _gamma_curvature(y, f, a):
    return y * namespace(f).exp(-f)


def _exp_only(y, f, a):
    return namespace(f).exp(f)


# -- the instances ---------------------------------------------------------------

squared = Loss(
    "squared",
    kinds.SQUARED,
    "real",
    lambda y, f, a: (f - y) ** 2,
    lambda y, f, a: 2 * (f - y),
    lambda y, f, a: 2 * namespace(f).ones_like(f),
    lambda y, w, a: weighted_row_mean(y, w),
    lipschitz=2.0,
)
half_squared = Loss(
    "half_squared",
    kinds.HALF_SQUARED,
    "real",
    lambda y, f, a: (f - y) ** 2 / 2,
    lambda y, f, a: f - y,
    lambda y, f, a: namespace(f).ones_like(f),
    lambda y, w, a: weighted_row_mean(y, w),
    lipschitz=1.0,
)
absolute = Loss(
    "absolute",
    kinds.ABSOLUTE,
    "real",
    lambda y, f, a: namespace(f).abs(f - y),
    _absolute_gradient,
    _zero_curvature,
    lambda y, w, a: weighted_quantile(y, w, 0.5),
)
logistic = Loss(
    "logistic",
    kinds.LOGISTIC,
    "fraction",
    lambda y, f, a: log1pexp(f) - y * f,
    lambda y, f, a: sigmoid(f) - y,
    lambda y, f, a: logistic_slope(f),
    lambda y, w, a: logit(weighted_row_mean(y, w)),
    link=logit,
    lipschitz=0.25,
)
hinge = Loss(
    "hinge",
    kinds.HINGE,
    "sign",
    lambda y, f, a: positive_part(1 - y * f),
    _hinge_gradient,
    _zero_curvature,
    _hinge_constant,
)
squared_hinge = Loss(
    "squared_hinge",
    kinds.SQUARED_HINGE,
    "sign",
    lambda y, f, a: positive_part(1 - y * f) ** 2,
    _squared_hinge_gradient,
    lambda y, f, a: 2 * _mask_as_float(y * f < 1, f),
    lambda y, w, a: 2 * _positive_frequency(y, w) - 1,
    lipschitz=2.0,
)
perceptron = Loss(
    "perceptron",
    kinds.PERCEPTRON,
    "sign",
    lambda y, f, a: positive_part(-y * f),
    _perceptron_gradient,
    _zero_curvature,
    lambda y, w, a: 0 * _positive_frequency(y, w),
)
exponential = Loss(
    "exponential",
    kinds.EXPONENTIAL,
    "sign",
    _exponential_value,
    lambda y, f, a: -y * _exponential_value(y, f, a),
    _exponential_value,
    lambda y, w, a: logit(_positive_frequency(y, w)) / 2,
)
modified_huber = Loss(
    "modified_huber",
    kinds.MODIFIED_HUBER,
    "sign",
    _modified_huber_value,
    _modified_huber_gradient,
    _modified_huber_curvature,
    lambda y, w, a: 2 * _positive_frequency(y, w) - 1,
    lipschitz=2.0,
)
poisson = Loss(
    "poisson",
    kinds.POISSON,
    "nonnegative",
    lambda y, f, a: namespace(f).exp(f) - y * f,
    _poisson_gradient,
    _exp_only,
    lambda y, w, a: log(weighted_row_mean(y, w)),
    link=log,
)
gamma = Loss(
    "gamma",
    kinds.GAMMA,
    "positive",
    lambda y, f, a: y * namespace(f).exp(-f) + f,
    lambda y, f, a: 1 - y * namespace(f).exp(-f),
    _gamma_curvature,
    lambda y, w, a: log(weighted_row_mean(y, w)),
    link=log,
)


@remakeable
def huber(delta: float = 1.35) -> Loss:
    """Eq. (3): squared near the target, absolute beyond `delta`."""
    if not delta > 0:
        raise ValueError(f"delta of huber must be a number above 0, got {delta!r}.")
    return Loss(
        "huber",
        kinds.HUBER,
        "real",
        _huber_value,
        _huber_gradient,
        _huber_curvature,
        lambda y, w, d: constant_by_bisection(_huber_gradient, y, w, d),
        parameter=float(delta),
        lipschitz=1.0,
    )


@remakeable
def quantile(level: float = 0.5) -> Loss:
    """Eq. (2): asks for the `level` quantile; under-shooting costs `level`."""
    if not 0 < level < 1:
        raise ValueError(
            f"level of quantile must be strictly between 0 and 1, got {level!r}."
        )
    return Loss(
        "quantile",
        kinds.QUANTILE,
        "real",
        _quantile_value,
        _quantile_gradient,
        _zero_curvature,
        weighted_quantile,
        parameter=float(level),
    )


@remakeable
def epsilon_insensitive(epsilon: float = 0.1) -> Loss:
    """Eq. (4): free inside a tube of half-width `epsilon`."""
    if not epsilon >= 0:
        raise ValueError(
            f"epsilon of epsilon_insensitive must be at least 0, got {epsilon!r}."
        )
    return Loss(
        "epsilon_insensitive",
        kinds.EPSILON_INSENSITIVE,
        "real",
        _tube_value,
        _tube_gradient,
        _zero_curvature,
        _tube_constant,
        parameter=float(epsilon),
    )


@remakeable
def squared_epsilon_insensitive(epsilon: float = 0.1) -> Loss:
    """The square of eq. (4)."""
    if not epsilon >= 0:
        raise ValueError(
            "epsilon of squared_epsilon_insensitive must be at least 0, got "
            f"{epsilon!r}."
        )
    return Loss(
        "squared_epsilon_insensitive",
        kinds.SQUARED_EPSILON_INSENSITIVE,
        "real",
        lambda y, f, e: _tube_value(y, f, e) ** 2,
        _squared_tube_gradient,
        _squared_tube_curvature,
        lambda y, w, e: constant_by_bisection(_squared_tube_gradient, y, w, e),
        parameter=float(epsilon),
        lipschitz=2.0,
    )


def zero_one(y, f):
    """1 where the sign of f is wrong or undecided (y f <= 0), else 0."""
    return _mask_as_float(y * f <= 0, f)
