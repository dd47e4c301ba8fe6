"""Reparameterisation of normal draws, and the Monte-Carlo evidence lower bound.

A draw of N(m, s^2) as a function of its parameters and of noise that has none,

    z = m + s e,   e ~ N(0, I):   dz/dm = 1,   dz/ds = e                          (1)

so that the gradient of E f(z) is the mean of f'(z) dz: unbiased, and of lower variance
than the score-function estimator f(z) d log q. With it the evidence lower bound

    ELBO ~ (1/N) sum_j log p(x | z_j) - KL(N(m, s^2) || N(0, I))                  (2)

is unbiased, with a variance that falls as 1/N.

Shapes    m, s (..., k)   z (N, ..., k)
Refs      [Kingma2014]; [Rezende2014]
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.arrays import arrays
from ...core.arrays.unreadable import array_of_numbers
from ...core.random import make_rng
from ...distributions.information.gaussian_kl import kl_gaussian
from ...params import check_count


def reparameterize(mean, scale, noise=None, *, random_state=None) -> Any:
    """A draw of N(mean, scale^2) through which gradients pass, eq. (1).

    Parameters
    ----------
    mean, scale : arrays or tensors of one shape
    noise : array of that shape or None
        e; None draws it.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    array or tensor of the kind of `mean`

    Examples
    --------
    >>> import torch
    >>> from pansophy.generative import reparameterize
    >>> m = torch.tensor(1.0, requires_grad=True)
    >>> s = torch.tensor(2.0, requires_grad=True)
    >>> z = reparameterize(m, s, torch.tensor(0.5))
    >>> z.item(), [g.item() for g in torch.autograd.grad(z, (m, s))]
    (2.0, [1.0, 0.5])
    """
    mean = mean if arrays.is_foreign(mean) else array_of_numbers(mean, "mean")
    widths = scale if arrays.is_foreign(scale) else array_of_numbers(scale, "scale")
    try:
        np.broadcast_shapes(tuple(mean.shape), tuple(widths.shape))
    except ValueError:
        raise ValueError(
            f"mean and scale must have one shape, got {tuple(mean.shape)} and "
            f"{tuple(widths.shape)}."
        ) from None
    if not arrays.is_foreign(mean):
        scale = widths
    if bool(widths.min() < 0):
        raise ValueError("scale must be at least 0 everywhere.")
    if noise is None:
        noise = make_rng(random_state).standard_normal(tuple(mean.shape))
    return mean + scale * arrays.asarray(noise, like=mean)


def mc_elbo(
    log_likelihood: Callable,
    mean,
    scale,
    n_samples=1,
    *,
    return_std_error=False,
    random_state=None,
) -> Any:
    """Monte-Carlo estimate of the evidence lower bound, eq. (2).

    Parameters
    ----------
    log_likelihood : function of z
        log p(x | z) for draws z (N, ..., k): (N, ...).
    mean, scale : arrays or tensors of shape (..., k)
        Of q(z | x); the prior is N(0, I).
    n_samples : int, default=1
        N.
    return_std_error : bool, default=False
        Whether to give the standard error of the estimate too; needs N > 1.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    elbo : (...)
    error : (...), if asked for

    Examples
    --------
    x ~ N(z, 1), z ~ N(0, 1) and the exact posterior of x = 1: the bound is log p(x),
    whatever the draws.

    >>> import numpy as np
    >>> from pansophy.generative import mc_elbo
    >>> log_p = lambda z: -0.5 * ((1 - z[..., 0]) ** 2 + np.log(2 * np.pi))
    >>> elbo, error = mc_elbo(log_p, [0.5], [0.5**0.5], 100_000, random_state=0,
    ...                       return_std_error=True)
    >>> abs(elbo + 0.25 + 0.5 * np.log(4 * np.pi)) < 4 * error
    np.True_
    """
    N = check_count("n_samples", n_samples, 2 if return_std_error else 1)
    mean = mean if arrays.is_foreign(mean) else np.asarray(mean, float)
    xp = arrays.namespace(mean)
    scale = arrays.asarray(scale, like=mean)
    noise = make_rng(random_state).standard_normal((N, *mean.shape))
    z = reparameterize(mean, scale, noise)
    values = log_likelihood(z)
    elbo = xp.mean(values, axis=0) - kl_gaussian(mean, scale**2)
    if not return_std_error:
        return elbo
    return elbo, xp.std(values, axis=0, correction=1) / N**0.5
