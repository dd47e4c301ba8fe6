"""Inference for least squares: standard errors and tests, classical and robust.

For A = [1, X] (or X) of full rank p, weights w that count rows, N = sum w and
residuals r,

    V = s^2 (A^T W A)^-1,   s^2 = sum w r^2 / (N - p)                            (1)
    V = (A^T W A)^-1 (sum_i w_i f_i r_i^2 a_i a_i^T) (A^T W A)^-1                (2)
    f = 1 (HC0), N / (N - p) (HC1), 1 / (1 - h) (HC2), 1 / (1 - h)^2 (HC3)

with h_i = a_i^T (A^T W A)^-1 a_i, the leverage. (1) assumes equal variances and needs
only the diagonal that `fit` keeps; (2) does not, and passes over the rows again. Both
are computed in the coordinates u = T^-T (x - m), T^T T = sum w (x - m)(x - m)^T, in
which A^T W A is diag(N, I) and nothing is squared. With the maximum-likelihood variance
s_0^2 = sum w r^2 / N,

    log-likelihood = -N/2 (log 2 pi s_0^2 + 1),   AIC = 2 p - 2 log-likelihood   (3)

and BIC with p log N for 2 p. The variance is not counted in p.

Shapes    X (n, d)   T (d, d)   V (p, p, t)   r (n, t)   h, w (n,)
Refs      [White1980] HC0; [MacKinnonWhite1985] HC1 to HC3
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from ..core.arrays import arrays
from ..core.information_criteria import aic, bic
from ..core.linalg.least_squares import inverse_triangle, least_squares
from ..core.linalg.least_squares_passes import on_device, prepare_least_squares
from .summary import Summary, coefficient_names, wald_table

COVARIANCE_TYPES = ("nonrobust", "HC0", "HC1", "HC2", "HC3")


class FitStatistics(NamedTuple):
    """Statistics that `fit` keeps for eqs. (1) and (3)."""

    unit_errors: np.ndarray | None  # sqrt(diag((A^T W A)^-1)) (p,), if it exists
    residual_ss: np.ndarray  # sum w r^2 (t,)
    total_ss: np.ndarray  # sum w (y - mean y)^2 (t,)
    total_weight: float  # N
    rank: int | None  # of X
    triangle: np.ndarray | None = None  # T, where the coefficients are determined
    mean: np.ndarray | None = None  # m


def gaussian_log_likelihood(residual, weight, variance=None):
    """Eq. (3), or at a given noise variance."""
    best = residual / weight
    variance = best if variance is None else variance
    with np.errstate(divide="ignore", invalid="ignore"):
        fit = np.where(residual > 0, residual / (weight * variance), 0.0)
        return -weight / 2 * (np.log(2 * np.pi * variance) + fit)


def unit_covariance(statistics, *, intercept) -> np.ndarray:
    """(A^T W A)^-1, the intercept first, from T and m of eq. (2)."""
    inverse = inverse_triangle(statistics.triangle).astype(np.float64)
    if not intercept:
        return inverse @ inverse.T
    back = np.zeros((len(inverse) + 1,) * 2)  # coefficients from those of u
    back[1:, 1:] = inverse
    back[0, 0] = statistics.total_weight**-0.5
    back[0, 1:] = -statistics.mean @ inverse
    return back @ back.T


def check_summary_exists(model, statistics):
    """Refuse a summary where there are no standard errors, and say why."""
    d = model.n_features_in_
    p = d + bool(model.fit_intercept)
    if model.positive:
        raise ValueError(
            "summary has no theory for positive=True: coefficients held at 0 are not "
            "normally distributed."
        )
    if statistics.rank is None:
        raise ValueError(
            "summary needs a direct fit: a sparse X of more than 1000 columns is "
            "solved by iteration, which finds no standard errors."
        )
    if statistics.total_weight <= p:
        raise ValueError(
            f"summary needs more rows than the {p} coefficients to estimate the noise, "
            f"got {statistics.total_weight:g}."
        )
    if statistics.unit_errors is None:
        raise ValueError(
            "summary has no standard errors where X has rank "
            f"{statistics.rank} with {d} columns: drop the columns that the warning of "
            "fit names."
        )


def robust_covariance(X, Y, w, B, b, fit, *, intercept, cov_type):
    """Eq. (2): V (p, p, t) at the coefficients B (d, t) and b (t,)."""
    d, t = B.shape
    inverse = inverse_triangle(fit.triangle).astype(np.float64)
    N = fit.weight
    p = d + intercept
    problem = prepare_least_squares(X, Y, w, intercept=False, move_y=False)
    there = lambda a: on_device(np.ascontiguousarray(a), problem.like)
    m, U, B, b = (there(a) for a in (fit.mean, inverse, B, b))
    power = {"HC0": 0, "HC1": 0, "HC2": 1, "HC3": 2}[cov_type]

    def meat(x, y, w):
        x = x.toarray() if hasattr(x, "toarray") else x
        xp = arrays.namespace(x)
        x = xp.astype(x, xp.float64)
        u = (x - m[None, :]) @ U
        if intercept:
            u = xp.concat([xp.ones_like(u[:, :1]) / N**0.5, u], axis=1)
        v = (y - b - x @ B) ** 2
        if power:
            left = 1 - xp.sum(u * u, axis=1)
            left = xp.where(left > 1e-12, left, xp.nan * left)
            v = v / left[:, None] ** power
        v = v if w is None else v * w[:, None]
        return xp.stack([(u * v[:, j : j + 1]).T @ u for j in range(t)])

    M = arrays.to_numpy(problem.rows.sum(meat))
    if not np.isfinite(M).all():
        raise ValueError(
            f"{cov_type} is not defined where a row has leverage 1; take HC0 or HC1."
        )
    M = M * (N / (N - p) if cov_type == "HC1" else 1.0)
    back = np.zeros((p, p))  # coefficients = back @ (coefficients of u)
    i = int(intercept)
    back[i:, i:] = inverse
    if intercept:
        back[0, 0] = N**-0.5
        back[0, 1:] = -fit.mean @ inverse
    return np.stack([back @ Mj @ back.T for Mj in M], axis=2)


def refit_same_rows(model, X, Y, w, B, b):
    """Least squares on the rows again; raises if they are not those of `fit`."""
    fit = least_squares(X, Y, w, intercept=model.fit_intercept, tol=model.tol)
    scale = np.sqrt(np.maximum(fit.power, 1e-300)) * (
        1e-6 if model.coef_.dtype.itemsize > 4 else 1e-2
    )
    off = np.linalg.norm(fit.triangle.astype(float) @ (fit.coef - B), axis=0)
    if fit.rank < len(B) or np.any(off > scale):
        raise ValueError("the rows given to summary are not those given to fit.")
    return fit


def regression_summary(
    model, statistics, *, level, covariance=None, cov_type="nonrobust", log_det=0.0
):
    """The table of a least-squares fit from its `FitStatistics`.

    `covariance` is (p, p, t) or None; `log_det` that of a known noise covariance.
    """
    i = int(model.fit_intercept)
    d = model.n_features_in_
    p = d + i
    N = statistics.total_weight
    B = np.atleast_2d(arrays.to_numpy(model.coef_)).T.astype(np.float64)
    t = B.shape[1]
    b = np.broadcast_to(arrays.to_numpy(model.intercept_), (t,)).astype(np.float64)
    variance = statistics.residual_ss / (N - p)
    if covariance is None:
        errors = np.outer(statistics.unit_errors, np.sqrt(variance))
    else:
        errors = np.sqrt(np.einsum("iij->ij", covariance))
    coef = np.concatenate([b[None], B]) if i else B
    table = wald_table(coef, errors, level=level, df=N - p)
    with np.errstate(divide="ignore", invalid="ignore"):
        r2 = 1 - statistics.residual_ss / statistics.total_ss
        if covariance is None:
            F = (statistics.total_ss - statistics.residual_ss) / d / variance
        else:
            wald = [
                B[:, j] @ np.linalg.solve(covariance[i:, i:, j], B[:, j])
                for j in range(t)
            ]
            F = np.array(wald) / d
    ll = gaussian_log_likelihood(statistics.residual_ss, N) - log_det / 2
    s = model.singular_
    header: dict[str, Any] = {
        "rows": int(N) if float(N).is_integer() else N,
        "coefficients": p,
        "covariance": cov_type,
        "R2": r2,
        "adjusted R2": 1 - (1 - r2) * (N - i) / (N - p),
        "sigma": np.sqrt(variance),
        "log-likelihood": ll,
        "AIC": aic(ll, p),
        "BIC": bic(ll, p, N),
        "F": F,
        "p (F)": stats.f.sf(F, d, N - p),
        "condition": float(s[0] / s[-1]) if s[-1] > 0 else np.inf,
    }
    several_targets = model.coef_.ndim == 2
    if not several_targets:
        table = {name: column[:, 0] for name, column in table.items()}
        header = {k: v[0] if np.ndim(v) else v for k, v in header.items()}
    about = "centred " if i else ""
    notes = [
        f"low and high: the {level:.0%} interval. F: every coefficient"
        f"{' but the intercept' if i else ''} is 0, on {d} and {N - p:g} degrees of "
        f"freedom. condition: of the {about}X.",
    ]
    if header["condition"] > 1e8:
        notes.append("The columns are nearly dependent or of very different scale.")
    if not i:
        notes.append("Without an intercept, R2 compares with 0, not with the mean.")
    return Summary(
        f"{type(model).__name__}: least squares with "
        + ("classical" if covariance is None else f"robust ({cov_type})")
        + " standard errors",
        header,
        coefficient_names(model),
        table,
        tuple(notes),
        tuple(f"y{j}" for j in range(t)) if several_targets else (),
    )
