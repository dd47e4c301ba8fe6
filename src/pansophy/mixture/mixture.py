"""Mixture of any families of distributions, one for each group of columns, by EM.

    p(x) = sum_j w_j prod_g p_g(x_g; theta_gj)                                   (1)

with groups g of columns, each with a family of its own, independent of one another
within a component. Every family learns from sums over rows, so an iteration of EM is

    E   r_ij = w_j prod_g p_g(x_ig; theta_gj) / p(x_i)                           (2)
    M   w_j = N_j / n,  theta_g = from_stats(sum_i r_ij s_g(x_i))                (3)

and never lowers the likelihood. With one group of Normals it is `GaussianMixture`
(which is faster, and takes missing values). The initial parameters are the M-step of
memberships drawn from a Dirichlet, or of the clusters of k-means, of which a fifth is
distributed over all components. A family refuses values outside of its support, for
which it has no likelihood to raise.

A table on disk or on a device is taken in blocks. Time O(n k) times the columns.

Shapes    X (n, d)   r (n, k)   w (k,)
Refs      [Dempster1977]; [McLachlan2000]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import arrays
from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.arrays.rows import as_rows
from ..core.drivers.em import em
from ..core.information_criteria import aic, bic
from ..core.numerics import safe_log
from ..core.random import make_rng, spawn_rngs
from ..distributions.densities import FAMILIES
from ..distributions.gaussian.normal import Normal
from ..distributions.natural_parameters import weighted_responsibilities
from ..params import (
    Count,
    Natural,
    NonNegative,
    ParameterError,
    ParameterRule,
    Verbosity,
    check_count,
)
from ..persist.saved_state import AnyValue, Each, IntArray, Row, saved_state
from ..typing import Seed
from .abstract_mixture import AbstractMixture
from .gaussian_em import kmeans_start_labels

NAMES = tuple(FAMILIES)
MAX_UNMODELLED = 1 << 20  # columns of a model file that no distribution describes

# What each family can hold. Fractions pass where they have a meaning of their own:
# shares of a yes (grey values) for Bernoulli, weighted counts for the multinomial.
SUPPORTS = {
    "Poisson": (lambda x: (x >= 0) & (x == np.floor(x)), "whole numbers of at least 0"),
    "Bernoulli": (lambda x: (x >= 0) & (x <= 1), "numbers from 0 to 1"),
    "Multinomial": (lambda x: x >= 0, "counts of at least 0"),
    "Gamma": (lambda x: x > 0, "numbers above 0"),
    "Beta": (lambda x: (x > 0) & (x < 1), "numbers between 0 and 1, ends excluded"),
    "Dirichlet": (
        lambda x: (x > 0) & (np.abs(x.sum(1, keepdims=True) - 1) < 1e-4),
        "numbers above 0 that sum to 1 in each row",
    ),
}


def is_family(value):
    if isinstance(value, str):
        return value in NAMES
    return hasattr(value, "stats") and not isinstance(value, type)


def are_groups(value):
    return isinstance(value, (list, tuple)) and all(
        isinstance(g, (list, tuple)) and len(g) == 2 and is_family(g[1]) for g in value
    )


Family = Annotated[
    Any,
    ParameterRule(
        f"one of {', '.join(NAMES)}, a distribution, or a list of (columns, family)",
        lambda v: is_family(v) or are_groups(v),
    ),
]


class ColumnGroup(NamedTuple):
    """Columns and their distribution: a batch of k, or an example of its form."""

    columns: Any  # positions
    distribution: Any


class MixtureParams(NamedTuple):
    """Parameters that EM estimates."""

    weights: np.ndarray  # w
    groups: tuple  # of Group, each a batch of k


def column_positions(columns, d, names):
    """Columns given by number, name or slice as positions."""
    if isinstance(columns, slice):
        return np.arange(d)[columns]
    listed = [columns] if np.ndim(columns) == 0 else list(columns)
    known = {} if names is None else {name: i for i, name in enumerate(names)}
    if any(isinstance(c, str) and c not in known for c in listed):
        lost = next(c for c in listed if isinstance(c, str) and c not in known)
        raise ParameterError(f"family names a column {lost!r} that X does not have.")
    at = np.array([known[c] if isinstance(c, str) else int(c) for c in listed])
    if len(at) == 0 or at.min() < -d or at.max() >= d:
        raise ParameterError(f"family names columns outside of 0 to {d - 1}: {listed}.")
    return at % d


def column_groups(family, data, names) -> list[ColumnGroup]:
    """The groups of columns, each with an example of its distribution."""
    d = data.d
    if isinstance(family, str) or hasattr(family, "stats"):
        family = [(slice(None), family)]
    groups = []
    for columns, kind in family:
        at = column_positions(columns, d, names)
        if kind == "categorical":  # one column each; the others take several
            top = lambda X, *_, at=at: arrays.to_numpy(arrays.take_columns(X, at)).max(
                0
            )[None]
            most = data.map(top).max(axis=0)
            groups += [
                ColumnGroup(at[[i]], FAMILIES[kind](np.empty((0, 1)), m=int(m) + 1))
                for i, m in enumerate(most)
            ]
        elif isinstance(kind, str):
            groups.append(ColumnGroup(at, FAMILIES[kind](np.empty((0, len(at))))))
        else:
            groups.append(ColumnGroup(at, kind))
    used = np.concatenate([g.columns for g in groups])
    if len(np.unique(used)) != len(used):
        raise ParameterError("family names a column more than once.")
    return groups


def check_support(data, groups, names=None):
    """Refuse rows (`core.arrays.rows`) that the family of a group of columns cannot
    hold.
    """
    kinds = [(g.columns, type(g.distribution).__name__) for g in groups]
    kinds = [(columns, kind) for columns, kind in kinds if kind in SUPPORTS]
    if not kinds:
        return

    def worst(X, *_):
        """(1, d): a value of each column that does not fit, or NaN."""
        X = arrays.to_numpy(X)
        result = np.full((1, X.shape[1]), np.nan)
        for columns, kind in kinds:
            wrong = ~SUPPORTS[kind][0](X[:, columns])
            rows, at = np.nonzero(wrong)
            result[0, columns[at]] = X[rows, columns[at]]
        return result

    result = arrays.to_numpy(data.map(worst))
    for columns, kind in kinds:
        for f in columns:
            bad = result[~np.isnan(result[:, f]), f]
            if len(bad):
                name = int(f) if names is None else names[f]
                raise ValueError(
                    f"column {name!r} of X holds {bad[0]:g}, but the {kind} family "
                    f"takes {SUPPORTS[kind][1]}."
                )


def mixture_log_joint(X, p: MixtureParams):
    """log w_j prod_g p_g(x_g; theta_gj): (n, k)."""
    out = None
    for g in p.groups:
        L = g.distribution.log_prob(arrays.take_columns(X, g.columns))
        out = L if out is None else out + arrays.asarray(L, like=out)
    return out + arrays.asarray(safe_log(p.weights), like=out)


def weighted_statistics(X, R, groups) -> tuple:
    """Statistics of all groups under weights R (n, k), with the weights of them."""
    R = arrays.asarray(R, like=arrays.as_float(X))
    N = arrays.namespace(R).sum(R, axis=0)
    stats = tuple(
        g.distribution.stats(arrays.take_columns(X, g.columns), R) for g in groups
    )
    return arrays.to_numpy(N).astype(float), stats


def mixture_e_step(data, p: MixtureParams):
    """Eq. (2) of all rows: weights and statistics, log-likelihood."""

    def part(X, w=None):
        R, loglik = weighted_responsibilities(mixture_log_joint(X, p), w)
        return weighted_statistics(X, R, p.groups), loglik

    return data.sum(part)


def mixture_m_step(stats, groups, floor=0.0) -> MixtureParams:
    """Eq. (3)."""
    N, parts = stats
    learned = []
    for g, s in zip(groups, parts, strict=True):
        options: dict = {"floor": floor} if isinstance(g.distribution, Normal) else {}
        if hasattr(g.distribution, "trials"):
            options["trials"] = g.distribution.trials
        learned.append(
            ColumnGroup(g.columns, type(g.distribution).from_stats(s, **options))
        )
    W = N + 10 * np.finfo(float).eps
    return MixtureParams(W / W.sum(), tuple(learned))


def initial_mixture(data, X, k, groups, method, floor, rng) -> MixtureParams:
    """The M-step of a first guess at memberships."""
    if method == "random":
        R = rng.dirichlet(np.ones(k), size=data.n)
    else:
        z = arrays.to_numpy(kmeans_start_labels(X, data.aligned[0], k, rng))
        R = 0.8 * (z[:, None] == np.arange(k)) + 0.2 / k
    w = data.aligned[0]
    R = R if w is None else R * arrays.to_numpy(w)[:, None]
    part = lambda X, r: weighted_statistics(X, r, groups)
    return mixture_m_step(data.with_aligned(R).sum(part), groups, floor)


def columns_are_modelled(model) -> bool:
    """Whether a file's number of columns is about that of the modelled ones."""
    covered = sum(0 if at is None else len(at) for at, _ in model.components_)
    return model.n_features_in_ <= covered + MAX_UNMODELLED


@saved_state(
    components_=Each(
        Row(IntArray(None, low=0, below="n_features_in_", optional=True), AnyValue())
    ),
    check=columns_are_modelled,
)
@dataclass(eq=False, repr=False)
class Mixture(AbstractMixture):
    """Mixture of distributions of any family, fitted by EM.

    Parameters
    ----------
    n_components : int, default=1
        Number of components, k.
    family : str, distribution, or list of (columns, family), default="normal"
        "normal", "bernoulli", "poisson", "categorical", "multinomial", "gamma",
        "beta", "dirichlet", or any distribution of `pansophy.distributions` as an
        example of its form. A list gives each group of columns (numbers, names or a
        slice) a family of its own; columns it does not name are left out. Values
        that a family cannot hold (4.5 for "poisson") are refused.
    tol : float, default=1e-3
        Stop when an iteration changes the mean log-likelihood by no more than this.
    reg_covar : float, default=1e-6
        Added to the diagonal of the covariances of Normals.
    max_iter : int, default=100
        Most iterations.
    n_init : int, default=1
        Number of starts; the likeliest result is kept.
    init_params : {"kmeans", "random"}, default="kmeans"
        Initial memberships: clusters of k-means, softened, or random ones.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the starts and of `sample`.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    weights_ : array of shape (k,)
        Weights of the components.
    components_ : list of (columns, distribution)
        A batch of k distributions for each group of columns.
    converged_ : bool
        Whether `tol` was reached.
    n_iter_ : int
        Iterations of the best start.
    lower_bound_ : float
        Mean log-likelihood of the fitted model.
    history_ : dict of arrays
        What the driver recorded after each iteration.
    n_features_in_ : int
        Number of columns seen in `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.mixture import Mixture
    >>> X = np.array([[0, 1.0], [1, 0.8], [0, 1.2], [9, -1.0], [8, -0.7], [10, -1.1]])
    >>> model = Mixture(2, family=[([0], "poisson"), ([1], "normal")], random_state=0)
    >>> z = model.fit(X).predict(X)
    >>> bool((z[:3] == z[0]).all() and (z[3:] != z[0]).all())
    True
    """

    n_components: Count = 1
    _: KW_ONLY
    family: Family = "normal"
    tol: NonNegative = 1e-3
    reg_covar: NonNegative = 1e-6
    max_iter: Natural = 100
    n_init: Count = 1
    init_params: Literal["kmeans", "random"] = "kmeans"
    random_state: Seed = None
    verbose: Verbosity = 0

    def fit(self, X, y=None, sample_weight=None):
        """Fit by EM.

        Parameters
        ----------
        X : array of shape (n, d), tensor, or table on disk
            Rows.
        y : None
            Ignored, there for scikit-learn's sake.
        sample_weight : array of shape (n,), optional
            A weight of 3 counts as three copies of the row.

        Returns
        -------
        self : Mixture
        """
        X, w = self._check_training_data(
            X, sample_weight=sample_weight, ensure_min_samples=2, order="C"
        )
        refuse_overflowing_squares(self, X)
        if X.shape[0] < self.n_components:
            raise ValueError(
                f"Expected n_samples >= n_components but got n_components = "
                f"{self.n_components}, n_samples = {X.shape[0]}"
            )
        data = as_rows(X, w)
        total = float(X.shape[0] if w is None else arrays.namespace(w).sum(w))
        names = getattr(self, "feature_names_in_", None)
        groups = column_groups(self.family, data, names)
        check_support(data, groups, names)
        rngs = spawn_rngs(make_rng(self.random_state), self.n_init)

        def one_start(i, task):
            initial = initial_mixture(
                data,
                X,
                self.n_components,
                groups,
                self.init_params,
                self.reg_covar,
                rngs[i],
            )
            return em(
                lambda params: mixture_e_step(data, params),
                lambda stats: mixture_m_step(stats, groups, self.reg_covar),
                initial,
                n=total,
                max_iter=self.max_iter,
                tol=self.tol,
                task=task,
            )

        result = self._run_driver(
            one_start,
            n_init=self.n_init,
            total=self.max_iter,
        )
        p = result.state.params
        self.weights_ = p.weights
        self.components_ = [(g.columns, g.distribution) for g in p.groups]
        self.lower_bound_ = -result.objective
        return self

    def _map(self, X, function):
        """function(log-joint) for each block of rows, put together."""
        X = self._check_new_data(X, order="C")
        p = MixtureParams(
            self.weights_, tuple(ColumnGroup(*g) for g in self.components_)
        )
        check_support(as_rows(X), p.groups, getattr(self, "feature_names_in_", None))
        return as_rows(X).map(lambda Xb: function(mixture_log_joint(Xb, p)))

    def sample(self, n_samples=1):
        """Draw rows and the components they come from, grouped by component."""
        check_is_fitted(self)
        check_count("n_samples", n_samples)
        rng = make_rng(self.random_state)
        z = np.repeat(
            np.arange(len(self.weights_)), rng.multinomial(n_samples, self.weights_)
        )
        out = np.full((n_samples, self.n_features_in_), np.nan)
        for columns, part in self.components_:
            out[:, columns] = draw_from_components(part, z, rng)
        return out, z

    def _n_parameters(self) -> int:
        """Free parameters: those of the families, weights less one."""
        return (
            len(self.weights_)
            - 1
            + sum(free_parameters(part) for _, part in self.components_)
        )

    def bic(self, X):
        """Bayesian information criterion, to be minimised."""
        s = arrays.to_numpy(self.score_samples(X))
        return float(bic(s.sum(), self._n_parameters(), len(s)))

    def aic(self, X):
        """Akaike information criterion, to be minimised."""
        s = arrays.to_numpy(self.score_samples(X))
        return float(aic(s.sum(), self._n_parameters()))


def draw_from_components(part, z, rng):
    """One draw from component z_i of a batch for each i: (n, columns)."""
    if hasattr(part, "draw"):
        return arrays.to_numpy(part.draw(z, rng))
    every = arrays.to_numpy(part.sample(len(z), rng))
    return every[np.arange(len(z)), z]


def free_parameters(part) -> int:
    """Number of free parameters of a batch."""
    if hasattr(part, "free"):
        return int(part.free)
    tables = [v for v in vars(part).values() if hasattr(v, "ndim") and v.ndim]
    count = sum(int(np.prod(v.shape)) for v in tables)
    return count - (tables[0].shape[0] if type(part).__name__ == "Multinomial" else 0)
