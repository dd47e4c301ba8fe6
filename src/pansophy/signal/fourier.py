"""Fourier series, continuous and discrete transforms, and other changes of basis.

For f of period T, with w = 2 pi / T,

    f(x) = a_0 / 2 + sum_n a_n cos(n w x) + b_n sin(n w x)                       (1)
    a_n, b_n = 2/T integral of f(x) cos, sin(n w x) over a period                (2)
    f(x) = sum_n c_n exp(i n w x),   c_n = (a_n - i b_n) / 2,  c_-n = conj c_n   (3)
    1/T integral of |f|^2 = sum_n |c_n|^2               (Parseval)               (4)

A partial sum is the nearest function of its kind to f in the mean square. Functions
without a period have, in two conventions,

    F(w) = integral of f(t) exp(-i w t),       f = integral of F exp(i w t) / 2 pi  (5)
    X(v) = integral of f(t) exp(-2 pi i v t),  f = integral of X exp(2 pi i v t)    (6)

with F(w) = X(w / 2 pi); and a sequence of N numbers

    X_k = sum_n x_n exp(-2 pi i k n / N),  x_n = sum_k X_k exp(2 pi i k n / N) / N  (7)

which is a change of basis like any other. Integrals over an interval are Gauss-Legendre
sums on pieces, cut where the user says that f has corners or jumps.

(4) needs a function whose square has an integral. `square_integral` finds it, or that
there is none: towards every end, break and peak of f it sums over intervals that halve,
[p + h/2, p + h], [p + h/4, p + h/2], ... Near |x - p|^-a these parts form a geometric
series of ratio 2^(2a - 1), which has a sum for a < 1/2 only.

Cost      (1)-(3) O(nodes * order); (7) O(N log N) by FFT
"""

import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.fft

from ..core.quadrature import panel_quadrature

NODES = 32  # Gauss-Legendre nodes of a piece
PIECES = 8  # pieces at least
HALVINGS = 45  # intervals towards a point where f may be infinite
DIVERGENT_RATIO = 0.995  # of the last two parts, above which they have no sum
SCAN = 4097  # places at which the highest peak of |f| is looked for


def quadrature_nodes(low, high, breaks=(), waves=0.0):
    """Nodes and weights of an integral from low to high, for `waves` oscillations."""
    cuts = np.unique(np.r_[low, [b for b in breaks if low < b < high], high])
    n_pieces = PIECES + int(np.ceil(waves / 4))
    share = np.maximum(1, np.ceil(n_pieces * np.diff(cuts) / (high - low)).astype(int))
    edges = [np.linspace(a, b, m + 1) for a, b, m in zip(cuts, cuts[1:], share)]
    edges = np.r_[np.concatenate([e[:-1] for e in edges]), high]
    return panel_quadrature(edges, NODES)


def trapezoid(f, a=None, b=None, n=100, *, dx=1.0):
    """Integral by the trapezoid rule: exact for straight lines, error O(h^2).

    Parameters
    ----------
    f : function, or array of values at equal distances `dx`
    a, b : float
        Ends of the interval, where f is a function.
    n : int, default=100
        Number of pieces.

    Examples
    --------
    >>> from pansophy.signal import trapezoid
    >>> trapezoid(lambda x: 2 * x, 0, 3, 1), trapezoid([0, 1, 2])
    (9.0, 2.0)
    """
    if callable(f):
        if a is None or b is None or n < 1:
            raise ValueError("a function needs the ends a and b, and n of at least 1.")
        x = np.linspace(a, b, n + 1)
        y = np.array([f(v) for v in x], dtype=float)
        dx = (b - a) / n
    else:
        y = np.asarray(f, dtype=float)
    return float(dx * (y.sum() - (y[0] + y[-1]) / 2)) if len(y) > 1 else 0.0


@dataclass(frozen=True, eq=False)
class FourierSeries:
    """Coefficients of a periodic function; called at x, it gives the partial sum.

    Attributes
    ----------
    c : complex array of shape (2 N + 1,)
        c_-N..c_N of eq. (3).
    period : float
    power : float
        Mean of |f|^2 over a period, which `parseval` approaches.
    """

    c: np.ndarray
    period: float
    power: float

    @property
    def order(self) -> int:
        """Highest multiple N of the base frequency."""
        return len(self.c) // 2

    @property
    def a(self):
        """a_0..a_N of eq. (1)."""
        positive, negative = self.c[self.order :], self.c[self.order :: -1]
        return _real_where_close(positive + negative)

    @property
    def b(self):
        """b_1..b_N of eq. (1)."""
        positive, negative = self.c[self.order + 1 :], self.c[: self.order][::-1]
        return _real_where_close(1j * (positive - negative))

    @property
    def parseval(self) -> float:
        """Right-hand side of eq. (4), which never exceeds `power`."""
        return float((np.abs(self.c) ** 2).sum())

    def __call__(self, x, order=None):
        """Partial sum of eq. (3), up to N or a lower order."""
        N = self.order if order is None else min(order, self.order)
        n = np.arange(-N, N + 1)
        c = self.c[self.order - N : self.order + N + 1]
        x = np.asarray(x, dtype=float)
        waves = np.exp(2j * np.pi / self.period * x[..., None] * n)
        return _real_where_close(waves @ c)


def _real_where_close(z):
    """Real numbers as such where the imaginary part is rounding."""
    small = np.abs(z.imag).max(initial=0) <= 1e-9 * max(1.0, np.abs(z).max(initial=0))
    return z.real if small else z


def fourier_series(f, order=10, *, period=2 * np.pi, start=None, breaks=()):
    """Fourier series of a function or of samples over one period.

    Parameters
    ----------
    f : function, or array of n samples at start + period * i / n
        A function is called with an array of places.
    order : int, default=10
        Highest multiple N of the base frequency. Samples allow less than n / 2.
    period : float, default=2 pi
    start : float, optional
        Where the period begins; None is -period / 2.
    breaks : list of float
        Places where f has a corner or a jump, for exact integrals.

    Returns
    -------
    FourierSeries

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.signal import fourier_series
    >>> ramp = lambda x: np.where(x >= 0, x, 0.0)
    >>> s = fourier_series(ramp, 4, breaks=[0])
    >>> s.a[[0, 1, 3]].round(6), s.b.round(6)  # a_2 = a_4 = 0
    (array([ 1.570796, -0.63662 , -0.070736]),
     array([ 1.      , -0.5     ,  0.333333, -0.25    ]))
    """
    if not 0 < period < np.inf:
        raise ValueError(f"period must be a positive number, got {period!r}.")
    if not (isinstance(order, (int, np.integer)) and order >= 0):
        raise ValueError(f"order must be a whole number, got {order!r}.")
    start = -period / 2 if start is None else start
    n = np.arange(-order, order + 1)
    if callable(f):
        x, w = quadrature_nodes(start, start + period, breaks, waves=order)
        y = evaluate_at(f, x)
        if not np.isfinite(y).all():
            raise ValueError("f is not finite over its period: it has no series.")
        if not np.isfinite(square_integral(f, start, start + period, breaks=breaks)):
            warnings.warn(
                "f is not square-integrable over its period: its Fourier series need "
                "not converge to it.",
                UserWarning,
                stacklevel=2,
            )
    else:
        y = np.asarray(f)
        if len(y) <= 2 * order:
            raise ValueError(
                f"{len(y)} samples tell the frequencies below {len(y) / 2:g} only: "
                f"lower order ({order}) or take more samples."
            )
        x, w = start + period * np.arange(len(y)) / len(y), period / len(y)
    waves = np.exp(-2j * np.pi / period * n[:, None] * x)
    c = waves @ (w * y) / period
    return FourierSeries(c, float(period), float(np.sum(w * np.abs(y) ** 2) / period))


def square_integral(f, low=-np.pi, high=np.pi, *, breaks=()) -> float:
    """Integral of |f|^2 over an interval; infinite where f is not square-integrable.

    Parameters
    ----------
    f : function
        Called with an array of places.
    low, high : float, default=-pi, pi
        The interval, one period of a periodic function.
    breaks : list of float
        Places where f has a corner or a jump, or is infinite. The highest peak of |f|
        is found without them.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.signal import square_integral
    >>> round(square_integral(np.sin), 6)  # pi
    3.141593
    >>> square_integral(lambda x: 1 / x)
    inf
    >>> round(square_integral(lambda x: np.abs(x) ** -0.25, -1, 1), 6)
    4.0
    """
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ValueError(f"low and high must be finite, low first, got {low}, {high}.")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        inside = [b for b in (*breaks, _highest_peak(f, low, high)) if low < b < high]
        cuts = np.unique(np.r_[low, inside, high])
        total = 0.0
        for a, b in itertools.pairwise(cuts):
            middle = (a + b) / 2
            total += _square_integral_towards(f, a, middle)
            total += _square_integral_towards(f, b, middle)
    return float(total)


def _highest_peak(f, low, high):
    """The place of the largest |f| on a grid, refined until numbers end."""
    peak, half = (low + high) / 2, (high - low) / 2
    while half > np.finfo(float).eps * max(abs(peak), np.finfo(float).tiny):
        x = np.linspace(max(low, peak - half), min(high, peak + half), SCAN)
        y = np.abs(evaluate_at(f, x))
        peak = float(x[np.argmax(np.where(np.isnan(y), np.inf, y))])
        half = 2 * half / (SCAN - 1)
    return peak


def _square_integral_towards(f, end, far):
    """Integral of |f|^2 from an end, where f may be infinite, to a regular point."""
    step = far - end
    parts = []
    for k in range(HALVINGS):
        inner, outer = end + step / 2 ** (k + 1), end + step / 2**k
        if abs(step) / 2**k < 1e3 * np.finfo(float).eps * abs(end):
            break
        if k < 4:  # pieces for oscillations, which no longer matter further in
            x, w = quadrature_nodes(*sorted((inner, outer)))
        else:
            x, w = panel_quadrature(sorted((inner, outer)), NODES)
        parts.append(float(np.sum(w * np.abs(evaluate_at(f, x)) ** 2)))
    if not np.isfinite(parts).all():
        return np.inf
    last = parts[-1]
    ratio = last / parts[-2] if parts[-2] > 0 else 0.0
    if ratio > DIVERGENT_RATIO:
        return np.inf
    return sum(parts) + last * ratio / (1 - ratio)


def evaluate_at(f: Callable, x):
    """f at places x, called once with all of them if it can."""
    try:
        y = np.asarray(f(x))
        if y.shape == x.shape:
            return y
    except (TypeError, ValueError):
        pass
    return np.array([f(v) for v in x])


def fourier_transform(f, w, *, bounds=(-50.0, 50.0), convention="angular", breaks=()):
    """F(w) of eq. (5), or X(v) of eq. (6), of a function that is 0 outside bounds.

    Parameters
    ----------
    f : function
    w : array of frequencies
    bounds : (low, high), default=(-50, 50)
    convention : {"angular", "cycles"}, default="angular"
        Eq. (5) or (6).
    breaks : list of float
        Places of corners and jumps.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.signal import fourier_transform
    >>> pulse = lambda t: np.where(np.abs(t) <= 0.5, 1.0, 0.0)
    >>> F = fourier_transform(pulse, [0, 1, np.pi], bounds=(-0.5, 0.5))
    >>> F.real.round(6)
    array([1.      , 0.958851, 0.63662 ])
    """
    return _fourier_integral(f, w, bounds, convention, breaks, sign=-1)


def inverse_fourier_transform(
    F, t, *, bounds=(-50.0, 50.0), convention="angular", breaks=()
):
    """f(t) from its spectrum, eq. (5) or (6), which is 0 outside bounds."""
    values = _fourier_integral(F, t, bounds, convention, breaks, sign=1)
    return values / (2 * np.pi) if convention == "angular" else values


def _fourier_integral(f, w, bounds, convention, breaks, sign):
    """Integral of f(x) exp(sign i w x), or with 2 pi w, over the bounds."""
    if convention not in ("angular", "cycles"):
        raise ValueError(
            f'convention must be "angular" or "cycles", got {convention!r}.'
        )
    low, high = bounds
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ValueError(f"bounds must be finite, the lower first, got {bounds!r}.")
    w = np.asarray(w, dtype=float)
    cycle = 1.0 if convention == "angular" else 2 * np.pi
    fastest = cycle * np.abs(w).max(initial=0) * (high - low) / (2 * np.pi)
    x, weight = quadrature_nodes(low, high, breaks, waves=fastest + (high - low))
    y = weight * evaluate_at(f, x)
    integrals = [np.exp(sign * 1j * cycle * v * x) @ y for v in w.ravel()]
    return np.array(integrals).reshape(w.shape)


def dft_matrix(n):
    """The matrix of eq. (7), (n, n)."""
    k = np.arange(n)
    return np.exp(-2j * np.pi * (np.outer(k, k) % n) / n)


def dft(x):
    """Eq. (7) as the sum it is, O(N^2): what `fft` is checked against."""
    x = np.asarray(x)
    return dft_matrix(x.shape[-1]) @ x if x.ndim == 1 else x @ dft_matrix(x.shape[-1])


def fft(x, n=None, axis=-1):
    """Eq. (7) in O(N log N) (SciPy's)."""
    return scipy.fft.fft(x, n, axis=axis)


def ifft(X, n=None, axis=-1):
    """The way back of eq. (7)."""
    return scipy.fft.ifft(X, n, axis=axis)


def change_basis(v, new, old=None):
    """Coordinates in a new basis of a vector given in an old one.

    Parameters
    ----------
    v : array of shape (d,) or (n, d)
        Coordinates in the old basis.
    new, old : arrays of shape (d, d)
        Basis vectors as columns; `old` None is the standard basis.

    Examples
    --------
    >>> from pansophy.signal import change_basis
    >>> change_basis([3, 1], [[1, 1], [1, -1]])  # 2 (1, 1) + 1 (1, -1)
    array([2., 1.])
    """
    v, new = np.asarray(v), np.asarray(new)
    d = v.shape[-1]
    old = np.eye(d) if old is None else np.asarray(old)
    if new.shape != (d, d) or old.shape != (d, d):
        raise ValueError(f"a basis of {d} dimensions has {d} columns of {d} numbers.")
    try:
        return np.linalg.solve(new, old @ v.T).T
    except np.linalg.LinAlgError:
        raise ValueError("the vectors of the new basis depend on each other.") from None
