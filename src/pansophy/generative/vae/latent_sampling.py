"""Rows from codes: draws through a decoder, and walks between codes.

    z ~ p(z), x = f(z)          a deep latent model; f(z) = W z: covariance W W'   (1)
    z_t = (1 - t) a + t b       a straight walk                                    (2)
    z_t = [sin((1 - t) w) a + sin(t w) b] / sin w,   cos w = <a, b> / |a| |b|      (3)

Codes of many numbers from N(0, I) have lengths near sqrt(k). A straight walk passes
through shorter ones, which are improbable; the spherical walk (3) does not.

Shapes    a, b (k,)   z (n, k)
Refs      [White2016] eq. (3)
"""

from collections.abc import Callable
from typing import Literal

import numpy as np

from ...core.arrays.unreadable import array_of_numbers
from ...core.random import make_rng
from ...params import check_count


def sample_decoder(decoder: Callable, prior, n_samples=1, *, random_state=None):
    """Draw codes from a prior and decode them, eq. (1).

    Parameters
    ----------
    decoder : function of codes (n, k)
        For a fitted model `model.decode`.
    prior : distribution with `sample(n, rng)`
        One of `pansophy.distributions`, for instance.
    n_samples : int, default=1
    random_state : int, RandomState, Generator or None

    Returns
    -------
    rows, as the decoder gives them

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.distributions import Normal
    >>> from pansophy.generative import sample_decoder
    >>> W = np.array([[2.0, 0.0], [1.0, 1.0]])
    >>> X = sample_decoder(lambda z: z @ W, Normal(np.zeros(2), np.eye(2)), 100_000,
    ...                    random_state=0)
    >>> np.cov(X.T).round(1)  # W' W
    array([[5., 1.],
           [1., 1.]])
    """
    n = check_count("n_samples", n_samples)
    return decoder(prior.sample(n, make_rng(random_state)))


def latent_interpolation(
    start, end, n_steps=10, *, kind: Literal["linear", "spherical"] = "linear"
) -> np.ndarray:
    """Codes on the way from one code to another, eq. (2) or (3).

    Parameters
    ----------
    start, end : arrays of shape (k,)
    n_steps : int, default=10
        Codes, both ends included.
    kind : {"linear", "spherical"}, default="linear"

    Returns
    -------
    array of shape (n_steps, k)

    Examples
    --------
    >>> from pansophy.generative import latent_interpolation
    >>> latent_interpolation([0.0, 2.0], [2.0, 0.0], 3)
    array([[0., 2.],
           [1., 1.],
           [2., 0.]])
    >>> latent_interpolation([0.0, 2.0], [2.0, 0.0], 3, kind="spherical").round(3)
    array([[0.   , 2.   ],
           [1.414, 1.414],
           [2.   , 0.   ]])
    """
    n = check_count("n_steps", n_steps, 2)
    a, b = array_of_numbers(start, "start"), array_of_numbers(end, "end")
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(
            f"start and end must be codes of one length, got {a.shape} and {b.shape}."
        )
    if kind not in ("linear", "spherical"):
        raise ValueError(f'kind must be "linear" or "spherical", got {kind!r}.')
    t = np.linspace(0, 1, n)[:, None]
    lengths = np.linalg.norm(a) * np.linalg.norm(b)
    angle = np.arccos(np.clip(a @ b / lengths, -1, 1)) if lengths else 0.0
    if kind == "linear" or np.sin(angle) < 1e-6:  # codes in line have no arc
        return (1 - t) * a + t * b
    return (np.sin((1 - t) * angle) * a + np.sin(t * angle) * b) / np.sin(angle)
