"""Histogram density of several columns: bins of equal width, or of equal counts.

    product   p(x) = prod_j p_j(x_j),  a histogram of each column                (1)
    joint     p(x) = P_c / |c|  for x in cell c of the grid of all bins          (2)

(1) takes the columns as independent and needs few rows; (2) does not, but has b^d
cells, of which only those that hold rows are kept. Both integrate to 1. Where no row
was seen the density is 0 and its logarithm minus infinity.

Shapes    X (n, d)   edges b + 1 for each column   cells (c, d)
Refs      [Scott1979]
"""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base import Density, Estimator
from ..core.numerics import safe_log
from ..core.random import make_rng
from ..distributions import Histogram
from ..params import Count, Flag


def number_of_bins(bins, n) -> int:
    """The number of bins by a rule, or as given."""
    if bins == "sqrt":
        return math.ceil(math.sqrt(n))
    if bins == "sturges":
        return math.ceil(math.log2(n)) + 1
    if bins == "rice":
        return math.ceil(2 * n ** (1 / 3))
    return int(bins)


def bin_edges(x, b, strategy, w=None):
    """Edges of b bins of one column; fewer where quantiles coincide."""
    if x.min() == x.max():
        half = max(0.5, np.spacing(np.abs(x[0])))
        return np.array([x[0] - half, x[0] + half])
    if strategy == "uniform":  # fewer where no number lies between two edges
        return np.unique(np.linspace(x.min(), x.max(), b + 1))
    inner = np.linspace(0, 1, b + 1)[1:-1]
    cuts = np.quantile(x, inner, weights=w, method="inverted_cdf")
    return np.unique(np.concatenate([[x.min()], cuts, [x.max()]]))


@dataclass(eq=False, repr=False)
class HistogramDensity(Density, Estimator):
    """A density that is constant in each cell of a grid.

    Parameters
    ----------
    bins : int, "sqrt", "sturges" or "rice", default=10
        Bins of each column, or a rule by the number of rows.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, or of about equal counts.
    joint : bool, default=False
        False multiplies the histograms of the columns, eq. (1); True counts in the
        cells of the grid, eq. (2).

    Attributes
    ----------
    edges_ : list of arrays
        Edges of the bins of each column.
    histograms_ : list of Histogram
        One for each column.
    cells_ : array of shape (c, d)
        Bins of the cells that hold rows; for joint=True.
    mass_ : array of shape (c,)
        Their probabilities; for joint=True.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.neighbors import HistogramDensity
    >>> model = HistogramDensity(2).fit([[0.0], [0.2], [0.4], [2.0]])
    >>> np.exp(model.score_samples([[0.5], [1.5]]))
    array([0.75, 0.25])
    """

    bins: Count | Literal["sqrt", "sturges", "rice"] = 10
    _: KW_ONLY
    strategy: Literal["uniform", "quantile"] = "uniform"
    joint: Flag = False

    _tensors = False

    def fit(self, X, y=None, sample_weight=None):
        """Count rows in bins.

        Parameters
        ----------
        X : array of shape (n, d)
        y : None
            Not used.
        sample_weight : array of shape (n,), optional
            A weight of 3 counts as three copies of the row.

        Returns
        -------
        self : HistogramDensity
        """
        X, w = self._check_training_data(X, sample_weight=sample_weight)
        X = X.astype(np.float64)
        w = np.ones(len(X)) if w is None else w.astype(np.float64)
        X, w = X[w > 0], w[w > 0]
        b = number_of_bins(self.bins, w.sum())
        self.edges_ = [bin_edges(x, b, self.strategy, w) for x in X.T]
        pairs = zip(X.T, self.edges_, strict=True)
        self.histograms_ = [Histogram.fit(x, e, w) for x, e in pairs]
        if self.joint:
            at, _ = self._bins(X)
            self.cells_, which = np.unique(at, axis=0, return_inverse=True)
            self.mass_ = np.bincount(which.ravel(), w) / w.sum()
        return self

    def _bins(self, X):
        """The bin of every entry (n, d), and which rows are inside the grid."""
        binned = [h.bins(x) for h, x in zip(self.histograms_, X.T, strict=True)]
        at = np.column_stack([number for number, _ in binned])
        return at, np.all([inside for _, inside in binned], axis=0)

    def score_samples(self, X):
        """log p of each row: (m,), minus infinity where no row was seen."""
        X = self._check_new_data(X).astype(np.float64)
        if not self.joint:
            columns = zip(self.histograms_, X.T, strict=True)
            return np.sum([h.log_prob(x) for h, x in columns], axis=0)
        at, inside = self._bins(X)
        both = np.concatenate([self.cells_, at])
        _, which = np.unique(both, axis=0, return_inverse=True)
        which = which.ravel()
        mass = np.zeros(which.max() + 1)
        mass[which[: len(self.cells_)]] = self.mass_
        sizes = sum(
            np.log(h.widths)[p] for h, p in zip(self.histograms_, at.T, strict=True)
        )
        return safe_log(np.where(inside, mass[which[len(self.cells_) :]], 0.0)) - sizes

    def score(self, X, y=None):
        """The sum of log p over the rows."""
        return float(self.score_samples(X).sum())

    def sample(self, n_samples=1, random_state=None):
        """Draw rows from the density: (n_samples, d)."""
        check_is_fitted(self)
        rng = make_rng(random_state)
        if not self.joint:
            draws = [h.sample(n_samples, rng) for h in self.histograms_]
            return np.column_stack(draws)
        at = self.cells_[rng.choice(len(self.mass_), size=n_samples, p=self.mass_)]
        low = np.column_stack([e[p] for e, p in zip(self.edges_, at.T, strict=True)])
        size = np.column_stack(
            [np.diff(e)[p] for e, p in zip(self.edges_, at.T, strict=True)]
        )
        return low + size * rng.random(low.shape)
