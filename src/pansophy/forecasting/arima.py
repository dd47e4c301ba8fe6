"""ARIMA: autoregressions and moving averages of the differences of a series.

With B the shift by a step, a season of m steps, and regressors x_t,

    phi(B) Phi(B^m) (1 - B)^d (1 - B^m)^D (y_t - x_t'b) = theta(B) Theta(B^m) e_t  (1)

has orders (p, d, q)(P, D, Q)_m and shocks e_t of variance s2. As a state-space model
the state holds the ARMA process of the differences in Harvey's companion form, from its
stationary start, and the last d + m D values, which start diffuse. Its likelihood by
the Kalman filter (`state_space`) is exact, whatever is missing. The filter is linear,
so that it whitens y and every x in the same way, u = e_t / sqrt(f_t), and b and s2
have closed forms,

    b = least squares of u_y on u_x,   s2 = mean of (u_y - u_x'b)^2                (2)

The rest is searched by BFGS, with polynomials made stable by partial correlations
0.9995 tanh(v); where that fails, a series is a random walk. It starts from, and orders
are compared by, conditional least squares,

    sum of e_t^2 with zeros before the first value                                (3)

Orders, unless given, are chosen stepwise by AICc: D = 1 if the seasonal strength of STL
is above 0.64, d by repeated KPSS tests at 5 %, then from four models steps of one order
up or down. A constant is added if d + D < 2, as a mean or a drift. Seasons of more than
24 steps freeze such models: they become regressors, k pairs of sine and cosine,
with k of least AICc.

Cost      (3): O(n (p + q)) a pass; exact: O(n k^3) until the filter converges
Refs      [Harvey1989] 3.3; [HyndmanKhandakar2008] the steps; [Kwiatkowski1992] KPSS
"""

from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from ..core.numerics import LOG_2PI
from ..optim import bfgs
from ..optim.numeric_derivatives import numeric_gradient
from ..params import Count, Flag, Natural, ParameterRule
from ..state_space.forecast import observation_moments
from ..state_space.kalman.kalman_recursions import run_filter
from ..state_space.kalman.linear_gaussian import LinearGaussianModel, stationary_moments
from . import _arima
from .abstract_forecaster import AbstractForecaster
from .seasonality import season_of
from .stl import fill_series_gaps, stl

MAX_SEASON = 24
MAX_ORDER = 3  # of p and q when chosen
MAX_SEASONAL_ORDER = 1  # of P and Q
SEASONAL_STRENGTH = 0.64
KPSS_LIMIT = 0.463  # at 5 %
SEARCH_LIMIT = 300
EXACT_STEPS = 15
HARMONICS = (0, 1, 2, 3, 5, 8)


def _is_order(value, length) -> bool:
    return len(value) == length and all(
        isinstance(v, (int, np.integer)) and 0 <= v <= 24 for v in value
    )


Order = Annotated[
    Any, ParameterRule("three whole numbers (p, d, q)", lambda v: _is_order(v, 3))
]


class Orders(NamedTuple):
    """Orders of eq. (1), and whether there is a constant."""

    p: int = 0
    d: int = 0
    q: int = 0
    P: int = 0
    D: int = 0
    Q: int = 0
    m: int = 1
    constant: bool = False

    @property
    def arma(self) -> np.ndarray:
        return np.array([self.p, self.q, self.P, self.Q], np.int64)

    def __str__(self):
        text = f"({self.p},{self.d},{self.q})"
        if self.m > 1 and self.P + self.D + self.Q:
            text += f"({self.P},{self.D},{self.Q})[{self.m}]"
        return text


class ARIMAFit(NamedTuple):
    """What is learned of one series."""

    orders: Orders
    ar: np.ndarray  # full polynomials
    ma: np.ndarray
    coef: np.ndarray  # of the regressors
    variance: float
    loglik: float
    aicc: float
    fitted: np.ndarray


def difference_series(x, orders) -> np.ndarray:
    """(1 - B)^d (1 - B^m)^D x, along the first axis."""
    for _ in range(orders.D):
        x = x[orders.m :] - x[: -orders.m]
    for _ in range(orders.d):
        x = x[1:] - x[:-1]
    return x


def full_polynomials(free, orders) -> tuple[np.ndarray, np.ndarray]:
    """phi and theta of eq. (1), multiplied out."""
    ar = np.zeros(orders.p + orders.m * orders.P)
    ma = np.zeros(orders.q + orders.m * orders.Q)
    work = np.zeros((3, max(*orders.arma.tolist(), 1)))
    free = np.ascontiguousarray(free, dtype=float)
    _arima.expand_polynomials(free, orders.arma, orders.m, work, ar, ma)
    return ar, ma


def difference_weights(orders) -> np.ndarray:
    """c of y_t = w_t + sum c_i y_t-i, where w are the differences."""
    polynomial = np.array([1.0])
    for _ in range(orders.d):
        polynomial = np.convolve(polynomial, [1.0, -1.0])
    for _ in range(orders.D):
        polynomial = np.convolve(polynomial, np.r_[1.0, np.zeros(orders.m - 1), -1.0])
    return -polynomial[1:]


def arima_model(ar, ma, weights) -> LinearGaussianModel:
    """Eq. (1) as a chain of unit shocks; weights as by `difference_weights`."""
    r = max(len(ar), len(ma) + 1)
    k = r + len(weights)
    F = np.zeros((k, k))
    F[: len(ar), 0] = ar
    F[: r - 1, 1:r] = np.eye(r - 1)
    shock = np.r_[1.0, ma, np.zeros(r - 1 - len(ma))]
    Q = np.zeros((k, k))
    Q[:r, :r] = np.outer(shock, shock)
    P = np.zeros((k, k))
    _, P[:r, :r] = stationary_moments(F[:r, :r], Q[:r, :r], np.zeros(r))
    H = np.zeros((1, k))
    H[0, 0] = 1.0
    diffuse = None
    if len(weights):
        H[0, r:] = weights
        F[r] = H[0]
        F[r + 1 :, r:-1] = np.eye(len(weights) - 1)
        diffuse = np.diag(np.r_[np.zeros(r), np.ones(len(weights))])
    zero = np.zeros(k)
    return LinearGaussianModel(
        F, Q, H, np.zeros((1, 1)), zero, np.zeros(1), zero, P, diffuse
    )


class Whitened(NamedTuple):
    """Eq. (2): likelihood, coefficients and variance at some polynomials."""

    loglik: float
    coef: np.ndarray
    variance: float
    residual: np.ndarray  # (n,) one-step errors


def whiten_series(model, y, X) -> Whitened:
    """Run the filter over y and the columns of X, and solve eq. (2)."""
    n = len(y)
    columns = np.where(np.isnan(y)[:, None], np.nan, X)
    stacked = np.concatenate([y, columns.T.ravel()])[:, None]
    ends = n * np.arange(1, X.shape[1] + 2)
    run = run_filter(model, stacked, ends)
    u = run.standardized[:, 0].reshape(-1, n)
    e = run.residual[:, 0].reshape(-1, n)
    known = np.isfinite(u).all(axis=0)
    uy = u[0, known]
    ux = u[1:, known].T
    count = max(len(uy), 1)
    log_f = -2 * run.logliks[:n].sum() - count * LOG_2PI - uy @ uy
    coef = np.linalg.lstsq(ux, uy)[0] if X.shape[1] else np.zeros(0)
    rest = uy - ux @ coef
    variance = max(float(rest @ rest) / count, 1e-300)
    loglik = -0.5 * (count * (np.log(variance) + 1 + LOG_2PI) + log_f)
    return Whitened(float(loglik), coef, variance, e[0] - coef @ e[1:])


def _fit_exactly(y, X, orders, free) -> ARIMAFit:
    """Maximum likelihood from free numbers on."""
    gaps = bool(np.isnan(y).any())
    weights = difference_weights(orders)
    w = y if gaps else difference_series(y, orders)
    Z = X if gaps else difference_series(X, orders)

    def run(v):
        ar, ma = full_polynomials(v, orders)
        return whiten_series(
            arima_model(ar, ma, weights if gaps else weights[:0]), w, Z
        )

    def objective(v):
        if np.abs(v).max(initial=0.0) > 6:
            return 1e10
        value = -run(v).loglik / len(y)
        return value if np.isfinite(value) else 1e10

    if len(free):
        free = np.clip(free, -3, 3)
        optimum = bfgs(
            lambda v: (objective(v), numeric_gradient(objective, v)),
            free,
            max_iter=EXACT_STEPS,
            tol=1e-5,
        )
        free = np.asarray(optimum.state.position)
    best = run(free)
    ar, ma = full_polynomials(free, orders)
    count = int((~np.isnan(y)).sum()) - len(weights)
    k = len(free) + X.shape[1] + 1
    aicc = np.inf
    if count - k - 1 > 0:
        aicc = -2 * best.loglik + 2 * k * count / (count - k - 1)
    fitted = np.full(len(y), np.nan)
    fitted[len(y) - len(w) :] = y[len(y) - len(w) :] - best.residual
    return ARIMAFit(
        orders, ar, ma, best.coef, best.variance, best.loglik, float(aicc), fitted
    )


# --- choice of orders --------------------------------------------------------------


def kpss_statistic(x) -> float:
    """KPSS statistic of a level, with Bartlett's weights over 4 (n / 100)^(1/4) lags.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.forecasting.arima import kpss_statistic
    >>> bool(kpss_statistic(np.arange(50.0)) > 0.463)
    True
    """
    n = len(x)
    e = x - x.mean()
    lags = int(4 * (n / 100) ** 0.25)
    variance = e @ e / n
    for lag in range(1, lags + 1):
        variance += 2 * (1 - lag / (lags + 1)) * (e[lag:] @ e[:-lag]) / n
    total = np.cumsum(e)
    return float(total @ total / (n**2 * variance)) if variance > 0 else 0.0


def seasonal_strength(y, m) -> float:
    """1 - var(remainder) / var(remainder + season) of STL."""
    parts = stl(y, m, seasonal_width=11)
    spread = np.var(parts.remainder + parts.seasonal)
    return max(0.0, 1 - np.var(parts.remainder) / spread) if spread > 0 else 0.0


def choose_differences(y, m) -> tuple[int, int]:
    """d and D by KPSS tests and seasonal strength."""
    y = fill_series_gaps(y, m)
    D = int(m > 1 and len(y) >= 3 * m and seasonal_strength(y, m) > SEASONAL_STRENGTH)
    x = y[m:] - y[:-m] if D else y
    d = 0
    while d < 2 and len(x) > 5 and np.ptp(x) > 0 and kpss_statistic(x) > KPSS_LIMIT:
        x = np.diff(x)
        d += 1
    return d, D


def _conditional_fit(y, X, orders):
    """Free numbers and AICc by eq. (3), after least squares of the differences on X."""
    w = difference_series(y, orders)
    Z = difference_series(X, orders)
    known = ~np.isnan(w)
    if Z.shape[1]:
        w = w - Z @ np.linalg.lstsq(Z[known], w[known])[0]
    free, total, count = _arima.least_squares_arma(
        np.ascontiguousarray(w), orders.arma, orders.m, SEARCH_LIMIT
    )
    k = len(free) + X.shape[1] + 1
    if count - k - 1 <= 0:
        return free, np.inf
    score = count * np.log(max(total / count, 1e-300))
    return free, float(score + 2 * k * count / (count - k - 1))


def with_constant(X, orders) -> np.ndarray:
    """Regressors with the column whose difference is the constant."""
    if not orders.constant:
        return X
    t = np.arange(1.0, len(X) + 1)[:, None]
    return np.hstack([t if orders.d + orders.D else np.ones_like(t), X])


def _choose_orders(y, X, m, d, D) -> tuple[Orders, np.ndarray]:
    """Stepwise search of Hyndman and Khandakar by AICc of eq. (3)."""
    constant = d + D < 2
    seasonal = m > 1
    tried: dict[Orders, tuple[np.ndarray, float]] = {}

    def score(o):
        if o not in tried:
            tried[o] = _conditional_fit(y, with_constant(X, o), o)
        return tried[o][1]

    base = Orders(d=d, D=D, m=m, constant=constant)
    s = int(seasonal)
    starts = [
        base._replace(p=2, q=2, P=s, Q=s),
        base,
        base._replace(p=1, P=s),
        base._replace(q=1, Q=s),
    ]
    best = min(starts, key=score)
    moves = [(1, 0, 0, 0), (0, 1, 0, 0), (1, 1, 0, 0)]
    moves += [(0, 0, 1, 0), (0, 0, 0, 1)] if seasonal else []
    improved = True
    while improved:
        improved = False
        near = [best._replace(constant=not best.constant)] if constant else []
        for (a, b, c, e), sign in product(moves, (1, -1)):
            o = best._replace(
                p=best.p + sign * a,
                q=best.q + sign * b,
                P=best.P + sign * c,
                Q=best.Q + sign * e,
            )
            if (
                0 <= o.p <= MAX_ORDER
                and 0 <= o.q <= MAX_ORDER
                and 0 <= o.P <= MAX_SEASONAL_ORDER
                and 0 <= o.Q <= MAX_SEASONAL_ORDER
            ):
                near.append(o)
        for o in near:
            if score(o) < score(best) - 1e-9:
                best = o
                improved = True
                break
    return best, tried[best][0]


def fourier_terms(t, period, n_pairs) -> np.ndarray:
    """(n, 2 k) sines and cosines of a period at the steps t.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.forecasting.arima import fourier_terms
    >>> fourier_terms(np.arange(2), 4, 1).round(6)
    array([[0., 1.],
           [1., 0.]])
    """
    angle = 2 * np.pi * np.outer(t, np.arange(1, n_pairs + 1)) / period
    return np.hstack([np.sin(angle), np.cos(angle)])


def choose_harmonics(y, period) -> int:
    """The number of pairs with the least AICc of least squares on the differences."""
    n = len(y)
    best = 0
    least_score = np.inf
    t = np.arange(n)
    w = np.diff(y)
    known = ~np.isnan(w)
    for k in HARMONICS:
        p = 2 * k + 2
        if 2 * k >= period or known.sum() - p - 1 < 5 or n < 1.5 * period:
            continue
        Z = np.hstack(
            [np.diff(fourier_terms(t, period, k), axis=0), np.ones((n - 1, 1))]
        )
        rest = w[known] - Z[known] @ np.linalg.lstsq(Z[known], w[known])[0]
        count = known.sum()
        score = count * np.log(max(rest @ rest / count, 1e-300))
        score += 2 * p * count / (count - p - 1)
        if score < least_score:
            best = k
            least_score = score
    return best


@dataclass(eq=False, repr=False)
class ARIMA(AbstractForecaster):
    """ARIMA with seasons and regressors, of given or chosen orders; exact likelihood.

    Parameters
    ----------
    order : (p, d, q) or None, default=None
        Orders; None to choose them for every series.
    seasonal_order : (P, D, Q) or None, default=None
        Seasonal orders; None to choose them with `order`, or for none if that is given.
    season_length : int or None, default=None
        Steps of the season; None for the shortest usual at the frequency of the panel.
    constant : bool or "auto", default="auto"
        Whether there is a mean, or a drift of differences. "auto" chooses, or takes
        one where there are no differences if orders are given.
    n_fourier : int or "auto", default="auto"
        Pairs of sine and cosine of the season; "auto" takes them for seasons of more
        than 24 steps only.
    exact : bool, default=True
        Whether the likelihood is maximised; else conditional squares are minimised.

    Attributes
    ----------
    models_ : list of ARIMAFit
        Orders, polynomials, coefficients, variance and likelihood of each series.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.forecasting import ARIMA
    >>> y = 5 + 2.0 * np.arange(30) + np.tile([0.1, -0.1], 15)
    >>> model = ARIMA((0, 1, 0), constant=True).fit(y)
    >>> model.predict(2).mean.round(1)
    array([64.9, 66.9])
    """

    order: Order | None = None
    seasonal_order: Order | None = None
    _: KW_ONLY
    season_length: Count | None = None
    constant: Flag | Literal["auto"] = "auto"
    n_fourier: Natural | Literal["auto"] = "auto"
    exact: Flag = True

    def _uses_known(self):
        return True

    def _least_values(self, panel):
        if self.order is None:
            return 6
        m = season_of(panel, self.season_length)
        p, d, q = self.order
        P, D, Q = self.seasonal_order or (0, 0, 0)
        known = 0 if panel.known is None else panel.known.n_columns
        return d + p + q + m * (D + P + Q) + known + 4

    def _fit_panel(self, panel):
        m = season_of(panel, self.season_length)
        known = panel.known_rows()
        self.models_ = []
        self.pairs_ = np.zeros(len(panel), np.int64)
        self.period_ = m
        for i, y in enumerate(panel.series):
            self.pairs_[i] = self._count_pairs(y, m)
            X = self._regressors(i, np.arange(len(y)))
            if known is not None:
                X = np.hstack([X, known[panel.offsets[i] : panel.offsets[i + 1]]])
            self.models_.append(self._fit_or_walk(y, X, m))
        self._remember(panel)

    def _refresh_panel(self, panel):
        self._remember(panel)

    def _remember(self, panel):
        self.series_ = list(panel.series)
        known = panel.known_rows()
        self.known_ = None if known is None else np.split(known, panel.offsets[1:-1])

    def _count_pairs(self, y, m) -> int:
        if self.n_fourier != "auto":
            return int(self.n_fourier)
        return choose_harmonics(y, m) if m > MAX_SEASON else 0

    def _regressors(self, i, t):
        return fourier_terms(t, self.period_, int(self.pairs_[i]))

    def _fit_or_walk(self, y, X, m) -> ARIMAFit:
        """The fit of a series; a random walk where the numbers leave no other."""
        try:
            fit = self._fit_series(y, X, m)
            if np.isfinite(fit.loglik):
                return fit
        except (ValueError, np.linalg.LinAlgError):
            pass
        return _fit_exactly(y, X[:, :0], Orders(d=1), np.zeros(0))

    def _fit_series(self, y, X, m) -> ARIMAFit:
        m = m if m <= MAX_SEASON or self.seasonal_order is not None else 1
        if np.nanmax(y) == np.nanmin(y):  # a constant needs no model
            X = X[:, :0]
            return _fit_exactly(y, np.ones((len(y), 1)), Orders(constant=True), X[0])
        if self.order is None:
            d, D = choose_differences(y, m)
            if self.seasonal_order is not None:
                D = self.seasonal_order[1]
            orders, free = _choose_orders(y, X, m, d, D)
        else:
            p, d, q = self.order
            P, D, Q = self.seasonal_order or (0, 0, 0)
            constant = d + D == 0 if self.constant == "auto" else self.constant
            orders = Orders(p, d, q, P, D, Q, m, bool(constant))
            free, _ = _conditional_fit(y, with_constant(X, orders), orders)
        X = with_constant(X, orders)
        if self.exact:
            return _fit_exactly(y, X, orders, free)
        ar, ma = full_polynomials(free, orders)
        gaps = bool(np.isnan(y).any())
        weights = difference_weights(orders)
        w = y if gaps else difference_series(y, orders)
        model = arima_model(ar, ma, weights if gaps else weights[:0])
        whitened = whiten_series(model, w, X if gaps else difference_series(X, orders))
        fitted = np.full(len(y), np.nan)
        fitted[len(y) - len(w) :] = y[len(y) - len(w) :] - whitened.residual
        return ARIMAFit(
            orders,
            ar,
            ma,
            whitened.coef,
            whitened.variance,
            whitened.loglik,
            np.nan,
            fitted,
        )

    def _mean_of(self, i, horizon, X_future) -> np.ndarray:
        fit = self.models_[i]
        y = self.series_[i]
        t = np.arange(len(y) + horizon)
        X = np.zeros((len(t), 0))
        if np.nanmax(y) > np.nanmin(y) or len(fit.coef) != 1:
            X = self._regressors(i, t)
            if self.known_ is not None:
                ahead = np.zeros((horizon, self.known_[i].shape[1]))
                ahead = ahead if X_future is None else X_future[i]
                X = np.hstack([X, np.vstack([self.known_[i], ahead])])
        X = with_constant(X, fit.orders)[:, : len(fit.coef)]
        level = X @ fit.coef
        rest = np.r_[y - level[: len(y)], np.full(horizon, np.nan)]
        model = arima_model(fit.ar, fit.ma, difference_weights(fit.orders))
        run = run_filter(model, rest[:, None], np.array([len(rest)]))
        tail = slice(len(y), None)
        mean, _ = observation_moments(
            model.H, model.R, model.d, run.mean[tail], np.asarray(run.covs[tail])
        )
        return mean[:, 0] + level[tail]

    def _means(self, horizon, X_future):
        n = len(self.models_)
        return np.array([self._mean_of(i, horizon, X_future) for i in range(n)])

    def _shock_weights(self, horizon):
        sigma = np.sqrt([fit.variance for fit in self.models_])
        return sigma, np.array([psi_weights(fit, horizon) for fit in self.models_])

    def _fitted(self):
        if any(len(f.fitted) != len(y) for f, y in zip(self.models_, self.series_)):
            return np.concatenate(
                [self._fitted_again(i) for i in range(len(self.series_))]
            )
        return np.concatenate([fit.fitted for fit in self.models_])

    def _fitted_again(self, i) -> np.ndarray:
        """One-step forecasts over a series that has grown since the fit."""
        head = self.models_[i].fitted
        return np.r_[head, np.full(len(self.series_[i]) - len(head), np.nan)]


def psi_weights(fit, horizon) -> np.ndarray:
    """How a shock lives on: the moving average of infinite order."""
    polynomial = np.r_[1.0, -fit.ar]
    polynomial = np.convolve(polynomial, np.r_[1.0, -difference_weights(fit.orders)])
    psi = np.zeros(horizon)
    for h in range(horizon):
        value = 1.0 if h == 0 else (fit.ma[h - 1] if h <= len(fit.ma) else 0.0)
        for i in range(1, min(h, len(polynomial) - 1) + 1):
            value -= polynomial[i] * psi[h - i]
        psi[h] = value
    return psi
