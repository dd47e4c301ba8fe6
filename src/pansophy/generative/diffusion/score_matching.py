"""The Stein score of a density, and losses that fit one without its normaliser.

The score is the gradient of the log density in the row, in which the normaliser Z of
p = exp(-f) / Z does not occur:

    s(x) = grad_x log p(x) = -grad_x f(x)                                        (1)

E_p s = 0, and for a normal density s(x) = -S^-1 (x - mu). The Fisher divergence of a
model s_m from p,

    F = 1/2 E_p |s_p(x) - s_m(x)|^2                                              (2)

is 0 only if the scores agree where p is. s_p is not known, but by integration by parts
(p s_m must vanish far out) F is a constant plus

    implicit   E_p [ |s_m|^2 / 2 + tr(ds_m/dx) ]                                 (3)
    sliced     E_p E_v [ (v' s_m)^2 / 2 + v' (ds_m/dx) v ]                       (4)
    denoising  E_p E_n [ |sigma s_m(x + sigma n) + n|^2 / 2 ]                    (5)

with v of independent signs, whose mean (4) is (3), and (5) for rows with noise of
N(0, sigma^2), which costs no derivatives.

Cost      (3) d gradients a row, (4) one, (5) none
Shapes    x (n, d)   scores (n, d)
Refs      [Hyvarinen2005] (3); [Song2020sliced] (4); [Vincent2011] (5)
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ...core.arrays import arrays
from ...sampling.densities.target_density import as_target_density, ensure_gradient
from .flow_likelihood import field_and_trace


def score(log_prob, X, *, grad=None) -> np.ndarray:
    """Stein score of a density at rows X, eq. (1).

    Parameters
    ----------
    log_prob : function, Distribution or compiled density
        Logarithm of the density up to a constant; a function of NumPy arrays needs
        `grad`, one of torch tensors does not (`sampling.as_target_density`).
    X : array of shape (n, d)
    grad : function, True or None
        The gradient, or True if `log_prob` returns both.

    Returns
    -------
    array of shape (n, d)

    Examples
    --------
    >>> from pansophy.generative import score
    >>> score(lambda x: -0.5 * (x**2).sum(-1) / 4 + 100, [[1.0, 2.0]])  # N(0, 4 I)
    array([[-0.25, -0.5 ]])
    """
    X = np.atleast_2d(np.asarray(X, dtype=float))
    target = ensure_gradient(as_target_density(log_prob, grad), X)
    return target.value_and_grad(X)[1]


def fisher_divergence(score_p, score_q, X=None, sample_weight=None) -> float:
    """Half the mean squared distance between two scores, eq. (2), over rows of p.

    Parameters
    ----------
    score_p, score_q : functions of rows (n, d), or arrays (n, d)
    X : array of shape (n, d) or None
        Rows of p, where the scores are functions.
    sample_weight : array of shape (n,) or None

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import fisher_divergence
    >>> X = np.array([[-1.0], [1.0]])
    >>> fisher_divergence(lambda x: -x, lambda x: -x / 2, X)
    0.125
    """
    values = []
    for score_p_or_q in (score_p, score_q):
        result = score_p_or_q(X) if callable(score_p_or_q) else score_p_or_q
        values.append(np.atleast_2d(np.asarray(arrays.to_numpy(result), dtype=float)))
    if values[0].shape != values[1].shape:
        raise ValueError(
            f"scores must have one shape, got {values[0].shape} and {values[1].shape}."
        )
    gaps = np.square(values[0] - values[1]).sum(axis=1)
    return float(0.5 * np.average(gaps, weights=sample_weight))


def implicit_score_loss(
    score_function: Callable[[Tensor], Tensor], x: Tensor
) -> Tensor:
    """Eq. (3) of each row, (n,)."""
    s, trace = field_and_trace(score_function, x, None, create_graph=True)
    return 0.5 * s.square().sum(1) + trace


def sliced_score_loss(
    score_function: Callable[[Tensor], Tensor], x: Tensor, v: Tensor | None = None
) -> Tensor:
    """Eq. (4) of each row, (n,), for directions v (n, d), by default random signs."""
    with torch.enable_grad():
        leaf = x.detach().requires_grad_()
        s = score_function(leaf)
        if v is None:
            v = torch.randint(0, 2, x.shape, device=x.device).to(x.dtype) * 2 - 1
        projection = (s * v).sum(1)
        (g,) = torch.autograd.grad(projection.sum(), leaf, create_graph=True)
    return 0.5 * projection.square() + (g * v).sum(1)


def denoising_score_loss(
    score_function: Callable[[Tensor], Tensor], x: Tensor, sigma: float
) -> Tensor:
    """Eq. (5) of each row, (n,), at one level of noise."""
    noise = torch.randn_like(x)
    s = score_function(x + sigma * noise)
    return 0.5 * (sigma * s + noise).square().sum(1)
