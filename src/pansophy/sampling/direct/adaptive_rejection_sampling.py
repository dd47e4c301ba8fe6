"""Adaptive rejection sampling of log-concave densities, with an envelope of tangents.

Let h = log p' be concave on (low, high). Its tangents at x_1 < ... < x_k lie above it,

    u(x) = min_j h(x_j) + (x - x_j) h'(x_j) >= h(x)                              (1)

and u is a chain of straight lines which meet at

    z_j = (h_j+1 - h_j - x_j+1 h'_j+1 + x_j h'_j) / (h'_j - h'_j+1)              (2)

so exp(u) is a sequence of exponential pieces: one is selected by its mass, and a point
in it by inverting its cumulative distribution. The point is accepted with probability
exp(h - u); rejected points become new tangents, so the envelope improves where it was
worst and the acceptance rate tends to one. Points are proposed in blocks, each under
one fixed envelope, so every accepted point is an exact draw.

If h crosses a tangent it is not concave, which raises.

Cost      O(k) a block for the envelope; the mean number of tangents is small
Refs      [Gilks1992]
"""

from typing import NamedTuple

import numpy as np

from ...core.drivers.metropolis import acceptance_threshold, is_accepted
from ...core.random import make_rng
from ...params import check_count
from .rejection_sampling import EnvelopeError, RejectionResult

MAX_TANGENTS = 64
TANGENT_TOL = 1e-4  # numeric slopes are less accurate than h


class TangentHull(NamedTuple):
    """Tangents in order of x and the pieces of the envelope, eq. (1) and (2)."""

    x: np.ndarray
    h: np.ndarray
    slope: np.ndarray
    z: np.ndarray  # (k + 1,) ends of the pieces
    log_mass: np.ndarray  # (k,) log of the integral of exp(u) over each piece


def _tangent_hull(x, h, slope, low, high) -> TangentHull:
    """The envelope of tangents at x."""
    order = np.argsort(x)
    x = x[order]
    h = h[order]
    slope = slope[order]
    fall = slope[:-1] - slope[1:]
    if (fall < -1e-6 * (1 + np.abs(slope[:-1]))).any():
        i = int(np.argmin(fall))
        raise ValueError(
            f"log_prob is not concave: its slope rises from {slope[i]:.6g} at "
            f"{x[i]:.6g} to {slope[i + 1]:.6g} at {x[i + 1]:.6g}."
        )
    step, rise = np.diff(x), np.diff(h)
    crossed = np.maximum(rise - step * slope[:-1], step * slope[1:] - rise)
    if (crossed > TANGENT_TOL + 1e-9 * np.abs(h[1:])).any():
        i = int(np.argmax(crossed))
        raise ValueError(
            f"log_prob is not concave: at {x[i]:.6g} and {x[i + 1]:.6g} it lies above "
            "its tangent at the other."
        )
    gap = rise - x[1:] * slope[1:] + x[:-1] * slope[:-1]
    middle = 0.5 * (x[1:] + x[:-1])  # where two tangents are one line
    z = np.where(fall > 1e-12, gap / np.where(fall > 1e-12, fall, 1.0), middle)
    z = np.concatenate([[low], np.clip(z, x[:-1], x[1:]), [high]])
    # u at the upper end of a piece, or at the lower one, whichever is higher
    a, b = z[:-1], z[1:]
    peak = np.where(slope > 0, b, a)
    peak = np.where(np.isfinite(peak), peak, x)
    top = h + (peak - x) * slope
    width = np.abs(slope) * (b - a)  # of a piece in units of its decay
    flat = width < 1e-9
    safe = np.where(flat, 1.0, np.abs(slope))
    with np.errstate(divide="ignore"):
        log_mass = top + np.where(
            flat, np.log(b - a), np.log(-np.expm1(-width)) - np.log(safe)
        )
    return TangentHull(x, h, slope, z, log_mass)


def _draw_from_hull(hull, n, rng):
    """n draws of exp(u) and their pieces."""
    w = np.exp(hull.log_mass - hull.log_mass.max())
    j = np.searchsorted(np.cumsum(w) / w.sum(), rng.random(n))
    j = np.minimum(j, len(w) - 1)
    a = hull.z[j]
    b = hull.z[j + 1]
    s = hull.slope[j]
    U = rng.random(n)
    width = np.abs(s) * (b - a)
    flat = width < 1e-9
    # distance from the higher end of the piece: a truncated exponential
    distance = -np.log1p(U * np.expm1(-np.where(flat, 1.0, width)))
    distance = distance / np.where(flat, 1.0, np.abs(s))
    steep = np.where(s > 0, b - distance, a + distance)
    return np.where(flat, a + U * np.where(flat, b - a, 0.0), steep), j


def _initial_tangents(f, slope_of, init, support):
    """Initial tangents: at `init`, and further outwards until the tails decrease."""
    low, high = support
    x = np.unique(np.asarray(init, dtype=float))
    if x.size == 0 or not ((x > low) & (x < high)).all():
        raise ValueError("init must hold places inside the support.")
    for side, end, sign in ((0, low, -1.0), (-1, high, 1.0)):
        step = 1.0
        while not np.isfinite(end) and sign * slope_of(x[[side]])[0] >= 0:
            new = x[side] + sign * step
            x = np.unique(np.append(x, new))
            step = 2 * step
            if step > 1e30 or not np.isfinite(f(x[[side]])[0]):
                end_name = "low" if sign < 0 else "high"
                raise ValueError(
                    f"log_prob does not fall towards the {end_name} end: give init on "
                    "both sides of the peak, or a finite support."
                )
    return x


def adaptive_rejection(
    log_prob,
    n=1,
    *,
    init=(0.0,),
    grad=None,
    support=(-np.inf, np.inf),
    random_state=None,
):
    """n independent draws of one variable with a log-concave density.

    Parameters
    ----------
    log_prob : function
        h of an array (m,), up to a constant.
    n : int
    init : array
        Positions of the first tangents, inside the support.
    grad : function or None
        h' of an array; None takes central differences.
    support : (low, high)
    random_state : int, Generator, RandomState or None

    Returns
    -------
    Rejection

    Examples
    --------
    >>> from pansophy.sampling import adaptive_rejection
    >>> run = adaptive_rejection(lambda x: -0.5 * x**2, 5000, random_state=0)
    >>> bool(run.acceptance > 0.95), bool(abs(run.draws.std() - 1) < 0.03)
    (True, True)
    """
    n = check_count("n", n)
    low, high = (float(end) for end in support)
    rng = make_rng(random_state)
    f = lambda x: np.asarray(log_prob(x), dtype=float)
    slope_of = grad or (lambda x: _central_differences(f, x, low, high))
    x = _initial_tangents(f, slope_of, init, (low, high))
    envelope = _tangent_hull(x, f(x), np.asarray(slope_of(x), dtype=float), low, high)
    accepted = []
    n_found = 0
    n_proposed = 0
    masses, shares = [], []
    while n_found < n:
        size = min(
            max(8, n_proposed), n - n_found + 8
        )  # small blocks while the envelope is poor
        x, j = _draw_from_hull(envelope, size, rng)
        log_ratio = f(x) - (envelope.h[j] + (x - envelope.x[j]) * envelope.slope[j])
        _check_concavity(log_ratio, x)
        accept = is_accepted(log_ratio, 0.0, acceptance_threshold(1.0, size, rng))
        accepted.append(x[accept])
        n_proposed, n_found = n_proposed + size, n_found + int(accept.sum())
        masses.append(size * np.exp(np.logaddexp.reduce(envelope.log_mass)))
        shares.append(np.exp(np.minimum(log_ratio, 0.0)).sum() / size)
        new = np.unique(x[~accept & np.isfinite(log_ratio)])
        new = rng.permutation(new)[: MAX_TANGENTS - len(envelope.x)]
        if new.size and n_found < n:
            x = np.concatenate([envelope.x, new])
            h = np.concatenate([envelope.h, f(new)])
            envelope = _tangent_hull(
                x, h, np.concatenate([envelope.slope, slope_of(new)]), low, high
            )
    sizes = np.array(masses)  # block size times envelope mass: Z = mass * mean ratio
    z = float(sizes @ np.array(shares) / n_proposed)
    share = n_found / n_proposed
    error = float(np.sqrt((1 - share) / n_found))
    return RejectionResult(
        np.concatenate(accepted)[:n], share, n_proposed, float(np.log(z)), error
    )


def _central_differences(f, x, low, high):
    """Central differences, one-sided next to an end of the support."""
    x = np.asarray(x, dtype=float)
    e = 6e-6 * np.maximum(np.abs(x), 1e-3)
    a = np.maximum(x - e, low + 0.5 * (x - low) if np.isfinite(low) else -np.inf)
    b = np.minimum(x + e, high - 0.5 * (high - x) if np.isfinite(high) else np.inf)
    return (f(b) - f(a)) / (b - a)


def _check_concavity(log_ratio, x):
    """Raise where h crosses a tangent or is not a number."""
    i = int(np.argmax(np.where(np.isnan(log_ratio), np.inf, log_ratio)))
    if np.isnan(log_ratio[i]):
        raise ValueError(f"log_prob is not a number at {x[i]}.")
    if log_ratio[i] > TANGENT_TOL:
        raise EnvelopeError(x[i], np.exp(log_ratio[i]), "it is not log-concave")
