"""Generative classifiers: a prior and a density of any family for each class.

    P(y = c | x) = pi_c p(x; t_c) / sum_c' pi_c' p(x; t_c')                      (1)

pi_c is the weight of class c among the rows and t_c the maximum likelihood estimate of
its rows (or the mode under a conjugate prior), so the joint likelihood is maximised
class by class, in one pass. GenerativeClassifier takes any family of `distributions`, a
Normal in each covariance shape among them. Missing values (NaN) are integrated out of
p; a Normal with full covariance learns from incomplete rows by EM.

For an exponential family

    log p(x | c) = T(x) . eta_c + b_c + log h(x)                                 (2)

and (1) is a softmax of scores linear in T(x), since h is the same for all classes.
ExponentialFamilyClassifier is the same model with these scores as attributes.

    family        T(x)              eta                      b
    normal tied   x                 S^-1 m                   -m' S^-1 m / 2
    normal else   x, x_i x_j        S^-1 m, -S^-1 / 2        that - log det S / 2
    poisson       x                 log r                    -sum r
    bernoulli     x                 log p - log(1 - p)       sum log(1 - p)
    multinomial   x                 log p                    0
    categorical   [x = v]           log p                    0
    gamma         log x, x          a - 1, -b                sum a log b - log G(a)
    beta          log x, log(1-x)   a - 1, b - 1             sum log B(a, b)^-1
    dirichlet     log x             a - 1                    log B(a)^-1

Shapes    X (n, d)   pi (k,)   T (n, m)   eta (k, m)   b (k,)
Refs      [Bishop2006] section 4.2
"""

from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from ..core.arrays import arrays
from ..core.arrays.labels import class_codes
from ..core.arrays.rows import as_rows
from ..core.numerics import safe_log
from ..distributions import (
    SHAPES,
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    Moments,
    Multinomial,
    Normal,
    NormalInverseWishart,
    Poisson,
)
from ..distributions.base import SufficientStatistics, gammaln, weight_along_components
from ..distributions.gaussian.class_moments import (
    class_moments,
    spherical_moments,
    weighted_one_hot,
)
from ..distributions.gaussian.missing import (
    incomplete_moments,
    missing_patterns,
    observed_log_prob,
)
from ..distributions.priors import log_beta
from ..params import NonNegative
from ..persist.saved_state import NumberArray, saved_state
from ..predictors.abstract_bayes import (
    AbstractBayes,
    apply_to_dense_rows,
    check_class_prior,
    class_log_prior,
)
from ..typing import Distribution, Matrix, NumberList
from .naive_bayes import weight_of_each_class

DENSITY_FAMILIES = {
    "normal": Normal,
    "bernoulli": Bernoulli,
    "poisson": Poisson,
    "categorical": Categorical,
    "multinomial": Multinomial,
    "gamma": Gamma,
    "beta": Beta,
    "dirichlet": Dirichlet,
}
INDEPENDENT = (Bernoulli, Poisson, Gamma, Beta)  # coordinates one by one
FamilyName = Literal[
    "normal",
    "bernoulli",
    "poisson",
    "categorical",
    "multinomial",
    "gamma",
    "beta",
    "dirichlet",
]
ShapeName = Literal["full", "tied", "diag", "spherical"]
ConjugatePrior = Beta | Dirichlet | Gamma | NormalInverseWishart | None


def family_template(name, rows, like):
    """A distribution of the family with the width of the data."""
    d = rows.d
    even = arrays.asarray(np.full(d, 1 / d), like=like)
    family: Any = DENSITY_FAMILIES[name]
    if name in ("bernoulli", "poisson"):
        return family(even)
    if name == "categorical":
        if d != 1:
            raise ValueError(
                f"'categorical' takes one column, got {d}: NaiveBayes and "
                "JointTableClassifier take several."
            )
        m = int(rows.map(lambda x, *_: arrays.to_numpy(x).max(keepdims=True)).max())
        return Categorical(arrays.asarray(np.full(m + 1, 1 / (m + 1)), like=like))
    if name in ("gamma", "beta"):
        return family(even, even)
    return family(even)


def normal_moments(rows, k, shape) -> Moments:
    """Moments of each class in one pass, or by EM where values are missing."""
    flat = shape in ("diag", "spherical")
    if flat and arrays.is_foreign(getattr(rows, "X", None)):  # tiles are cut inside
        rows = rows.with_aligned(*rows.aligned, block=rows.n)
    result = rows.sum(
        lambda x, c, w: class_moments(x, c, k, w, "diag" if flat else shape)
    )
    xp = arrays.namespace(result.mean)
    if not flat and not bool(xp.all(xp.isfinite(result.mean))):
        result = moments_of_incomplete_rows(rows, k, shape)
    return spherical_moments(result) if shape == "spherical" else result


def moments_of_incomplete_rows(rows, k, shape) -> Moments:
    """Likeliest moments of each class from incomplete rows in memory."""
    X = rows.X
    codes, w = rows.aligned
    parts = []
    for c in range(k):
        at = np.flatnonzero(codes == c)
        m = incomplete_moments(X[at], None if w is None else w[at])
        parts.append((m.weight, m.mean, m.scatter))
    N, M, S = (np.stack(p) for p in zip(*parts, strict=True))
    return Moments(N, M, S.sum(axis=0) if shape == "tied" else S, shape)


def fit_class_densities(
    name, rows, k, *, shape="full", prior=None, floor=0.0, like=None
):
    """A batch of k distributions from rows aligned with codes and weights."""
    if isinstance(name, str) and name == "normal":
        m = normal_moments(rows, k, shape)
        return Normal.from_stats(m, prior, floor * largest_variance(m))
    start = family_template(name, rows, like) if isinstance(name, str) else name

    def stats(x, c, w):
        x = x.toarray() if sp.issparse(x) else x
        x = x if arrays.is_foreign(x) else x.astype(np.float64, copy=False)
        R = weighted_one_hot(c, k, w, arrays.as_float(x))
        if isinstance(start, INDEPENDENT):
            return statistics_by_column(start, x, R)
        if not arrays.is_foreign(x) and np.isnan(np.min(x)):
            raise ValueError(f"{type(start).__name__} takes no NaN in fit.")
        return start.stats(x, R)

    return type(start).from_stats(rows.sum(stats), prior)


def statistics_by_column(start, x, R) -> SufficientStatistics:
    """Sums of independent columns, each over the rows that have it."""
    if arrays.is_foreign(x) or not np.isnan(np.min(x)):
        s = start.stats(x, R)
        return SufficientStatistics(
            weight_along_components(s.weight, s.total[0]) + 0 * s.total[0], s.total
        )
    parts = []
    for j in range(x.shape[1]):
        some = ~np.isnan(x[:, j])
        s = marginal_of_columns(start, [j], x.shape[1]).stats(x[some][:, [j]], R[some])
        parts.append((s.weight[:, None], *s.total))
    N, *total = (np.hstack(p) for p in zip(*parts, strict=True))
    return SufficientStatistics(N, tuple(total))


def largest_variance(m: Moments):
    """The largest variance of a column within the classes (1 if there is none)."""
    C = Normal.from_stats(m).variance
    xp = arrays.namespace(C)
    top = float(xp.max(C))
    if not np.isfinite(top):
        raise ValueError("X holds values whose squares overflow: scale the data.")
    return top if top > 0 else 1.0


def marginal_log_prob(p):
    """x -> log p(x | c) by the marginal of the values that are not NaN: (n, k)."""

    def score(x):
        if arrays.is_foreign(x) or x.dtype.kind != "f" or not np.isnan(x.min()):
            return p.log_prob(x)
        if isinstance(p, Normal):
            return observed_log_prob(p, x)
        k = len(getattr(p, fields(p)[-1].name))
        d = x.shape[1]
        out = np.zeros((len(x), k))
        for b, at in missing_patterns(x):
            if len(b):
                q = p if len(b) == d else marginal_of_columns(p, b, d)
                out[at] = q.log_prob(x[np.ix_(at, b)])
        return out

    return score


def marginal_of_columns(p, b, d):
    """The distribution of the coordinates b of independent ones."""
    if isinstance(p, (Dirichlet, Categorical)):
        raise ValueError(f"{type(p).__name__} has no density of a part: X has NaN.")
    if isinstance(p, Multinomial):
        return Multinomial(p.prob[:, b] / p.prob[:, b].sum(axis=1, keepdims=True))
    parts = {f.name: getattr(p, f.name) for f in fields(p)}
    cut = {n: v[..., b] for n, v in parts.items() if np.shape(v)[-1:] == (d,)}
    return replace(p, **cut)


def natural_form(p):
    """T (a function), eta and b of eq. (2)."""
    xp = arrays.namespace(getattr(p, fields(p)[-1].name))
    if isinstance(p, Normal):
        return natural_form_of_normal(p)
    if isinstance(p, Poisson):
        return rows_as_float, safe_log(p.rate), -xp.sum(p.rate, axis=1)
    if isinstance(p, Bernoulli):
        no = safe_log(1 - p.prob)
        return rows_as_float, safe_log(p.prob) - no, xp.sum(no, axis=1)
    if isinstance(p, Multinomial):
        return rows_as_float, safe_log(p.prob), 0 * p.prob[:, 0]
    if isinstance(p, Categorical):
        m = p.prob.shape[1]
        T = lambda x: weighted_one_hot(p.symbols(x), m, None, arrays.as_float(x))
        return T, safe_log(p.prob), 0 * p.prob[:, 0]
    if isinstance(p, Dirichlet):
        return safe_log, p.concentration - 1, -log_beta(p.concentration)
    if isinstance(p, Beta):
        T = lambda x: xp.concat([safe_log(x), safe_log(1 - x)], axis=1)
        b = gammaln(p.a + p.b) - gammaln(p.a) - gammaln(p.b)
        return T, xp.concat([p.a - 1, p.b - 1], axis=1), xp.sum(b, axis=1)
    if isinstance(p, Gamma):
        T = lambda x: xp.concat([safe_log(x), x], axis=1)
        b = p.shape * safe_log(p.rate) - gammaln(p.shape)
        return T, xp.concat([p.shape - 1, -p.rate], axis=1), xp.sum(b, axis=1)
    raise ValueError(f"{type(p).__name__} has no natural parameters here.")


def rows_as_float(x):
    """T(x) = x, in floating point."""
    return arrays.as_float(x)


def natural_form_of_normal(p: Normal):
    """Eq. (2) of Normals: linear in x if they share a covariance, else quadratic."""
    xp = arrays.namespace(p.means)
    M = p.means
    d = p.d
    P = p.factor
    if p.shape == "tied":
        eta = (M @ P) @ P.T
        return rows_as_float, eta, -0.5 * xp.sum(M * eta, axis=1)
    P = P if p.shape == "full" else SHAPES[p.shape].dense(P, p.k, d)
    L = xp.matmul(P, xp.matrix_transpose(P))
    first = xp.matmul(L, M[:, :, None])[:, :, 0]
    square = -0.5 * xp.reshape(L, (p.k, d * d))
    b = p.half_log_det - 0.5 * xp.sum(M * first, axis=1)

    def T(x):
        x = rows_as_float(x)
        pairs = xp.reshape(x[:, :, None] * x[:, None, :], (x.shape[0], d * d))
        return xp.concat([x, pairs], axis=1)

    return T, xp.concat([first, square], axis=1), b


class AbstractGenerative(AbstractBayes):
    """One density for each class, eq. (1)."""

    def fit(self, X, y, sample_weight=None):
        """Learn the prior and the densities."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="class", **self._checks(X)
        )
        classes, codes = class_codes(y, X)
        k = int(classes.shape[0])
        prior = check_class_prior(self, "priors", k)
        N = weight_of_each_class(codes, k, w, X)
        with np.errstate(over="ignore", invalid="ignore"):
            p = fit_class_densities(
                self.distribution,
                as_rows(X, codes, w),
                k,
                shape=self.covariance_type,
                prior=self.prior,
                floor=self.var_smoothing,
                like=arrays.as_float(X) if arrays.is_foreign(X) else np.empty(0),
            )
        self.classes_ = classes
        self.distribution_ = p
        self.class_count_ = N
        self.class_log_prior_ = class_log_prior(prior, N)
        self._finish()
        return self

    def _finish(self):
        """Set further attributes from the densities."""

    @property
    def class_prior_(self):
        """pi of eq. (1)."""
        return arrays.namespace(self.class_log_prior_).exp(self.class_log_prior_)

    def _scorer(self):
        return apply_to_dense_rows(marginal_log_prob(self.distribution_))

    def _draw(self, z, rng):
        p = self.distribution_
        if hasattr(p, "draw"):
            return p.draw(z, rng)
        return p.sample(len(z), rng)[np.arange(len(z)), z]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.distribution != "normal"
        return tags


@dataclass(eq=False, repr=False)
class GenerativeClassifier(AbstractGenerative):
    """Bayes' rule with a density of any family for each class.

    Parameters
    ----------
    distribution : str or distribution, default="normal"
        Family of the densities: "normal", "bernoulli", "poisson", "categorical" (one
        column), "multinomial", "gamma", "beta" or "dirichlet"; or any one object with
        `stats` and `from_stats`, as in `pansophy.distributions`.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        Covariance of "normal": any, the same for all classes, diagonal, or a multiple
        of the identity.
    prior : Beta, Dirichlet, Gamma, NormalInverseWishart or None, default=None
        Conjugate prior of the parameters; None for maximum likelihood.
    priors : array of shape (n_classes,) or None, default=None
        Prior of the classes; None for their frequencies.
    var_smoothing : float, default=1e-6
        Share of the largest variance that is added to the variances of "normal".

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_, class_prior_, class_log_prior_ : arrays of shape (n_classes,)
    distribution_ : distribution
        The densities, a batch over the classes.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.naive_bayes import GenerativeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(50, 2)), rng.normal(3, 1, size=(50, 2))])
    >>> model = GenerativeClassifier("normal").fit(X, np.repeat(["a", "b"], 50))
    >>> model.predict([[0.0, 0.0], [np.nan, 3.0]])
    array(['a', 'b'], dtype='<U1')
    >>> model.predict_proba([[np.nan, np.nan]])
    array([[0.5, 0.5]])
    """

    distribution: FamilyName | Distribution = "normal"
    _: KW_ONLY
    covariance_type: ShapeName = "full"
    prior: ConjugatePrior = None
    priors: Matrix | NumberList | None = None
    var_smoothing: NonNegative = 1e-6


@saved_state(coef_=NumberArray("classes", None))
@dataclass(eq=False, repr=False)
class ExponentialFamilyClassifier(AbstractGenerative):
    """Bayes' rule with exponential families: scores linear in statistics of x.

    Parameters
    ----------
    distribution : str, default="normal"
        Family of the densities: "normal", "bernoulli", "poisson", "categorical" (one
        column), "multinomial", "gamma", "beta" or "dirichlet".
    covariance_type : {"full", "tied", "diag", "spherical"}, default="tied"
        Covariance of "normal"; "tied" makes scores linear in x itself.
    prior : Beta, Dirichlet, Gamma, NormalInverseWishart or None, default=None
        Conjugate prior of the parameters; None for maximum likelihood.
    priors : array of shape (n_classes,) or None, default=None
        Prior of the classes; None for their frequencies.
    var_smoothing : float, default=1e-6
        Share of the largest variance that is added to the variances of "normal".

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    class_count_, class_prior_, class_log_prior_ : arrays of shape (n_classes,)
    distribution_ : distribution
        The densities, a batch over the classes.
    coef_ : array of shape (n_classes, n_statistics)
        Natural parameters: weights of the statistics.
    intercept_ : array of shape (n_classes,)
        Log prior less the log normaliser.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.naive_bayes import ExponentialFamilyClassifier
    >>> X = np.array([[1], [3], [4], [8]])
    >>> model = ExponentialFamilyClassifier("poisson").fit(X, [0, 0, 1, 1])
    >>> model.coef_.ravel().round(4), model.intercept_.round(4)
    (array([0.6931, 1.7918]), array([-2.6931, -6.6931]))
    >>> model.predict([[3], [4]])
    array([0, 1])
    """

    distribution: FamilyName = "normal"
    _: KW_ONLY
    covariance_type: ShapeName = "tied"
    prior: ConjugatePrior = None
    priors: Matrix | NumberList | None = None
    var_smoothing: NonNegative = 1e-6

    _holes = False
    _sparse = False

    def _finish(self):
        _, self.coef_, bias = natural_form(self.distribution_)
        self.intercept_ = bias + arrays.asarray(
            arrays.to_numpy(self.class_log_prior_), like=bias
        )

    def statistics(self, X):
        """T(x) of each row: (n, m)."""
        X = self._check_new_data(X, **self._checks(X))
        return as_rows(X).map(natural_form(self.distribution_)[0])

    def decision_function(self, X) -> Any:
        """T(x) . coef + intercept: (n, k), or the difference (n,) of two classes."""
        F: Any = self.statistics(X) @ self.coef_.T + self.intercept_
        return F[:, 1] - F[:, 0] if F.shape[1] == 2 else F
