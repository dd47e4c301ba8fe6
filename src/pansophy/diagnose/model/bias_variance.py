"""Bias-variance decomposition of the error of a learner, by refitting it.

Clones fitted to B samples of training rows predict G_bi for row i; g_i is their mean,
f_i the truth if it is known, y_i the observed value. For squared loss

    mean (y - G)^2 = mean (y - f)^2 + mean (f - g)^2 + mean (g - G)^2 + cross        (1)
                     noise            bias             variance

where the cross term 2 mean (y - f)(f - g) is 0 but for the noise of the rows at hand;
every other product vanishes exactly, because g is the mean of the very G that are
averaged. Where f is not known y takes its place, the bias then contains the noise, and
the sum is exact.

For 0-1 loss of a classifier g_i is the label predicted most often, row i is biased if
g_i is wrong, and variance hurts unbiased rows and helps biased ones:

    P(G != y) = mean [g != y] + mean over unbiased rows P(G != g)
                              - mean over biased rows P(G = y),                    (2)

exact as well, for any number of classes.

Cost      B fits
Refs      [Geman1992] (1); [Domingos2000] (2)
"""

from typing import NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier

from ...core.random import make_rng
from ...params import check_count
from ..data.column_access import indexable_rows, n_rows, select_rows


class BiasVariance(NamedTuple):
    """The terms of eq. (1) or (2); `error` is their sum."""

    loss: str
    error: float
    bias: float  # squared for squared loss
    variance: float  # the part that hurts minus the part that helps
    noise: float
    cross: float
    helps: float  # the part of the variance that helps, eq. (2)
    repeats: int

    def __str__(self):
        words = f"{self.loss} error {self.error:.4g} = bias {self.bias:.4g}"
        words += f" + variance {self.variance:.4g}"
        if self.noise:
            words += f" + noise {self.noise:.4g}"
        if self.cross:
            words += f" + cross term {self.cross:.2g}"
        return f"{words} ({self.repeats} training samples)."


def squared_terms(G, y, f=None) -> BiasVariance:
    """Bias-variance terms of squared loss, eq. (1), for predictions G (B, m)."""
    G, y = np.asarray(G, float), np.asarray(y, float)
    truth = y if f is None else np.asarray(f, float)
    g = G.mean(0)
    noise = np.mean((y - truth) ** 2)
    cross = 2 * np.mean((y - truth) * (truth - g))
    bias, variance = np.mean((truth - g) ** 2), np.mean((g - G) ** 2)
    error = np.mean((y - G) ** 2)
    return BiasVariance(
        "squared",
        error=float(error),
        bias=float(bias),
        variance=float(variance),
        noise=float(noise),
        cross=float(cross),
        helps=0.0,
        repeats=len(G),
    )


def zero_one_terms(G, y) -> BiasVariance:
    """Bias-variance terms of 0-1 loss, eq. (2), for predicted labels G (B, m)."""
    G, y = np.asarray(G), np.asarray(y)
    labels = np.unique(np.concatenate([G.ravel(), y.ravel()]))
    votes = np.stack([(label == G).mean(0) for label in labels])
    g = labels[np.argmax(votes, axis=0)]
    biased = g != y
    right = np.mean(y == G, axis=0)
    hurts = float(np.mean(np.where(biased, 0.0, 1 - right)))
    helps = float(np.mean(np.where(biased, right, 0.0)))
    error = float(np.mean(y != G))
    bias = float(np.mean(biased))
    return BiasVariance("zero-one", error, bias, hurts - helps, 0.0, 0.0, helps, len(G))


def bias_variance(
    model,
    X,
    y,
    X_test,
    y_test=None,
    *,
    truth=None,
    simulate=None,
    loss=None,
    repeats=50,
    random_state=0,
) -> BiasVariance:
    """Estimate bias and variance of a learner by refitting it to many samples.

    Parameters
    ----------
    model : estimator
    X, y : training rows
        Samples are drawn from them with replacement.
    X_test, y_test : rows on which the predictions are evaluated
        `y_test` may be left out where the truth is given.
    truth : array of shape (m,), optional
        The target at X_test without noise.
    simulate : function of (n, rng) that gives X, y, optional
        Draws fresh training samples, of as many rows as X has, instead.
    loss : {"squared", "zero_one"}, optional
        None counts mistakes of a classifier and squares those of a regressor.
    repeats : int
        Training samples B.
    random_state : seed

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose import bias_variance
    >>> from pansophy.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(100, 1))
    >>> y = X[:, 0] ** 2 + 0.1 * rng.normal(size=100)
    >>> t = bias_variance(LinearRegression(), X[:80], y[:80], X[80:], y[80:])
    >>> t.bias > t.variance, abs(t.bias + t.variance - t.error) < 1e-12
    (True, True)
    """
    if y_test is None and truth is None:
        raise ValueError("y_test or truth must be given.")
    repeats = check_count("repeats", repeats, 2)
    kinds = {None: is_classifier(model), "zero_one": True, "squared": False}
    if loss not in kinds:
        raise ValueError(f"loss must be 'squared' or 'zero_one', got {loss!r}.")
    X = indexable_rows(X)
    y = np.asarray(y)
    rng = make_rng(random_state)
    G = np.stack(
        [
            _refitted_predictions(model, X, y, X_test, simulate, rng)
            for _ in range(repeats)
        ]
    )
    seen = truth if y_test is None else y_test
    return zero_one_terms(G, seen) if kinds[loss] else squared_terms(G, seen, truth)


def _refitted_predictions(model, X, y, X_test, simulate, rng):
    """Predictions of a clone fitted to one training sample."""
    n = n_rows(X)
    if simulate is not None:
        return clone(model).fit(*simulate(n, rng)).predict(X_test)
    rows = rng.integers(0, n, n)
    while is_classifier(model) and len(np.unique(y[rows])) < min(2, len(np.unique(y))):
        rows = rng.integers(0, n, n)  # a sample of one class teaches nothing
    return clone(model).fit(select_rows(X, rows), y[rows]).predict(X_test)


def bias_variance_path(
    model, parameter, values, *args, **options
) -> list[BiasVariance]:
    """`bias_variance` for each value of a parameter, on the same training samples.

    `args` and `options` are the arguments of `bias_variance` after the model.
    """
    seed = options.pop("random_state", 0)
    if not isinstance(seed, (int, np.integer)):
        seed = int(make_rng(seed).integers(2**31))
    candidates = (clone(model).set_params(**{parameter: v}) for v in values)
    return [bias_variance(m, *args, random_state=seed, **options) for m in candidates]
