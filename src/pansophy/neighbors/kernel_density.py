"""Kernel density estimation: the mean of a kernel around every row.

    p(x) = sum_i w_i K(|x - x_i| / h) / (h^d sum_i w_i)                          (1)

with a kernel K of unit mass and a bandwidth h. The sum is taken over a k-d tree: the
rows of a node lie between the nearest and the farthest point of its box, so their part
of (1) lies between two numbers; where these are closer than the tolerance allows, the
node counts as a whole,

    |p' - p| <= atol + rtol p                                                    (2)

With atol = rtol = 0 only nodes below rounding are treated so. Far from all rows (1)
underflows: the two kernels of unbounded support are taken relative to the nearest row,
so that log p is accurate at any distance.

Rules for h, for columns of about unit variance:

    scott n^(-1 / (d + 4))      silverman (n (d + 2) / 4)^(-1 / (d + 4))         (3)

Cost      O(d n log n) to fit; a query O(rows within reach), less with a tolerance
Shapes    X (n, d)   queries (m, d)
Refs      [Rosenblatt1956]; [Parzen1962]; [Gray2003]; [Silverman1986]
"""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from scipy.special import gammaln

from ..base import Density, Estimator
from ..core import threads
from ..core.random import make_rng
from ..distances import neighbor_search
from ..distances.neighbor_search import NeighborIndex
from ..distances.pairwise_metrics import block_slices
from ..params import Count, Flag, NonNegative, ParameterError, Positive
from ..persist.saved_state import FloatArray, Part, saved_state
from . import _kernel_density as loops

KERNEL_SHAPES = (
    "gaussian",
    "tophat",
    "epanechnikov",
    "exponential",
    "linear",
    "cosine",
)
ROUNDING = 1e-15  # a node within this share of the sum is not looked into


def log_unit_ball_volume(d):
    """Log of the volume of the unit ball."""
    return 0.5 * d * math.log(math.pi) - gammaln(0.5 * d + 1)


def log_kernel_mass(shape, d):
    """Log of the mass of each kernel in d dimensions at h = 1."""
    ball = log_unit_ball_volume(d)
    if shape == "gaussian":
        return 0.5 * d * math.log(2 * math.pi)
    if shape == "tophat":
        return ball
    if shape == "epanechnikov":
        return ball + math.log(2 / (d + 2))
    if shape == "exponential":
        return ball + math.log(d) + gammaln(d)
    if shape == "linear":
        return ball - math.log(d + 1)
    return ball + math.log(d * cosine_moment(d))


def cosine_moment(d):
    """int_0^1 r^(d-1) cos(pi r / 2) dr, by Gauss's rule: exact to rounding."""
    r, v = np.polynomial.legendre.leggauss(max(32, d))
    r = (r + 1) / 2
    return float(np.sum(v / 2 * r ** (d - 1) * np.cos(0.5 * math.pi * r)))


def bandwidth_by_rule(bandwidth, n, d) -> float:
    """Eq. (3), or the number itself."""
    if bandwidth == "scott":
        return n ** (-1 / (d + 4))
    if bandwidth == "silverman":
        return (n * (d + 2) / 4) ** (-1 / (d + 4))
    return float(bandwidth)


def kernel_log_density(index, w, Q, h, shape, atol=0.0, rtol=0.0):
    """Log of eq. (1) at the rows of Q; w (n,) are weights, or None."""
    tree = index.tree
    (m, d) = Q.shape
    w = np.ones(index.n) if w is None else np.asarray(w, np.float64)
    w = w[tree.order]
    W = np.concatenate([[0.0], np.cumsum(w)])
    norm = log_kernel_mass(shape, d) + d * math.log(h) + math.log(W[-1])
    shift = np.zeros(m)
    if shape in ("gaussian", "exponential"):
        u = neighbor_search.k_nearest(index, Q, 1)[0][:, 0].astype(np.float64) / h
        shift = 0.5 * u * u if shape == "gaussian" else u
    QT = np.ascontiguousarray(Q.T)
    tolerances = (atol * math.exp(min(norm, 700.0)), max(rtol, ROUNDING))

    def part(cut):
        return loops.kernel_sums(
            (index.kind, index.p),
            (tree.XT, tree.lo, tree.hi, tree.levels),
            w,
            W,
            QT,
            cut.start,
            cut.stop,
            h,
            KERNEL_SHAPES.index(shape),
            shift,
            *tolerances,
        )

    parts = threads.run_tasks((lambda c=c: part(c)) for c in block_slices(m, 256))
    with np.errstate(divide="ignore"):
        return np.log(np.concatenate(list(parts))) - shift - norm


def draw_kernel_offsets(shape, n, d, rng):
    """n draws from the kernel at h = 1: (n, d)."""
    Z = rng.normal(size=(n, d))
    if shape == "gaussian":
        return Z
    if shape == "cosine":
        r = np.empty(0)
        while len(r) < n:
            more = rng.random(2 * n + 8) ** (1 / d)
            keep = rng.random(len(more)) < np.cos(0.5 * math.pi * more)
            r = np.append(r, more[keep])
        r = r[:n]
    else:
        r = {
            "tophat": lambda: rng.random(n) ** (1 / d),
            "epanechnikov": lambda: np.sqrt(rng.beta(d / 2, 2, n)),
            "exponential": lambda: rng.gamma(d, size=n),
            "linear": lambda: rng.beta(d, 2, n),
        }[shape]()
    return Z * (r / np.linalg.norm(Z, axis=1))[:, None]


def density_fits_columns(model) -> bool:
    """Whether a loaded model has rows of its columns, and a weight for each."""
    if not hasattr(model, "tree_"):
        return True
    rows, columns = model.tree_.X.shape
    weights = getattr(model, "_weights", None)
    return columns == model.n_features_in_ and (weights is None or len(weights) == rows)


@saved_state(
    tree_=Part(NeighborIndex),
    _weights=FloatArray(None, optional=True),
    check=density_fits_columns,
)
@dataclass(eq=False, repr=False)
class KernelDensity(Density, Estimator):
    """A density that is the mean of kernels around the rows, eq. (1).

    Parameters
    ----------
    bandwidth : float, "scott" or "silverman", default=1.0
        h, or a rule for it.
    algorithm : {"auto", "kd_tree", "ball_tree"}, default="auto"
        All mean the k-d tree; the answer is the same.
    kernel : {"gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"}
        K.
    metric : {"euclidean", "l2", "manhattan", "cityblock", "l1", "chebyshev", \
            "minkowski"}, default="euclidean"
        How far rows are from one another. The density has mass 1 for euclidean only.
    atol, rtol : float, default=0
        What the density may be wrong by, eq. (2).
    breadth_first : bool, default=True
        How scikit-learn walks its tree. Ours always takes the nearer node first; the
        density is within the tolerance either way.
    leaf_size : int, default=40
        Most rows of a leaf.
    metric_params : dict or None, default=None
        `p` for minkowski.

    Attributes
    ----------
    bandwidth_ : float
        h.
    tree_ : Index
        The rows in a k-d tree.
    n_features_in_ : int

    Examples
    --------
    >>> from pansophy.neighbors import KernelDensity
    >>> model = KernelDensity(bandwidth=0.5).fit([[0.0], [1.0]])
    >>> model.score_samples([[0.0], [9.0]]).round(4)
    array([  -0.792 , -128.9189])
    """

    _: KW_ONLY
    bandwidth: Positive | Literal["scott", "silverman"] = 1.0
    algorithm: Literal["auto", "kd_tree", "ball_tree"] = "auto"
    kernel: Literal[
        "gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"
    ] = "gaussian"
    metric: Literal[
        "euclidean", "l2", "manhattan", "cityblock", "l1", "chebyshev", "minkowski"
    ] = "euclidean"
    atol: NonNegative = 0
    rtol: NonNegative = 0
    breadth_first: Flag = True
    leaf_size: Count = 40
    metric_params: dict | None = None

    def fit(self, X, y=None, sample_weight=None):
        """Build the tree of the rows.

        Parameters
        ----------
        X : array of shape (n, d)
        y : None
            Not used.
        sample_weight : array of shape (n,), optional
            A weight of 3 counts as three copies of the row.

        Returns
        -------
        self : KernelDensity
        """
        X, w = self._check_training_data(X, sample_weight=sample_weight, order="C")
        extra = dict(self.metric_params or {})
        p = float(extra.pop("p", 2))
        if extra or (self.metric_params and self.metric != "minkowski"):
            raise ParameterError(
                "metric_params of KernelDensity may give p for minkowski, got "
                f"{self.metric_params!r}."
            )
        n = len(X) if w is None else float(w.sum())
        self.bandwidth_ = bandwidth_by_rule(self.bandwidth, n, X.shape[1])
        if w is not None:
            X, w = X[w > 0], w[w > 0]
        X = X.astype(np.float64, copy=False)
        self.tree_ = neighbor_search.build_index(
            X, metric=self.metric, p=p, method="kd_tree", leaf_size=self.leaf_size
        )
        self._weights = w
        return self

    def score_samples(self, X):
        """log p of each row, eq. (1): (m,)."""
        X = self._check_new_data(X, order="C").astype(np.float64, copy=False)
        return kernel_log_density(
            self.tree_,
            self._weights,
            X,
            self.bandwidth_,
            self.kernel,
            atol=self.atol,
            rtol=self.rtol,
        )

    def score(self, X, y=None):
        """The sum of log p over the rows."""
        return float(self.score_samples(X).sum())

    def sample(self, n_samples=1, random_state=None):
        """Draw rows from the density, for any of the kernels: (n_samples, d)."""
        X = self._fitted_rows()
        rng = make_rng(random_state)
        w = self._weights
        share = None if w is None else np.asarray(w, float) / float(np.sum(w))
        rows = rng.choice(len(X), size=n_samples, p=share)
        return X[rows] + self.bandwidth_ * draw_kernel_offsets(
            self.kernel, n_samples, X.shape[1], rng
        )

    def _fitted_rows(self):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        if self.metric not in ("euclidean", "l2"):
            raise ValueError("rows can be drawn for the euclidean metric only.")
        return self.tree_.X
