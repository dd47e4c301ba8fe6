"""Initial weights: schemes that keep the size of signals from layer to layer.

A sum of m inputs of variance 1 with weights of variance s^2 has variance m s^2. The
schemes choose s from the inputs m and the units k of a layer:

    glorot    s^2 = 2 / (m + k)      forward and backward signals, tanh
    he        s^2 = 2 / m            relu halves the variance
    lecun     s^2 = 1 / m            selu, linear
    fan_out   s = 1 / sqrt(k)
    normal    s = 0.1

"_uniform" draws evenly from +-s sqrt(3), "_normal" from a normal. "orthogonal" has
orthonormal rows or columns, so that a deep linear net keeps lengths exactly.

Units that start with equal weights get equal gradients and stay equal for ever: the
layer is one unit. `warn_of_equal_units` says so.

Refs      [Glorot2010]; [He2015]; [Saxe2014] orthogonal
"""

import warnings
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch


def glorot_uniform(sizes: Sequence[int], rng, activation="relu") -> tuple[list, list]:
    """Matrices and biases drawn evenly from +-sqrt(6 / (fan in + fan out)).

    The logistic function is a quarter as steep as tanh at 0 and takes 2, not 6.
    """
    factor = 2.0 if activation == "logistic" else 6.0
    coefs, intercepts = [], []
    for m, k in pairwise(sizes):
        bound = np.sqrt(factor / (m + k))
        coefs.append(rng.uniform(-bound, bound, (m, k)))
        intercepts.append(rng.uniform(-bound, bound, k))
    return coefs, intercepts


SCALES = {
    "glorot": lambda m, k: (2 / (m + k)) ** 0.5,
    "he": lambda m, k: (2 / m) ** 0.5,
    "lecun": lambda m, k: (1 / m) ** 0.5,
    "fan_out": lambda m, k: (1 / k) ** 0.5,
    "normal": lambda m, k: 0.1,
}
SCHEMES = (
    "glorot_uniform", "glorot_normal", "he_uniform", "he_normal", "lecun_uniform",
    "lecun_normal", "fan_out", "normal", "orthogonal", "constant",
)  # fmt: skip


class EqualUnitsWarning(UserWarning):
    """The hidden units of a layer start equal and will stay equal."""


def draw_matrix(scheme: str, m: int, k: int, rng, constant=0.1) -> np.ndarray:
    """A matrix (m, k) of m inputs and k units, by a scheme of the module text.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import nn
    >>> W = nn.init.draw_matrix("he_normal", 200, 300, np.random.default_rng(0))
    >>> W.shape, round(W.std(), 3)
    ((200, 300), np.float64(0.1))
    """
    if scheme not in SCHEMES:
        raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}, got {scheme!r}.")
    if scheme == "constant":
        return np.full((m, k), float(constant))
    if scheme == "orthogonal":
        Q, R = np.linalg.qr(rng.standard_normal((max(m, k), min(m, k))))
        Q = Q * np.sign(np.diag(R))  # else the directions are not even
        return Q if m >= k else Q.T
    family, _, shape = scheme.rpartition("_")
    if shape not in ("uniform", "normal") or not family:
        family = scheme
        shape = "normal"
    s = SCALES[family](m, k)
    if shape == "uniform":
        return rng.uniform(-s * 3**0.5, s * 3**0.5, (m, k))
    return s * rng.standard_normal((m, k))


def initial_weights(
    sizes: Sequence[int], rng, scheme="glorot_uniform", *, constant=0.1
) -> tuple[list, list]:
    """Matrices and zero biases for layers of these sizes; equal units are warned of.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import nn
    >>> rng = np.random.default_rng(0)
    >>> coefs, intercepts = nn.init.initial_weights([4, 8, 2], rng, "orthogonal")
    >>> bool(np.allclose(coefs[0] @ coefs[0].T, np.eye(4)))
    True
    """
    coefs = [draw_matrix(scheme, m, k, rng, constant) for m, k in pairwise(sizes)]
    intercepts = [np.zeros(k) for k in sizes[1:]]
    warn_of_equal_units(coefs, intercepts)
    return coefs, intercepts


@torch.no_grad()
def initialise(module, scheme="glorot_uniform", rng=None) -> None:
    """Draw the matrices of a torch module anew; biases become 0, gains stay.

    Arrays with more than two axes (kernels of convolutions) count the entries of a
    kernel as inputs of a unit. Embeddings are left alone.
    """
    rng = np.random.default_rng(rng)
    for part in module.modules():
        if isinstance(part, torch.nn.Embedding):
            continue
        for name, p in part.named_parameters(recurse=False):
            if p.ndim > 1:  # torch has units in rows
                k = len(p)
                m = p[0].numel()
                draw = draw_matrix(scheme, m, k, rng).T
                p.copy_(torch.as_tensor(draw.copy()).reshape(p.shape))
            elif "bias" in name:
                p.zero_()


def warn_of_equal_units(coefs, intercepts) -> None:
    """Warn if all units of a hidden layer have the same weights, in and out."""
    for i, (W, b) in enumerate(zip(coefs[:-1], intercepts[:-1])):
        ways_out = coefs[i + 1]
        if W.shape[1] < 2:
            continue
        inward = (W[:, :1] == W).all() and (b == b[:1]).all()
        if inward and (ways_out == ways_out[:1]).all():
            warnings.warn(
                f"all {W.shape[1]} units of hidden layer {i + 1} start with equal "
                "weights and will stay equal: draw them at random (`nn.init`).",
                EqualUnitsWarning,
                stacklevel=3,
            )
