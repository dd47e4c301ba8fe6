"""Exponential smoothing as a state-space model of single source of error (ETS).

A form is error x trend x season: errors add (A) or multiply (M), the trend is none (N),
additive or multiplicative, damped (d) or not, the season is none, additive or
multiplicative: thirty forms, written like MAdM. With the state (l, b, s) before step t,
the damped slope g = phi b (or b^phi) and the season m steps ago,

    q = l, l + g or l g;    f = q, q + s or q s                                   (1)

is the level and the one-step forecast. After the value y, with p = y, y - s or y / s,

    l' = q + alpha (p - q)
    b' = g + (beta / alpha) (l' - l - g)     or l' / l in the place of l' - l     (2)
    s' = s + gamma (y - q - s)               or y / q in the place of y - q

for either kind of error. With e_t = y_t - f_t, or relative to f_t,

    alpha in (0, 1), beta < alpha, gamma < 1 - alpha, 0.8 <= phi <= 0.98          (3)
    -2 log L = n log sum e_t^2  [+ 2 sum log |f_t| if errors multiply]            (4)

is minimised over the weights and the first state by a compiled Nelder-Mead search from
the classical decomposition of the first seasons; (3) lies within the region where old
values are forgotten. Of several forms the one of least AICc is kept. As the search for
the best form must not run wild: seasons of more than 24 steps are not tried, nothing
multiplies unless all values are above 0, additive errors are not combined with
multiplicative parts, and a multiplicative trend has to be asked for.

A shock lives on by psi_j = alpha + beta (phi + .. + phi^j) + gamma [m divides j] where
all adds; other forms are simulated. Where relative errors are so large that simulated
intervals are no use, they are those of additive errors. Missing values leave the state
as it would be without a surprise.

Cost      a few hundred passes of O(n) a form and series
Refs      [Hyndman2008] ch. 3 to 6; [HyndmanKhandakar2008] the choice of forms
"""

from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from ..params import Count, ParameterRule
from . import _exponential_smoothing as loops
from .abstract_forecaster import AbstractForecaster
from .seasonality import positive_series, season_of

MAX_SEASON = 24
N_PATHS = 1000  # behind the intervals of forms that do not add
WIDEST = 20.0  # ranges of the values; wider intervals are of no use
SEARCH_LIMIT = 600  # evaluations of a search
SEED = 9  # of the paths of intervals, the same for every series

NAMES = {None: 0, "add": 1, "mul": 2}
LETTERS = "NAM"
MaybeDamped = Annotated[
    Any,
    ParameterRule(
        "True, False or 'auto'", lambda v: v is True or v is False or v == "auto"
    ),
]


class Form(NamedTuple):
    """One of the thirty forms: 1 adds, 2 multiplies, 0 is absent."""

    error: int
    trend: int
    damped: int
    seasonal: int

    def __str__(self):
        damped = "d" if self.damped else ""
        return (
            LETTERS[self.error] + LETTERS[self.trend] + damped + LETTERS[self.seasonal]
        )

    @property
    def adds(self) -> bool:
        """Whether nothing multiplies."""
        return max(self.error, self.trend, self.seasonal) < 2

    @property
    def is_stable(self) -> bool:
        """Whether errors do not add to parts that multiply."""
        return self.error == 2 or self.adds


def possible_forms(error, trend, damped, seasonal) -> list[Form]:
    """The forms that the parameters of `ExponentialSmoothing` leave open.

    Examples
    --------
    >>> from pansophy.forecasting.exponential_smoothing import possible_forms
    >>> [str(f) for f in possible_forms("auto", "add", "auto", None)]
    ['AAN', 'AAdN', 'MAN', 'MAdN']
    """
    errors = [1, 2] if error == "auto" else [NAMES[error]]
    trends = [0, 1] if trend == "auto" else [NAMES[trend]]
    seasons = [0, 1, 2] if seasonal == "auto" else [NAMES[seasonal]]
    damps = [0, 1] if damped == "auto" else [int(damped)]
    forms = [
        Form(e, t, d, s)
        for e, t, d, s in product(errors, trends, damps, seasons)
        if t or not d
    ]
    chosen = "auto" in (error, trend, damped, seasonal)
    return [f for f in forms if f.is_stable] if chosen and error == "auto" else forms


@dataclass(eq=False, repr=False)
class ExponentialSmoothing(AbstractForecaster):
    """Exponential smoothing in any of its thirty forms, or in the one of least AICc.

    Parameters
    ----------
    error : {"auto", "add", "mul"}, default="auto"
        Whether errors add or multiply.
    trend : {"auto", "add", "mul", None}, default="auto"
        "auto" chooses between none and an additive one.
    damped : bool or "auto", default="auto"
        Whether the trend levels off.
    seasonal : {"auto", "add", "mul", None}, default="auto"
        "auto" tries seasons of up to 24 steps.
    season_length : int or None, default=None
        Steps of the season; None for the shortest usual at the frequency of the panel.
    initial_seasons : {"learned", "decomposition"}, default="decomposition"
        Whether the first seasons are learned too, or taken from the classical
        decomposition of the first years, which is several times as fast.

    Attributes
    ----------
    forms_ : array of str of shape (s,)
        The form of each series, such as "MAdM".
    fits_ : tuple of arrays
        weights (alpha, beta, gamma, phi), first and last state, sigma, log-likelihood
        and AICc of each series.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.forecasting import ExponentialSmoothing
    >>> t = np.arange(24)
    >>> y = 10 + t + np.tile([3.0, -1.0, -4.0, 2.0], 6)
    >>> model = ExponentialSmoothing("add", "add", damped=False, seasonal="add",
    ...     season_length=4).fit(y)
    >>> model.forms_.tolist(), model.predict(4).mean.round(2)
    (['AAA'], array([37., 34., 32., 39.]))
    """

    error: Literal["auto", "add", "mul"] = "auto"
    trend: Literal["auto", "add", "mul"] | None = "auto"
    _: KW_ONLY
    damped: MaybeDamped = "auto"
    seasonal: Literal["auto", "add", "mul"] | None = "auto"
    season_length: Count | None = None
    initial_seasons: Literal["learned", "decomposition"] = "decomposition"

    def _season(self, panel) -> int:
        """Steps of the season that the forms may have; 1 for none."""
        m = season_of(panel, self.season_length)
        if self.seasonal is None or (self.seasonal == "auto" and m > MAX_SEASON):
            return 1
        if m < 2 and self.seasonal != "auto":
            raise ValueError(
                f"seasonal={self.seasonal!r} needs season_length of at least 2; the "
                f"panel is {panel.frequency.name}."
            )
        return m

    def _forms(self, m) -> list[Form]:
        seasonal = None if m == 1 else self.seasonal
        return possible_forms(self.error, self.trend, self.damped, seasonal)

    def _least_values(self, panel):
        m = self._season(panel)
        simplest = min((_form_size(f, m) for f in self._forms(m)), default=2)
        needs_season = m > 1 and all(f.seasonal for f in self._forms(m))
        return max(simplest + 1, 2 * m if needs_season else 4)

    def _fit_panel(self, panel):
        m = self._season(panel)
        forms = self._forms(m)
        allowed = _allowed_forms(panel, forms, m)
        if not allowed.any(axis=1).all():
            first = panel.names[int(np.argmin(allowed.any(axis=1)))]
            raise ValueError(
                f"series {first} has values of 0 or below, where nothing can multiply: "
                "take error='add' and additive parts."
            )
        n = len(panel)
        self.fits_ = loops.SmoothingFits(
            np.full((n, 4), -1, np.int64),
            np.zeros((n, 4)),
            np.zeros((n, 2 + m)),
            np.zeros((n, 2 + m)),
            np.zeros(n),
            np.zeros(n),
            np.zeros(n),
            np.empty(len(panel.values)),
        )
        stages = 2 if self.initial_seasons == "learned" else 1
        loops.fit_forms(
            panel.values,
            panel.offsets,
            m,
            np.array(forms, np.int64),
            allowed,
            stages,
            SEARCH_LIMIT * (1 + 2 * (stages - 1)),
            self.fits_,
        )
        self._run(panel, m)

    def _refresh_panel(self, panel):
        self._run(panel, self.fits_.initial.shape[1] - 2)

    def _run(self, panel, m):
        self.season_ = m
        self.lengths_ = panel.lengths
        self.values_ = panel.values
        self.fits_ = self.fits_._replace(fitted=np.empty(len(panel.values)))
        lost = self.fits_.form[:, 0] < 0  # no form gave a finite likelihood
        self.fits_.form[lost] = (1, 0, 0, 0)
        self.fits_.weights[lost] = (0.5, 0.0, 0.0, 1.0)
        self.fits_.initial[lost, 0] = _first_known(panel)[lost]
        loops.run_forms(panel.values, panel.offsets, m, self.fits_)
        self.forms_ = np.array([str(Form(*f)) for f in self.fits_.form.tolist()])

    def _means(self, horizon, X_future):
        ahead = np.empty((len(self.lengths_), horizon))
        loops.forecast_forms(self.lengths_, self.season_, self.fits_, ahead)
        return ahead

    def _shock_weights(self, horizon):
        """psi of the additive form of each series; of the first order for others."""
        j = np.arange(horizon)
        alpha, beta, gamma, phi = self.fits_.weights.T[:, :, None]
        powers = np.cumsum(phi ** np.arange(1, horizon + 1), axis=1)
        lived = np.concatenate([np.zeros((len(powers), 1)), powers[:, :-1]], axis=1)
        psi = alpha + beta * lived + gamma * (j % self.season_ == 0)
        psi[:, 0] = 1.0
        sigma = self.fits_.sigma.copy()
        relative = self.fits_.form[:, 0] == 2
        if relative.any():
            errors = (self.values_ - self.fits_.fitted) ** 2
            begins = np.r_[0, np.cumsum(self.lengths_)[:-1]]
            seen = np.add.reduceat(~np.isnan(errors), begins)
            total = np.add.reduceat(np.nan_to_num(errors), begins)
            sigma = np.where(relative, np.sqrt(total / np.maximum(seen, 1)), sigma)
        return sigma, psi

    def _ends(self, horizon, mean, levels):
        ends = super()._ends(horizon, mean, levels)
        simulated = np.flatnonzero(self.fits_.form[:, [0, 1, 3]].max(axis=1) == 2)
        if not len(simulated) or not levels:
            return ends
        rng = np.random.default_rng(SEED)
        shocks = rng.standard_normal((1, N_PATHS, horizon))
        tails = np.array([(1 - q) / 2 for q in levels] + [(1 + q) / 2 for q in levels])
        width = ends[..., 1] - ends[..., 0]
        for block in np.array_split(simulated, -(-len(simulated) // 256)):
            paths = np.empty((len(block), N_PATHS, horizon))
            part = loops.SmoothingFits._make(
                [*(v[block] for v in self.fits_[:-1]), np.empty(0)]
            )
            loops.simulate_forms(
                self.lengths_[block], self.season_, part, shocks, paths
            )
            with np.errstate(invalid="ignore"):
                q = np.quantile(paths, tails, axis=1).reshape(
                    2, len(levels), -1, horizon
                )
            q = q.transpose(2, 3, 1, 0)
            wide = q[..., 1] - q[..., 0] > WIDEST * (width[block] + 1e-300)
            is_finite = np.isfinite(q).all((1, 2, 3)) & ~wide.any((1, 2))
            ends[block[is_finite]] = q[is_finite]
        return ends

    def _paths(self, horizon, X_future, n_paths, rng):
        shocks = rng.standard_normal((len(self.lengths_), n_paths, horizon))
        if len(shocks) == 1:
            shocks = np.repeat(shocks, 2, axis=0)
        paths = np.empty((len(self.lengths_), n_paths, horizon))
        loops.simulate_forms(self.lengths_, self.season_, self.fits_, shocks, paths)
        return paths.transpose(1, 0, 2)

    def _fitted(self):
        return self.fits_.fitted

    def _components(self):
        n = len(self.values_)
        level, slope, season = np.empty(n), np.empty(n), np.empty(n)
        offsets = np.r_[0, np.cumsum(self.lengths_)]
        loops.smoothed_states(
            self.values_, offsets, self.season_, self.fits_, level, slope, season
        )
        components = {"fitted": self._fitted(), "level": level}
        if (self.fits_.form[:, 1] > 0).any():
            components["trend"] = slope
        if (self.fits_.form[:, 3] > 0).any():
            components["seasonal"] = season
        return components


def _form_size(form, m) -> int:
    """Weights, first states and the variance."""
    return 3 + 2 * (form.trend > 0) + form.damped + m * (form.seasonal > 0)


def _first_known(panel) -> np.ndarray:
    """(s,) first known value of each series."""
    place = np.where(
        np.isnan(panel.values), len(panel.values), np.arange(len(panel.values))
    )
    return panel.values[np.minimum.reduceat(place, panel.offsets[:-1])]


def _allowed_forms(panel, forms, m) -> np.ndarray:
    """(s, f) whether a series may have each form: sign, and number of values."""
    positive = positive_series(panel)
    observed = panel.observed()
    if len(forms) == 1:
        return np.broadcast_to(
            (positive | forms[0].adds)[:, None], (len(panel), 1)
        ).copy()
    out = np.ones((len(panel), len(forms)), dtype=bool)
    for k, form in enumerate(forms):
        if not form.adds:
            out[:, k] &= positive
        out[:, k] &= observed > _form_size(form, m) + 1
        if form.seasonal:
            out[:, k] &= observed >= 2 * m
    simplest = min(
        range(len(forms)), key=lambda k: (not forms[k].adds, _form_size(forms[k], m))
    )
    has_none = ~out.any(axis=1)
    out[has_none, simplest] = positive[has_none] | forms[simplest].adds
    return out
