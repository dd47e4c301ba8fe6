"""Potts model on a grid: pixels with q labels coupled to their four neighbours.

    E(x) = -J sum_{i ~ j} [x_i = x_j] - sum_i U_i(x_i),   p(x) = exp(-E(x) / T) / Z  (1)
    P(x_i = a | rest) ~ exp((J n_i(a) + U_i(a)) / T)                               (2)

n_i(a) counts the neighbours of pixel i with label a. Two labels make an Ising grid with
half the coupling. Gibbs sampling, ICM and annealing are those of `ising_grid`; the
lowest energy is approximated by `alpha_expansion` for J >= 0.

Shapes    U (height, width, q)   x (height, width)
Refs      [Potts1952]; [Geman1984]; [Boykov2001]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from ...base import Estimator
from ...core.drivers.iterate import iterate
from ...core.random import make_rng
from ...params import Number, check_params
from ...typing import Matrix
from ..inference.fixed_point import FixedPointState, check_chain_lengths, last_change
from ._grid_gibbs import potts_sweeps
from .graph_cuts import alpha_expansion
from .transfer_matrix import (
    check_grid_shape,
    neighbor_pairs,
    periodic_inference,
    pixel_colors,
    transfer_matrix_inference,
)


@dataclass(eq=False, repr=False)
class PottsGrid(Estimator):
    """Potts model on a grid: labels 0 .. q-1 with one coupling.

    Parameters
    ----------
    scores : array of shape (height, width, q)
        U: score of each label at each pixel.
    coupling : float, default=1.0
        J: above 0 neighbours tend to agree.
    boundary : {"free", "periodic"}, default="free"

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.graphical import PottsGrid
    >>> U = np.zeros((2, 3, 3))
    >>> U[:, :, 1] = [[2, 2, 2], [2, 0, 2]]
    >>> PottsGrid(U, coupling=1.0).map()
    array([[1, 1, 1], [1, 1, 1]])
    """

    scores: Matrix
    _: KW_ONLY
    coupling: Number = 1.0
    boundary: Literal["free", "periodic"] = "free"

    @property
    def unary(self):
        """U as an array."""
        check_params(self)
        U = np.asarray(self.scores, dtype=float)
        if U.ndim != 3 or U.shape[2] < 1 or not np.isfinite(U).all():
            raise ValueError(
                f"scores must be finite of shape (height, width, q), got {U.shape}."
            )
        check_grid_shape(U.shape[:2], self.boundary)
        return U

    @property
    def shape(self):
        """Height and width."""
        return self.unary.shape[:2]

    @property
    def states(self):
        """The labels."""
        return tuple(range(self.unary.shape[2]))

    @property
    def pair(self):
        """Logarithm of the factor of a pair."""
        return float(self.coupling) * np.eye(self.unary.shape[2])

    @property
    def pairs(self):
        """Pairs (m, 2) of neighbours, pixels numbered along the rows."""
        height, width = self.shape
        return neighbor_pairs(height, width, self.boundary == "periodic")

    def _labels(self, x):
        height, width, q = self.unary.shape
        x = np.asarray(x)
        is_integer = x.dtype.kind in "iu" and x.shape == (height, width)
        if not is_integer or x.min() < 0 or x.max() >= q:
            raise ValueError(
                f"labels must be whole numbers from 0 to {q - 1} of shape "
                f"{(height, width)}."
            )
        return x.astype(np.int64)

    def energy(self, labels) -> float:
        """E of eq. (1)."""
        U = self.unary
        x = self._labels(labels)
        ends = x.ravel()[self.pairs]
        agree = float((ends[:, 0] == ends[:, 1]).sum())
        unary_total = np.take_along_axis(U, x[..., None], axis=2).sum()
        return -self.coupling * agree - float(unary_total)

    def _exact(self):
        if self.boundary == "periodic":
            return periodic_inference(self.unary, self.pair)
        return transfer_matrix_inference(self.unary, self.pair)

    def log_partition(self) -> float:
        """log Z, exactly, of a narrow grid."""
        return self._exact()[0]

    def marginals(self):
        """P(x_i = a), exactly, of a narrow grid: shape (height, width, q)."""
        return self._exact()[1]

    def sample(
        self,
        n_samples: int = 1,
        *,
        burn_in: int = 100,
        thin: int = 1,
        start=None,
        temperature=1.0,
        random_state=None,
    ):
        """Images (n, height, width) of a Gibbs chain, `thin` sweeps apart.

        `temperature`: T, or a list of T for the sweeps of the burn-in, whose last value
        is used afterwards.
        """
        check_chain_lengths(n_samples=n_samples, burn_in=burn_in, thin=thin)
        U = self.unary
        rng = make_rng(random_state)
        height, width, q = U.shape
        if start is None:
            start = rng.integers(0, q, (height, width))
        mode = "wrap" if self.boundary == "periodic" else "constant"
        labels = self._labels(start)
        if mode == "wrap":
            x = np.pad(labels, 1, mode="wrap")
        else:
            x = np.pad(labels, 1, constant_values=q)
        lanes = rng.integers(1, 2**32, (4, width), dtype=np.uint32)
        row = np.zeros(width, np.uint32)
        wrapped = mode == "wrap"
        colors = pixel_colors((height, width), wrapped)
        three_colors = colors.max() > 1  # of a periodic grid with an odd side

        def run(sweeps, T):
            if not T > 0:
                raise ValueError(f"temperature must be above 0, got {T}.")
            if three_colors:
                self._run_three_colors(x, U, colors, rng, sweeps, T)
                return
            P = np.exp((U - U.max(axis=2, keepdims=True)) / T)
            E = np.exp(self.coupling * (np.arange(5.0) - 4 * (self.coupling > 0)) / T)
            potts_sweeps(x, P, E, lanes, row, wrapped, sweeps)

        temperatures = np.atleast_1d(np.asarray(temperature, dtype=float))
        if len(temperatures) > 1:
            for T in temperatures:
                run(1, T)
        else:
            run(burn_in, temperatures[0])
        out = np.empty((n_samples, height, width), np.int16)
        for k in range(n_samples):
            run(thin, temperatures[-1])
            out[k] = x[1:-1, 1:-1]
        return out

    def _run_three_colors(self, x, U, colors, rng, sweeps, T):
        """Sweeps by NumPy over a periodic grid x with borders, a colour at a time."""
        q = U.shape[2]
        for _ in range(sweeps):
            for c in range(3):
                colour = colors == c
                indicators = np.pad(x[1:-1, 1:-1], 1, mode="wrap")[
                    ..., None
                ] == np.arange(q)
                n = indicators[:-2, 1:-1] + indicators[2:, 1:-1].astype(int)
                n = n + indicators[1:-1, :-2] + indicators[1:-1, 2:]
                a = (U + self.coupling * n)[colour] / T
                p = np.cumsum(np.exp(a - a.max(axis=1, keepdims=True)), axis=1)
                u = rng.random(len(p)) * p[:, -1]
                x[1:-1, 1:-1][colour] = (p <= u[:, None]).sum(axis=1)

    def icm(self, start=None, *, max_iter: int = 100):
        """Labels of a local minimum of E, from `start` or the best unary labels."""
        U = self.unary
        q = U.shape[2]
        x = U.argmax(axis=2) if start is None else self._labels(start)
        colors = pixel_colors(x.shape, self.boundary == "periodic")
        mode = "wrap" if self.boundary == "periodic" else "constant"

        def step(state):
            x = state.position.copy()
            for colour in (colors == c for c in range(colors.max() + 1)):
                indicators = (x[..., None] == np.arange(q)).astype(float)
                p = np.pad(indicators, ((1, 1), (1, 1), (0, 0)), mode=mode)
                n = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
                score = (
                    U + self.coupling * n + 1e-12 * indicators
                )  # at ties a pixel keeps its label
                x[colour] = score.argmax(axis=2)[colour]
            return FixedPointState(x, float(np.mean(x != state.position)))

        first = FixedPointState(x, np.inf)
        run = iterate(step, first, max_iter=max_iter, tol=0.0, change=last_change)
        return run.state.position

    def anneal(self, start=None, *, temperatures=None, random_state=None):
        """Labels after Gibbs sweeps with falling T, followed by ICM."""
        if temperatures is None:
            temperatures = max(abs(self.coupling), 1e-6) * np.geomspace(4.0, 0.1, 200)
        x = self.sample(
            1, start=start, temperature=temperatures, random_state=random_state
        )[0]
        return self.icm(x)

    def map(self):
        """Labels of a low E by alpha-expansion; the lowest if there are two labels."""
        if self.coupling < 0:
            raise ValueError("graph cuts need a coupling of at least 0.")
        U = self.unary
        result = alpha_expansion(-U.reshape(-1, U.shape[2]), self.pairs, self.coupling)
        return result.labels.reshape(U.shape[:2])
