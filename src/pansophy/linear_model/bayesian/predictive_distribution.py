"""Predictive distributions: Normal, or Student's t where the noise is estimated.

y = mean + scale t,   t of `df` degrees of freedom; df = inf is Normal       (1)
"""

from typing import Any, NamedTuple

import numpy as np


class PredictiveDistribution(NamedTuple):
    """Eq. (1) for every row.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.linear_model.bayesian.predictive_distribution import (
    ...     PredictiveDistribution,
    ... )
    >>> predicted = PredictiveDistribution(np.array([1.0]), np.array([2.0]))
    >>> low, high = predicted.interval(0.95)
    >>> low.round(3), high.round(3)
    (array([-2.92]), array([4.92]))
    """

    mean: Any  # (n,)
    scale: Any  # (n,)
    df: float = np.inf

    def scipy_distribution(self):
        """The distribution as a frozen one of SciPy."""
        import scipy.stats

        if np.isinf(self.df):
            return scipy.stats.norm(self.mean, self.scale)
        return scipy.stats.t(self.df, self.mean, self.scale)

    @property
    def std(self):
        """Standard deviation; infinite up to two degrees of freedom."""
        if np.isinf(self.df):
            return self.scale
        grow = np.sqrt(self.df / (self.df - 2)) if self.df > 2 else np.inf
        return self.scale * grow

    def interval(self, level=0.95):
        """(low, high), the central interval of that probability."""
        return self.scipy_distribution().interval(level)

    def log_prob(self, y):
        """Log density of targets, per row."""
        return self.scipy_distribution().logpdf(y)

    def sample(self, n, rng):
        """n draws per row, (n, rows)."""
        size = (n, *np.shape(self.mean))
        return self.scipy_distribution().rvs(size, random_state=rng)


def plot_predictive_band(model, X, y=None, *, level=0.95, ax=None):
    """Mean and interval of a model of one column, with the rows if y is given."""
    import matplotlib.pyplot as plt

    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or X.shape[1] != 1:
        raise ValueError(f"a band is drawn for one column, got shape {X.shape}.")
    ax = plt.gca() if ax is None else ax
    line = np.linspace(X.min(), X.max(), 200)[:, None]
    if hasattr(model, "predict_dist"):
        predicted = model.predict_dist(line)
    else:  # a Gaussian process: Normal, and of no width where it interpolates
        mean, std = model.predict(line, return_std=True)
        predicted = PredictiveDistribution(mean, np.maximum(std, 1e-300))
    low, high = predicted.interval(level)
    ax.fill_between(line[:, 0], low, high, alpha=0.25, label=f"{level:.0%}")
    ax.plot(line[:, 0], predicted.mean, label="mean")
    if y is not None:
        ax.plot(X[:, 0], y, ".", color="black")
    ax.legend()
    return ax
