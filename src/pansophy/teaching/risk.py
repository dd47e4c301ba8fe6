"""True risk of a model under a simulator, and the optimism of its training error.

A simulator gives independent rows (x, y) of P. The risk of a fixed model h is

    R(h) = E loss(y, h(x)),   estimated by a mean over many rows, error s / sqrt(N). (1)

The error that h makes on n rows it has not seen has mean R(h) and, for mistakes of
probability p, variance

    p (1 - p) / n;                                                               (2)

on the rows it was fitted to the error is lower. The optimism of a learner at n rows is
the mean over samples S of

    R(h_S) - mean over S of loss(y, h_S(x)),                                     (3)

which grows with the freedom of the model. On a second sample of n rows the same
difference has mean 0.

Refs      [Efron1986] (3); [Mitchell1997] (2)
"""

from typing import NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier

from ..core.random import make_rng
from ..diagnose.intervals import Interval, mean_interval

LOSSES = {
    "zero_one": lambda y, p: (y != p).astype(float),
    "squared": lambda y, p: np.square(y - p),
    "absolute": lambda y, p: np.abs(y - p),
}


class SimulatedRisk(NamedTuple):
    """A mean loss over simulated rows, and its standard error."""

    risk: float
    error: float
    n: int

    def __str__(self):
        return f"risk {self.risk:.4g}, standard error {self.error:.2g} ({self.n} rows)"


class SampleError(NamedTuple):
    """Mean and variance of the error on n rows, and the variance by eq. (2)."""

    mean: float
    variance: float
    expected_variance: float


class Optimism(NamedTuple):
    """Mean errors over samples: on training rows, on held-out rows, and true."""

    train: float
    test: float
    true: float
    optimism: Interval  # true - train
    test_bias: Interval  # test - true, about 0
    n: int

    def __str__(self):
        return (
            f"Fitted to {self.n} rows, the error is {self.train:.4g} on them and "
            f"{self.true:.4g} in truth: training flatters by {self.optimism}. On rows "
            f"held out the error is off by {self.test_bias}."
        )


def _row_loss(loss, model):
    """The loss as a function of (y, prediction); None follows the kind of model."""
    if loss is None:
        loss = "zero_one" if is_classifier(model) else "squared"
    if callable(loss):
        return loss
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}.")
    return LOSSES[loss]


def true_risk(
    model, simulate, *, loss=None, n=100_000, random_state=None
) -> SimulatedRisk:
    """Risk of a fitted model under a simulator, eq. (1).

    Parameters
    ----------
    model : fitted estimator
    simulate : function of (n, rng) that gives X, y
    loss : {"zero_one", "squared", "absolute"}, function or None
        None counts mistakes of a classifier and squares those of a regressor.
    n : int
        Rows drawn.
    random_state : seed

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.teaching import true_risk
    >>> from pansophy.linear_model import LinearRegression
    >>> def simulate(n, rng):
    ...     X = rng.normal(size=(n, 1))
    ...     return X, X[:, 0] + rng.normal(size=n)
    >>> model = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    >>> print(f"{true_risk(model, simulate, random_state=0).risk:.2f}")
    1.00
    """
    X, y = simulate(n, make_rng(random_state))
    values = _row_loss(loss, model)(np.asarray(y), model.predict(X))
    return SimulatedRisk(
        float(values.mean()), float(values.std(ddof=1) / np.sqrt(n)), int(n)
    )


def sample_error(
    model, simulate, n, *, loss=None, repeats=200, n_true=100_000, random_state=None
) -> SampleError:
    """Variation of the error of one fitted model on n fresh rows, eq. (2).

    For losses other than 0 and 1 the expected variance is that of a row over n.
    """
    rng = make_rng(random_state)
    value = _row_loss(loss, model)
    results = []
    for _ in range(repeats):
        X, y = simulate(n, rng)
        results.append(float(np.mean(value(np.asarray(y), model.predict(X)))))
    X, y = simulate(n_true, rng)
    rows = value(np.asarray(y), model.predict(X))
    return SampleError(
        float(np.mean(results)), float(np.var(results, ddof=1)), float(rows.var() / n)
    )


def optimism(
    model, simulate, n, *, loss=None, repeats=50, n_true=5000, random_state=None
) -> Optimism:
    """Optimism of the training error of a learner at n rows, eq. (3).

    Parameters
    ----------
    model : estimator
    simulate : function of (n, rng) that gives X, y
    n : int
        Rows to learn from.
    loss : as in `true_risk`
    repeats : int
        Samples drawn.
    n_true : int
        Rows for the true risk of each fit.
    random_state : seed

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.teaching import optimism
    >>> from pansophy.linear_model import LinearRegression
    >>> def simulate(n, rng):
    ...     X = rng.normal(size=(n, 5))
    ...     return X, X[:, 0] + rng.normal(size=n)
    >>> o = optimism(LinearRegression(), simulate, 30, random_state=0)
    >>> o.train < 1 < o.true, o.optimism.low > 0, o.test_bias.low < 0
    (True, True, True)
    """
    rng = make_rng(random_state)
    value = _row_loss(loss, model)
    rows = np.empty((repeats, 3))
    for r in range(repeats):
        X, y = simulate(n, rng)
        h = clone(model).fit(X, y)
        fresh = [simulate(m, rng) for m in (n, n_true)]
        for k, (A, b) in enumerate([(X, y), *fresh]):
            rows[r, k] = np.mean(value(np.asarray(b), h.predict(A)))
    train, test, true = rows.T
    return Optimism(
        float(train.mean()),
        float(test.mean()),
        float(true.mean()),
        mean_interval(true - train),
        mean_interval(test - true),
        int(n),
    )
