"""Minimum description length: the model that makes the data shortest to write down.

A message that first names a model and then the data by it has, in bits,

    L = -log2 p(x; t^) + (k / 2) log2 n                                          (1)

for k parameters, each written to the precision that n rows can tell. The shorter the
better; 2^-L is, up to a factor, the probability of model and data together, so (1) is
BIC / 2 in other units, and code lengths L(h) are a prior over models,

    p(h) = 2^-L(h) / sum over h of 2^-L(h)                                       (2)

Refs      [Rissanen1978]; [Schwarz1978]
"""

import numpy as np


def description_length(log_likelihood, n_parameters, n, *, base=2.0):
    """Length of a two-part message: data and parameters, eq. (1).

    Parameters
    ----------
    log_likelihood : float or array
        Natural logarithm of the greatest likelihood of all rows.
    n_parameters : int or array
        Free parameters of the model.
    n : int
        Rows.
    base : float, default=2.0
        2 gives bits, e gives nats.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.distributions import description_length
    >>> heads = 90 * np.log(0.9) + 10 * np.log(0.1)  # of 100: a bent coin, one number
    >>> fair = 100 * np.log(0.5)  # no number to write
    >>> description_length([fair, heads], [0, 1], 100).round(1)
    array([100. ,  50.2])
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}.")
    if base <= 1:
        raise ValueError(f"base must be above 1, got {base}.")
    k = np.asarray(n_parameters)
    if np.any(k < 0):
        raise ValueError("n_parameters must not be negative.")
    nats = -np.asarray(log_likelihood, dtype=float) + 0.5 * k * np.log(n)
    length = nats / np.log(base)
    return float(length) if length.ndim == 0 else length


def mdl_prior(code_lengths, *, base=2.0) -> np.ndarray:
    """Prior probabilities of hypotheses from the lengths of their names, eq. (2).

    Examples
    --------
    >>> from pansophy.distributions import mdl_prior
    >>> mdl_prior([1, 2, 2])
    array([0.5 , 0.25, 0.25])
    """
    length = np.asarray(code_lengths, dtype=float)
    if length.ndim != 1 or not len(length) or not np.isfinite(length).all():
        raise ValueError("code_lengths must be finite numbers, one a hypothesis.")
    p = float(base) ** -(length - length.min())
    return p / p.sum()
