"""Quadratic discriminant analysis: a normal distribution for each class.

    log P(x, c) = log pi_c - (log det S_c + (x - m_c)' S_c^-1 (x - m_c)) / 2 + const (1)

The decision between two classes is a quadric; with S_c all equal ("tied") it is that
of linear discriminant analysis, with S_c diagonal that of GaussianNB, with multiples
of the identity it goes by distance to the means. One pass over the rows gives weight,
mean and scatter of each class; covariances are S_c = scatter / weight, then

    S_c <- (1 - r) S_c + r I            with r = reg_param                       (2)

The principal axes (`rotations_`, `scalings_`) are the eigenvectors and eigenvalues of
S_c. A class without variance in some direction has no density: it is refused, and the
error names the columns that are constant in it.

Cost O(n d^2 + k d^3) time ("diag", "spherical": O(n d)), O(k d^2) memory.

Shapes    X (n, d)   m (k, d)   S (k, d, d)
Refs      [HastieTibshiraniFriedman2009] 4.3; [LedoitWolf2004]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from ..core.arrays import arrays
from ..core.arrays.labels import class_codes
from ..core.numerics import LOG_2PI
from ..distributions import Normal
from ..distributions.gaussian.class_moments import spherical_moments
from ..params import Flag, Fraction, NonNegative, ParameterError, UnsupportedChoiceError
from ..predictors.abstract_bayes import (
    AbstractBayes,
    apply_to_dense_rows,
    check_class_prior,
    class_log_prior,
)
from ..typing import Matrix, NumberList
from .class_covariances import (
    CovarianceEstimator,
    blocks_with_classes,
    class_covariances,
    column_list,
    covariances_by_estimator,
    dense_unweighted_rows,
    finite_class_moments,
    result_dtype,
    rounding_variance,
    variance_by_class,
    weight_by_class,
)


def principal_axes(S):
    """Eigenvalues, largest first, and eigenvectors of a covariance."""
    values, V = np.linalg.eigh(S)
    return values[::-1], V[:, ::-1]


@dataclass(eq=False, repr=False)
class QuadraticDiscriminantAnalysis(AbstractBayes):
    """Bayes' rule with a Normal for each class.

    Parameters
    ----------
    solver : {"svd", "eigen"}, default="svd"
        "eigen" takes shrinkage or a covariance estimator; otherwise they agree.
    shrinkage : None, "auto" or float from 0 to 1, default=None
        How far each covariance goes towards a multiple of the identity; "auto" is the
        estimate of Ledoit and Wolf.
    priors : array of shape (n_classes,) or None, default=None
        Prior of the classes; None for their frequencies.
    reg_param : float from 0 to 1, default=0.0
        r of eq. (2), with either solver.
    store_covariance : bool, default=False
        Whether to keep `covariance_`.
    tol : float, default=1e-4
        A class with a variance of at most tol along some axis is refused, so a
        constant column is, too; `reg_param` or shrinkage gives it a variance.
    covariance_estimator : estimator or None, default=None
        With `fit` and `covariance_`, in place of shrinkage; needs X in memory.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        Covariances of the classes: any, one for all, diagonal, or multiples of the
        identity.

    Attributes
    ----------
    means_ : array of shape (n_classes, n_features)
    priors_ : array of shape (n_classes,)
    covariance_ : list of arrays of shape (n_features, n_features)
    rotations_ : list of arrays of shape (n_features, n_features)
        Principal axes of each class.
    scalings_ : list of arrays of shape (n_features,)
        Variances along them.
    distribution_ : Normal
        The densities, a batch over the classes.
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.discriminant_analysis import QuadraticDiscriminantAnalysis
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> y = np.array([1, 1, 1, 2, 2, 2])
    >>> QuadraticDiscriminantAnalysis(reg_param=0.01).fit(X, y).predict([[-0.8, -1]])
    array([1])
    """

    _: KW_ONLY
    solver: Literal["svd", "eigen"] = "svd"
    shrinkage: Literal["auto"] | Fraction | None = None
    priors: Matrix | NumberList | None = None
    reg_param: Fraction = 0.0
    store_covariance: Flag = False
    tol: NonNegative = 1e-4
    covariance_estimator: CovarianceEstimator | None = None
    covariance_type: Literal["full", "tied", "diag", "spherical"] = "full"

    _holes = False

    def fit(self, X, y, sample_weight=None):
        """Learn the prior, means and covariances."""
        X, y, w = self._check_training_data(
            X, y, sample_weight, y_kind="class", **self._checks(X)
        )
        self._check_solver()
        classes, codes = class_codes(y, X)
        k = int(classes.shape[0])
        flat = self.covariance_type in ("diag", "spherical")
        m = finite_class_moments(
            X, codes, w, k, "diag" if flat else self.covariance_type
        )
        prior = check_class_prior(self, "priors", k)
        self._check_classes(weight_by_class(m), codes, classes)
        C = self._covariances(m, X, codes, w)
        self._store(X, classes, m, C, prior)
        return self

    def _check_solver(self):
        if self.solver == "svd" and self.shrinkage is not None:
            raise UnsupportedChoiceError(
                "shrinkage not supported with 'svd' solver: take 'eigen'."
            )
        if self.solver == "svd" and self.covariance_estimator is not None:
            raise ParameterError(
                "covariance_estimator is not supported with solver='svd'. Try "
                "solver='eigen' instead."
            )
        if self.covariance_estimator is not None and self.shrinkage:
            raise ParameterError(
                "covariance_estimator and shrinkage parameters are not None. Only one "
                "of the two can be set."
            )
        other = self.shrinkage is not None or self.covariance_estimator is not None
        if other and self.covariance_type != "full":
            raise ParameterError(
                "shrinkage and covariance_estimator need covariance_type='full', got "
                f"{self.covariance_type!r}."
            )

    def _check_classes(self, N, codes, classes):
        """Raise unless there are two classes, of two rows each where needed."""
        if np.sum(N > 0) < 2:
            raise ValueError(
                "The number of classes has to be greater than one. Got "
                f"{int(np.sum(N > 0))} class."
            )
        sizes = np.bincount(arrays.to_numpy(codes), minlength=len(N))
        if self.covariance_type != "tied" and sizes.min() == 1:
            name = arrays.to_numpy(classes)[int(np.argmin(sizes))]
            raise ValueError(
                f"y has only 1 sample in class {name}, covariance is ill defined."
            )

    def _covariances(self, m, X, codes, w):
        """Covariances in the storage of the shape, eq. (2)."""
        d = m.mean.shape[1]
        kind = self.covariance_type
        if self.covariance_estimator is not None:
            x = dense_unweighted_rows(X, w)
            c = arrays.to_numpy(codes)
            C = covariances_by_estimator(self.covariance_estimator, x, c, len(m.mean))
        elif kind == "full":
            C = class_covariances(m, blocks_with_classes(X, codes, w), self.shrinkage)
        else:
            m = spherical_moments(m) if kind == "spherical" else m
            C = Normal.from_stats(m).cov
        r = self.reg_param
        return (1 - r) * C + r * (np.eye(d) if kind in ("full", "tied") else 1.0)

    def _store(self, X, classes, m, C, prior):
        like = arrays.as_float(X) if arrays.is_foreign(X) else np.empty(0)
        put = lambda a: arrays.asarray(np.ascontiguousarray(a), like=like)
        small = np.empty(0, result_dtype(X)) if not arrays.is_foreign(X) else like
        keep = lambda a: arrays.asarray(np.ascontiguousarray(a), like=small)
        kind = self.covariance_type
        k = len(m.mean)
        S = Normal(m.mean, C, kind).dense if kind != "full" else C
        pairs = [principal_axes(s) for s in (S[:1] if kind == "tied" else S)]
        pairs = pairs * k if kind == "tied" else pairs
        names = arrays.to_numpy(classes)
        for c, (values, _) in enumerate(pairs):
            if values[-1] <= self.tol:
                self._raise_deficient(names[c], c, m)
        self.classes_ = classes
        self.distribution_ = Normal(put(m.mean), put(C), kind)
        self.scalings_ = [keep(v) for v, _ in pairs]
        self.rotations_ = [keep(V) for _, V in pairs]
        self.means_ = keep(m.mean)
        self.class_log_prior_ = class_log_prior(prior, put(weight_by_class(m)))
        self.priors_ = arrays.namespace(like).exp(self.class_log_prior_)
        if self.store_covariance:
            self.covariance_ = [keep(s) for s in S]

    def _raise_deficient(self, name, c, m):
        """Say which class is flat, and why: columns, too few rows, or the scale."""
        d = self.n_features_in_
        n = m.weight.sum() if m.shape == "tied" else weight_by_class(m)[c]
        variance = variance_by_class(m)[0 if m.shape == "tied" else c]
        flat = np.flatnonzero(variance <= rounding_variance(m))
        cure = "shrinkage" if self.solver == "eigen" else "reg_param"
        if n <= d and self.covariance_type == "full":
            why = (
                f"When using `solver={self.solver!r}`, a class needs more samples than "
                f"features; it has {n:g} samples for {d} features: try "
                "solver='eigen' with shrinkage."
            )
        elif len(flat):
            why = (
                f"It does not vary in column {column_list(self, flat)}: drop constant "
                f"columns or increase {cure}."
            )
        else:
            why = f"Increase {cure}, or lower tol if the data is on a small scale."
        raise np.linalg.LinAlgError(
            f"The covariance matrix of class {name} is not full rank. {why}"
        )

    def _scorer(self):
        return apply_to_dense_rows(self.distribution_.log_prob)

    def _draw(self, z, rng):
        return self.distribution_.draw(z, rng)

    def decision_function(self, X):
        """Eq. (1) for each class, (n, k), or the difference (n,) of two classes."""

        def finish(J):
            J = J + 0.5 * self.n_features_in_ * LOG_2PI
            return J[:, 1] - J[:, 0] if J.shape[1] == 2 else J

        return self._map_joint(X, finish)
