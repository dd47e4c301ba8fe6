"""EM for Gaussian mixtures: initial parameters, E-step, M-step, priors, missing values.

    E   r_ij = w_j N(x_i; m_j, S_j) / sum_l w_l N(x_i; m_l, S_l)                 (1)
    M   the w, m, S of highest  sum_ij r_ij log w_j N(x_i; m_j, S_j) + log prior (2)

Three options change (1) and nothing else. `hard` puts the whole row where r_ij is
largest; what rises is then the sum of log w_z N(x; m_z, S_z). A class label leaves only
the components of that class. A missing value is integrated out of N, and the statistics
of the row are those expected given its observed values.

The prior is a Dirichlet(a) on w, a Normal(m_0, S_j / kappa) on m_j and an inverse
Wishart(Psi, v) on S_j (on each variance of a diagonal, on the one of a sphere). Each
part may be absent. With N_j the weight, x_j the mean and C_j the scatter of a
component, the posterior mode is

    w_j ~ N_j + a - 1,   m_j = (N_j x_j + kappa m_0) / (N_j + kappa)             (3)
    S_j = (C_j + kappa N_j / (kappa + N_j) (x_j - m_0)(x_j - m_0)' + Psi) / e_j  (4)

with e_j = N_j + v + d + 1, and 1 more for the Normal on the mean; a tied S has all
N_j and k more, a diagonal 2 for d + 1, a sphere d N_j, 2 and d for the mean.

An E-step runs as two matrix products where that keeps nine digits (see
`distributions.natural_parameters`), else component by component, and by patterns of
observed columns where values are missing.

Initial parameters are the M-step of a first guess at the memberships:

    kmeans            each row wholly in its cluster of k-means
    k-means++         k spread-out rows, each a component of its own
    random_from_data  k different rows drawn at random, likewise
    random            every row in every component, in random proportions

All but the last give the same answer for a row of weight 3 as for three copies of it,
and do not depend on the order of the rows. Missing values are replaced by the mean of
their column for the guess alone; of a table on disk with missing values, up to 20 000
rows at equal distances are used.

Shapes    X (n, d)   r (n, k)   w (k,)   m (k, d)   S by shape   y (n,)
          component_class (k,), the class of each component
Refs      [Dempster1977]; [McLachlan2000]; [Murphy2012] section 11.4; [LittleRubin2002]
"""

from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import arrays
from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.arrays.rows import Rows, as_rows, is_dataset
from ..core.drivers.em import em
from ..core.drivers.progress import SILENT
from ..distributions import natural_parameters
from ..distributions.gaussian.covariance import (
    ALL_SHAPES,
    SHAPES,
    SingularCovarianceError,
    factor_analysis,
)
from ..distributions.gaussian.missing import (
    expected_moments,
    observed_log_prob,
    seen_moments,
)
from ..distributions.gaussian.normal import Moments, Normal, moments
from ..distributions.gaussian.normal_prior import NormalPrior, normal_log_prior
from ..distributions.gaussian.normal_prior import posterior_modes as normal_modes
from ..params import ParameterError, check_count

EPS = 10 * np.finfo(float).eps
DEVICE_BLOCK = 1 << 17  # rows of a tensor handled at once
SAMPLE = 20_000  # rows of a table with missing values that the initial guess uses


class GaussianMixtureParams(NamedTuple):
    """Parameters that EM estimates."""

    weights: np.ndarray  # w
    normal: Normal  # m, S


class EMData(NamedTuple):
    """Rows and what E-steps need of them."""

    rows: Rows  # X, aligned with weights and labels, each or both None
    total: Moments  # weight, mean and scatter of all rows; of the observed values
    frame: natural_parameters.Coordinates | None  # None where values are missing
    weight: float  # of all rows


class GaussianMixturePrior(NamedTuple):
    """Eq. (3) and (4); a part that is absent has a = 1, kappa = 0 or no Psi."""

    a: float = 1.0
    m0: Any = 0.0  # (d,)
    kappa: float = 0.0
    psi: Any = None  # covariance of one component, in the storage of the shape
    v: float = 0.0


FLAT_PRIOR = GaussianMixturePrior()


def em_data_from_rows(data: Rows, shape: str, weight: float) -> EMData:
    """Rows with their total moments, from one pass; finds out if values are missing."""
    known = hasattr(data, "X")  # whether values are missing, before any sum
    finite = arrays.all_finite(data.X) if known else True
    total = natural_parameters.pooled_moments(data, shape) if finite else None
    if total is not None and has_finite_moments(total):
        return EMData(
            data,
            total,
            natural_parameters.standard_coordinates(data, shape, total),
            weight,
        )
    if known and finite:
        refuse_large_values(data)
    seen = seen_moments(data)
    empty = np.flatnonzero(seen.weight[0] == 0)
    if len(empty):
        raise ValueError(f"column {int(empty[0])} of X has no value that is seen.")
    if not has_finite_moments(seen):
        refuse_large_values(data)
    return EMData(data, seen, None, weight)


def refuse_large_values(data: Rows):
    """Raise the error of rows whose moments overflow."""
    if hasattr(data, "X"):
        refuse_overflowing_squares("a Gaussian mixture", data.X, margin=np.inf)
    raise ValueError("X holds values whose squares overflow: scale its columns.")


def has_finite_moments(m: Moments) -> bool:
    """Whether mean and scatter are finite."""
    return bool(np.isfinite(m.mean).all() and np.isfinite(m.scatter).all())


def prepare_em_data(X, w, shape, y=None) -> EMData:
    """Rows of any kind, with what E-steps need of them."""
    block = DEVICE_BLOCK if arrays.is_foreign(X) else None
    total = float(X.shape[0] if w is None else arrays.namespace(w).sum(w))
    return em_data_from_rows(as_rows(X, w, y, block=block), shape, total)


def map_log_joint(X, p: GaussianMixtureParams, function, log_w=None):
    """function(log w_j N(x_i; m_j, S_j)) for each block of rows, put together."""
    block = DEVICE_BLOCK if arrays.is_foreign(X) else None
    p = p if is_dataset(X) else params_like(p, X)
    return as_rows(X, block=block).map(
        lambda Xb: function(gaussian_log_joint(Xb, p, log_w))
    )


def data_mean_and_covariance(data: EMData, shape: str):
    """Mean and unbiased covariance of all rows, in the storage of one component."""
    N, m, S = data.total.weight, data.total.mean, data.total.scatter
    if data.frame is None:
        m, V = m[0], S[0] / np.maximum(N[0] - 1, 1e-300)
        C = np.diag(V) if shape not in ("diag", "spherical") else V
    else:
        C = S / max(float(N) - 1, 1e-300)
    return m, np.asarray(C.mean() if shape == "spherical" else C)


def gaussian_log_joint(X, p: GaussianMixtureParams, log_w=None):
    """log w_j N(x_i; m_j, S_j): (n, k); of the observed values if some are missing."""
    if log_w is None:
        log_w = arrays.namespace(p.weights).log(p.weights)
    log_w = arrays.asarray(log_w, like=p.normal.mean)
    if not arrays.is_foreign(X) and not arrays.all_finite(X):
        return (observed_log_prob(p.normal, X) + log_w).astype(X.dtype, copy=False)
    return p.normal.log_prob(X) + log_w


def params_like(p: GaussianMixtureParams, like) -> GaussianMixtureParams:
    """The parameters in the library, device and dtype of `like`."""
    put = lambda a: arrays.asarray(a, like=like)
    q = p.normal
    return GaussianMixtureParams(
        put(p.weights), Normal(put(q.mean), put(q.cov), q.shape)
    )


def e_step_block(
    X, w, y, params: GaussianMixtureParams, log_w, component_class=None, hard=False
):
    """Eq. (1) of one block: moments under the responsibilities, log-likelihood."""
    missing = not arrays.is_foreign(X) and not arrays.all_finite(X)
    R, loglik = natural_parameters.weighted_responsibilities(
        gaussian_log_joint(X, params, log_w), w, y, component_class, hard
    )
    if missing:
        return expected_moments(params.normal, X, R), loglik
    return params.normal.stats(X, R), loglik


def e_step(
    data: EMData,
    params: GaussianMixtureParams,
    log_w=None,
    component_class=None,
    hard=False,
):
    """Eq. (1) of all rows, by matrix products where they keep enough digits."""
    log_w = np.log(params.weights) if log_w is None else log_w
    if data.frame is not None:
        try:
            B, q, error = natural_parameters.natural_coefficients(
                params.normal, log_w, data.frame
            )
        except np.linalg.LinAlgError:  # columns of scales too far apart for products
            B = None
            q = 0.0
            error = np.inf
        if error <= natural_parameters.ERROR:
            S, loglik = natural_parameters.expected_features(
                data.rows, data.frame, B, component_class, hard
            )
            return natural_parameters.moments_from_features(
                S, data.frame, params.normal.shape
            ), loglik + q
    place = hasattr(data.rows, "X") and data.frame is not None
    q = params_like(params, data.rows.X) if place else params
    part = lambda X, w=None, y=None: e_step_block(
        X, w, y, q, log_w, component_class, hard
    )
    stats, loglik = data.rows.sum(part)
    return moments_to_numpy(stats), loglik


def normal_prior(
    prior: GaussianMixturePrior, shape: str, k: int, d: int
) -> NormalPrior:
    """Pseudo-observations of the prior: scatters and numbers of rows, eq. (4)."""
    extra = 0.0 if prior.kappa == 0 else 1.0
    if prior.psi is not None:
        more = 2 if shape in ("diag", "spherical") else d + 1
        parts = {"tied": k, "spherical": d}.get(shape, 1)
        extra = extra + (prior.v + more) / parts
    return NormalPrior(prior.m0, prior.kappa, prior.psi, extra)


def posterior_modes(
    stats: Moments, prior: GaussianMixturePrior = FLAT_PRIOR
) -> tuple[Any, Any]:
    """Means of eq. (3) and covariances of eq. (4)."""
    return normal_modes(stats, normal_prior(prior, stats.shape, *stats.mean.shape))


def m_step(
    stats: Moments,
    previous: GaussianMixtureParams,
    floor=0.0,
    prior: GaussianMixturePrior = FLAT_PRIOR,
) -> GaussianMixtureParams:
    """Eq. (2): the next parameters. A component without any row stays as it is."""
    part = ALL_SHAPES[previous.normal.shape]
    W = np.maximum(stats.weight + prior.a - 1, 0.0) + EPS
    mean, cov = posterior_modes(stats, prior)
    cov = SHAPES[stats.shape].floor(cov, floor)
    empty = stats.weight <= EPS
    if empty.any() and prior.kappa == 0:
        mean = np.where(empty[:, None], previous.normal.mean, mean)
    if empty.any() and prior.psi is None and stats.shape != "tied":
        was = previous.normal.dense if part.name == "low_rank" else previous.normal.cov
        cov = np.where(empty.reshape(-1, *[1] * (cov.ndim - 1)), was, cov)
    if part.name == "low_rank":
        psi = previous.normal.cov[..., -1]
        rank = previous.normal.cov.shape[-1] - 1
        cov = factor_analysis(cov, rank, psi, floor=floor)
    return GaussianMixtureParams(W / W.sum(), Normal(mean, cov, part.name))


def gaussian_mixture_log_prior(
    p: GaussianMixtureParams, prior: GaussianMixturePrior
) -> float:
    """log of the prior density at p, less what does not depend on p."""
    out = (prior.a - 1) * np.log(p.weights).sum()
    pull = normal_prior(prior, p.normal.shape, *p.normal.mean.shape)
    return float(out) + normal_log_prior(p.normal, pull)


def run_gaussian_em(
    data: EMData,
    initial: GaussianMixtureParams,
    *,
    floor,
    max_iter,
    tol,
    prior=FLAT_PRIOR,
    component_class=None,
    hard=False,
    on_e_step=None,
    task=SILENT,
):
    """EM from the initial parameters; calls `on_e_step` after each E-step.

    `floor` is added to the diagonal of every covariance; `on_e_step` takes the
    parameters and the mean log-likelihood.
    """

    def expect(params):
        stats, loglik = e_step(data, params, component_class=component_class, hard=hard)
        if on_e_step is not None:
            on_e_step(params, loglik / max(data.weight, 1e-300))
        return (stats, params), loglik

    log_prior = None
    if prior is not FLAT_PRIOR:
        log_prior = lambda params: gaussian_mixture_log_prior(params, prior)
    return em(
        expect,
        lambda stats: m_step(*stats, floor=floor, prior=prior),
        initial,
        n=data.weight,
        log_prior=log_prior,
        max_iter=max_iter,
        tol=tol,
        task=task,
    )


@contextmanager
def collapse_explained():
    """Says of a covariance that is not positive definite what a mixture can do."""
    try:
        yield
    except SingularCovarianceError as error:
        cause = str(error).partition(":")[0]
        raise SingularCovarianceError(
            f"{cause}. Fitting the mixture model failed because some components have "
            "ill-defined empirical covariance (for instance caused by singleton or "
            "collapsed samples). Try to decrease the number of components, increase "
            "reg_covar, or scale the input data."
        ) from error


def prior_from_estimator(estimator, data: EMData, shape: str) -> GaussianMixturePrior:
    """The prior that the parameters of an estimator ask for."""
    d = data.rows.d
    store = "full" if shape == "low_rank" else shape
    m, C = data_mean_and_covariance(data, store)
    prior = FLAT_PRIOR
    if estimator.weight_concentration_prior is not None:
        prior = prior._replace(a=float(estimator.weight_concentration_prior))
    if estimator.mean_precision_prior is not None or estimator.mean_prior is not None:
        kappa = estimator.mean_precision_prior
        m0 = checked_prior_array("mean_prior", estimator.mean_prior, (d,))
        prior = prior._replace(
            m0=m if m0 is None else m0, kappa=1.0 if kappa is None else float(kappa)
        )
    if (
        estimator.covariance_prior is None
    ) and estimator.degrees_of_freedom_prior is None:
        return prior
    v = estimator.degrees_of_freedom_prior
    psi = checked_covariance_prior(estimator.covariance_prior, store, d)
    return prior._replace(psi=C if psi is None else psi, v=float(d if v is None else v))


def checked_prior_array(name, value, shape):
    """A given prior as a float array of the right shape, or None."""
    if value is None:
        return None
    value = np.asarray(arrays.to_numpy(value), dtype=float)
    if value.shape != shape or not np.isfinite(value).all():
        raise ParameterError(
            f"{name} must hold finite numbers in shape {shape}, got shape "
            f"{value.shape}."
        )
    return value


def checked_covariance_prior(value, shape, d):
    """A given covariance prior, positive (definite), or None."""
    want = {"diag": (d,), "spherical": ()}.get(shape, (d, d))
    psi = checked_prior_array("covariance_prior", value, want)
    if psi is None:
        return None
    smallest = np.linalg.eigvalsh(psi).min() if psi.ndim == 2 else psi.min()
    if smallest <= 0 or (psi.ndim == 2 and not np.allclose(psi, psi.T)):
        raise ParameterError("covariance_prior must be symmetric, positive definite.")
    return psi


def with_parameter_path(result, params):
    """The result with the parameters after each iteration in its history."""
    if not params:
        return result
    path = {
        "weights": np.stack([p.weights for p in params]),
        "means": np.stack([p.normal.mean for p in params]),
        "covariances": np.stack([p.normal.dense for p in params]),
    }
    return result._replace(history={**result.history, **path})


def mixture_attributes(p: GaussianMixtureParams, X) -> dict:
    """Fitted attributes in the library and dtype of X."""
    shape, P = p.normal.shape, p.normal.factor
    flat = shape in ("diag", "spherical")
    square = P * P if flat else P @ np.swapaxes(P, -1, -2)
    like = np.empty(0, X.dtype) if is_dataset(X) else X
    put = lambda a: arrays.asarray(a, like=like)
    result = {
        "weights_": put(p.weights),
        "means_": put(p.normal.mean),
        "covariances_": put(p.normal.dense if shape == "low_rank" else p.normal.cov),
        "precisions_": put(square),
        "precisions_cholesky_": put(P),
    }
    if shape == "low_rank":
        result["factors_"] = put(p.normal.cov[..., :-1])
        result["noise_variance_"] = put(p.normal.cov[..., -1])
    return result


def sample_gaussian_mixture(weights, normal: Normal, n, rng, like):
    """n rows drawn from a mixture and their components, in the library of `like`."""
    try:
        check_count("n_samples", n)
    except ParameterError as error:
        raise ParameterError(f"Invalid value for 'n_samples': {error}") from None
    counts = rng.multinomial(n, weights / weights.sum())
    z = np.repeat(np.arange(len(weights)), counts)
    rows = normal.draw(z, rng)
    if not arrays.is_foreign(like):
        return rows, z
    xp = arrays.namespace(like)
    device = arrays.device(like)
    return arrays.asarray(rows, like=like), xp.asarray(z, device=device)


def mean_imputed(X, w, mean):
    """X with missing values replaced by column means, and the row weights."""
    if is_dataset(X):
        take = np.unique(np.linspace(0, X.n - 1, min(X.n, SAMPLE)).astype(np.int64))
        X = X.take(take)
        w = None if w is None else w[take]
    return np.where(np.isnan(X), mean.astype(X.dtype), X), w


def label_moments(X, z, w, k, shape) -> Moments:
    """Moments of each group of rows, given their labels z."""
    xp = arrays.namespace(X)
    z = xp.asarray(z, device=arrays.device(X))
    components = xp.arange(k, dtype=z.dtype, device=arrays.device(X))
    R = xp.astype(z[:, None] == components, xp.float64)
    R = R if w is None else R * xp.astype(w, xp.float64)[:, None]
    return moments(X, arrays.asarray(R, like=X), shape)


def weights_or_ones(X, w):
    """w, or ones in the library and on the device of X."""
    if w is not None:
        return w
    if not arrays.is_foreign(X):
        return np.ones(X.shape[0])
    xp = arrays.namespace(X)
    return xp.ones(X.shape[0], dtype=X.dtype, device=arrays.device(X))


def kmeans_start_labels(X, w, k, rng):
    """The k-means cluster of each row."""
    from ..cluster.centers.kmeans import kmeans_labels

    if k == 1:
        return np.zeros(X.shape[0], np.int32)
    return kmeans_labels(X, weights_or_ones(X, w), k, rng)


def guessed_moments(X, w, k, shape, method, rng) -> Moments:
    """Moments of the components under a first guess of the memberships."""
    data = as_rows(X)
    if method == "random":
        R = rng.random((data.n, k))
        R = R / R.sum(axis=1, keepdims=True)
        R = R if w is None else R * arrays.to_numpy(w)[:, None]
        part = lambda X, r: moments(X, arrays.asarray(r, like=X), shape)
        return moments_to_numpy(data.with_aligned(R).sum(part))
    if method == "kmeans":
        z = kmeans_start_labels(X, w, k, rng)
        part = lambda X, z, w: label_moments(X, z, w, k, shape)
        return moments_to_numpy(data.with_aligned(z, w).sum(part))
    from ..cluster.centers.initialization import sample_initial_centers

    seeding = "k-means++" if method == "k-means++" else "random"
    C = sample_initial_centers(X, weights_or_ones(X, w), k, rng, method=seeding)[0]
    C = arrays.to_numpy(C).astype(float)
    return Moments(np.ones(k), C, SHAPES[shape].outer(0 * C, np.zeros(k)), shape)


def initial_moments(X, data, w, k, shape, method, rng):
    """Moments of the initial components, also where values are missing."""
    if data.frame is None:
        X, w = mean_imputed(X, w, data.total.mean[0])
    return guessed_moments(
        X, w, k, "full" if shape == "low_rank" else shape, method, rng
    )


def moments_to_numpy(m: Moments) -> Moments:
    """Moments as float64 NumPy arrays."""
    double = lambda a: arrays.to_numpy(a).astype(float)
    return Moments(double(m.weight), double(m.mean), double(m.scatter), m.shape)


def user_initial_params(weights, means, precisions, k, d, shape):
    """Initial weights, means and covariances that were given; None for the others."""
    storage = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}
    storage["low_rank"] = (k, d, d)
    W = checked_initial_array("weights_init", "weights", weights, (k,))
    M = checked_initial_array("means_init", "means", means, (k, d))
    P = checked_initial_array(
        "precisions_init", f"{shape} precision", precisions, storage[shape]
    )
    if W is not None and (W.min() < 0 or W.max() > 1):
        raise ParameterError(
            "The parameter 'weights' should be in the range [0, 1], but got min value "
            f"{W.min():.5f}, max value {W.max():.5f} as weights_init."
        )
    if W is not None and not np.isclose(W.sum(), 1):
        raise ParameterError(
            "The parameter 'weights' should be normalized, but got sum(weights) = "
            f"{W.sum():.5f} as weights_init."
        )
    return W, M, None if P is None else covariances_from_precisions(P, shape)


def checked_initial_array(name, what, value, shape):
    """A given initial value as a float array of the right shape, or None.

    `name` is the parameter, `what` is what it holds.
    """
    if value is None:
        return None
    value = np.asarray(arrays.to_numpy(value), dtype=float)
    if value.shape != shape:
        raise ParameterError(
            f"The parameter '{what}' should have the shape of {shape}, but got "
            f"{value.shape} as {name}."
        )
    if not np.isfinite(value).all():
        raise ParameterError(f"{name} must hold finite numbers.")
    return value


def covariances_from_precisions(P, shape):
    """Covariances from precisions in any storage, which must be positive definite."""
    if shape in ("diag", "spherical"):
        if (P <= 0).any():
            raise ParameterError(
                f"The parameter '{shape} precision' should be positive, but "
                "precisions_init is not."
            )
        return 1 / P
    if not np.allclose(P, np.swapaxes(P, -1, -2)) or np.linalg.eigvalsh(P).min() <= 0:
        raise ParameterError(
            f"The parameter '{shape} precision' should be symmetric, "
            "positive-definite, but precisions_init is not."
        )
    C = np.linalg.inv(P)
    return 0.5 * (C + np.swapaxes(C, -1, -2))
