"""Kernel density estimation: the mean of a kernel around every row.

    p(x) = sum_i w_i K(|x - x_i| / h) / (h^d sum_i w_i)                          (1)

with a kernel K of unit mass and a bandwidth h. The sum is taken over a k-d tree: the
rows of a node lie between the nearest and the farthest point of its box, so their part
of (1) lies between two numbers; where these are closer than the tolerance allows, the
node counts as a whole,

    |p' - p| <= atol + rtol p                                                    (2)

With atol = rtol = 0 only nodes below rounding are treated so. Far from all rows (1)
underflows: the two kernels of unbounded support are taken relative to the nearest row,
so that log p is accurate at any distance. Where p is far below atol, (2) would allow
anything from 0 to atol; log p still errs by at most .01.

Metrics without a tree are summed over all rows, a tile of distances at a time. The norm
is the one of euclidean space, as in scikit-learn: for other metrics the mass is not 1.

To draw from (1), draw a row, then a length r with density r^(d-1) K(r), which is the
same for every norm, and a direction: a point of the unit sphere of the metric, for
minkowski z / |z|_p with z_j of density exp(-|z_j|^p) [Schechtman1990].

Rules for h, for columns of about unit variance:

    scott n^(-1 / (d + 4))      silverman (n (d + 2) / 4)^(-1 / (d + 4))         (3)

Cost      O(d n log n) to fit; a query O(rows within reach), less with a tolerance
Shapes    X (n, d)   queries (m, d)
Refs      [Rosenblatt1956]; [Parzen1962]; [Gray2003]; [Silverman1986]; [Schechtman1990]
"""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from scipy.special import gammaln, logsumexp
from sklearn.utils.validation import check_is_fitted

from ..base import Density, Estimator
from ..core.loops import threads
from ..core.quadrature import panel_quadrature
from ..core.random import make_rng
from ..distances import neighbor_search
from ..distances.neighbor_search import NeighborIndex
from ..distances.pairwise_metrics import block_slices
from ..params import Count, Flag, NonNegative, ParameterError, Positive
from ..persist.saved_state import FloatArray, Part, saved_state
from . import _kernel_density as loops
from .neighbor_queries import metric_function, resolve_metric

KERNEL_SHAPES = (
    "gaussian",
    "tophat",
    "epanechnikov",
    "exponential",
    "linear",
    "cosine",
)
TREE_METRICS = {"euclidean", "l2", "manhattan", "cityblock", "l1", "chebyshev"}
TREE_METRICS |= {"minkowski"}
SMALLEST = 1e-150  # of a bandwidth: its square must not underflow
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
    r, v = panel_quadrature([0.0, 1.0], max(32, d))
    return float(np.sum(v * r ** (d - 1) * np.cos(0.5 * math.pi * r)))


def bandwidth_by_rule(bandwidth, n, d) -> float:
    """Eq. (3), or the number itself."""
    if bandwidth == "scott":
        return n ** (-1 / (d + 4))
    if bandwidth == "silverman":
        return (n * (d + 2) / 4) ** (-1 / (d + 4))
    return float(bandwidth)


def kernel_log_density(index, w, Q, h, shape, atol=0.0, rtol=0.0):
    """Log of eq. (1) at the rows of Q; w (n,) are weights, or None."""
    d = Q.shape[1]
    w = np.ones(index.n) if w is None else np.asarray(w, np.float64)
    norm = log_kernel_mass(shape, d) + d * math.log(h)
    if index.tree is None:
        return log_density_by_tiles(index, w, Q, h, shape) - norm
    return log_density_by_tree(index, w, Q, h, shape, norm, (atol, rtol))


def log_density_by_tree(index, w, Q, h, shape, norm, tolerances):
    """Log of eq. (1) by the tree, within the tolerances of eq. (2)."""
    tree = index.tree
    m = len(Q)
    least = np.zeros(m)
    shift = np.zeros(m)
    if shape in ("gaussian", "exponential"):
        u, nearest = neighbor_search.k_nearest(index, Q, 1)
        u = u[:, 0].astype(np.float64) / h
        with np.errstate(over="ignore"):
            shift = 0.5 * u * u if shape == "gaussian" else u
        least = w[nearest[:, 0]]  # the nearest row's part: its kernel is 1
    beyond = np.isinf(shift)  # so far that even log p is -inf
    shift = np.where(beyond, 0.0, shift)
    w = w[tree.order]
    W = np.concatenate([[0.0], np.cumsum(w)])
    norm += math.log(W[-1])
    QT = np.ascontiguousarray(Q.T)
    atol, rtol = tolerances
    log_atol = math.log(atol) + norm if atol > 0 else -math.inf

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
            log_atol,
            max(rtol, ROUNDING),
        )

    parts = threads.run_tasks((lambda c=c: part(c)) for c in block_slices(m, 256))
    sums = np.maximum(np.concatenate(list(parts)), least)
    with np.errstate(divide="ignore"):
        log_p = np.log(sums) - shift - norm
    return np.where(beyond, -np.inf, log_p)


def log_kernel_values(D, h, shape):
    """log K(D / h), without its norm; -inf outside its support."""
    with np.errstate(over="ignore", divide="ignore"):
        u = D / h
        if shape == "gaussian":
            return -0.5 * u * u
        if shape == "exponential":
            return -u
        inside = np.minimum(u, 1)
        values = {
            "tophat": lambda: np.ones_like(u),
            "epanechnikov": lambda: 1 - inside * inside,
            "linear": lambda: 1 - inside,
            "cosine": lambda: np.cos(0.5 * math.pi * inside),
        }[shape]()
        return np.log(np.where(u < 1, values, 0.0))


def log_density_by_tiles(index, w, Q, h, shape):
    """log of sum_i w_i K / sum_i w_i, for a metric without a tree."""
    with np.errstate(divide="ignore"):
        log_w = np.log(w) - math.log(w.sum())
    parts = [np.empty(0)]
    for cut in block_slices(len(Q), max(1, (1 << 22) // index.n)):
        D = neighbor_search.metric_tile(index, Q[cut], index.X)
        parts.append(logsumexp(log_kernel_values(D, h, shape) + log_w, axis=1))
    return np.concatenate(parts)


def draw_directions(n, d, metric, p, rng):
    """n points of the unit sphere of a minkowski metric, as many in every cone."""
    p = {"manhattan": 1.0, "cityblock": 1.0, "l1": 1.0, "chebyshev": math.inf}.get(
        metric, p if metric == "minkowski" else 2.0
    )
    if p == 2:
        Z = rng.normal(size=(n, d))
    elif p == math.inf:
        Z = rng.uniform(-1, 1, size=(n, d))
    else:
        Z = rng.gamma(1 / p, size=(n, d)) ** (1 / p) * rng.choice([-1, 1], size=(n, d))
    return Z / np.linalg.norm(Z, ord=p, axis=1)[:, None]


def draw_kernel_lengths(shape, n, d, rng):
    """n draws from the density r^(d-1) K(r): (n,)."""
    if shape == "cosine":
        r = np.empty(0)
        while len(r) < n:
            more = rng.random(2 * n + 8) ** (1 / d)
            keep = rng.random(len(more)) < np.cos(0.5 * math.pi * more)
            r = np.append(r, more[keep])
        return r[:n]
    return {
        "gaussian": lambda: np.sqrt(rng.chisquare(d, n)),
        "tophat": lambda: rng.random(n) ** (1 / d),
        "epanechnikov": lambda: np.sqrt(rng.beta(d / 2, 2, n)),
        "exponential": lambda: rng.gamma(d, size=n),
        "linear": lambda: rng.beta(d, 2, n),
    }[shape]()


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
        All mean the k-d tree where it knows the metric; the answer is the same.
    kernel : {"gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"}
        K.
    metric : str, default="euclidean"
        How far rows are from one another: a metric of `NearestNeighbors`. euclidean,
        manhattan, chebyshev and minkowski have a tree, others ("haversine", ...) are
        summed over all rows. The density has mass 1 for euclidean only.
    atol, rtol : float, default=0
        What the density may be wrong by, eq. (2).
    breadth_first : bool, default=True
        How scikit-learn walks its tree. Ours always takes the nearer node first; the
        density is within the tolerance either way.
    leaf_size : int, default=40
        Most rows of a leaf.
    metric_params : dict or None, default=None
        `p` for minkowski; the parameters of other metrics.

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
    metric: str = "euclidean"
    atol: NonNegative = 0
    rtol: NonNegative = 0
    breadth_first: Flag = True
    leaf_size: Count = 40
    metric_params: dict | None = None

    _tensors = False

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
        n = len(X) if w is None else float(w.sum())
        self.bandwidth_ = bandwidth_by_rule(self.bandwidth, n, X.shape[1])
        if not SMALLEST <= self.bandwidth_ <= 1 / SMALLEST:
            raise ParameterError(
                f"bandwidth of KernelDensity must lie between {SMALLEST} and "
                f"{1 / SMALLEST}, got {self.bandwidth_}: scale the columns."
            )
        if w is not None:
            X, w = X[w > 0], w[w > 0]
        X = X.astype(np.float64, copy=False)
        self.tree_ = self._build_tree(X)
        self._weights = w
        return self

    def _build_tree(self, X):
        """The index of the rows: a tree if the metric has one."""
        metric, extra = resolve_metric(self)
        p = float(extra.pop("p", 2))
        if metric in TREE_METRICS:
            if extra:
                raise ParameterError(
                    "metric_params of KernelDensity may give p for minkowski, got "
                    f"{self.metric_params!r}."
                )
            return neighbor_search.build_index(
                X, metric=metric, p=p, method="kd_tree", leaf_size=self.leaf_size
            )
        if self.algorithm == "kd_tree" or metric == "precomputed":
            raise ParameterError(
                f"invalid metric for algorithm {self.algorithm!r} of KernelDensity: "
                f"{metric!r}."
            )
        return neighbor_search.build_index(X, metric=metric_function(metric, extra))

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
        check_is_fitted(self)
        X = self.tree_.X
        if self.tree_.tree is None:
            raise ValueError(
                f"no rows can be drawn for the metric {self.metric!r} of KernelDensity."
            )
        rng = make_rng(random_state)
        w = np.ones(len(X)) if self._weights is None else self._weights
        ends = np.cumsum(w)
        # one uniform number for each draw: weights k then draw as k copies do
        at = np.searchsorted(ends, rng.random(n_samples) * ends[-1], side="right")
        d = X.shape[1]
        directions = draw_directions(n_samples, d, self.metric, self.tree_.p, rng)
        r = self.bandwidth_ * draw_kernel_lengths(self.kernel, n_samples, d, rng)
        return X[np.minimum(at, len(X) - 1)] + r[:, None] * directions
