"""Gaussian mixture: rows drawn from k Normals with unknown membership, fitted by EM.

    p(x) = sum_j w_j N(x; m_j, S_j),   sum_j w_j = 1                             (1)

Maximise sum_i log p(x_i) by taking turns [Dempster1977]:

    E   r_ij = w_j N(x_i; m_j, S_j) / p(x_i)                                     (2)
    M   w_j = N_j / n,   m_j = sum_i r_ij x_i / N_j,
        S_j = sum_i r_ij (x_i - m_j)(x_i - m_j)' / N_j + a I,  N_j = sum_i r_ij  (3)

Neither turn can lower the likelihood when a = `reg_covar` is 0; a small a keeps a
component from collapsing onto one row, where the likelihood has no bound, at the
price that the trace may dip by as much as the floor costs. Covariance shapes are a
part of the Normal; they change S_j in (3) and nothing else.

A turn is one pass over the rows in blocks: an array on threads, a tensor on its
device, a Parquet file as it is read. Time O(n k d^2) a turn, memory O(block) beyond
the rows (and O(n) numbers for the seeding). E-steps run as two matrix products where
that keeps nine digits of every log-density, else component by component: see
`distributions.natural`.

Shapes    X (n, d)   r (n, k)   w (k,)   m (k, d)   S by covariance_type
Refs      [Dempster1977]; [McLachlan2000]
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Literal, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..base import Density, Estimator
from ..core import arrays
from ..core.em import em
from ..core.iterate import best_of
from ..core.numerics import logsumexp, softmax
from ..core.random import rng_from, spawn
from ..core.rows import is_dataset, rows
from ..distributions import natural
from ..distributions.normal import Moments, Normal
from ..params import Count, Flag, Natural, NonNegative, Verbosity
from ..typing import Matrix, Seed, Words
from .starts import given, start, to_numpy

DEVICE_BLOCK = 1 << 17  # rows of a tensor handled at once


class DegenerateWarning(ConvergenceWarning):
    """A component has collapsed onto one point; only `reg_covar` holds it up."""


class Params(NamedTuple):
    """What EM estimates."""

    weights: np.ndarray  # w
    normal: Normal  # m, S


def joint(X, p: Params):
    """log w_j N(x_i; m_j, S_j): (n, k)."""
    xp = arrays.namespace(X)
    log_w = arrays.asarray(xp.log(p.weights), like=p.normal.mean)
    return p.normal.log_prob(X) + log_w


def expect_direct(X, w, p: Params):
    """Eq. (2) of one block: moments under the responsibilities, log-likelihood."""
    xp = arrays.namespace(X)
    L = joint(X, p)
    norm = logsumexp(L, axis=1)
    R = xp.exp(L - norm[:, None])
    if w is not None:
        R, norm = R * w[:, None], norm * w
    return p.normal.stats(X, R), float(xp.sum(norm))


def expect(data, frame, p: Params) -> tuple[Moments, float]:
    """Eq. (2) of all rows, by the quick way where it is sound."""
    B, error = natural.coefficients(p.normal, np.log(p.weights), frame)
    if error <= natural.ERROR:
        S, loglik = natural.expect(data, frame, B)
        return natural.moments_of(S, frame, p.normal.shape), loglik
    like = None if not hasattr(data, "X") else data.X
    q = p if like is None else located(p, like)
    stats, loglik = data.sum(lambda X, w=None: expect_direct(X, w, q))
    return to_numpy(stats), loglik


def maximise(stats: Moments, floor: float) -> Params:
    """Eq. (3)."""
    N = stats.weight + 10 * np.finfo(float).eps
    return Params(N / N.sum(), Normal.from_stats(stats, floor=floor))


def located(p: Params, like) -> Params:
    """The parameters in the library, device and dtype of `like`."""
    put = lambda a: arrays.asarray(a, like=like)
    q = p.normal
    return Params(put(p.weights), Normal(put(q.mean), put(q.cov), q.shape))


def collapsed(p: Params, floor: float) -> list[int]:
    """Components with nothing but the floor in their covariance."""
    size = np.atleast_2d(p.normal.variance).mean(axis=1)
    return [] if floor == 0 else np.flatnonzero(size <= 1.5 * floor).tolist()


@dataclass(eq=False, repr=False)
class GaussianMixture(Density, Estimator):
    """Gaussian mixture model, fitted by EM.

    Parameters
    ----------
    n_components : int, default=1
        Number of components, k.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        A matrix each, one for all, a diagonal each, a number each.
    tol : float, default=1e-3
        Stop when a turn changes the mean log-likelihood by no more than this.
    reg_covar : float, default=1e-6
        Added to the diagonal of every covariance.
    max_iter : int, default=100
        Most turns. 0 keeps the start.
    n_init : int, default=1
        Number of starts; the likeliest result is kept.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}
        How a start is found, default "kmeans".
    weights_init : array of shape (k,), optional
        Weights to start from.
    means_init : array of shape (k, d), optional
        Means to start from.
    precisions_init : array, optional
        Inverse covariances to start from, in the storage of `covariance_type`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the starts and of `sample`.
    warm_start : bool, default=False
        Begin `fit` from the last solution.
    verbose : int, default=0
        1 shows a progress bar, 2 also prints every `verbose_interval` turns.
    verbose_interval : int, default=10
        Turns between two lines.

    Attributes
    ----------
    weights_ : array of shape (k,)
        Weights of the components.
    means_ : array of shape (k, d)
        Means of the components.
    covariances_, precisions_, precisions_cholesky_ : arrays
        Covariances, their inverses and the factors P of those, precision = P P'.
    converged_ : bool
        Whether `tol` was reached.
    n_iter_ : int
        Turns of the best start.
    lower_bound_ : float
        Mean log-likelihood of the fitted model.
    lower_bounds_ : list of float
        The same after each turn.
    history_ : dict of arrays
        What the driver recorded after each turn.
    n_features_in_ : int
        Number of columns seen in `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.mixture import GaussianMixture
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = GaussianMixture(2, random_state=0).fit(X)
    >>> np.sort(model.means_[:, 0]).round(6)
    array([ 1., 10.])
    >>> model.predict([[0, 0]]) == model.predict([[1, 1]])
    array([ True])
    """

    n_components: Count = 1
    _: KW_ONLY
    covariance_type: Literal["full", "tied", "diag", "spherical"] = "full"
    tol: NonNegative = 1e-3
    reg_covar: NonNegative = 1e-6
    max_iter: Natural = 100
    n_init: Count = 1
    init_params: Literal["kmeans", "k-means++", "random", "random_from_data"] = "kmeans"
    weights_init: Matrix | Words | None = None
    means_init: Matrix | Words | None = None
    precisions_init: Matrix | Words | None = None
    random_state: Seed = None
    warm_start: Flag = False
    verbose: Verbosity = 0
    verbose_interval: Count = 10

    def fit(self, X, y=None, sample_weight=None):
        """Fit by EM.

        Parameters
        ----------
        X : array of shape (n, d), tensor, or table on disk
            Rows. A path of a Parquet file is read block by block in every turn.
        y : None
            Ignored, there for scikit-learn's sake.
        sample_weight : array of shape (n,), optional
            A weight of 3 counts as three copies of the row.

        Returns
        -------
        self : GaussianMixture
        """
        X, w = self._begin(X, sample_weight=sample_weight, ensure_min_samples=2)
        if X.shape[0] < self.n_components:
            raise ValueError(
                f"Expected n_samples >= n_components but got n_components = "
                f"{self.n_components}, n_samples = {X.shape[0]}"
            )
        block = DEVICE_BLOCK if arrays.is_foreign(X) else None
        data = rows(X, *(() if w is None else (w,)), block=block)
        frame = natural.frame_of(data, self.covariance_type)
        total = float(X.shape[0] if w is None else arrays.namespace(w).sum(w))
        result = self._run(data, w, frame, total, X)
        self._store(result.state.params, X)
        self.lower_bound_ = -result.objective
        self.lower_bounds_ = [-float(v) for v in result.history["objective"]]
        bad = collapsed(result.state.params, self.reg_covar)
        if bad:
            warnings.warn(
                f"GaussianMixture: components {bad} have collapsed onto single "
                "points and are held up by reg_covar alone. Use fewer components "
                "or raise reg_covar.",
                DegenerateWarning,
                stacklevel=2,
            )
        return self

    def _run(self, data, w, frame, total, X):
        """Every start to its end; the best as a Result."""
        warm = self.warm_start and hasattr(self, "converged_")
        n_init = 1 if warm else self.n_init
        rngs = spawn(rng_from(self.random_state), n_init)

        def one(i, task):
            first = self._params() if warm else self._first(X, data, w, rngs[i])
            result = em(
                self._told(lambda p: expect(data, frame, p)),
                lambda stats: maximise(stats, self.reg_covar),
                first,
                n=total,
                max_iter=self.max_iter,
                tol=self.tol,
                task=task,
            )
            return result._replace(reason="start") if self.max_iter == 0 else result

        return self._drive(
            lambda task: best_of(n_init, one, task=task),
            total=n_init if n_init > 1 else self.max_iter,
            X=None if is_dataset(X) else X,
            snapshot=lambda s: attributes(s.params, X),
        )

    def _told(self, expect):
        """`expect`, with a line printed every `verbose_interval` turns if asked."""
        if int(self.verbose) < 2:
            return expect
        turns = iter(range(1 << 62))

        def telling(p):
            stats, loglik = expect(p)
            turn = next(turns)
            if turn % self.verbose_interval == 0:
                mean = loglik / max(float(stats.weight.sum()), 1e-300)
                print(f"turn {turn}: mean log-likelihood {mean:.6f}")
            return stats, loglik

        return telling

    def _first(self, X, data, w, rng) -> Params:
        """The parameters a start begins from: given ones before found ones."""
        k, shape = self.n_components, self.covariance_type
        W, M, C = given(
            self.weights_init, self.means_init, self.precisions_init, k, data.d, shape
        )
        if W is None or M is None or C is None:
            guess = start(X, data, w, k, shape, self.init_params, rng)
            found = maximise(guess, self.reg_covar)
            W = found.weights if W is None else W
            M = found.normal.mean if M is None else M
            C = found.normal.cov if C is None else C
        return Params(np.maximum(W, np.finfo(float).tiny), Normal(M, C, shape))

    def _store(self, p: Params, X):
        for name, value in attributes(p, X).items():
            setattr(self, name, value)

    def _params(self) -> Params:
        """The fitted parameters as float64 NumPy arrays."""
        double = lambda a: arrays.to_numpy(a).astype(float)
        normal = Normal(
            double(self.means_), double(self.covariances_), self.covariance_type
        )
        return Params(double(self.weights_), normal)

    def _map(self, X, function):
        """function(log w_j N(x_i; ...)) for each block of rows, put together."""
        X = self._ready(X)
        p = self._params()
        block = DEVICE_BLOCK if arrays.is_foreign(X) else None
        p = p if is_dataset(X) else located(p, X)
        return rows(X, block=block).map(lambda Xb: function(joint(Xb, p)))

    def score_samples(self, X):
        """log p(x_i) of each row, eq. (1)."""
        return self._map(X, lambda L: logsumexp(L, axis=1))

    def score(self, X, y=None):
        """Mean log-likelihood of the rows."""
        return float(arrays.to_numpy(self.score_samples(X)).mean())

    def predict_proba(self, X):
        """Responsibilities, eq. (2): (n, k)."""
        return self._map(X, lambda L: softmax(L, axis=1))

    def predict(self, X):
        """The component of highest responsibility for each row."""
        return self._map(X, lambda L: arrays.namespace(L).argmax(L, axis=1))

    def fit_predict(self, X, y=None, sample_weight=None):
        """`fit`, then `predict` for the same rows."""
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def sample(self, n_samples=1):
        """Draw rows and the components they come from, grouped by component."""
        if n_samples < 1:
            raise ValueError(f"n_samples must be at least 1, got {n_samples}.")
        self._ready(self.means_)
        rng = rng_from(self.random_state)
        p = self._params()
        z = np.repeat(
            np.arange(self.n_components),
            rng.multinomial(n_samples, p.weights / p.weights.sum()),
        )
        draws = p.normal.draw(z, rng)
        if not arrays.is_foreign(self.means_):
            return draws, z
        xp, device = arrays.namespace(self.means_), arrays.device(self.means_)
        return arrays.asarray(draws, like=self.means_), xp.asarray(z, device=device)

    def _n_parameters(self) -> int:
        """Free parameters: means, covariances, weights less one."""
        return int(self._params().normal.free + self.n_components - 1)

    def bic(self, X):
        """Bayesian information criterion, to be minimised."""
        s = arrays.to_numpy(self.score_samples(X))
        return float(-2 * s.sum() + self._n_parameters() * np.log(len(s)))

    def aic(self, X):
        """Akaike information criterion, to be minimised."""
        s = arrays.to_numpy(self.score_samples(X))
        return float(-2 * s.sum() + 2 * self._n_parameters())


def attributes(p: Params, X) -> dict:
    """Fitted attributes in the library and dtype of X."""
    shape, P = p.normal.shape, p.normal.factor
    square = P @ np.swapaxes(P, -1, -2) if shape in ("full", "tied") else P * P
    like = np.empty(0, X.dtype) if is_dataset(X) else X
    put = lambda a: arrays.asarray(a, like=like)
    return {
        "weights_": put(p.weights),
        "means_": put(p.normal.mean),
        "covariances_": put(p.normal.cov),
        "precisions_": put(square),
        "precisions_cholesky_": put(P),
    }
