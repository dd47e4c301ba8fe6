"""Residual diagnostics: bias, heteroscedasticity, modes, curvature, autocorrelation.

Good residuals have mean 0, one mode, constant variance and no autocorrelation. Each
property is tested at the 1 % level and flagged only if the effect is also large:

    offset         |mean(r)| against its standard error and against sd(r)          (1)
    two humps      the least bandwidth h at which a density estimate of r has one
                   hump is too large: in samples drawn from that smoothed estimate,
                   estimates of bandwidth h seldom have more; and at the usual
                   bandwidth a valley of a quarter or more lies between            (2)
    uneven spread  rank correlation of |r| with p                                  (3)
    curve          means of r over ten equal parts of p differ                     (4)
    memory         correlation of r with its predecessor in time                   (5)

Intervals: the mean absolute error by Student's t, the root mean squared error by that
of the mean square, both of width proportional to 1 / sqrt(n).

Cost      O(n log n)
Refs      [Silverman1981] (2)
"""

from typing import NamedTuple

import numpy as np
from scipy import ndimage, stats

from ...core.random import make_rng
from ..findings import Finding, findings_text, make_finding
from ..intervals import Interval, mean_interval

STRICT = 0.01
GRID = 512
DRAWS = 100


class Residuals(NamedTuple):
    """Residual diagnostics of one model; prints its scores and findings."""

    n: int
    mean: Interval
    sd: float
    mae: Interval
    rmse: Interval
    counts: np.ndarray  # histogram
    edges: np.ndarray
    findings: tuple[Finding, ...]

    @property
    def flags(self) -> tuple[str, ...]:
        return tuple(f.kind for f in self.findings)

    def __str__(self):
        head = (
            f"{self.n} residuals: root mean squared error {self.rmse}, mean absolute "
            f"error {self.mae}, mean {self.mean}."
        )
        rest = findings_text(self.findings, "Nothing systematic is left in them.")
        return f"{head}\n{rest}"


def residuals(y, p, *, time=None, level=0.95, bins=None, random_state=0) -> Residuals:
    """Error scores with intervals, and tests for systematic errors, of a regression.

    Parameters
    ----------
    y, p : arrays of shape (n,)
        What was seen and what was predicted.
    time : array of shape (n,), optional
        The time of each row; without it autocorrelation is not tested.
    level : float
    bins : int, optional
        Of the histogram; None lets the spread decide.
    random_state : seed

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose import residuals
    >>> rng = np.random.default_rng(0)
    >>> p = rng.normal(size=500)
    >>> residuals(p + rng.normal(size=500), p).flags
    ()
    >>> residuals(p + 0.4 + rng.normal(size=500), p).flags
    ('offset',)
    """
    y, p = np.asarray(y, float).ravel(), np.asarray(p, float).ravel()
    if len(y) != len(p) or len(y) < 3:
        raise ValueError(
            f"at least 3 rows are needed, as many of y ({len(y)}) as of p."
        )
    r = y - p
    if not np.isfinite(r).all():
        raise ValueError("y and p must be finite numbers.")
    tests = [
        _mean_residual_test(r),
        _multimodality_test(r, make_rng(random_state)),
        heteroscedasticity(r, p),
        _calibration_curve_test(r, p),
    ]
    if time is not None:
        tests.append(
            _autocorrelation_test(r[np.argsort(np.asarray(time), kind="stable")])
        )
    counts, edges = np.histogram(r, bins=_n_bins(r) if bins is None else bins)
    mean = mean_interval(r, level)
    result = tuple(t for t in tests if t is not None)
    return Residuals(
        len(r),
        mean,
        float(r.std(ddof=1)),
        mean_interval(np.abs(r), level),
        _root_interval(mean_interval(r**2, level)),
        counts,
        edges,
        result,
    )


def _root_interval(square: Interval) -> Interval:
    """The interval of a root mean square from that of the mean square."""
    m = np.sqrt(square.mean)
    low, high = np.sqrt(max(square.low, 0.0)), np.sqrt(max(square.high, 0.0))
    error = square.error / (2 * m) if m else 0.0
    return Interval(float(m), float(low), float(high), float(error))


def _n_bins(r):
    """Number of histogram bins by the Freedman-Diaconis rule, from 5 to 60."""
    q = np.subtract(*np.quantile(r, [0.75, 0.25]))
    width = 2 * q / len(r) ** (1 / 3)
    return int(np.clip(np.ceil(np.ptp(r) / width), 5, 60)) if width > 0 else 10


def _mean_residual_test(r):
    """Tests whether the mean of the residuals is 0, eq. (1)."""
    sd = r.std(ddof=1)
    n = len(r)
    mean = r.mean()
    if sd <= 1e-12 * max(abs(mean), 1e-300):
        p_value, share = (0.0, np.inf) if mean else (1.0, 0.0)
    else:
        p_value = 2 * stats.t.sf(abs(mean) / (sd / np.sqrt(n)), n - 1)
        share = abs(mean) / sd
    if p_value >= STRICT or share < 0.1:
        return None
    way = "low" if mean > 0 else "high"
    return make_finding(
        "offset",
        "warning",
        f"Predictions are too {way} by {abs(mean):.4g} on average (p = {p_value:.2g}).",
        mean=mean,
        p_value=p_value,
    )


def _kernel_density_grid(r, h, low, high):
    """Kernel density of r on a grid, with a normal kernel of bandwidth h."""
    step = (high - low) / GRID
    counts = np.histogram(r, bins=GRID, range=(low, high))[0].astype(float)
    return ndimage.gaussian_filter1d(counts, h / step, mode="constant", truncate=6)


def _density_modes(density):
    """The density without plateaus, and its modes above a twentieth of the highest."""
    d = density[np.concatenate([[True], np.diff(density) != 0])]
    d = np.concatenate([[0.0], d, [0.0]])
    top = (d[1:-1] > d[:-2]) & (d[1:-1] > d[2:])
    return d, 1 + np.flatnonzero(top & (d[1:-1] > 0.05 * d.max()))


def _density_peaks(density):
    return len(_density_modes(density)[1])


def _valley_depth(density):
    """Depth of the deepest valley between modes, relative to its lower side."""
    d, top = _density_modes(density)
    sides = [(d[: k + 1].max(), d[k:].max(), d[k]) for k in range(top[0], top[-1])]
    return min((low / min(a, b) for a, b, low in sides), default=1.0)


def _multimodality_test(r, rng):
    """Silverman's test for several modes, eq. (2).

    At most 5000 residuals are used, without half a per cent in each tail.
    """
    if len(r) > 5000:
        r = rng.choice(r, 5000, replace=False)
    low, high = np.quantile(r, [0.005, 0.995])
    r = r[(r >= low) & (r <= high)]
    sd = r.std() if len(r) > 20 else 0.0
    if sd == 0 or len(np.unique(r)) < 20:
        return None
    low, high = low - 3 * sd, high + 3 * sd
    small, large = sd / 50, 2 * sd
    for _ in range(25):
        h = np.sqrt(small * large)
        small, large = (
            (h, large)
            if _density_peaks(_kernel_density_grid(r, h, low, high)) > 1
            else (small, h)
        )
    h = large
    if (
        _valley_depth(_kernel_density_grid(r, 0.9 * sd * len(r) ** -0.2, low, high))
        > 0.75
    ):
        return None
    shrink = 1 / np.sqrt(1 + (h / sd) ** 2)
    n_multimodal = 0
    for _ in range(DRAWS):
        draw = rng.choice(r, len(r)) + h * rng.standard_normal(len(r))
        draw = r.mean() + shrink * (draw - r.mean())
        n_multimodal += _density_peaks(_kernel_density_grid(draw, h, low, high)) > 1
    p_value = (1 + n_multimodal) / (1 + DRAWS)
    if p_value >= 0.05:
        return None
    return make_finding(
        "two humps",
        "warning",
        "Residuals fall into two or more heaps: a column or a group that matters is "
        f"probably missing (p = {p_value:.2g}).",
        p_value=p_value,
        bandwidth=h,
    )


def heteroscedasticity(r, p):
    """Tests whether the size of the residuals depends on the prediction, eq. (3)."""
    if np.ptp(p) == 0 or np.ptp(np.abs(r)) == 0:
        return None
    rho, p_value = stats.spearmanr(np.abs(r), p)
    if p_value >= STRICT or abs(rho) < 0.15:
        return None
    way = "grow" if rho > 0 else "shrink"
    return make_finding(
        "uneven spread",
        "note",
        f"Errors {way} with the prediction (rank correlation {rho:.2f}): one interval "
        "width does not fit all rows.",
        correlation=rho,
        p_value=p_value,
    )


def _calibration_curve_test(r, p, parts=10):
    """Tests whether the mean residual depends on the prediction, eq. (4)."""
    if len(r) < 5 * parts or np.ptp(p) == 0:
        return None
    cuts = np.unique(np.quantile(p, np.linspace(0, 1, parts + 1)[1:-1]))
    code = np.searchsorted(cuts, p, side="right")
    groups = [r[code == k] for k in range(len(cuts) + 1)]
    groups = [g - r.mean() for g in groups if len(g) > 1]
    if len(groups) < 3 or sum(g.var() for g in groups) == 0:
        return None
    p_value = float(stats.f_oneway(*groups).pvalue)
    share = sum(len(g) * g.mean() ** 2 for g in groups) / np.sum((r - r.mean()) ** 2)
    if p_value >= STRICT or share < 0.05:
        return None
    return make_finding(
        "curve",
        "warning",
        f"The mean error changes with the prediction and makes up {share:.0%} of the "
        "squared error: the model misses a bend.",
        share=share,
        p_value=p_value,
    )


def _autocorrelation_test(r):
    """Tests the lag-1 autocorrelation of residuals in order of time, eq. (5)."""
    d = r - r.mean()
    total = d @ d
    if total == 0 or len(r) < 10:
        return None
    rho = float(d[1:] @ d[:-1] / total)
    p_value = 2 * stats.norm.sf(abs(rho) * np.sqrt(len(r)))
    if p_value >= STRICT or abs(rho) < 0.1:
        return None
    return make_finding(
        "memory",
        "warning",
        f"An error resembles the one before it in time (correlation {rho:.2f}): the "
        "past tells something the model does not use, and intervals are too narrow.",
        correlation=rho,
        p_value=p_value,
    )
