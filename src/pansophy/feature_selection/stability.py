"""Stability selection: columns that a lasso chooses in most random halves of the rows.

A lasso (for classes, one for the indicator of each class) is fitted along a path of
penalties to many random halves of the rows, in complementary pairs. With P_j(a) the
share of the halves in which column j has a coefficient at penalty a,

    S = {j : max_a P_j(a) >= t}                                                  (1)

If q is the mean number of columns chosen anywhere on the path, the expected number of
wrong ones is at most

    E V <= q^2 / ((2 t - 1) d)                                                   (2)

for t > 1/2, which is reported. Columns are scaled to variance 1 first, so that the
penalty treats them alike.

Shapes    X (n, d)   P (m, d)   a (m,)
Refs      [Meinshausen2010]; [Shah2013] complementary pairs
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.loops import threads
from ..core.random import make_rng, spawn_rngs
from ..params import Count, Jobs, OpenFraction, ParameterError
from ..typing import Seed
from .selector import AbstractSelector, is_continuous_target


def _standardised_columns(X):
    """X with means 0 and variances 1; constant columns become 0."""
    size = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(size > 0, size, np.inf)


def _lasso_selected(Z, T, alphas):
    """Whether the lasso of any target uses each column at each penalty, (m, d)."""
    from ..linear_model import lasso_path

    Z = np.asfortranarray(_standardised_columns(Z))
    is_used = 0
    for t in T.T:
        # the support converges long before the digits of the coefficients
        is_used |= lasso_path(Z, t - t.mean(), alphas=alphas, tol=1e-3)[1].T != 0
    return is_used


def _lasso_targets(y, numbers):
    """Targets of the lassos: y itself, or indicators of its classes (one of two)."""
    if numbers:
        return y.astype(float)[:, None]
    classes = np.unique(y)
    return (y[:, None] == classes[1 if len(classes) == 2 else 0 :]).astype(float)


def _smallest_empty_penalty(X, T):
    """The smallest penalty at which the lasso on all rows chooses no column."""
    return float(
        np.abs(_standardised_columns(X).T @ (T - T.mean(axis=0))).max() / len(X)
    )


def _complementary_halves(n, pairs, rng):
    """Complementary halves of n rows."""
    for child in spawn_rngs(rng, pairs):
        order = child.permutation(n)
        yield order[: n // 2]
        yield order[n // 2 : 2 * (n // 2)]


@dataclass(eq=False, repr=False)
class StabilitySelection(AbstractSelector):
    """Columns that an L1 model chooses in most random halves of the rows.

    Parameters
    ----------
    threshold : float, default=0.6
        t of eq. (1).
    n_pairs : int, default=50
        Pairs of halves.
    n_alphas : int, default=10
        Penalties on the path.
    eps : float, default=0.1
        Smallest penalty as a share of the largest that chooses any column. Smaller
        values choose more columns on each half.
    random_state : int, RandomState, Generator or None
        For the halves.
    n_jobs : int or None
        Threads to use at most; None and -1 for all cores.

    Attributes
    ----------
    support_ : array of shape (d,)
    stability_ : array of shape (n_alphas, d)
        P of eq. (1).
    alphas_ : array of shape (n_alphas,)
    scores_ : array of shape (d,)
        The largest P of each column.
    false_bound_ : float
        Eq. (2); infinite for a threshold of at most 1/2.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.feature_selection import StabilitySelection
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(120, 20))
    >>> y = 2 * X[:, 3] - X[:, 8] + rng.normal(size=120)
    >>> model = StabilitySelection(random_state=0, eps=0.3, threshold=0.8).fit(X, y)
    >>> model.get_support(indices=True)
    array([3, 8])
    """

    threshold: OpenFraction = 0.6
    _: KW_ONLY
    n_pairs: Count = 50
    n_alphas: Count = 10
    eps: OpenFraction = 0.1
    random_state: Seed = None
    n_jobs: Jobs = None

    def fit(self, X, y):
        """Fit to random halves of the rows."""
        numbers = is_continuous_target(y)
        X, y, _ = self._check_training_data(
            X,
            y,
            y_kind="number" if numbers else "class",
            ensure_min_samples=4,
            order="C",
        )
        refuse_overflowing_squares(self, X)
        if numbers:
            refuse_overflowing_squares(self, y, "y")
        if not numbers and len(np.unique(y)) < 2:
            raise ParameterError(
                "StabilitySelection needs at least 2 classes in y, got 1 class."
            )
        T = _lasso_targets(y, numbers)
        top = max(_smallest_empty_penalty(X, T), 1e-12)
        self.alphas_ = np.geomspace(1.0, self.eps, self.n_alphas) * top
        rng = make_rng(self.random_state)
        with threads.limit_threads(self.n_jobs):
            tasks = (
                (lambda at=half: _lasso_selected(X[at], T[at], self.alphas_))
                for half in _complementary_halves(len(X), self.n_pairs, rng)
            )
            results = list(threads.run_tasks(tasks, blas=True))
        self.stability_ = np.mean(results, axis=0)
        self.scores_ = self.stability_.max(axis=0)
        self.support_ = self.scores_ >= self.threshold
        q = float(np.mean([f.any(axis=0).sum() for f in results]))
        slack = (2 * self.threshold - 1) * X.shape[1]
        self.false_bound_ = q * q / slack if slack > 0 else np.inf
        return self

    def plot(self, *, ax=None):
        """The share of halves that chose each column, along the path."""
        import matplotlib.pyplot as plt

        ax = plt.gca() if ax is None else ax
        for j, line in enumerate(self.stability_.T):
            kept = self.support_[j]
            ax.plot(
                self.alphas_,
                line,
                color="C3" if kept else "0.7",
                zorder=2 if kept else 1,
            )
        ax.axhline(self.threshold, linestyle="--", color="black")
        ax.set(xscale="log", xlabel="penalty", ylabel="share of halves")
        ax.invert_xaxis()
        return ax
