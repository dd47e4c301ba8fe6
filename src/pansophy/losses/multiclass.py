"""Losses with one raw prediction per class: softmax cross-entropy and the hinge.

For logits f_1..f_K and label y,

    softmax            log sum_k exp f_k - f_y                                   (1)
    multiclass_hinge   max(0, 1 + max over k != y of f_k  -  f_y)                (2)

Eq. (1) also takes rows of class probabilities q in place of labels, and is then
log sum_k exp f_k - sum_k q_k f_k; its gradient is p - q with p = softmax(f), and
the diagonal of its Hessian p (1 - p), at most 1/4 while the Hessian is at most 1/2.

Shapes    y (n,) or (n, K)   f (n, K)   value (n,)   gradient (n, K)
Refs      [Crammer2001]
"""

from ..core.arrays.arrays import asarray, device, namespace
from ..core.numerics import logsumexp
from ..core.numerics import softmax as probabilities
from ..links import multinomial
from . import base as kinds
from .base import Loss, weighted_row_mean


def as_one_hot(y, like):
    """Rows of 0 and 1 from labels; rows of probabilities are taken as they are."""
    xp = namespace(like)
    if y.ndim == 2:
        return xp.astype(y, like.dtype)
    classes = xp.arange(like.shape[1], dtype=y.dtype, device=device(like))
    return xp.astype(y[:, None] == classes[None, :], like.dtype)


def _softmax_value(y, f, a):
    """Eq. (1)."""
    xp = namespace(f)
    return logsumexp(f) - xp.sum(as_one_hot(y, f) * f, axis=-1)


def _softmax_gradient(y, f, a):
    return probabilities(f) - as_one_hot(y, f)


def _softmax_curvature(y, f, a):
    p = probabilities(f)
    return p * (1 - p)


def _softmax_constant(y, w, a):
    """Centred log-frequencies of the classes."""
    return multinomial(_class_frequencies(y, w))


def _hinge_parts(y, f):
    xp = namespace(f)
    one_hot = as_one_hot(y, f)
    score = xp.sum(one_hot * f, axis=-1)
    rival = f - one_hot * (
        xp.max(xp.abs(f)) * 2 + 1
    )  # the label's own class cannot win
    return one_hot, score, rival


def _multiclass_hinge_value(y, f, a):
    """Eq. (2)."""
    xp = namespace(f)
    _, score, rival = _hinge_parts(y, f)
    gap = 1 + xp.max(rival, axis=-1) - score
    return xp.maximum(gap, xp.zeros_like(gap))


def _multiclass_hinge_gradient(y, f, a):
    """+1 on the strongest rival and -1 on the label, where eq. (2) is above 0."""
    xp = namespace(f)
    one_hot, _, rival = _hinge_parts(y, f)
    wrong = as_one_hot(xp.argmax(rival, axis=-1), f)
    active = xp.astype(_multiclass_hinge_value(y, f, a) > 0, f.dtype)
    return active[:, None] * (wrong - one_hot)


softmax = Loss(
    "softmax",
    kinds.SOFTMAX,
    "label",
    _softmax_value,
    _softmax_gradient,
    _softmax_curvature,
    _softmax_constant,
    link=multinomial,
    lipschitz=0.5,
)
cross_entropy = softmax  # the other usual name


def _class_frequencies(y, w):
    """Weight of each class over all weight, from labels or rows of probabilities."""
    xp = namespace(y)
    if y.ndim == 1:
        k = int(xp.max(y)) + 1
        y = as_one_hot(y, xp.zeros((1, k), dtype=xp.float64, device=device(y)))
    return weighted_row_mean(y, None if w is None else w[:, None])


def _multiclass_hinge_constant(y, w, a):
    """1 on a class with more than half the weight and 0 elsewhere."""
    share = _class_frequencies(y, w)
    return namespace(share).astype(share > 0.5, share.dtype)


multiclass_hinge = Loss(
    "multiclass_hinge",
    kinds.MULTICLASS_HINGE,
    "label",
    _multiclass_hinge_value,
    _multiclass_hinge_gradient,
    lambda y, f, a: namespace(f).zeros_like(f),
    _multiclass_hinge_constant,
)


def smooth_labels(y, k, epsilon=0.1, u=None):
    """Label rows (1 - epsilon) onehot + epsilon u, for `softmax`.

    Parameters
    ----------
    y : array of shape (n,)
        Labels 0 .. k-1.
    k : int
        Number of classes.
    epsilon : float, default=0.1
        Weight of u, from 0 to 1.
    u : array of shape (k,) or (n, k), or None
        The distribution that labels are mixed with, one for all rows or one a row;
        None is uniform, 1 / k. The cross-entropy of the result is (1 - epsilon) times
        that of the labels plus epsilon times that of u.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import losses
    >>> losses.smooth_labels(np.array([1]), 5)
    array([[0.02, 0.92, 0.02, 0.02, 0.02]])
    >>> losses.smooth_labels(np.array([1]), 2, u=np.array([0.75, 0.25]))
    array([[0.075, 0.925]])
    """
    if not 0 <= epsilon <= 1:
        raise ValueError(f"epsilon of smooth_labels must be 0 to 1, got {epsilon!r}.")
    xp = namespace(y)
    like = xp.zeros((1, k), dtype=xp.float64, device=device(y))
    labels = (1 - epsilon) * as_one_hot(y, like)
    if u is None:
        return labels + epsilon / k
    u = asarray(u, like=like)
    if u.shape not in ((k,), (y.shape[0], k)):
        raise ValueError(
            f"u of smooth_labels must have shape {(k,)} or {(int(y.shape[0]), k)}, got "
            f"{tuple(u.shape)}."
        )
    total = xp.sum(u, axis=-1)
    if not bool(xp.all(u >= 0)) or not bool(xp.all(xp.abs(total - 1) <= 1e-6)):
        raise ValueError("u of smooth_labels must hold probabilities of sum 1.")
    return labels + epsilon * u
