"""Different weights, the same function: the symmetries of a net and a canonical form.

The units of a hidden layer can be renumbered, and for an odd activation, g(-z) = -g(z),
the signs of the weights into and out of a unit flipped, without changing the outputs.
A layer of m tanh units has m! 2^m such variants, one of relu or logistic units m!.

`canonicalize` picks one of them: signs such that the first weight of (bias, weights in)
that is not 0 is positive, then units in ascending order of (bias, weights in). Layers
are treated from the first on, since the weights into a layer follow the order of the
layer before. Two nets that differ by symmetries alone have the same canonical form.

Refs      [Sussmann1992]
"""

from math import factorial, prod

import numpy as np

ODD_ACTIVATIONS = ("tanh", "identity")


def canonicalize(coefs, intercepts, activation="tanh") -> tuple[list, list]:
    """The canonical form of a multi-layer perceptron.

    Parameters
    ----------
    coefs, intercepts : lists of arrays
        W_l (m_{l-1}, m_l) and b_l (m_l,), as `MLPClassifier.coefs_`.
    activation : str

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import teaching
    >>> coefs = [np.array([[1.0, -3.0]]), np.array([[2.0], [5.0]])]
    >>> intercepts = [np.array([0.5, -0.1]), np.zeros(1)]
    >>> teaching.canonicalize(coefs, intercepts)[0]
    [array([[3., 1.]]), array([[-5.],
           [ 2.]])]
    """
    coefs = [np.array(W, float) for W in coefs]
    intercepts = [np.array(b, float) for b in intercepts]
    for i in range(len(coefs) - 1):
        table = np.vstack([intercepts[i], coefs[i]])  # a column per unit
        if activation in ODD_ACTIVATIONS:
            first = (table != 0).argmax(0)
            sign = np.where(table[first, np.arange(table.shape[1])] < 0, -1.0, 1.0)
            table = table * sign
            coefs[i + 1] = coefs[i + 1] * sign[:, None]
        order = np.lexsort(table[::-1])
        intercepts[i], coefs[i] = table[0, order], table[1:, order]
        coefs[i + 1] = coefs[i + 1][order]
    # -0.0 and 0.0 are one number: a flipped zero must not look different
    return [W + 0.0 for W in coefs], [b + 0.0 for b in intercepts]


def count_equivalent_weights(hidden_sizes, activation="tanh") -> int:
    """Number of settings of the weights that give the same function.

    Examples
    --------
    >>> from pansophy import teaching
    >>> [teaching.count_equivalent_weights([3], g) for g in ("tanh", "relu")]
    [48, 6]
    """
    signs = 2 if activation in ODD_ACTIVATIONS else 1
    return prod(factorial(m) * signs**m for m in hidden_sizes)
