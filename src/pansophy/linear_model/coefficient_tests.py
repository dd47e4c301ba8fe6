"""Tests and intervals of coefficients, from their covariance alone.

For estimates b with covariance V on nu residual degrees of freedom (infinite where the
dispersion is known), a hypothesis R b = r of q lines has the Wald statistic

    W = (R b - r)^T (R V R^T)^-1 (R b - r),    W / q ~ F(q, nu),  W ~ chi2(q)     (1)

the latter where nu is infinite. A linear predictor f = a^T b has the standard error
sqrt(a^T V a), and its interval f +- s F^-1((1 + level) / 2) becomes one of the mean
through the inverse link; the standard error of the mean is that times dmu/df.

Nothing here passes over the training rows again. Order: the intercept first.

Shapes    b (p,)   V (p, p)   R (q, p)   a (n, p)
Refs      [McCullagh1989]
"""

import re
from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from sklearn.utils.validation import check_is_fitted

from .. import links
from ..core.arrays import arrays
from ..core.arrays.formulas import EXTRA
from ..params import ParameterError
from .summary import Summary, coefficient_names


class CoefficientCovariance(NamedTuple):
    """Estimates with their covariance."""

    coef: np.ndarray  # b, the intercept first
    covariance: np.ndarray  # V
    df: float  # nu
    variance: float | None = None  # of a new observation about its mean, if constant


class WaldTest(NamedTuple):
    """The test of eq. (1)."""

    statistic: float  # W / q, or W where df_residual is infinite
    df: int  # q
    df_residual: float
    pvalue: float


class PredictionInterval(NamedTuple):
    """Means of rows with standard errors and intervals."""

    mean: np.ndarray
    std_error: np.ndarray  # of the mean
    low: np.ndarray  # interval of the mean
    high: np.ndarray
    new_low: np.ndarray | None  # interval of a new observation, for normal noise
    new_high: np.ndarray | None


class CoefficientTests:
    """Tests and intervals of a model that gives `_coefficient_covariance()`."""

    n_features_in_: int
    fit_intercept: Any
    _check_new_data: Any

    @abstractmethod
    def _coefficient_covariance(self) -> CoefficientCovariance:
        """b, V and nu; ValueError where the theory does not hold."""

    def _mean_link(self):
        """The link of the mean."""
        return links.identity

    def cov_params(self):
        """Covariance of the coefficients (p, p), the intercept first."""
        return self._checked_covariance().covariance

    @property
    def bse(self):
        """Standard errors of the coefficients (p,), the intercept first."""
        return np.sqrt(np.diagonal(self.cov_params()))

    @property
    def pvalues(self):
        """p values of "the coefficient is 0" (p,), the intercept first."""
        found = self._checked_covariance()
        with np.errstate(divide="ignore", invalid="ignore"):
            t = found.coef / np.sqrt(np.diagonal(found.covariance))
        return 2 * distribution_of(found.df).sf(np.abs(t))

    def conf_int(self, level=0.95):
        """Intervals of the coefficients (p, 2), the intercept first.

        Parameters
        ----------
        level : float, default=0.95
            Coverage.
        """
        check_level(level)
        found = self._checked_covariance()
        half = distribution_of(found.df).ppf((1 + level) / 2) * self.bse
        return np.column_stack([found.coef - half, found.coef + half])

    def wald_test(self, hypothesis) -> WaldTest:
        """Test linear equations in the coefficients, eq. (1).

        Parameters
        ----------
        hypothesis : str or array of shape (q, p)
            Equations such as "x = 0, x:z - C(g)[T.b] = 1", or R for R b = 0.
        """
        found = self._checked_covariance()
        names = coefficient_names(self)
        if isinstance(hypothesis, str):
            R, r = read_equations(hypothesis, names)
        else:
            R = np.atleast_2d(np.asarray(hypothesis, float))
            r = np.zeros(len(R))
        if R.shape[1] != len(names):
            raise ValueError(
                f"hypothesis has {R.shape[1]} columns, but there are {len(names)} "
                f"coefficients: {', '.join(names)}."
            )
        return wald_statistic(found, R, r)

    def anova(self) -> Summary:
        """Wald tests of each term, all others being in the model (type III).

        A term of a formula may have several columns; otherwise each column is a term.
        """
        found = self._checked_covariance()
        names = coefficient_names(self)
        first = len(names) - self.n_features_in_
        design = getattr(self, "formula_", None)
        terms = [(name, [j]) for j, name in enumerate(names[first:])]
        if design is not None:
            terms = list(design.terms)
        tests = []
        for _, columns in terms:
            R = np.eye(len(names))[[first + j for j in columns]]
            tests.append(wald_statistic(found, R, np.zeros(len(R))))
        kind = "chi2" if np.isinf(found.df) else "F"
        return Summary(
            f"{type(self).__name__}: tests of terms",
            {"residual df": found.df},
            tuple(name for name, _ in terms),
            {
                "df": np.array([t.df for t in tests]),
                kind: np.array([t.statistic for t in tests]),
                "p": np.array([t.pvalue for t in tests]),
            },
        )

    def predict_interval(
        self, X, *, level=0.95, offset=None, exposure=None
    ) -> PredictionInterval:
        """Means of rows with standard errors and intervals, from V.

        Parameters
        ----------
        X : rows as `predict` takes them
        level : float, default=0.95
            Coverage.
        offset, exposure : array of shape (n,) or None
            As they are given to `predict`.

        Returns
        -------
        PredictionInterval
            mean, std_error, low, high; and new_low, new_high for a new observation
            where the noise is normal of one variance.
        """
        check_level(level)
        found = self._checked_covariance()
        X = self._check_new_data(X, accept_sparse="csr")
        A = np.asarray(X.toarray() if hasattr(X, "toarray") else arrays.to_numpy(X))
        A = A.astype(float)
        if self.fit_intercept:
            A = np.column_stack([np.ones(len(A)), A])
        f = A @ found.coef
        if offset is not None or exposure is not None:
            f = f + arrays.to_numpy(self._offset(offset, exposure, f))
        error = np.sqrt(np.einsum("ij,jk,ik->i", A, found.covariance, A))
        q = distribution_of(found.df).ppf((1 + level) / 2)
        link = self._mean_link()
        ends = link.inverse(f - q * error), link.inverse(f + q * error)
        new = None, None
        if found.variance is not None:
            half = q * np.sqrt(error**2 + found.variance)
            new = f - half, f + half
        return PredictionInterval(
            link.inverse(f),
            error * np.abs(link.slope(f)),
            np.minimum(*ends),
            np.maximum(*ends),
            *new,
        )

    def _offset(self, offset, exposure, like) -> Any:
        raise ValueError(f"{type(self).__name__} has neither offset nor exposure.")

    def _checked_covariance(self) -> CoefficientCovariance:
        check_is_fitted(self)
        return self._coefficient_covariance()


def wald_statistic(found, R, r) -> WaldTest:
    """Eq. (1)."""
    gap = R @ found.coef - r
    M = R @ found.covariance @ R.T
    if np.linalg.matrix_rank(M) < len(R):
        raise ValueError("the equations of the hypothesis depend on one another.")
    W = float(gap @ np.linalg.solve(M, gap))
    q = len(R)
    if np.isinf(found.df):
        return WaldTest(W, q, found.df, float(stats.chi2.sf(W, q)))
    return WaldTest(W / q, q, found.df, float(stats.f.sf(W / q, q, found.df)))


def distribution_of(df):
    """The t distribution, or the normal where df is infinite."""
    return stats.norm() if np.isinf(df) else stats.t(df)


def check_level(level) -> None:
    if not 0 < level < 1:
        raise ParameterError(f"level must be between 0 and 1, got {level!r}.")


def read_equations(text, names) -> tuple[np.ndarray, np.ndarray]:
    """R and r of equations in the names of coefficients."""
    try:
        from formulaic.utils.constraints import LinearConstraints
    except ImportError as error:
        raise ImportError(EXTRA) from error
    special = [re.escape(name) for name in names if not name.isidentifier()]
    if special:  # quoted by the reader's rules
        special.sort(key=len, reverse=True)
        known = "|".join(special)
        text = re.sub(f"`[^`]*`|({known})", quoted_match, text)
    text = re.sub(r"=\s*(?=[+-])", "= 0 ", text)  # which it reads as an operator
    try:
        read = LinearConstraints.from_spec(text, variable_names=list(names))
    except Exception as error:  # formulaic raises many kinds for what it cannot read
        raise ValueError(
            f"the hypothesis {text!r} cannot be read: write equations such as "
            f"'{names[-1]} = 0' in {', '.join(names)}."
        ) from error
    return np.asarray(read.constraint_matrix, float), np.asarray(
        read.constraint_values, float
    )


def quoted_match(found) -> str:
    """A name in backticks; what stands in backticks already, as it is."""
    return found[0] if found[1] is None else f"`{found[1]}`"
