"""What a round of boosting asks of a loss: gradients, curvatures, values of leaves.

For raw predictions f_ki (row i, column k; one column, or one per class) and weights w,

    G = - dl/df      H = d2l/df2      J = sum_i w_i l(y_i, f_i) / sum_i w_i      (1)

come out of one walk over the rows (`_gradients.py`), in blocks on threads whose sums
are added in their order, so that J is the same for any number of threads. H is left
out where it is 1 throughout: squared error, and losses with kinks or straight pieces,
whose second derivative says nothing about where the minimum is. For the latter leaves
are not set by Newton's step but by

    quantile, absolute   the quantile of the residuals y - f in the leaf         (2)
    huber                their median m, plus the mean of y - f - m clipped      (3)
    other residual loss  argmin_c sum w l(y - f, c), the loss's best constant    (4)

Shapes    y (n,)   f, G, H (K, n)   w (n,) or None
Refs      [Friedman2001] eqs. (2) and (3)
"""

import math

import numpy as np

from ..core import threads
from ..losses import base as kinds
from ..losses.base import Loss

ROWS_PER_TASK = 1 << 15  # rows handed to a thread at a time
EMPTY = np.empty(0)
MULTICLASS_KINDS = (kinds.SOFTMAX, kinds.MULTICLASS_HINGE)  # a column per class
CURVED_KINDS = (
    kinds.SQUARED,
    kinds.LOGISTIC,
    kinds.EXPONENTIAL,
    kinds.POISSON,
    kinds.GAMMA,
    kinds.TWEEDIE,
    kinds.SOFTMAX,
    kinds.NO_LOOP,
)
QUANTILE_KINDS = (kinds.ABSOLUTE, kinds.QUANTILE, kinds.HUBER)
CONSTANT_KINDS = (
    kinds.EPSILON_INSENSITIVE,
    kinds.SQUARED_EPSILON_INSENSITIVE,
    kinds.LP,
    kinds.TUKEY,
)
TARGET_DOMAINS = {
    "real": (lambda y: np.isfinite(y), "finite numbers"),
    "fraction": (lambda y: (y >= 0) & (y <= 1), "numbers from 0 to 1"),
    "nonnegative": (lambda y: y >= 0, "numbers of at least 0 with a positive sum"),
    "positive": (lambda y: y > 0, "numbers above 0"),
}


def uses_curvature(loss: Loss) -> bool:
    """Whether H of eq. (1) is used."""
    return loss.kind in CURVED_KINDS or loss.kind >= kinds.GLM


def constant_curvature(loss: Loss) -> float:
    """The curvature put in the place of H where it is not used."""
    smooth = math.isfinite(loss.lipschitz) and loss.kind not in CONSTANT_KINDS
    return loss.lipschitz if smooth else 1.0


def quantile_level_and_delta(loss: Loss) -> tuple[float, float]:
    """Level and delta of eqs. (2) and (3)."""
    if loss.kind == kinds.QUANTILE:
        return loss.parameter, 0.0
    return 0.5, loss.parameter if loss.kind == kinds.HUBER else 0.0


def check_target_domain(loss: Loss, y, name):
    """Refuse targets that the loss is not defined for."""
    holds, says = TARGET_DOMAINS[loss.domain]
    if not np.all(holds(y)) or (loss.domain == "nonnegative" and not np.sum(y) > 0):
        raise ValueError(f"loss={loss.name!r} of {name} needs y to hold {says}.")


def allocate_gradients(loss: Loss, K, n):
    """Arrays for G and, where it is used, H."""
    H = None
    if uses_curvature(loss) or constant_curvature(loss) != 1.0:
        H = np.full((K, n), constant_curvature(loss))
    return np.empty((K, n)), H


def compute_gradients(loss: Loss, y, f, w, weigh, G, H) -> float:
    """Eq. (1) into G and H, times w if `weigh`; returns sum_i w_i l_i."""
    n = f.shape[1]
    if n <= ROWS_PER_TASK:
        return gradients_of_block(loss, y, f, w, weigh, 0, n, G, H)
    cuts = range(0, n, ROWS_PER_TASK)
    tasks = (
        lambda a=a: gradients_of_block(
            loss, y, f, w, weigh, a, min(a + ROWS_PER_TASK, n), G, H
        )
        for a in cuts
    )
    return math.fsum(threads.run(tasks))


def gradients_of_block(loss, y, f, w, weigh, a, b, G, H) -> float:
    """The same for rows a .. b."""
    from . import _gradients as loops

    kind, v = loss.kind, EMPTY if w is None else w
    weigh = weigh and w is not None
    if kind == kinds.SOFTMAX:
        return loops.softmax_gradients(y, f, v, weigh, a, b, G, H)
    if kind == kinds.LOGISTIC:
        return loops.logistic_gradients(y, f[0], v, weigh, a, b, G[0], H[0])
    if kind == kinds.HALF_SQUARED:
        return loops.half_squared_gradients(y, f[0], v, weigh, a, b, G[0])
    if kind in (kinds.NO_LOOP, kinds.MULTICLASS_HINGE):
        return gradients_by_arrays(loss, y, f, w, weigh, slice(a, b), G, H)
    curved = H[0] if uses_curvature(loss) else EMPTY
    total = loops.pointwise_gradients(
        kind, loss.parameter, y, f[0], v, weigh, a, b, G[0], curved
    )
    if weigh and H is not None and not uses_curvature(loss):
        H[0, a:b] = constant_curvature(loss) * w[a:b]
    return total


def gradients_by_arrays(loss, y, f, w, weigh, cut, G, H) -> float:
    """The same for a loss that the loops do not know."""
    part = f[0, cut] if f.shape[0] == 1 else np.ascontiguousarray(f[:, cut].T)
    u = 1.0 if w is None or not weigh else w[cut]
    G[:, cut] = -np.atleast_2d(loss.gradient(y[cut], part).T) * u
    if uses_curvature(loss):
        H[:, cut] = np.maximum(np.atleast_2d(loss.curvature(y[cut], part).T), 0) * u
    elif H is not None:
        H[:, cut] = constant_curvature(loss) * u
    each = loss.value(y[cut], part)
    return float(np.sum(each if w is None else w[cut] * each))


def sum_of_losses(loss: Loss, y, f, w) -> float:
    """sum_i w_i l(y_i, f_i) alone, f (K, n)."""

    def part(a):
        cut = slice(a, a + ROWS_PER_TASK)
        raw = f[0, cut] if loss.kind not in MULTICLASS_KINDS else f[:, cut].T
        each = loss.value(y[cut], raw)
        return float(np.sum(each if w is None else w[cut] * each))

    return math.fsum(part(a) for a in range(0, f.shape[1], ROWS_PER_TASK))


def weighted_mean_loss(loss: Loss, y, f, w) -> float:
    """J of eq. (1)."""
    return sum_of_losses(loss, y, f, w) / (len(y) if w is None else float(np.sum(w)))
