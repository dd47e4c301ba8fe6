"""Entropy, mutual information and divergences of discrete distributions.

    H(p) = -sum_v p_v log p_v                                                    (1)
    H(X | Y) = H(X, Y) - H(Y)                                                    (2)
    I(X; Y | Z) = sum_z P(z) KL(P(x, y | z) || P(x | z) P(y | z))                (3)
    KL(p || q) = sum_v p_v log(p_v / q_v),   inf if p has mass where q has none  (4)
    H(p, q) = -sum_v p_v log q_v = H(p) + KL(p || q)                             (5)
    D_f(p || q) = sum_{q>0} q f(p / q) + P(q = 0) lim f(t) / t,  f convex, f(1)=0 (6)
    JS = KL(p || m) / 2 + KL(q || m) / 2,   m = (p + q) / 2,    TV = |p - q|_1 / 2

with 0 log 0 = 0. Both sides of (4) sum to 1, so it is summed as the terms
p log(p/q) - p + q, none of which is negative: distributions that differ in the tenth
digit keep half of the digits of their divergence, where the plain sum keeps none.
Mutual information is a divergence and is computed as one.

Numbers are nats unless `base` is given. An array of whole numbers is taken as counts
and divided by its sum; any other must sum to 1.

Shapes    p, q (..., m): distributions along `axis`   joint: an axis for each variable
Refs      [CoverThomas2006] ch. 2; [Csiszar1967] eq. (6); [Lin1991] JS
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.arrays import arrays
from ...core.loops import threads
from ...core.numerics import safe_divide, safe_log, xlogy
from ..base import float_parameter, require_all

SLACK = 1e-6  # by how much a distribution may miss a sum of 1
LARGE = 1 << 15  # entries from which compiled loops pay, and of one of their blocks


def as_probabilities(p, axis=-1, what="the distribution"):
    """p as probabilities along `axis` (None: all axes), checked; counts divided."""
    p = float_parameter(p)
    xp = arrays.namespace(p)
    require_all(xp.isfinite(p), f"{what} holds values that are not finite.")
    require_all(p >= 0, f"{what} holds a negative value.")
    total = xp.sum(p, axis=axis, keepdims=True)
    require_all(total > 0, f"{what} has no mass.")
    if not bool(xp.all(xp.floor(p) == p)):
        worst = float(np.max(np.abs(arrays.to_numpy(total) - 1)))
        if worst > SLACK:
            raise ValueError(
                f"{what} must sum to 1, it misses that by {worst:.3g}; "
                "counts are whole numbers."
            )
    return p / total


def matching_probabilities(p, q, axis):
    """Two checked distributions over the same values."""
    p, q = as_probabilities(p, axis, "p"), as_probabilities(q, axis, "q")
    if p.shape[axis] != q.shape[axis]:
        raise ValueError(f"p has {p.shape[axis]} values, but q has {q.shape[axis]}.")
    if arrays.is_foreign(p) != arrays.is_foreign(q) or p.dtype != q.dtype:
        q = arrays.asarray(q, like=p)
    return p, q


def nats_per_unit(base) -> float:
    """Nats in one unit of information of a base (None: 1)."""
    if base is None:
        return 1.0
    if not base > 1:
        raise ValueError(f"base must be above 1, got {base}.")
    return math.log(base)


def unwrap_scalar(value):
    """A NumPy scalar for a 0-d NumPy array, anything else as it is."""
    return value if arrays.is_foreign(value) else np.asarray(value)[()]


def entropy(p, *, base=None, axis=-1):
    """Shannon entropy, eq. (1), of probabilities or counts.

    Parameters
    ----------
    p : array of shape (..., m)
        Probabilities, or whole numbers as counts.
    base : float or None
        2 for bits; None for nats.
    axis : int, tuple of int or None
        Axes that hold one distribution; None for all.

    Examples
    --------
    >>> from pansophy.distributions import entropy
    >>> round(float(entropy([9, 5], base=2)), 10)
    0.9402859587
    """
    p = as_probabilities(p, axis)
    h = -arrays.namespace(p).sum(xlogy(p, p), axis=axis) / nats_per_unit(base)
    return unwrap_scalar(abs(h))  # -0.0 of a sure thing


def joint_entropy(joint, *, base=None):
    """Entropy of all variables of a joint table together."""
    return entropy(joint, base=base, axis=None)


def conditional_entropy(joint, x=0, given=1, *, base=None):
    """H(X | Y), eq. (2), of a joint table.

    Parameters
    ----------
    joint : array with an axis for each variable
        Probabilities or counts.
    x, given : int or tuple of int
        Axes of X and of Y; the others are summed out.

    Examples
    --------
    >>> from pansophy.distributions import conditional_entropy
    >>> float(conditional_entropy([[0.5, 0.0], [0.0, 0.5]]))
    0.0
    """
    p = as_probabilities(joint, None, "the joint table")
    x, given_axes = axis_numbers(x, p.ndim), axis_numbers(given, p.ndim)
    joint_h = joint_entropy(marginal_table(p, (*x, *given_axes)), base=base)
    h = (
        joint_h - joint_entropy(marginal_table(p, given_axes), base=base)
        if given_axes
        else joint_h
    )
    return unwrap_scalar(arrays.namespace(p).maximum(h, 0 * h))


def mutual_information(joint, x=0, y=1, given=(), *, base=None):
    """I(X; Y | Z), eq. (3), of a joint table.

    Parameters
    ----------
    joint : array with an axis for each variable
        Probabilities or counts.
    x, y, given : int or tuple of int
        Axes of X, Y and Z; the others are summed out.
    base : float or None
        2 for bits; None for nats.

    Examples
    --------
    >>> from pansophy.distributions import mutual_information
    >>> round(float(mutual_information([[0.27974, 0.22626], [0.23426, 0.25974]])), 8)
    0.00309684
    """
    p, free = joint_and_product(joint, x, y, given)
    return unwrap_scalar(
        arrays.namespace(p).sum(_kl_terms(p, free)) / nats_per_unit(base)
    )


def joint_and_product(joint, x, y, given):
    """P(x, y, z) and P(x, z) P(y, z) / P(z) as (a, b, c) arrays."""
    p = as_probabilities(joint, None, "the joint table")
    groups = [axis_numbers(v, p.ndim) for v in (x, y, given)]
    x, y, z = groups
    if len({*x, *y, *z}) < len(x) + len(y) + len(z):
        raise ValueError("the axes of x, y and given must all be different.")
    xp = arrays.namespace(p)
    p = marginal_table(p, (*x, *y, *z))
    size = [math.prod(p.shape[a:b]) for a, b in _group_spans(map(len, groups))]
    p = xp.reshape(p, tuple(size))
    pz = xp.sum(p, axis=(0, 1), keepdims=True)
    px, py = xp.sum(p, axis=1, keepdims=True), xp.sum(p, axis=0, keepdims=True)
    return p, safe_divide(px * py, pz + 0 * p)


def _group_spans(sizes):
    """(begin, end) of consecutive groups."""
    begin = 0
    for n in sizes:
        yield begin, begin + n
        begin += n


def axis_numbers(value, ndim) -> tuple[int, ...]:
    """Axis numbers as a tuple from 0."""
    value = (value,) if isinstance(value, (int, np.integer)) else tuple(value)
    wrong = [a for a in value if not -ndim <= a < ndim]
    if wrong:
        raise ValueError(f"the table has {ndim} axes, there is no axis {wrong[0]}.")
    return tuple(int(a) % ndim for a in value)


def marginal_table(p, axes):
    """p with its other axes summed out and these in this order."""
    xp = arrays.namespace(p)
    gone = tuple(a for a in range(p.ndim) if a not in axes)
    p = xp.sum(p, axis=gone) if gone else p
    left = sorted(axes)
    return xp.permute_dims(p, tuple(left.index(a) for a in axes))


def _kl_terms(p, q):
    """p log(p/q) - p + q, each at least 0; inf where q = 0 < p."""
    xp = arrays.namespace(p, q)
    gap = p - q
    ones = xp.ones_like(p)
    near = (xp.abs(gap) < 0.5 * q) & (p > 0)
    far = (p > 0) & (q > 0) & ~near
    close = xp.log1p(xp.where(near, gap / xp.where(near, q, ones), 0 * ones))
    wide = xp.log(xp.where(far, p, ones)) - xp.log(xp.where(far, q, ones))
    logs = xp.where(near, close, wide)
    terms = xp.maximum(p * logs - gap, xp.zeros_like(gap))
    return xp.where((q == 0) & (p > 0), xp.full_like(terms, math.inf), terms)


def _compiled_divergences(p, q, axis, *, middle):
    """Divergences by compiled loops for large sound NumPy arrays, else None."""
    plain_arrays = isinstance(p, np.ndarray) and isinstance(q, np.ndarray)
    if not plain_arrays or p.size < LARGE or p.shape != q.shape:
        return None
    if axis not in (-1, p.ndim - 1) or p.dtype != np.float64 or q.dtype != np.float64:
        return None
    from ._information import row_divergences, row_totals

    P, Q = (np.ascontiguousarray(t).reshape(-1, t.shape[-1]) for t in (p, q))
    cuts = np.array_split(np.arange(len(P)), max(1, P.size // LARGE))
    blocks = [slice(c[0], c[-1] + 1) for c in cuts if len(c)]
    out = np.empty(len(P))

    def one(rows):
        sound = []
        (a, *ok_a), (b, *ok_b) = row_totals(P[rows]), row_totals(Q[rows])
        for total, (usable, is_whole) in ((a, ok_a), (b, ok_b)):
            near = usable and abs(total - 1).max() <= SLACK
            sound += [(usable and is_whole, near)]
        if ok_a[0] and ok_b[0]:
            row_divergences(P[rows], Q[rows], a, b, middle, out[rows])
        return sound

    checks = list(threads.run_tasks((lambda r=r: one(r)) for r in blocks))
    sound = np.array(checks).all(axis=0).any(axis=1).all()  # p and q: counts, or sum 1
    return out.reshape(p.shape[:-1]) if sound else None


def kl(p, q, *, base=None, axis=-1, samples=None):
    """Kullback-Leibler divergence KL(p || q), eq. (4).

    Parameters
    ----------
    p, q : arrays of shape (..., m), or distributions
        Probabilities or counts; or two `Normal` or `Categorical` (closed form), or any
        two objects with `log_prob`, which need `samples`.
    base : float or None
        2 for bits; None for nats.
    axis : int, default=-1
        Axis of the values.
    samples : array, optional
        Rows drawn from p: the divergence is then the mean of log p(x) - log q(x).

    Examples
    --------
    >>> from pansophy.distributions import kl
    >>> round(float(kl([0.5, 0.5], [0.9, 0.1])), 7)
    0.5108256
    >>> float(kl([0.5, 0.5], [1.0, 0.0]))
    inf
    """
    if hasattr(p, "log_prob"):
        return _kl_of_distributions(p, q, samples) / nats_per_unit(base)
    quick = _compiled_divergences(p, q, axis, middle=False)
    if quick is not None:
        return unwrap_scalar(quick / nats_per_unit(base))
    p, q = matching_probabilities(p, q, axis)
    return unwrap_scalar(
        arrays.namespace(p).sum(_kl_terms(p, q), axis=axis) / nats_per_unit(base)
    )


def _kl_of_distributions(p, q, samples):
    """KL of two distribution objects, in nats."""
    from ..categorical import Categorical
    from ..gaussian.normal import Normal
    from .gaussian_kl import kl_normals

    if not hasattr(q, "log_prob"):
        raise TypeError("p is a distribution with log_prob, so q must be one too.")
    if samples is not None:
        gap = p.log_prob(samples) - q.log_prob(samples)
        return unwrap_scalar(arrays.namespace(gap).mean(gap, axis=0))
    if isinstance(p, Normal) and isinstance(q, Normal):
        return kl_normals(p, q)
    if isinstance(p, Categorical) and isinstance(q, Categorical):
        return kl(p.prob, q.prob)
    names = f"{type(p).__name__} and {type(q).__name__}"
    raise TypeError(f"no closed form for {names}: give samples drawn from p.")


def cross_entropy(p, q, *, base=None, axis=-1):
    """H(p, q), eq. (5); or, for labels p (n,) and q (n, m), the mean of -log q_ip.

    Examples
    --------
    >>> from pansophy.distributions import cross_entropy
    >>> float(cross_entropy([0.5, 0.5], [0.5, 0.5], base=2))
    1.0
    >>> round(float(cross_entropy([0, 1], [[0.9, 0.1], [0.5, 0.5]])), 6)
    0.399254
    """
    q = as_probabilities(q, axis, "q")
    labels = p if arrays.is_foreign(p) else np.asarray(p)
    xp = arrays.namespace(q)
    if labels.ndim == q.ndim - 1 and q.ndim == 2:
        require_all((labels >= 0) & (labels < q.shape[1]), "a label is no column of q.")
        v = xp.arange(q.shape[1], device=arrays.device(q))
        is_label = xp.asarray(labels, device=arrays.device(q))[:, None] == v
        log_q = xp.sum(xlogy(xp.astype(is_label, q.dtype), q), axis=1)
        return unwrap_scalar(-xp.mean(log_q) / nats_per_unit(base))
    p, q = matching_probabilities(labels, q, axis)
    return unwrap_scalar(-xp.sum(xlogy(p, q), axis=axis) / nats_per_unit(base))


def js(p, q, *, base=None, axis=-1):
    """Jensen-Shannon divergence, from 0 to log 2; its square root is a metric.

    Examples
    --------
    >>> from pansophy.distributions import js
    >>> round(float(js([1.0, 0.0], [0.0, 1.0])), 6)
    0.693147
    """
    quick = _compiled_divergences(p, q, axis, middle=True)
    if quick is not None:
        return unwrap_scalar(quick / nats_per_unit(base))
    p, q = matching_probabilities(p, q, axis)
    m = (p + q) / 2
    half = arrays.namespace(p).sum(_kl_terms(p, m) + _kl_terms(q, m), axis=axis) / 2
    return unwrap_scalar(half / nats_per_unit(base))


def total_variation(p, q, *, axis=-1):
    """Half the sum of |p - q|, from 0 to 1.

    Examples
    --------
    >>> from pansophy.distributions import total_variation
    >>> float(total_variation([0.5, 0.5], [1.0, 0.0]))
    0.5
    """
    p, q = matching_probabilities(p, q, axis)
    xp = arrays.namespace(p)
    return unwrap_scalar(xp.sum(xp.abs(p - q), axis=axis) / 2)


def _js_generator(t):
    """(t log t - (1 + t) log((1 + t) / 2)) / 2."""
    return (xlogy(t, t) - xlogy(1 + t, (1 + t) / 2)) / 2


# f of eq. (6) and lim f(t) / t as t grows: what mass outside the support of q costs
GENERATORS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "kl": (lambda t: xlogy(t, t), math.inf),
    "reverse_kl": (lambda t: -safe_log(t), 0.0),
    "total_variation": (lambda t: abs(t - 1) / 2, 0.5),
    "js": (_js_generator, math.log(2) / 2),
    "chi2": (lambda t: (t - 1) ** 2, math.inf),
    "hellinger": (lambda t: (t**0.5 - 1) ** 2 / 2, 0.5),
}


def f_divergence(p, q, f="kl", *, slope=None, axis=-1):
    """D_f(p || q), eq. (6).

    Parameters
    ----------
    p, q : arrays of shape (..., m)
        Probabilities or counts.
    f : str or function
        "kl", "reverse_kl", "total_variation", "js", "chi2", "hellinger" (squared), or
        a convex function of an array with f(1) = 0.
    slope : float, optional
        lim f(t) / t as t grows, for a function of your own; needed only if p has mass
        where q has none.

    Examples
    --------
    >>> from pansophy.distributions import f_divergence
    >>> round(float(f_divergence([0.5, 0.5], [0.9, 0.1], lambda t: (t - 1) ** 2)), 6)
    1.777778
    """
    if isinstance(f, str):
        if f not in GENERATORS:
            raise ValueError(f"f must be one of {', '.join(GENERATORS)}, got {f!r}.")
        f, slope = GENERATORS[f]
    p, q = matching_probabilities(p, q, axis)
    xp = arrays.namespace(p)
    inside = q > 0
    value = f(safe_divide(p, q, 1.0))
    divergence = xp.sum(xp.where(inside, q * value, xp.zeros_like(q)), axis=axis)
    outside_mass = xp.sum(xp.where(inside, xp.zeros_like(p), p), axis=axis)
    if not bool(xp.any(outside_mass > 0)):
        return unwrap_scalar(divergence)
    if slope is None:
        raise ValueError(
            "p has mass where q has none: give slope, the limit of f(t) / t."
        )
    nonzero_mass = xp.where(outside_mass > 0, outside_mass, xp.ones_like(outside_mass))
    return unwrap_scalar(
        divergence
        + xp.where(outside_mass > 0, slope * nonzero_mass, xp.zeros_like(outside_mass))
    )
