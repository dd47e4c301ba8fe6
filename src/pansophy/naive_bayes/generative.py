"""Generative classifiers: a prior for the classes and any density for their rows.

    P(y = c | x) = pi_c p(x; t_c) / sum_c' pi_c' p(x; t_c')                      (1)

pi_c is the weight of class c among the rows and t_c the likeliest parameters of its
rows (or the mode under a conjugate prior), so the joint likelihood is maximised class
by class, in one pass. GenerativeClassifier takes any family of `distributions`, a
Normal in each covariance shape among them. Missing values (NaN) are integrated out of
p; a Normal with full covariance learns from incomplete rows by EM. For a family of
exponential form eq. (1) is a softmax of scores linear in statistics of x (`densities`):
ExponentialFamilyClassifier is the same model with those scores laid open.

Shapes    X (n, d)   pi (k,)   coef (k, m) on m statistics
Refs      [Bishop2006] section 4.2
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from ..core import arrays
from ..core.labels import class_codes
from ..core.rows import rows
from ..distributions import Beta, Dirichlet, Gamma, NormalInverseWishart
from ..params import NonNegative
from ..typing import Distribution, Matrix, Numbers
from .abstract_bayes import (
    AbstractBayes,
    apply_to_dense_rows,
    check_class_prior,
    class_log_prior,
)
from .densities import fit_class_densities, marginal_log_prob, natural_form
from .naive_bayes import weight_of_each_class

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


class AbstractGenerative(AbstractBayes):
    """One density for each class, eq. (1)."""

    def fit(self, X, y, sample_weight=None):
        """Learn the prior and the densities."""
        X, y, w = self._begin(X, y, sample_weight, y_kind="class", **self._checks(X))
        classes, codes = class_codes(y, X)
        k = int(classes.shape[0])
        prior = check_class_prior(self, "priors", k)
        N = weight_of_each_class(codes, k, w, X)
        with np.errstate(over="ignore", invalid="ignore"):
            p = fit_class_densities(
                self.distribution,
                rows(X, codes, w),
                k,
                shape=self.covariance_type,
                prior=self.prior,
                floor=self.var_smoothing,
                like=arrays.as_float(X) if arrays.is_foreign(X) else np.empty(0),
            )
        self.classes_, self.distribution_ = classes, p
        self.class_count_ = N
        self.class_log_prior_ = class_log_prior(prior, N)
        self._finish()
        return self

    def _finish(self):
        """What else is read off the densities."""

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
    priors: Matrix | Numbers | None = None
    var_smoothing: NonNegative = 1e-6


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
    priors: Matrix | Numbers | None = None
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
        X = self._ready(X, **self._checks(X))
        return rows(X).map(natural_form(self.distribution_)[0])

    def decision_function(self, X) -> Any:
        """T(x) . coef + intercept: (n, k), or the difference (n,) of two classes."""
        F: Any = self.statistics(X) @ self.coef_.T + self.intercept_
        return F[:, 1] - F[:, 0] if F.shape[1] == 2 else F
