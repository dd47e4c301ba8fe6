"""Information criteria: the log-likelihood of a model less the price of its parameters.

With l the log-likelihood of n rows at its maximum and p free parameters,

    AIC = 2 p - 2 l,        BIC = p log n - 2 l            (to be minimised)       (1)

Refs      [Akaike1974]; [Schwarz1978]
"""

import numpy as np


def aic(log_likelihood, n_parameters):
    """Akaike's information criterion, eq. (1); lower is better.

    Examples
    --------
    >>> from pansophy.core.information_criteria import aic
    >>> aic(-10.0, 3)
    26.0
    """
    return -2 * log_likelihood + 2 * n_parameters


def bic(log_likelihood, n_parameters, n):
    """Bayesian information criterion for n rows, eq. (1); lower is better.

    Examples
    --------
    >>> from pansophy.core.information_criteria import bic
    >>> round(float(bic(-10.0, 3, 100)), 4)
    33.8155
    """
    return -2 * log_likelihood + n_parameters * np.log(n)
