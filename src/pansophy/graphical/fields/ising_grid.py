"""Ising model on a grid: spins of +1 and -1 coupled to their four neighbours.

    E(s) = -J sum_{i ~ j} s_i s_j - sum_i h_i s_i,   p(s) = exp(-E(s) / T) / Z     (1)

J is the coupling, h the field of each pixel, T the temperature (1 by default). Given
its neighbours, whose sum is n_i, a spin is independent of all others:

    P(s_i = +1 | rest) = 1 / (1 + exp(-2 (J n_i + h_i) / T))                       (2)

Gibbs     draw each spin by eq. (2); n_i takes nine values, so the probabilities are a
          table of nine integers for each distinct field, and a draw is one comparison.
          The two colours of a checkerboard are drawn alternately (three colours of
          a periodic grid with an odd side, by NumPy).
ICM       take the more probable spin of eq. (2) until none changes (iterated
          conditional modes): a local minimum of E
anneal    Gibbs while T falls
map       the global minimum, by `graph_cut`, for J >= 0
exact     Z and marginals of narrow grids, by `transfer_matrix`
learn     J and one h from images, by maximum pseudo-likelihood: the product of
          eq. (2), which is concave in both and needs no Z                         (3)

Cost      O(height width) for a sweep, memory the same
Shapes    s, h (height, width)
Refs      [Ising1925]; [Geman1984] Gibbs; [Besag1986] ICM; [Besag1975] eq. (3)
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np

from ...base import Estimator
from ...core.drivers.iterate import iterate
from ...core.random import make_rng
from ...params import Count, Number, check_params
from ...typing import ListLike, Matrix
from ..inference.fixed_point import FixedPointState, check_chain_lengths, last_change
from ._grid_gibbs import ising_sweeps, wrap_borders
from .transfer_matrix import (
    check_grid_shape,
    neighbor_pairs,
    periodic_inference,
    pixel_colors,
    transfer_matrix_inference,
)


def pack_checkerboard(a, dtype):
    """An image as its two colours with zero borders, see `_grid_gibbs`."""
    height, width = a.shape
    out = np.zeros((2, height + 2, (width + 1) // 2 + 2), dtype)
    for c in range(2):
        for o in range(2):
            rows = slice((o + c) & 1, None, 2)
            part = a[rows, o::2]
            out[c, 1 + rows.start : -1 : 2, 1 : 1 + part.shape[1]] = part
    return out


def unpack_checkerboard(x, width):
    """The image of two checkerboard colours."""
    height = x.shape[1] - 2
    a = np.empty((height, width), x.dtype)
    for c in range(2):
        for o in range(2):
            first = (o + c) & 1
            n = (width - o + 1) // 2
            a[first::2, o::2] = x[c, 1 + first : -1 : 2, 1 : 1 + n]
    return a


def _flip_thresholds(J, fields, T):
    """Eq. (2) for sums -4 .. 4 and each field, as thresholds of 32-bit integers."""
    a = 2.0 * (J * np.arange(-4, 5) + fields[:, None]) / T
    p = 0.5 * (1.0 + np.tanh(0.5 * a))
    return np.minimum(p * 2.0**32, 2.0**32 - 1).astype(np.uint32)


def _neighbor_sum(s, boundary):
    """n_i: the sum of the four neighbours of each pixel."""
    mode = "wrap" if boundary == "periodic" else "constant"
    p = np.pad(s, ((1, 1), (1, 1)), mode=mode)
    return p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]


@dataclass(eq=False, repr=False)
class IsingGrid(Estimator):
    """Ising model on a grid: spins +1 and -1 with one coupling and a field.

    Parameters
    ----------
    shape : (int, int)
        Height and width.
    coupling : float, default=1.0
        J: above 0 neighbours tend to agree, below 0 to differ.
    field : float or array of shape (height, width), default=0.0
        h: external field of each pixel.
    boundary : {"free", "periodic"}, default="free"
        Whether opposite borders are neighbours.

    Examples
    --------
    >>> from pansophy.graphical import IsingGrid
    >>> grid = IsingGrid((3, 3), coupling=0.0, field=0.5)
    >>> round(float(grid.marginals()[1, 1]), 6)  # no coupling: free pixels
    0.731059
    >>> IsingGrid((64, 64), coupling=0.6).sample(5, random_state=0).shape
    (5, 64, 64)
    """

    shape: ListLike
    _: KW_ONLY
    coupling: Number = 1.0
    field: Number | Matrix | ListLike = 0.0
    boundary: Literal["free", "periodic"] = "free"

    def _checked(self):
        """J and h (height, width)."""
        check_params(self)
        shape = check_grid_shape(self.shape, self.boundary)
        h = np.asarray(self.field, dtype=float)
        if h.shape not in ((), shape):
            raise ValueError(f"field must have shape {shape}, got {h.shape}.")
        if not np.isfinite(h).all():
            raise ValueError("field of IsingGrid contains NaN or infinity.")
        return float(self.coupling), np.broadcast_to(h, shape)

    def _spins(self, s):
        shape = check_grid_shape(self.shape, self.boundary)
        s = np.asarray(s)
        if s.shape[-2:] != shape or not np.isin(s, (-1, 1)).all():
            raise ValueError(
                f"spins must be +1 or -1 in an array of shape {shape}, got shape "
                f"{s.shape} with values {np.unique(s)[:4].tolist()}."
            )
        return s.astype(np.int8)

    states = (-1, 1)

    @property
    def unary(self):
        """U of `transfer_matrix` eq. (1) for the labels -1 and +1."""
        h = self._checked()[1]
        return np.stack([-h, h], axis=-1)

    @property
    def pair(self):
        """L of `transfer_matrix` eq. (1)."""
        J = float(self.coupling)
        return np.array([[J, -J], [-J, J]])

    @property
    def pairs(self):
        """Pairs (m, 2) of neighbours, pixels numbered along the rows."""
        height, width = check_grid_shape(self.shape, self.boundary)
        return neighbor_pairs(height, width, self.boundary == "periodic")

    def energy(self, spins):
        """E of eq. (1), of one image or of many."""
        J, h = self._checked()
        s = self._spins(spins).astype(np.int64)
        ends = s.reshape(*s.shape[:-2], -1)[..., self.pairs]
        return -J * ends.prod(axis=-1).sum(axis=-1) - (h * s).sum(axis=(-2, -1))

    def sample(
        self,
        n_samples: int = 1,
        *,
        burn_in: int = 100,
        thin: int = 1,
        start=None,
        temperature: float = 1.0,
        random_state=None,
    ):
        """Images (n_samples, height, width) of a Gibbs chain, `thin` sweeps apart."""
        check_chain_lengths(n_samples=n_samples, burn_in=burn_in, thin=thin)
        chain = IsingChain(self, start, random_state)
        chain.run(burn_in, temperature)
        out = np.empty(
            (n_samples, *check_grid_shape(self.shape, self.boundary)), np.int8
        )
        for k in range(n_samples):
            chain.run(thin, temperature)
            out[k] = chain.image
        return out

    def marginals(
        self,
        method: Literal["exact", "gibbs"] = "exact",
        *,
        n_samples: int = 2000,
        burn_in: int = 200,
        random_state=None,
    ):
        """P(s_i = +1) of every pixel, shape (height, width)."""
        if method not in ("exact", "gibbs"):
            raise ValueError(f"method must be 'exact' or 'gibbs', got {method!r}.")
        if method == "exact":
            return self._exact()[1][..., 1]
        check_chain_lengths(n_samples=n_samples, burn_in=burn_in)
        chain = IsingChain(self, None, random_state)
        chain.run(burn_in)
        total = np.zeros(self.unary.shape[:2])
        for _ in range(n_samples):
            chain.run(1)
            total += chain.image
        return 0.5 + 0.5 * total / n_samples

    def log_partition(self) -> float:
        """log Z, exactly."""
        return self._exact()[0]

    def _exact(self):
        U = self.unary
        if self.boundary == "periodic":
            return periodic_inference(U, self.pair)
        return transfer_matrix_inference(U, self.pair)

    def icm(self, start=None, *, max_iter: int = 100):
        """Image of a local minimum of E, from `start` or the signs of the field."""
        J, h = self._checked()
        s = np.where(h < 0, -1, 1) if start is None else self._spins(start)
        s = s.astype(np.int64)
        colors = pixel_colors(s.shape, self.boundary == "periodic")

        def step(state):
            s = state.position.copy()
            for colour in (colors == c for c in range(colors.max() + 1)):
                a = J * _neighbor_sum(s, self.boundary) + h
                s[colour] = np.where(a == 0, s, np.sign(a))[colour]
            return FixedPointState(s, float(np.mean(s != state.position)))

        first = FixedPointState(s, np.inf)
        result = iterate(step, first, max_iter=max_iter, tol=0.0, change=last_change)
        return result.state.position.astype(np.int8)

    def anneal(self, start=None, *, temperatures=None, random_state=None):
        """Image after Gibbs sweeps with falling T, followed by ICM.

        `temperatures`: T of each sweep; by default 200 of them from 4 J down to 0.1 J.
        """
        scale = max(abs(float(self.coupling)), 1e-6)
        if temperatures is None:
            temperatures = scale * np.geomspace(4.0, 0.1, 200)
        chain = IsingChain(self, start, random_state)
        for T in np.asarray(temperatures, dtype=float):
            chain.run(1, T)
        return self.icm(chain.image)

    def map(self):
        """Image of the global minimum of E, by `graph_cut`."""
        from .graph_cuts import graph_cut

        return graph_cut(self).labels

    @classmethod
    def learn(
        cls,
        images,
        *,
        boundary: Literal["free", "periodic"] = "free",
        max_iter: Count = 50,
    ):
        """Fit the coupling and field to one or many images, eq. (3)."""
        s = np.asarray(images)
        s = s[None] if s.ndim == 2 else s
        grid = cls(s.shape[1:], boundary=boundary)
        s = grid._spins(s).astype(float)
        n = np.stack([_neighbor_sum(p, boundary) for p in s])
        A = np.stack([n.ravel(), np.ones(n.size)], axis=1)
        y = s.ravel()
        from ...optim import minimize

        def loss(b):
            a = 2.0 * y * (A @ b)
            p = 0.5 * (1.0 - np.tanh(0.5 * a))  # probability of the other spin
            return np.logaddexp(0, -a).mean(), A.T @ (-2.0 * y * p) / len(y)

        b = minimize(loss, np.zeros(2), "bfgs", max_iter=max_iter).state.position
        return cls(
            s.shape[1:], coupling=float(b[0]), field=float(b[1]), boundary=boundary
        )


class IsingChain:
    """A Gibbs chain of a grid: spins by colour and states of its random generators."""

    def __init__(self, grid: IsingGrid, start, random_state):
        self.J, h = grid._checked()
        rng = make_rng(random_state)
        self.rng = rng
        self.h = h
        self.wrapped = grid.boundary == "periodic"
        self.colors = pixel_colors(h.shape, self.wrapped)
        fields, kind = np.unique(h, return_inverse=True)
        self.fields = fields
        self.width = h.shape[1]
        self.kind = pack_checkerboard(kind.reshape(h.shape), np.int32)
        if start is None:
            start = 2 * rng.integers(0, 2, h.shape, dtype=np.int8) - 1
        if np.shape(start) != h.shape:
            raise ValueError(
                f"start must be one image of shape {h.shape}, got {np.shape(start)}."
            )
        self.spins = grid._spins(start)
        self.x = pack_checkerboard(self.spins, np.int8)
        if self.wrapped and not self.three_colors:
            for c in range(2):
                wrap_borders(self.x[c], *h.shape)
        half = self.x.shape[2] - 2
        self.lanes = rng.integers(1, 2**32, (4, half), dtype=np.uint32)
        self.row = np.zeros(half, np.uint32)
        self.table: tuple[Any, Any] = (None, None)

    @property
    def three_colors(self) -> bool:
        """Whether an odd periodic side needs a third colour."""
        return bool(self.colors.max() > 1)

    @property
    def image(self):
        """The spins as an image (height, width)."""
        return (
            self.spins if self.three_colors else unpack_checkerboard(self.x, self.width)
        )

    def run_three_colors(self, sweeps, T):
        """`run` by NumPy, one colour at a time."""
        boundary = "periodic"
        colors = [self.colors == c for c in range(3)]
        for _ in range(sweeps):
            for colour in colors:
                a = (self.J * _neighbor_sum(self.spins, boundary) + self.h)[colour] / T
                is_up = self.rng.random(len(a)) < 0.5 * (1.0 + np.tanh(a))
                self.spins[colour] = np.where(is_up, 1, -1)

    def run(self, sweeps: int, T: float = 1.0):
        """Update every spin `sweeps` times."""
        if not T > 0:
            raise ValueError(f"temperature must be above 0, got {T}.")
        if self.three_colors:
            self.run_three_colors(sweeps, T)
            return
        if self.table[0] != T:
            self.table = T, _flip_thresholds(self.J, self.fields, T)
        ising_sweeps(
            self.x,
            self.kind,
            self.table[1],
            self.lanes,
            self.row,
            self.width,
            self.wrapped,
            sweeps,
        )
